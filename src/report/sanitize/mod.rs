//! The one place where untrusted text is made fit to be shown: on a terminal, in a CI log, in
//! Markdown ([`markdown`]), in HTML and SVG ([`html`]).
//!
//! Function names, paths and error messages come from files that anyone may have made. A raw
//! one could clear the screen, hide or reorder text, forge lines of a report, (OSC sequences)
//! write to the clipboard, or give commands to the CI runner that collects the output.

pub(super) mod html;
pub(super) mod markdown;

use std::borrow::Cow;
use std::fmt::Write;

/// Longest text that is shown whole, in characters; real names stay far below.
const MAX_CHARS: usize = 2000;

/// Writes characters that are not plainly visible as `\n`, `\x1b` or `\u{202e}`, and cuts
/// what is absurdly long.
///
/// Escaped are control characters (C0, C1, DEL), line and paragraph separators,
/// bidirectional marks, and characters of no width; of the marks that CI runners take for
/// commands (`::error::`, `##[error]`, `##vso[…]`) the first character. Harmless text is borrowed
/// unchanged, so escaping twice does no harm.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let cut = text.char_indices().nth(MAX_CHARS).map(|(index, _)| index);
    if cut.is_none() && !text.chars().any(is_hidden) && !has_command(text) {
        return Cow::Borrowed(text);
    }
    let shown = &text[..cut.unwrap_or(text.len())];
    let mut escaped = String::with_capacity(shown.len() + 16);
    for (index, c) in shown.char_indices() {
        match c {
            ':' | '#' if is_command(shown, index) => {
                let _ = write!(escaped, "\\x{:02x}", c as u32);
            }
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

fn has_command(text: &str) -> bool {
    let marks = text.match_indices("::").chain(text.match_indices("##"));
    marks.into_iter().any(|(index, _)| is_command(text, index))
}

/// Whether a CI runner may take what begins there for a command: GitHub's at the beginning of a
/// line (and a line may be broken before any word), those in brackets anywhere.
pub(super) fn is_command(text: &str, index: usize) -> bool {
    let (before, rest) = text.split_at(index);
    match rest.as_bytes() {
        // Part of a name: `std::vec`, `Vec<T>::push`.
        [b':', b':', ..] => {
            !before.ends_with(|c: char| c.is_alphanumeric() || "_>)]}:".contains(c))
        }
        [b'#', b'#', ..] => rest
            .trim_start_matches('#')
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
            .starts_with('['),
        _ => false,
    }
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
            | '\u{fffe}' | '\u{ffff}'     // no characters, and not allowed in XML
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
            ("::error::x", "\\x3a:error::x"),
            ("a ::set-output name=x::y", "a \\x3a:set-output name=x::y"),
            ("a##[error]b", "a\\x23#[error]b"),
            ("##vso[task.x]y", "\\x23#vso[task.x]y"),
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
            "std::vec::Vec<T>::push",
            "a ## b",
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
