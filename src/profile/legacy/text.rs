//! Lines and numbers of the text forms.
//!
//! Knows ASCII; must not know any profile's grammar. Nothing here can fail loudly: what does not
//! fit is `None`, and numbers that are too big saturate.

use crate::profile::ProfileWarning;

/// One line without its end (`\n` or `\r\n`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::profile) struct Line<'a> {
    /// 1-based.
    pub number: usize,
    pub bytes: &'a [u8],
    /// Whether a line end followed; only the last line of a text can lack it.
    pub is_ended: bool,
}

/// The lines of a text; a trailing line end does not start another line.
#[derive(Debug, Clone)]
pub(in crate::profile) struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            number: 0,
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (bytes, is_ended) = match find_newline(self.rest) {
            Some(end) => {
                let bytes = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                (bytes, true)
            }
            None => (std::mem::take(&mut self.rest), false),
        };
        Some(Line {
            number: self.number,
            bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
            is_ended,
        })
    }
}

/// Eight bytes at a time: dumps of tens of megabytes are split with this.
#[inline]
fn find_newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    const NEWLINES: u64 = ONES * b'\n' as u64;
    let (chunks, tail) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        // A byte of `zeroed` is 0 where the text has a newline; the lowest flag is exact.
        let zeroed = u64::from_le_bytes(*chunk) ^ NEWLINES;
        let flags = zeroed.wrapping_sub(ONES) & !zeroed & HIGHS;
        if flags != 0 {
            return Some(index * 8 + (flags.trailing_zeros() / 8) as usize);
        }
    }
    let offset = tail.iter().position(|byte| *byte == b'\n')?;
    Some(bytes.len() - tail.len() + offset)
}

/// Lines that no rule understood.
#[derive(Debug, Default)]
pub(in crate::profile) struct Skipped {
    count: u64,
    first: usize,
}

impl Skipped {
    pub fn note(&mut self, line: usize) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }

    /// 1-based number of the first skipped line.
    pub fn first(&self) -> Option<usize> {
        (self.count > 0).then_some(self.first)
    }

    pub fn warning(&self) -> Option<ProfileWarning> {
        self.first().map(|first| ProfileWarning::SkippedLines {
            count: self.count,
            first,
        })
    }
}

/// Reads one line from left to right; every method skips blanks first.
#[derive(Debug, Clone, Copy)]
pub(in crate::profile) struct Cursor<'a> {
    pub rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// Steps over `literal`, or stays.
    pub fn eat(&mut self, literal: &[u8]) -> Option<()> {
        self.rest = self.rest.trim_ascii_start().strip_prefix(literal)?;
        Some(())
    }

    /// A run of decimal digits.
    pub fn unsigned(&mut self) -> Option<u64> {
        let (value, rest) = decimal(self.rest.trim_ascii_start())?;
        self.rest = rest;
        Some(value)
    }

    /// Decimal digits with an optional minus sign.
    pub fn signed(&mut self) -> Option<i64> {
        let text = self.rest.trim_ascii_start();
        let digits = text.strip_prefix(b"-");
        let (value, rest) = decimal(digits.unwrap_or(text))?;
        self.rest = rest;
        Some(match digits {
            Some(_) => 0i64.saturating_sub_unsigned(value),
            None => saturate(value),
        })
    }

    /// `0x` and hexadecimal digits; `None` as well when they do not fit 64 bits.
    pub fn address(&mut self) -> Option<u64> {
        let text = self.rest.trim_ascii_start().strip_prefix(b"0x")?;
        let len = text
            .iter()
            .position(|byte| !byte.is_ascii_hexdigit())
            .unwrap_or(text.len());
        let value = hexadecimal(&text[..len])?;
        self.rest = &text[len..];
        Some(value)
    }

    /// Whether only blanks are left.
    pub fn is_done(&self) -> bool {
        self.rest.trim_ascii_start().is_empty()
    }
}

/// The decimal digits at the front and what follows them.
pub(in crate::profile) fn decimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let len = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    if len == 0 {
        return None;
    }
    let value = text[..len].iter().fold(0u64, |value, digit| {
        value
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    });
    Some((value, &text[len..]))
}

/// All of `digits` as a hexadecimal number.
pub(in crate::profile) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        (value >> 60 == 0).then_some(value << 4 | u64::from(digit))
    })
}

/// A count that does not fit is as big as it can be.
pub(in crate::profile) fn saturate(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Splits `path/file.go:123…` behind the number: file, line number, what follows.
/// The number follows the last colon, so a drive letter (`C:/…`) does no harm.
pub(in crate::profile) fn split_file_line(text: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    let (line, rest) = decimal(&text[colon + 1..])?;
    Some((
        &text[..colon],
        u32::try_from(line).unwrap_or(u32::MAX),
        rest,
    ))
}

/// Where `needle` begins.
pub(in crate::profile) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_newline_crlf_or_the_text() {
        for (text, expected) in [
            (&b""[..], &[][..]),
            (b"\n", &[(&b""[..], true)][..]),
            (b"a", &[(b"a", false)]),
            (b"a\r\n\r\nb\n", &[(b"a", true), (b"", true), (b"b", true)]),
            (
                b"12345678\n1234567\n12345678901234567",
                &[
                    (b"12345678", true),
                    (b"1234567", true),
                    (b"12345678901234567", false),
                ],
            ),
            // 0x0b after 0x0a: the borrow of the byte-wise subtraction must not hit.
            (
                b"\x0a\x0b\x0a\x8a",
                &[(b"", true), (b"\x0b", true), (b"\x8a", false)],
            ),
        ] {
            let lines: Vec<_> = Lines::new(text).map(|l| (l.bytes, l.is_ended)).collect();
            assert_eq!(lines, expected, "{text:?}");
        }
    }

    #[test]
    fn newlines_are_found_at_every_offset() {
        for len in 0..40 {
            for at in 0..len {
                let mut text = vec![0x0bu8; len];
                text[at] = b'\n';
                assert_eq!(find_newline(&text), Some(at));
                assert_eq!(find_newline(&text[..at]), None);
            }
        }
    }

    #[test]
    fn numbers_saturate_and_reject() {
        let signed = |text: &str| Cursor::new(text.as_bytes()).signed();
        assert_eq!(signed("  -12:"), Some(-12));
        assert_eq!(signed("9223372036854775808"), Some(i64::MAX));
        assert_eq!(signed("99999999999999999999999999"), Some(i64::MAX));
        assert_eq!(signed("-99999999999999999999999999"), Some(i64::MIN));
        assert_eq!(signed("-"), None);
        let address = |text: &str| Cursor::new(text.as_bytes()).address();
        assert_eq!(address(" 0xFfffffffffffffff "), Some(u64::MAX));
        assert_eq!(address("0x10000000000000000"), None);
        assert_eq!(address("0x"), None);
        assert_eq!(address("12"), None);
    }

    #[test]
    fn file_and_line_split_at_the_last_colon() {
        for (text, expected) in [
            ("/a/b.go:12 +0x1d", Some(("/a/b.go", 12, " +0x1d"))),
            ("C:/x y/b.go:7", Some(("C:/x y/b.go", 7, ""))),
            (
                "<autogenerated>:1 +0x2",
                Some(("<autogenerated>", 1, " +0x2")),
            ),
            ("b.go:99999999999", Some(("b.go", u32::MAX, ""))),
            ("b.go:", None),
            ("goroutine running on other thread", None),
        ] {
            let expected =
                expected.map(|(f, l, r): (&str, u32, &str)| (f.as_bytes(), l, r.as_bytes()));
            assert_eq!(split_file_line(text.as_bytes()), expected, "{text}");
        }
    }
}
