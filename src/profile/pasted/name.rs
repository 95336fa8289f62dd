//! What stands in the last column: a function, with its address and line where they were asked for.

use super::figure::split_word;
use crate::profile::legacy::text::split_file_line;

/// A node of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node<'a> {
    /// The function without marks of inlining; an address where it has no name.
    pub name: &'a [u8],
    /// Empty if the report does not say.
    pub file: &'a [u8],
    /// 0 if the report does not say.
    pub line: u32,
}

/// `[ADDRESS] NAME [FILE:LINE[:COLUMN]] [(inline)]`.
pub(super) fn parse_node(text: &[u8]) -> Option<Node<'_>> {
    let text = without_inlining(text.trim_ascii());
    let text = match split_word(text) {
        Some((address, rest)) if is_address(address) && !rest.trim_ascii().is_empty() => {
            rest.trim_ascii()
        }
        _ => text,
    };
    if text.is_empty() {
        return None;
    }
    let (name, file, line) = split_place(text);
    Some(Node { name, file, line })
}

/// Splits `NAME FILE:LINE`, where type arguments within a name may hold blanks.
pub(super) fn split_place(text: &[u8]) -> (&[u8], &[u8], u32) {
    let Some(blank) = first_blank(text) else {
        return (text, b"", 0);
    };
    let (name, place) = (&text[..blank], text[blank..].trim_ascii());
    match parse_place(place) {
        Some((file, line)) => (name, file, line),
        // `operator new`, and other languages' names.
        None => (text, b"", 0),
    }
}

/// `FILE:LINE` or `FILE:LINE:COLUMN`.
pub(super) fn parse_place(place: &[u8]) -> Option<(&[u8], u32)> {
    let (file, line, rest) = split_file_line(place)?;
    if !rest.is_empty() {
        return None;
    }
    match split_file_line(file) {
        Some((file, line, b"")) => Some((file, line)),
        _ => Some((file, line)),
    }
}

fn without_inlining(text: &[u8]) -> &[u8] {
    let marks: [&[u8]; 2] = [b" (inline)", b" (partial-inline)"];
    let found = marks.iter().find_map(|mark| text.strip_suffix(*mark));
    found.unwrap_or(text).trim_ascii_end()
}

fn is_address(word: &[u8]) -> bool {
    word.len() == 16 && word.iter().all(u8::is_ascii_hexdigit)
}

/// The first blank outside of brackets.
fn first_blank(text: &[u8]) -> Option<usize> {
    let mut depth = 0i32;
    text.iter().position(|byte| {
        match byte {
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth -= 1,
            _ => {}
        }
        depth <= 0 && byte.is_ascii_whitespace()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_is_not_theirs() {
        for (text, expected) in [
            ("main.f", ("main.f", "", 0)),
            (
                "bufio.NewReaderSize (inline)",
                ("bufio.NewReaderSize", "", 0),
            ),
            ("a.(*T).f (partial-inline)", ("a.(*T).f", "", 0)),
            (
                "0000000000fc115a a/log.(*p).With a/log@v0.6.2/deleg.go:52",
                ("a/log.(*p).With", "a/log@v0.6.2/deleg.go", 52),
            ),
            (
                "main.f /x/main.go:12:7 (inline)",
                ("main.f", "/x/main.go", 12),
            ),
            (
                "main.Map[go.shape.struct { A []int; B string }].Get m.go:3",
                (
                    "main.Map[go.shape.struct { A []int; B string }].Get",
                    "m.go",
                    3,
                ),
            ),
            ("operator new", ("operator new", "", 0)),
            ("0000000000fc115a", ("0000000000fc115a", "", 0)),
            ("0000000000fc115a [libc.so.6]", ("[libc.so.6]", "", 0)),
            ("main.f~r0", ("main.f~r0", "", 0)),
            (
                "x/vendor/gopkg.in/yaml%2ev2.F",
                ("x/vendor/gopkg.in/yaml%2ev2.F", "", 0),
            ),
        ] {
            let node = parse_node(text.as_bytes()).expect(text);
            let part = |bytes| std::str::from_utf8(bytes).unwrap_or("?");
            assert_eq!((part(node.name), part(node.file), node.line), expected);
        }
        assert_eq!(parse_node(b"  "), None);
    }
}
