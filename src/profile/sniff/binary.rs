//! Binary content: profile.proto, or which other file.

use super::Form;
use crate::profile::ProfileError;

/// The last field of `profile.proto` (`doc_url`).
const LAST_FIELD: u64 = 15;
/// Fields looked at; random bytes do not get that far.
const FIELDS_CHECKED: usize = 8;
/// Longest message or string that a cut file may claim beyond its end.
const LONGEST_CUT_FIELD: u64 = 16 << 20;

/// First bytes of files that people hand in by mistake.
const MAGIC: [(&[u8], &str); 13] = [
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xca\xfe\xba\xbe", "a Mach-O program or a Java class"),
    (b"PK\x03\x04", "a zip archive"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"\x89PNG", "a PNG image"),
    (b"%PDF", "a PDF"),
    (b"PERFILE2", "a perf.data file"),
    (
        b"\x1f\xef\xbf\xbd",
        "a gzip file whose bytes a text conversion has destroyed",
    ),
    (b"\x1f\x8b", "a gzip file inside a compressed file"),
    (b"SQLite format 3\0", "an SQLite database"),
];

pub(super) fn recognise(bytes: &[u8]) -> Result<Form, ProfileError> {
    let unsupported = |what| Err(ProfileError::Unsupported { what });
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return unsupported("UTF-16 text (PowerShell's `>` writes it)");
    }
    if bytes.starts_with(b"go1.7 heap dump\n") || bytes.starts_with(b"go1.") && is_heap_dump(bytes)
    {
        return unsupported("a heap dump of `debug.WriteHeapDump`");
    }
    if bytes.starts_with(b"JAVA PROFILE 1.0") {
        return unsupported("a Java heap dump (hprof)");
    }
    if bytes.starts_with(b"go 1.") {
        return Err(other_kind("Go execution trace"));
    }
    if is_legacy_cpu(bytes) {
        return Err(other_kind("CPU"));
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(ProfileError::NotAProfile { what });
    }
    if is_pprof(bytes) {
        return Ok(Form::PprofProto);
    }
    Err(ProfileError::NotAProfile {
        what: "a binary file of an unknown kind",
    })
}

fn other_kind(kind: &str) -> ProfileError {
    ProfileError::OtherKind {
        kind: kind.to_owned(),
    }
}

fn is_heap_dump(bytes: &[u8]) -> bool {
    let front = &bytes[..bytes.len().min(32)];
    memchr::memmem::find(front, b" heap dump\n").is_some()
}

/// gperftools' binary form: words 0, 3, 0 (1 for Java), period, 0, of 4 or 8 bytes, either order.
fn is_legacy_cpu(bytes: &[u8]) -> bool {
    [4, 8].into_iter().any(|size| {
        let Some(head) = bytes.get(..5 * size) else {
            return false;
        };
        let matches = |big_endian: bool| {
            let mut words = head.chunks_exact(size).map(|word| {
                let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
                if big_endian {
                    word.iter().fold(0, fold)
                } else {
                    word.iter().rev().fold(0, fold)
                }
            });
            let mut next = || words.next().unwrap_or(u64::MAX);
            next() == 0 && next() == 3 && next() <= 1 && next() > 0 && next() == 0
        };
        matches(false) || matches(true)
    })
}

/// Whether the first fields have numbers and wire types of `profile.proto`.
///
/// A file that ends inside a field passes, so that the decoder can say that it is cut. A field
/// number that is not in `profile.proto` passes behind a first one that is: writers may add some.
fn is_pprof(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    for index in 0..FIELDS_CHECKED {
        if rest.is_empty() {
            return index > 0;
        }
        let tag = match read_varint(&mut rest) {
            Varint::Value(tag) => tag,
            Varint::Cut => return index > 0,
            Varint::TooLong => return false,
        };
        let (field, wire_type) = (tag >> 3, tag & 7);
        let is_plausible = match field {
            0 => false,
            // Messages, and the string table.
            1..=6 | 11 => wire_type == 2,
            7..=10 | 12 | 14 => wire_type == 0,
            // `comment`, packed or not.
            13 => wire_type == 0 || wire_type == 2,
            LAST_FIELD => wire_type == 2 || wire_type == 0,
            _ => index > 0 && matches!(wire_type, 0 | 1 | 2 | 5),
        };
        if !is_plausible {
            return false;
        }
        let len = match wire_type {
            0 => match read_varint(&mut rest) {
                Varint::Value(_) => 0,
                Varint::Cut => return true,
                Varint::TooLong => return false,
            },
            1 => 8,
            5 => 4,
            _ => match read_varint(&mut rest) {
                Varint::Value(len) => len,
                Varint::Cut => return true,
                Varint::TooLong => return false,
            },
        };
        match usize::try_from(len).ok().and_then(|len| rest.get(len..)) {
            Some(after) => rest = after,
            None => return len <= LONGEST_CUT_FIELD,
        }
    }
    true
}

enum Varint {
    Value(u64),
    Cut,
    TooLong,
}

fn read_varint(bytes: &mut &[u8]) -> Varint {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let Some((&byte, rest)) = bytes.split_first() else {
            return Varint::Cut;
        };
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Varint::Value(value);
        }
    }
    Varint::TooLong
}
