//! The one place where untrusted text is made fit for a terminal.
//!
//! Function names, paths and error messages come from files that anyone may have made. A raw
//! one could clear the screen, hide or reorder text, forge lines of a report, or (OSC
//! sequences) write to the clipboard.

use std::borrow::Cow;
use std::fmt::Write;

/// Longest text that is shown whole, in characters; real names stay far below.
const MAX_CHARS: usize = 2000;

/// Writes characters that are not plainly visible as `\n`, `\x1b` or `\u{202e}`, and cuts
/// what is absurdly long.
///
/// Escaped are control characters (C0, C1, DEL), line and paragraph separators,
/// bidirectional marks, and characters of no width. Harmless text is borrowed unchanged, so
/// escaping twice does no harm.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let cut = text.char_indices().nth(MAX_CHARS).map(|(index, _)| index);
    if cut.is_none() && !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = &text[..cut.unwrap_or(text.len())];
    let mut escaped = String::with_capacity(shown.len() + 16);
    for c in shown.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            // Writing to a string cannot fail.
            c if is_hidden(c) && c.is_ascii() => {
                let _ = write!(escaped, "\\x{:02x}", c as u32);
            }
            c if is_hidden(c) => {
                let _ = write!(escaped, "\\u{{{:x}}}", c as u32);
            }
            c => escaped.push(c),
        }
    }
    if cut.is_some() {
        let _ = write!(escaped, "… ({} more bytes)", text.len() - shown.len());
    }
    Cow::Owned(escaped)
}

/// Whether a character is not plainly visible where it stands.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'                      // soft hyphen
            | '\u{34f}'                   // combining grapheme joiner
            | '\u{61c}'                   // Arabic letter mark
            | '\u{115f}' | '\u{1160}'     // Hangul fillers
            | '\u{17b4}' | '\u{17b5}'     // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}'     // Mongolian selectors
            | '\u{200b}'..='\u{200f}'     // zero-width spaces and joiners, direction marks
            | '\u{2028}'..='\u{202e}'     // line separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}'     // word joiner, isolates
            | '\u{2800}'                  // blank Braille cell
            | '\u{3164}' | '\u{ffa0}'     // Hangul fillers
            | '\u{fe00}'..='\u{fe0f}'     // variation selectors
            | '\u{feff}'                  // byte order mark
            | '\u{fff0}'..='\u{fffb}'     // interlinear annotation
            | '\u{1d173}'..='\u{1d17a}'   // musical format characters
            | '\u{e0000}'..='\u{e0fff}'   // tags, more variation selectors
            | '\u{e000}'..='\u{f8ff}'     // private use: shown as anything
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_made_visible() {
        for (hostile, shown) in [
            ("a\x1b[2Jb", "a\\x1b[2Jb"),
            ("\x1b]52;c;cm0gLXJm\x07", "\\x1b]52;c;cm0gLXJm\\x07"),
            ("x\u{9b}31m", "x\\u{9b}31m"),
            ("main.f\nLEAK forged", "main.f\\nLEAK forged"),
            ("a\r\tb\0\x7f", "a\\r\\tb\\x00\\x7f"),
            ("ab\u{202e}cd\u{2066}", "ab\\u{202e}cd\\u{2066}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{2028}b", "a\\u{2028}b"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(sanitize(hostile), shown);
            assert_eq!(
                sanitize(&sanitize(hostile)),
                shown,
                "escaping twice changes nothing"
            );
        }
    }

    #[test]
    fn honest_names_are_left_alone() {
        for name in [
            "main.(*T).f",
            "包.函数",
            "naïve::café<T>",
            "a→b",
            "C:\\x\\n",
        ] {
            assert!(matches!(sanitize(name), Cow::Borrowed(same) if same == name));
        }
    }

    #[test]
    fn absurd_lengths_are_cut_and_told() {
        let shown = sanitize(&"é".repeat(5000)).into_owned();
        assert!(
            shown.ends_with("é… (6000 more bytes)"),
            "{}",
            &shown[shown.len() - 40..]
        );
    }
}
