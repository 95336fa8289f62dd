//! The catalogue's pages for people: lists, the hits of a search, and one page, wrapped at the
//! width of the terminal.

use super::Layout;
use super::printer::{Printer, Role, Span};
use super::sanitize;
use super::wrap::width_of;
use crate::pattern::{Block, Entry, Found, reference_url};

/// Heading of the list of patterns, and of the other one.
const LEAKS: &str = "LEAK PATTERNS";
const NOT_A_LEAK: &str = "NOT A LEAK OF THE HEAP";

/// All pages, one a line: patterns, then what is not a leak.
pub fn entry_list(entries: &[Entry], layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    let column = column_of(entries.iter());
    for (heading, is_leak) in [(LEAKS, true), (NOT_A_LEAK, false)] {
        let mut of_kind = entries
            .iter()
            .filter(|entry| entry.is_leak() == is_leak)
            .peekable();
        if of_kind.peek().is_none() {
            continue;
        }
        printer.gap();
        printer.line(0, &[Span::new(Role::Strong, heading)]);
        for entry in of_kind {
            printer.labelled(0, column, entry.name(), entry.title());
        }
    }
    printer.gap();
    for hint in [
        "heapdrift explain NAME prints the page of one.",
        "heapdrift explain --search WORD finds the pages that mention something.",
    ] {
        printer.line(0, &[Span::new(Role::Faint, hint)]);
    }
    printer.finish()
}

/// The pages that mention a word, each with the places.
pub fn search_list(word: &str, hits: &[(Entry, Vec<Found>)], layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    for (entry, found) in hits {
        printer.gap();
        let name = Span::new(Role::Strong, sanitize(entry.name()));
        printer.line(0, &[name]);
        printer.paragraph(Role::Plain, 2, entry.title());
        for found in found.iter().filter(|found| found.place != "title") {
            let text = format!("{}: {}", found.place, found.text);
            printer.paragraph(Role::Faint, 4, &text);
        }
    }
    printer.gap();
    let summary = match hits.len() {
        0 => format!("No page mentions {word:?}."),
        1 => format!("1 page mentions {word:?}."),
        many => format!("{many} pages mention {word:?}."),
    };
    printer.paragraph(Role::Faint, 0, &summary);
    printer.finish()
}

/// One page.
pub fn entry_page(entry: &Entry, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    printer.paragraph(Role::Strong, 0, entry.name());
    printer.paragraph(Role::Plain, 0, entry.title());
    for section in entry.sections() {
        printer.gap();
        printer.line(
            0,
            &[Span::new(Role::Strong, section.heading.to_uppercase())],
        );
        for (number, block) in section.blocks.iter().enumerate() {
            if number > 0 {
                printer.gap();
            }
            match block {
                Block::Paragraph(text) => printer.paragraph(Role::Plain, 2, text),
                Block::Code(code) => printer.verbatim(6, code),
                Block::List(items) => {
                    for item in items {
                        let text = match reference_url(item) {
                            Some(url) => format!("{item}  {url}"),
                            None => item.clone(),
                        };
                        printer.labelled(2, 2, "-", &text);
                    }
                }
            }
        }
    }
    printer.finish()
}

fn column_of<'e, 'c: 'e>(entries: impl Iterator<Item = &'e Entry<'c>>) -> usize {
    let widths = entries.map(|entry| width_of(entry.name()) + 2);
    widths.max().unwrap_or(0)
}
