//! Running text → lines of a width.

use unicode_width::UnicodeWidthStr;

/// Columns that a text takes on a terminal.
pub(super) fn width_of(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Breaks a text at spaces; a word that is wider than a line is broken where it must be.
/// At least one line comes out.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word = word;
        let gap = usize::from(used > 0);
        if used + gap + width_of(word) > width && used > 0 {
            lines.push(String::new());
            used = 0;
        }
        while width_of(word) > width {
            let (head, tail) = word.split_at(prefix_of_width(word, width));
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

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

/// Length in bytes of the longest prefix that is no wider than `width`; at least one character.
fn prefix_of_width(text: &str, width: usize) -> usize {
    let ends = text.char_indices().skip(1).map(|(index, _)| index).chain([text.len()]);
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
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("exactly 9", 9), ["exactly 9"]);
    }

    #[test]
    fn long_words_are_broken_where_they_must() {
        assert_eq!(wrap("ab abcdefgh x", 4), ["ab", "abcd", "efgh", "x"]);
        assert_eq!(wrap("abcdefgh", 4), ["abcd", "efgh"]);
        assert_eq!(wrap("函数函数", 5), ["函数", "函数"]);
        assert_eq!(wrap("函", 1), ["函"]);
    }
}
