//! One line of a paste without what chats, mails and terminals put around it.
//!
//! Knows quote marks, colours, prompts and fences; must not know any report's grammar.

use std::borrow::Cow;

/// pprof's own prompt, which stands before the first line of an answer.
const PROMPT: &[u8] = b"(pprof)";

/// A line without colours, quote marks (`> `) and pprof's prompt; tabs and indentation stay.
pub(super) fn clean(line: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr3(0x1b, 0xc2, 0xe2, line) {
        Some(first) => Cow::Owned(without_marks(&plain(line, first)).to_vec()),
        None => Cow::Borrowed(without_marks(line)),
    }
}

/// Whether the line opens or closes a block of a chat or a wiki.
pub(super) fn is_fence(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.starts_with(b"```") || text.starts_with(b"~~~")
}

fn without_marks(line: &[u8]) -> &[u8] {
    let mut rest = line;
    loop {
        let text = rest.trim_ascii_start();
        if let Some(quoted) = text.strip_prefix(b">") {
            rest = quoted.strip_prefix(b" ").unwrap_or(quoted);
        } else if let Some(answer) = text.strip_prefix(PROMPT) {
            rest = answer.strip_prefix(b" ").unwrap_or(answer);
        } else {
            return rest;
        }
    }
}

/// Drops escape sequences and invisible characters; blanks of other widths become spaces.
fn plain(line: &[u8], first: usize) -> Vec<u8> {
    let mut out = line[..first].to_vec();
    let mut rest = &line[first..];
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match byte {
            0x1b => after_escape(tail),
            0xc2 if tail.first() == Some(&0xa0) => {
                out.push(b' ');
                &tail[1..]
            }
            // Zero-width characters.
            0xe2 if matches!(tail, [0x80, 0x8b..=0x8f, ..] | [0x81, 0xa0, ..]) => &tail[2..],
            _ => {
                out.push(byte);
                tail
            }
        };
    }
    out
}

/// What follows an escape sequence (ECMA-48: control sequences, strings, or one character).
fn after_escape(rest: &[u8]) -> &[u8] {
    let end = match rest.first() {
        Some(b'[') => rest[1..]
            .iter()
            .position(|byte| (0x40..=0x7e).contains(byte))
            .map(|at| at + 2),
        Some(b']' | b'P' | b'_' | b'^') => {
            let bell = rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b));
            bell.map(|at| match rest[at] {
                0x07 => at + 1,
                _ => (at + 2).min(rest.len()),
            })
        }
        Some(_) => Some(1),
        None => Some(0),
    };
    &rest[end.unwrap_or(rest.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_around_a_line_go_and_the_line_stays() {
        for (line, expected) in [
            ("  21MB 40%", "  21MB 40%"),
            ("> > \t/a.go:1", "\t/a.go:1"),
            (">> x", "x"),
            ("(pprof) Showing nodes", "Showing nodes"),
            ("> (pprof) (pprof) top", "top"),
            ("\u{1b}[1;31m21MB\u{1b}[0m x", "21MB x"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ y", "link y"),
            ("a\u{a0}b\u{200b}c", "a bc"),
            ("é\u{2014}", "é\u{2014}"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("", ""),
        ] {
            let seen = String::from_utf8(clean(line.as_bytes()).into_owned());
            assert_eq!(seen.as_deref(), Ok(expected), "{line:?}");
        }
        assert!(is_fence(b"  ```text") && !is_fence(b"`` `"));
    }
}
