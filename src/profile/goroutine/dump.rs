//! `goroutine?debug=2`, SIGQUIT and panic dumps: one block of lines per goroutine.
//!
//! Knows the block grammar. Lines are handled as slices of the input: a line that was seen before
//! costs one hash look-up, and goroutines are grouped as they come, so that memory follows the
//! distinct stacks. Text between blocks (log lines, registers) is passed over.

use super::header::{self, Header};
use super::{GoroutineForm, GoroutineGroup, GoroutineProfile, Groups};
use crate::profile::legacy::text::{Line, Lines, Skipped, find, split_file_line};
use crate::profile::symbols::encode_frame;
use crate::profile::{FrameId, ProfileError, ProfileFile, ProfileWarning, StrId, SymbolTable};
use hashbrown::HashMap;

/// Where `runtime/pprof` stops writing, without a word.
const RUNTIME_LIMIT: usize = 64 << 20;

/// Decodes a dump.
pub(in crate::profile) fn decode(
    bytes: &[u8],
    symbols: &mut SymbolTable,
) -> Result<ProfileFile, ProfileError> {
    let mut decoder = Decoder {
        symbols,
        groups: Groups::default(),
        block: None,
        stack: Vec::new(),
        frames: HashMap::new(),
        states: HashMap::new(),
        main_goroutines: 0,
        skipped: Skipped::default(),
    };
    let mut last = None;
    for line in Lines::new(bytes) {
        decoder.read_line(line);
        last = Some(line);
    }
    let was_cut = decoder.finish(last, bytes.len());
    let mut warnings = Vec::new();
    if was_cut {
        warnings.push(ProfileWarning::DumpCut);
    }
    if decoder.main_goroutines > 1 {
        warnings.push(ProfileWarning::SeveralDumps {
            count: decoder.main_goroutines,
        });
    }
    warnings.extend(decoder.skipped.warning());
    let groups = decoder.groups.groups;
    if groups.is_empty() && !was_cut {
        return Err(ProfileError::Text {
            line: 1,
            reason: "no goroutine begins here, as `goroutine 1 [running]:` would".to_owned(),
        });
    }
    Ok(ProfileFile::Goroutines(GoroutineProfile {
        form: GoroutineForm::Dump,
        lists_only_leaked: false,
        groups,
        time_nanos: None,
        warnings,
    }))
}

/// A goroutine whose lines are being read.
struct Block<'a> {
    header: Header<'a>,
    created_by: Option<FrameId>,
    /// The line before, if its file line has yet to come.
    pending: Option<Pending<'a>>,
    /// Whether the lines tell of an ancestor (GODEBUG=tracebackancestors), not of this goroutine.
    in_ancestor: bool,
    /// Whether a line followed the header.
    has_lines: bool,
}

struct Pending<'a> {
    name: &'a [u8],
    is_creator: bool,
    line: usize,
}

struct Decoder<'a, 's> {
    symbols: &'s mut SymbolTable,
    groups: Groups,
    block: Option<Block<'a>>,
    /// Encoded frames of the block.
    stack: Vec<u8>,
    /// By function name and `file:line`.
    frames: HashMap<(&'a [u8], &'a [u8]), FrameId>,
    states: HashMap<&'a [u8], StrId>,
    main_goroutines: u64,
    skipped: Skipped,
}

impl<'a> Decoder<'a, '_> {
    #[inline]
    fn read_line(&mut self, line: Line<'a>) {
        let text = line.bytes;
        match text.first() {
            Some(b'\t') => self.read_file_line(&text[1..]),
            None => self.finish_block(),
            Some(_) => match header::parse(text) {
                Some(header) => self.begin_block(header),
                None => self.read_function_line(text, line.number),
            },
        }
    }

    fn begin_block(&mut self, header: Header<'a>) {
        // A paste may have lost the blank line between blocks.
        self.finish_block();
        self.stack.clear();
        self.block = Some(Block {
            header,
            created_by: None,
            pending: None,
            in_ancestor: false,
            has_lines: false,
        });
    }

    /// `package.function(arguments)` or `created by package.function in goroutine 7`.
    #[inline]
    fn read_function_line(&mut self, text: &'a [u8], number: usize) {
        let Some(block) = &mut self.block else {
            return;
        };
        block.has_lines = true;
        if let Some(orphan) = block.pending.take() {
            self.skipped.note(orphan.line);
        }
        if block.in_ancestor {
            return;
        }
        let (name, is_creator) = if let Some(name) = text.strip_prefix(b"created by ") {
            let end = find(name, b" in goroutine ").unwrap_or(name.len());
            (&name[..end], true)
        } else if text.last() == Some(&b')')
            && let Some(arguments) = text.iter().rposition(|byte| *byte == b'(')
        {
            // Arguments are words in braces at most, so the last parenthesis opens them.
            (&text[..arguments], false)
        } else if text.starts_with(b"...") {
            // `...additional frames elided...`, `...23 frames elided...`
            return;
        } else if text.starts_with(b"[originating from goroutine ") {
            block.in_ancestor = true;
            return;
        } else if text.starts_with(b"non-Go function") {
            let frame = self.intern_frame(b"non-Go function", b"");
            encode_frame(frame, &mut self.stack);
            return;
        } else if !text.contains(&b' ') {
            // A C function as a cgo symbolizer names it.
            (text, false)
        } else {
            self.skipped.note(number);
            return;
        };
        block.pending = Some(Pending {
            name,
            is_creator,
            line: number,
        });
    }

    /// `/path/file.go:123 +0x1d`; anything else behind a tab says nothing about a frame.
    #[inline]
    fn read_file_line(&mut self, text: &'a [u8]) {
        let Some(block) = &mut self.block else {
            return;
        };
        block.has_lines = true;
        let Some(pending) = block.pending.take() else {
            return;
        };
        // Offset and registers differ from goroutine to goroutine: keep them out of the key.
        let place = match split_file_line(text) {
            Some((_, _, rest)) => &text[..text.len() - rest.len()],
            None => text,
        };
        let frame = self.intern_frame(pending.name, place);
        match &mut self.block {
            Some(block) if pending.is_creator => block.created_by = Some(frame),
            _ => encode_frame(frame, &mut self.stack),
        }
    }

    #[inline]
    fn intern_frame(&mut self, name: &'a [u8], place: &'a [u8]) -> FrameId {
        let symbols = &mut *self.symbols;
        *self.frames.entry((name, place)).or_insert_with(|| {
            let (file, line) = match split_file_line(place) {
                Some((file, line, _)) => (file, line),
                None => (place, 0),
            };
            // The one name that tracebacks print differently from profiles.
            let name = match name {
                b"panic" => b"runtime.gopanic",
                other => other,
            };
            let name = symbols.intern_bytes(name);
            let file = symbols.intern_bytes(file);
            let function = symbols.intern_function(name, file);
            symbols.intern_frame(function, line)
        })
    }

    fn finish_block(&mut self) {
        let Some(block) = self.block.take() else {
            return;
        };
        if let Some(orphan) = block.pending {
            self.skipped.note(orphan.line);
        }
        let header = block.header;
        if header.id == 0 {
            return;
        }
        self.main_goroutines += u64::from(header.id == 1);
        let symbols = &mut *self.symbols;
        let state = *self
            .states
            .entry(header.state)
            .or_insert_with(|| symbols.intern_bytes(header.state));
        self.groups.add(GoroutineGroup {
            stack: symbols.intern_encoded_stack(&self.stack),
            created_by: block.created_by,
            state: Some(state),
            count: 1,
            leaked: u64::from(header.is_leaked),
            wait_minutes_min: Some(header.wait_minutes),
            wait_minutes_max: Some(header.wait_minutes),
        });
    }

    /// Keeps the last block if it is whole; whether the dump was cut.
    fn finish(&mut self, last: Option<Line>, len: usize) -> bool {
        let Some(last) = last else {
            return false;
        };
        let Some(block) = &self.block else {
            // After a blank line only the front of the next header tells.
            return len == RUNTIME_LIMIT || (!last.is_ended && header::is_front(last.bytes));
        };
        // Every goroutine but the first ends with its creator, and a physical frame with its
        // offset. A text without its last line end has more likely been pasted than cut there.
        let has_end = block.created_by.is_some() || block.header.id <= 1;
        let is_whole = block.pending.is_none()
            && block.has_lines
            && (last.is_ended || find(last.bytes, b" +0x").is_some())
            && (has_end || (last.is_ended && len != RUNTIME_LIMIT));
        if is_whole {
            self.finish_block();
        } else {
            self.block = None;
        }
        !is_whole || len == RUNTIME_LIMIT
    }
}

#[cfg(test)]
mod tests;
