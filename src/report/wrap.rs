//! Running text → lines of a width.

use unicode_width::UnicodeWidthStr;

/// Columns that a text takes on a terminal.
pub(super) fn width_of(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Breaks a text at spaces, but never between a figure and its unit; a word that is wider
/// than a line is broken after a `/` or a dot, or where it must be. At least one line comes out.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in glued_words(text) {
        let mut word = word.as_str();
        let gap = usize::from(used > 0);
        if used + gap + width_of(word) > width && used > 0 {
            lines.push(String::new());
            used = 0;
        }
        while width_of(word) > width {
            let (head, tail) = word.split_at(break_of(word, width));
            push(&mut lines, head);
            lines.push(String::new());
            word = tail;
        }
        if used > 0 {
            push(&mut lines, " ");
            used += 1;
        }
        push(&mut lines, word);
        used += width_of(word);
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Joins pieces with two spaces, as many a line as fit; a piece is never broken, empty ones
/// are left out.
pub(super) fn flow(pieces: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        match lines.last_mut() {
            Some(line) if width_of(line) + 2 + width_of(piece) <= width => {
                line.push_str("  ");
                line.push_str(piece);
            }
            _ => lines.push(piece.clone()),
        }
    }
    lines
}

/// Words that stay on the line of the figure before them.
const UNITS: &[&str] = &[
    "B", "KiB", "MiB", "GiB", "TiB", "B/h", "KiB/h", "MiB/h", "GiB/h", "TiB/h", "%", "s", "min",
    "h", "d",
];

/// The words of a text, a figure and its unit as one.
fn glued_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(last) if last.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&bare) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Where a word of more than `width` columns is broken.
fn break_of(word: &str, width: usize) -> usize {
    let longest = prefix_of_width(word, width);
    match word[..longest].rfind(['/', '.', ',']) {
        Some(boundary) if (boundary + 1) * 2 > longest => boundary + 1,
        _ => longest,
    }
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

/// Length in bytes of the longest prefix that is no wider than `width`; at least one character.
fn prefix_of_width(text: &str, width: usize) -> usize {
    let ends = text
        .char_indices()
        .skip(1)
        .map(|(index, _)| index)
        .chain([text.len()]);
    let mut longest = text.chars().next().map_or(0, char::len_utf8);
    for end in ends {
        if width_of(&text[..end]) > width {
            break;
        }
        longest = end;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces() {
        assert_eq!(
            wrap("one two  three\nfour", 9),
            ["one two", "three", "four"]
        );
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("exactly 9", 9), ["exactly 9"]);
    }

    #[test]
    fn long_words_are_broken_where_they_must() {
        assert_eq!(wrap("ab abcdefgh x", 4), ["ab", "abcd", "efgh", "x"]);
        assert_eq!(wrap("abcdefgh", 4), ["abcd", "efgh"]);
        assert_eq!(wrap("函数函数", 5), ["函数", "函数"]);
        assert_eq!(wrap("函", 1), ["函"]);
        assert_eq!(
            wrap("example.com/policy.(*T).f", 22),
            ["example.com/policy.", "(*T).f"]
        );
    }

    #[test]
    fn pieces_stay_whole() {
        let pieces = ["1.0 → 2.0", "", "+1.0", "▁█"].map(str::to_owned);
        assert_eq!(flow(&pieces, 15), ["1.0 → 2.0  +1.0", "▁█"]);
        assert_eq!(flow(&pieces, 3), ["1.0 → 2.0", "+1.0", "▁█"]);
        assert!(flow(&[], 3).is_empty());
    }

    #[test]
    fn figures_keep_their_units() {
        assert_eq!(
            wrap("grew by 12.3 MiB, a lot", 14),
            ["grew by", "12.3 MiB, a", "lot"]
        );
        assert_eq!(
            wrap("6 snapshots in 50 min", 12),
            ["6 snapshots", "in 50 min"]
        );
        assert_eq!(wrap("after 50 min", 9), ["after", "50 min"]);
    }
}
