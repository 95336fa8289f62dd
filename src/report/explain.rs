//! The catalogue's pages, wrapped at the width of the terminal.

use super::Layout;
use super::printer::{Printer, Role, Span};
use super::wrap::width_of;
use crate::pattern::{Block, Pattern, reference_url, render_page};

/// The patterns, one a line.
pub fn pattern_list(patterns: &[Pattern], layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    let mut sorted: Vec<&Pattern> = patterns.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let column = sorted
        .iter()
        .map(|pattern| width_of(&pattern.name) + 2)
        .max()
        .unwrap_or(0);
    for pattern in sorted {
        printer.labelled(0, column, &pattern.name, &pattern.title);
    }
    printer.gap();
    printer.line(
        0,
        &[Span::new(
            Role::Faint,
            "heapdrift explain PATTERN prints the page of one.",
        )],
    );
    printer.finish()
}

/// The page of one pattern.
pub fn pattern_page(pattern: &Pattern, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    printer.paragraph(Role::Strong, 0, &pattern.name);
    printer.paragraph(Role::Plain, 0, &pattern.title);
    for section in render_page(pattern) {
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
