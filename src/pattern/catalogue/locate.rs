//! Where in a file a value stands, so that an error can point at it.

use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A way into a TOML document: keys, and numbers of array elements.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'p> {
    /// A key of a table.
    Key(&'p str),
    /// An element of an array.
    Index(usize),
}

/// Line and column (1-based, columns in characters) of a byte offset.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

/// Line and column of a value; of the nearest table around it when it is not written down;
/// of the file's start when even that is not.
pub(super) fn locate(text: &str, steps: &[Step]) -> (usize, usize) {
    position(text, find(text, steps).map_or(0, |span| span.start))
}

fn find(text: &str, steps: &[Step]) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let root = DeValue::Table(document.into_inner());
    let mut value = &root;
    let mut span = None;
    for step in steps {
        let next = match (step, value) {
            (Step::Key(key), DeValue::Table(table)) => table
                .iter()
                .find(|(known, _)| known.get_ref() == key)
                .map(|(_, value)| value),
            (Step::Index(index), DeValue::Array(array)) => array.get(*index),
            _ => None,
        };
        let Some(next) = next else { break };
        span = Some(next.span());
        value = next.get_ref();
    }
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("ab\ncd", 4), (2, 2));
        assert_eq!(position("ä = 1", 2), (1, 2), "a character, not a byte");
        assert_eq!(position("ä", 1), (1, 1), "within a character");
        assert_eq!(position("a\n", 99), (2, 1), "past the end");
    }

    #[test]
    fn values_are_found_by_their_way() {
        let text = "a = 1\n[[b]]\nc = [1, 2]\n[[b]]\nc = [3]\n";
        let key = Step::Key;
        let at = Step::Index;
        assert_eq!(locate(text, &[key("a")]), (1, 5));
        assert_eq!(locate(text, &[key("b"), at(0), key("c"), at(1)]), (3, 9));
        assert_eq!(locate(text, &[key("b"), at(1), key("c")]), (5, 5));
        assert_eq!(
            locate(text, &[key("b"), at(1), key("d")]),
            (4, 1),
            "its table"
        );
        assert_eq!(locate(text, &[key("z")]), (1, 1));
        assert_eq!(locate("not = = toml", &[key("z")]), (1, 1));
    }
}
