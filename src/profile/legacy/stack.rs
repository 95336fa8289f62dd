//! The stack of one row: its addresses, and the symbol comments that follow it in Go's texts.
//!
//! Shared by heap texts and `goroutine?debug=1`, which end their rows in the same way.

use super::maps::MemoryMap;
use super::text::{Cursor, find, split_file_line};
use crate::profile::{FrameId, StackId, SymbolTable};
use hashbrown::HashMap;

/// Reads one row's stack after another; what a comment line means is looked up only once.
#[derive(Debug, Default)]
pub(in crate::profile) struct StackReader<'a> {
    map: MemoryMap,
    addresses: Vec<u64>,
    commented: Vec<FrameId>,
    frames: Vec<FrameId>,
    frame_at: HashMap<u64, FrameId>,
    frame_of_comment: HashMap<&'a [u8], FrameId>,
}

impl<'a> StackReader<'a> {
    /// A reader that names the file of an address by `map`.
    pub fn new(map: MemoryMap) -> Self {
        Self {
            map,
            ..Self::default()
        }
    }

    /// Begins a row with the addresses behind its `@`. `None`: they are not addresses.
    pub fn start(&mut self, addresses: &[u8]) -> Option<()> {
        self.addresses.clear();
        self.commented.clear();
        let mut cursor = Cursor::new(addresses);
        while !cursor.is_done() {
            // A return address; one byte back is inside the call.
            self.addresses.push(cursor.address()?.saturating_sub(1));
        }
        Some(())
    }

    /// Takes `#\t0xpc\tfunction+0xoffset\tfile:line` as the row's next frame.
    /// `None`: another kind of comment.
    pub fn add_comment(&mut self, line: &'a [u8], symbols: &mut SymbolTable) -> Option<()> {
        let comment = line.strip_prefix(b"#")?.trim_ascii();
        let frame = match self.frame_of_comment.get(comment) {
            Some(frame) => *frame,
            None => {
                let frame = intern_comment(comment, symbols)?;
                self.frame_of_comment.insert(comment, frame);
                frame
            }
        };
        self.commented.push(frame);
        Some(())
    }

    /// Whether the row had symbol comments so far.
    pub fn is_symbolised(&self) -> bool {
        !self.commented.is_empty()
    }

    /// The stack of the row: its comments if there were any, else its addresses.
    pub fn finish(&mut self, symbols: &mut SymbolTable) -> StackId {
        if self.is_symbolised() {
            return symbols.intern_stack(&self.commented);
        }
        self.frames.clear();
        for &address in &self.addresses {
            let frame = *self.frame_at.entry(address).or_insert_with(|| {
                let file = self.map.file_at(address);
                intern_address(address, file, symbols)
            });
            self.frames.push(frame);
        }
        symbols.intern_stack(&self.frames)
    }

    /// The file of the map's first mapping.
    pub fn main_file(&self) -> &[u8] {
        self.map.main_file()
    }
}

/// An address without a symbol is a function of that name.
fn intern_address(address: u64, file: &[u8], symbols: &mut SymbolTable) -> FrameId {
    let name = symbols.intern_str(&format!("0x{address:x}"));
    let file = symbols.intern_bytes(file);
    let function = symbols.intern_function(name, file);
    symbols.intern_frame(function, 0)
}

/// `0xpc` alone, or `0xpc name+0xoffset file:line` with tabs (or, pasted, blanks) between.
fn intern_comment(comment: &[u8], symbols: &mut SymbolTable) -> Option<FrameId> {
    let mut cursor = Cursor::new(comment);
    let address = cursor.address()?;
    let symbol = cursor.rest.trim_ascii();
    if symbol.is_empty() {
        // The runtime has already stepped back from the return address.
        return Some(intern_address(address, b"", symbols));
    }
    let (name, place) = match find(symbol, b"+0x") {
        Some(plus) => {
            let mut offset = Cursor::new(&symbol[plus + 1..]);
            // An offset that does not fit is of no use, but the name before it is.
            let _ = offset.address();
            (&symbol[..plus], offset.rest.trim_ascii())
        }
        None => {
            let end = symbol.iter().position(|byte| *byte == b'\t');
            let end = end.unwrap_or(symbol.len());
            (&symbol[..end], symbol[end..].trim_ascii())
        }
    };
    let (file, line) = match split_file_line(place) {
        Some((file, line, _)) => (file, line),
        None => (place, 0),
    };
    let name = symbols.intern_bytes(name);
    let file = symbols.intern_bytes(file);
    let function = symbols.intern_function(name, file);
    Some(symbols.intern_frame(function, line))
}

#[cfg(test)]
pub(in crate::profile) mod tests {
    use super::*;

    /// `name file:line` of every frame, leaf first.
    pub(in crate::profile) fn describe(stack: StackId, symbols: &SymbolTable) -> Vec<String> {
        let frames: Vec<_> = symbols.stack(stack).collect();
        frames
            .into_iter()
            .map(|frame| describe_frame(frame, symbols))
            .collect()
    }

    pub(in crate::profile) fn describe_frame(frame: FrameId, symbols: &SymbolTable) -> String {
        let frame = symbols.frame(frame);
        format!(
            "{} {}:{}",
            symbols.function_name(frame.function),
            symbols.function_file(frame.function),
            frame.line
        )
    }

    fn read(addresses: &str, comments: &[&'static str]) -> Option<Vec<String>> {
        let mut symbols = SymbolTable::new();
        let mut reader = StackReader::default();
        reader.start(addresses.as_bytes())?;
        for comment in comments {
            reader.add_comment(comment.as_bytes(), &mut symbols)?;
        }
        let stack = reader.finish(&mut symbols);
        Some(describe(stack, &symbols))
    }

    #[test]
    fn comments_name_the_frames() {
        let cases: &[(&'static str, &str)] = &[
            (
                "#\t0x4dc4a5\tmain.main+0xc5\t\t/tmp/main.go:30",
                "main.main /tmp/main.go:30",
            ),
            (
                "# 0x4dc4a5 main.(*T).f+0xc5   /tmp/a b/main.go:30",
                "main.(*T).f /tmp/a b/main.go:30",
            ),
            (
                "#\t0x1\tmain.generic[...]+0x24\t/m.go:19",
                "main.generic[...] /m.go:19",
            ),
            ("#\t0xABC", "0xabc :0"),
            ("#\t0x1\tmain.f\t/m.go:1", "main.f /m.go:1"),
            ("#\t0x1\tmain.f+0x1\t/m.go", "main.f /m.go:0"),
            ("#\t0x1\tmain.f+0x", "main.f 0x:0"),
        ];
        for (comment, frame) in cases {
            assert_eq!(
                read("0x1", &[comment]),
                Some(vec![(*frame).to_owned()]),
                "{comment}"
            );
        }
        assert_eq!(read("0x1", &["# labels: {\"a\": \"0x1\"}"]), None);
        assert_eq!(read("0x1", &["# Alloc = 12"]), None);
    }

    #[test]
    fn addresses_stand_in_for_names() {
        assert_eq!(
            read(" 0x420CEF 0x0", &[]),
            Some(vec!["0x420cee :0".into(), "0x0 :0".into()])
        );
        assert_eq!(read("", &[]), Some(vec![]));
        assert_eq!(read(" 0x12 zz", &[]), None);
        assert_eq!(read(" 0x12345678901234567", &[]), None);
    }
}
