//! The memory map at the end of C and C++ text profiles, to name the file of an address.
//!
//! Three line forms: `/proc/self/maps`, gperftools' brief `start-end: file`, and `name=value`
//! assignments whose `$name` the following lines use.

use super::text::{Cursor, Lines, hexadecimal};
use std::borrow::Cow;

/// Words that begin the map section.
const SENTINELS: [&[u8]; 2] = [b"--- Memory map: ---", b"MAPPED_LIBRARIES:"];

/// Whether the map section begins at this line.
pub(super) fn is_sentinel(line: &[u8]) -> bool {
    SENTINELS.iter().any(|sentinel| line.starts_with(sentinel))
}

/// Executable mappings, sorted by start.
#[derive(Debug, Default)]
pub(in crate::profile) struct MemoryMap {
    mappings: Vec<Mapping>,
    /// The mapping that comes first in the text.
    first: Option<Mapping>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    file: Vec<u8>,
}

impl MemoryMap {
    /// Reads the section of `text` that follows a sentinel; without one the map is empty.
    pub fn find_in(text: &[u8]) -> Self {
        let mut lines = Lines::new(text);
        let mut map = Self::default();
        if !lines.any(|line| is_sentinel(line.bytes.trim_ascii())) {
            return map;
        }
        let mut variables: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for line in lines {
            let line = substitute(line.bytes.trim_ascii(), &variables);
            if let Some(mapping) = parse_mapping(&line) {
                map.mappings.extend(mapping);
            } else if let Some(equals) = line.iter().position(|byte| *byte == b'=')
                && variables.len() < MAX_VARIABLES
            {
                let name = line[..equals].trim_ascii().to_vec();
                variables.push((name, line[equals + 1..].trim_ascii().to_vec()));
            }
        }
        map.first = map.mappings.first().cloned();
        map.mappings.sort_by_key(|mapping| mapping.start);
        map
    }

    /// The file mapped at `address`; empty if unknown.
    pub fn file_at(&self, address: u64) -> &[u8] {
        let after = self.mappings.partition_point(|m| m.start <= address);
        match after.checked_sub(1).map(|index| &self.mappings[index]) {
            Some(mapping) if address < mapping.end => &mapping.file,
            _ => &[],
        }
    }

    /// The file of the first mapping: the program itself.
    pub fn main_file(&self) -> &[u8] {
        self.first.as_ref().map_or(&[], |mapping| &mapping.file)
    }
}

/// A map names a handful; a hostile text must not make substitution quadratic.
const MAX_VARIABLES: usize = 16;

/// Replaces the first `$name` of a line; values are not expanded again.
fn substitute<'a>(line: &'a [u8], variables: &[(Vec<u8>, Vec<u8>)]) -> Cow<'a, [u8]> {
    let Some(dollar) = line.iter().position(|byte| *byte == b'$') else {
        return Cow::Borrowed(line);
    };
    let tail = &line[dollar + 1..];
    for (name, value) in variables.iter().rev() {
        if !name.is_empty() && tail.starts_with(name) {
            return Cow::Owned([&line[..dollar], value, &tail[name.len()..]].concat());
        }
    }
    Cow::Borrowed(line)
}

/// `None`: not a mapping. `Some(None)`: a mapping without code.
fn parse_mapping(line: &[u8]) -> Option<Option<Mapping>> {
    let (start, rest) = split_hexadecimal(line)?;
    let (end, rest) = split_hexadecimal(rest.strip_prefix(b"-")?)?;
    let file = match rest.strip_prefix(b":") {
        Some(file) => file,
        None => {
            let mut fields = rest.trim_ascii_start().splitn(2, u8::is_ascii_whitespace);
            let permissions = fields.next()?;
            if !permissions.iter().all(|byte| b"-rwxps".contains(byte)) {
                return None;
            }
            if !permissions.contains(&b'x') {
                return Some(None);
            }
            // offset, device, inode, then the file, which may be missing or hold blanks.
            let mut cursor = Cursor::new(fields.next()?);
            for _ in 0..3 {
                let field = cursor.rest.trim_ascii_start();
                let len = field.iter().position(u8::is_ascii_whitespace);
                cursor.rest = &field[len.unwrap_or(field.len())..];
            }
            cursor.rest
        }
    };
    let file = file.trim_ascii();
    let file = file.strip_suffix(b" (deleted)").unwrap_or(file);
    Some(Some(Mapping {
        start,
        end,
        file: file.to_vec(),
    }))
}

fn split_hexadecimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let len = text.iter().position(|byte| !byte.is_ascii_hexdigit())?;
    Some((hexadecimal(&text[..len])?, &text[len..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_form_is_read() {
        let map = MemoryMap::find_in(
            b"1: 2 [3: 4] @ 0x1\n--- Memory map: ---\n\tsource=/home\n  00400000-00fcb000: $source/server\r\n\
              7f00-7f80 r--p 00000000 00:11 489 /lib/data.so\n\
              7f80-7fff r-xp 00181000 00:11 489      /lib/with blank.so (deleted)\n\
              8000-8001 r-xp 00000000 00:00 0\n\
              ffffffffff600000-ffffffffff601000: [vsyscall]\nzz-1: no\n12-\n-\n",
        );
        for (address, file) in [
            (0x3fffff, ""),
            (0x400000, "/home/server"),
            (0xfcafff, "/home/server"),
            (0xfcb000, ""),
            (0x7f00, ""),
            (0x7f80, "/lib/with blank.so"),
            (0x8000, ""),
            (0xffff_ffff_ff60_0000, "[vsyscall]"),
            (u64::MAX, ""),
        ] {
            let seen = String::from_utf8_lossy(map.file_at(address)).into_owned();
            assert_eq!(seen, file, "{address:#x}");
        }
        assert_eq!(map.main_file(), b"/home/server");
        assert_eq!(MemoryMap::find_in(b"400000-500000: /x\n").main_file(), b"");
    }
}
