//! The catalogue's pages as Markdown, for wikis, tickets and the project's own documentation.

use super::sanitize;
use crate::pattern::{Block, Entry, Found, reference_url};

/// One page; its name is a heading of the first level.
pub fn entry_markdown(entry: &Entry) -> String {
    let mut out = format!(
        "# {}\n\n**{}**\n",
        prose(entry.name()),
        prose(entry.title())
    );
    if !entry.is_leak() {
        out += "\nNot a leak of the heap.\n";
    }
    for section in entry.sections() {
        out += &format!("\n## {}\n", section.heading);
        for block in section.blocks {
            out.push('\n');
            match block {
                Block::Paragraph(text) => out += &format!("{}\n", prose(&text)),
                Block::Code(code) => out += &fenced(&code),
                Block::List(items) => {
                    for item in items {
                        out += &match reference_url(&item) {
                            Some(url) => format!("- [{item}]({url})\n"),
                            None => format!("- {}\n", prose(&item)),
                        };
                    }
                }
            }
        }
    }
    out
}

/// Every page, one after the other.
pub fn catalogue_markdown(entries: &[Entry]) -> String {
    let pages: Vec<String> = entries.iter().map(entry_markdown).collect();
    pages.join("\n")
}

/// The pages that mention a word, each with the places.
pub fn search_markdown(hits: &[(Entry, Vec<Found>)]) -> String {
    let mut out = String::new();
    for (entry, found) in hits {
        out += &format!("- **{}**: {}\n", prose(entry.name()), prose(entry.title()));
        for found in found.iter().filter(|found| found.place != "title") {
            out += &format!("  - {}: {}\n", found.place, prose(&found.text));
        }
    }
    out
}

/// Code between fences that are longer than any that it holds.
fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    let lines: Vec<_> = code
        .lines()
        .map(|line| sanitize(line).into_owned())
        .collect();
    format!("{fence}\n{}\n{fence}\n", lines.join("\n"))
}

/// Running text: what Markdown would read as markup is escaped, but for `code` in backquotes.
fn prose(text: &str) -> String {
    let text = sanitize(text);
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(text.len() + 8);
    let mut is_code = false;
    for (index, c) in text.char_indices() {
        match c {
            '`' if is_paired => is_code = !is_code,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' if !is_code => out.push('\\'),
            '#' | '+' | '-' if index == 0 => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Catalogue;

    #[test]
    fn markup_in_text_is_escaped_and_code_is_not() {
        assert_eq!(prose("a_b `c_d` <e>"), r"a\_b `c_d` \<e\>");
        assert_eq!(prose("one ` alone *"), r"one \` alone \*");
        assert_eq!(prose("# no heading"), r"\# no heading");
        assert_eq!(prose("a\x1b[2J"), r"a\\x1b\[2J");
        assert_eq!(fenced("a ``` b"), "````\na ``` b\n````\n");
    }

    #[test]
    fn a_page_has_headings_code_and_links() {
        let catalogue = Catalogue::builtin();
        let entry = catalogue.entry("sql-rows-not-closed").expect("built in");
        let text = entry_markdown(&entry);
        assert!(
            text.starts_with("# sql-rows-not-closed\n\n**Rows or transactions"),
            "{text}"
        );
        for part in [
            "\n## How to fix it\n",
            "\n```\n// before\n",
            "\n- [rkt/rkt#3682](https://github.com/rkt/rkt/issues/3682)\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("```\n").count() % 2, 0);
    }

    #[test]
    fn the_whole_catalogue_is_all_pages() {
        let catalogue = Catalogue::builtin();
        let entries = catalogue.entries();
        let text = catalogue_markdown(&entries);
        let headings = text.lines().filter(|line| line.starts_with("# ")).count();
        let comments = entries.iter().flat_map(|entry| entry.sections());
        let comments = comments
            .flat_map(|section| section.blocks)
            .map(|block| match block {
                Block::Code(code) => code.lines().filter(|line| line.starts_with("# ")).count(),
                _ => 0,
            });
        assert_eq!(headings - comments.sum::<usize>(), entries.len());
    }
}
