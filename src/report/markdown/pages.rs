//! The catalogue's pages as Markdown, for wikis, tickets and the project's own documentation.

use crate::pattern::{Block, Entry, Found, reference_url};
use crate::report::sanitize::markdown::{fenced, prose};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Catalogue;

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
