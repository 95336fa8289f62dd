//! Rows of `top`, `tree`, `peek` and `list`.
//!
//! Knows one line at a time; how lines belong together is [`super::report`]'s.

use super::figure::{Figure, parse_figure, parse_percent, split_word};
use super::name::{Node, parse_node};

/// A row, an edge or a line of source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Row<'a> {
    /// `FLAT FLAT% SUM% CUM CUM% NAME`; in `tree` and `peek` a `|` stands before the name.
    Node {
        node: Node<'a>,
        flat: Figure,
        cum: Figure,
        /// Share of the total, in per cent, of this row and those above it.
        sum_percent: f64,
        /// Share of the total, in per cent, of `cum`.
        cum_percent: f64,
        is_in_tree: bool,
    },
    /// A row whose name stands in the next line: a window was too narrow.
    Wrapped {
        flat: Figure,
        cum: Figure,
        sum_percent: f64,
    },
    /// `WEIGHT SHARE% | NAME`: a caller above the node's own row, a callee below it.
    Edge { node: Node<'a>, weight: Figure },
}

pub(super) fn parse_row(text: &[u8]) -> Option<Row<'_>> {
    let (first, rest) = split_word(text)?;
    let first = parse_figure(first)?;
    let (percent, rest) = split_word(rest)?;
    parse_percent(percent)?;
    if let Some(name) = rest.trim_ascii_start().strip_prefix(b"|") {
        return Some(Row::Edge {
            node: parse_node(name)?,
            weight: first,
        });
    }
    let (sum, rest) = split_word(rest)?;
    let sum_percent = parse_percent(sum)?;
    let (cum, rest) = split_word(rest)?;
    let cum = parse_figure(cum)?;
    let (percent, rest) = split_word(rest)?;
    let cum_percent = parse_percent(percent)?;
    let rest = rest.trim_ascii();
    let name = rest.strip_prefix(b"|");
    Some(match parse_node(name.unwrap_or(rest)) {
        Some(node) => Row::Node {
            node,
            flat: first,
            cum,
            sum_percent,
            cum_percent,
            is_in_tree: name.is_some(),
        },
        None => Row::Wrapped {
            flat: first,
            cum,
            sum_percent,
        },
    })
}

/// `ROUTINE ======================== NAME in FILE`.
pub(super) fn parse_routine(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"ROUTINE ")?;
    let (rule, rest) = split_word(rest)?;
    if rule.len() < 4 || rule.iter().any(|byte| *byte != b'=') {
        return None;
    }
    let rest = rest.trim_ascii();
    // Neither a Go name nor a path holds that word between blanks.
    match memchr::memmem::rfind(rest, b" in ") {
        Some(at) => Some((&rest[..at], rest[at + 4..].trim_ascii())),
        None => Some((rest, b"")),
    }
}

/// `FLAT CUM (flat, cum) SHARE% of Total`.
pub(super) fn parse_routine_total(text: &[u8]) -> Option<(Figure, Figure)> {
    let (flat, cum, rest) = split_pair(text)?;
    let is_total = rest.trim_ascii_start().starts_with(b"(flat, cum)");
    is_total.then_some((flat, cum))
}

/// `FLAT CUM LINE:source`, a dot for nothing.
pub(super) fn parse_source_line(text: &[u8]) -> Option<(Figure, Figure, u32)> {
    let (flat, cum, rest) = split_pair(text)?;
    let (line, rest) = crate::profile::legacy::text::decimal(rest.trim_ascii_start())?;
    rest.starts_with(b":")
        .then_some((flat, cum, u32::try_from(line).ok()?))
}

fn split_pair(text: &[u8]) -> Option<(Figure, Figure, &[u8])> {
    let or_dot = |word: &[u8]| match word {
        b"." => Some(Figure::ZERO),
        word => parse_figure(word),
    };
    let (flat, rest) = split_word(text)?;
    let (cum, rest) = split_word(rest)?;
    Some((or_dot(flat)?, or_dot(cum)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(text: &str) -> Option<String> {
        let name = |node: Node| String::from_utf8_lossy(node.name).into_owned();
        Some(match parse_row(text.as_bytes())? {
            Row::Node {
                node,
                flat,
                cum,
                is_in_tree,
                ..
            } => {
                let bar = if is_in_tree { "|" } else { "" };
                format!("{} {} {bar}{}", flat.value, cum.value, name(node))
            }
            Row::Wrapped { flat, cum, .. } => format!("{} {} …", flat.value, cum.value),
            Row::Edge { node, weight } => format!("{} -> {}", weight.value, name(node)),
        })
    }

    #[test]
    fn rows_are_told_by_their_columns() {
        for (text, expected) in [
            (
                "  2MB 40.37% 40.37%  4MB 85.27%  main.f",
                Some("2097152 4194304 main.f"),
            ),
            (
                "2MB 40.37% 40.37% 4MB 85.27% main.f (inline)",
                Some("2097152 4194304 main.f"),
            ),
            (
                "0     0%   100%     64B  0.96%  main.g",
                Some("0 64 main.g"),
            ),
            ("2MB 40.37% 40.37% 4MB 85.27%", Some("2097152 4194304 …")),
            (
                "2MB 32% 72%  2MB 32%          | main.f",
                Some("2097152 2097152 |main.f"),
            ),
            (
                "      2MB   100% |   main.caller",
                Some("2097152 -> main.caller"),
            ),
            ("flat  flat%   sum%        cum   cum%", None),
            ("2 of 4 pods restarted", None),
            ("20% of all 3MB", None),
            ("", None),
        ] {
            assert_eq!(describe(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_listing_gives_lines() {
        let routine = b"ROUTINE ======================== main.(*T).f in /x y/main.go";
        assert_eq!(
            parse_routine(routine),
            Some((&b"main.(*T).f"[..], &b"/x y/main.go"[..]))
        );
        assert_eq!(parse_routine(b"ROUTINE maintenance"), None);
        let of_total = parse_routine_total(b"  20MB  40.44MB (flat, cum) 60.76% of Total");
        assert_eq!(of_total.map(|(flat, _)| flat.value), Some(20 << 20));
        let line = |text: &str| {
            let (flat, cum, line) = parse_source_line(text.as_bytes())?;
            Some((flat.value, cum.value, line))
        };
        assert_eq!(
            line("2MB 4MB 240: log := c.Log"),
            Some((2 << 20, 4 << 20, 240))
        );
        assert_eq!(line(".   .  51:func (p *T) f() {"), Some((0, 0, 51)));
        assert_eq!(line(".  4MB  113:"), Some((0, 4 << 20, 113)));
        assert_eq!(line(". . no line"), None);
    }
}
