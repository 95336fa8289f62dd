//! A pattern's page as data: headings, paragraphs, code and lists.
//!
//! How it is laid out (wrapped lines, Markdown, JSON) is the reports' business.

use super::{NotALeakPage, Pattern, Proof};
use serde::Serialize;

/// A part of a page under one heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The heading.
    pub heading: &'static str,
    /// What stands below it, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "content", rename_all = "lowercase")]
pub enum Block {
    /// Running text without line breaks; `code` within it is between backquotes.
    Paragraph(String),
    /// Lines to be shown as they are, without the indentation that marked them.
    Code(String),
    /// Items, one line of text each.
    List(Vec<String>),
}

/// The page of a pattern. Its title and name are not part of it.
pub fn render_page(pattern: &Pattern) -> Vec<Section> {
    let page = &pattern.page;
    let proof = match page.proof {
        Proof::Captures => {
            "Matchers: checked on captures of real programs that use the real library."
        }
        Proof::Reports => "Matchers: from public reports, not from a capture of ours.",
    };
    [
        ("What happens", parse_blocks(&page.what)),
        ("Why memory grows", parse_blocks(&page.why)),
        ("How to confirm it", parse_blocks(&page.confirm)),
        ("How to fix it", parse_blocks(&page.fix)),
        ("What looks alike", parse_blocks(&page.lookalikes)),
        ("Versions", list(&page.versions)),
        ("References", list(&page.references)),
        ("Proof", vec![Block::Paragraph(proof.to_owned())]),
    ]
    .into_iter()
    .filter(|(_, blocks)| !blocks.is_empty())
    .map(|(heading, blocks)| Section { heading, blocks })
    .collect()
}

/// The page about memory that is not a leak. Its title and name are not part of it.
pub fn render_not_a_leak(page: &NotALeakPage) -> Vec<Section> {
    [
        ("What it is", parse_blocks(&page.what)),
        ("How to confirm it", parse_blocks(&page.confirm)),
        ("What to do", parse_blocks(&page.advice)),
        ("When it is more than that", parse_blocks(&page.unless)),
        ("References", list(&page.references)),
    ]
    .into_iter()
    .filter(|(_, blocks)| !blocks.is_empty())
    .map(|(heading, blocks)| Section { heading, blocks })
    .collect()
}

/// Where a reference leads: `owner/repo#number` is an issue or a pull request on GitHub, which
/// answers to either kind of address. None for a title.
pub fn reference_url(reference: &str) -> Option<String> {
    let (repository, number) = reference.split_once('#')?;
    let (owner, name) = repository.split_once('/')?;
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_name(owner) && is_name(name) && is_number)
        .then(|| format!("https://github.com/{owner}/{name}/issues/{number}"))
}

fn list(items: &[String]) -> Vec<Block> {
    match items.is_empty() {
        true => Vec::new(),
        false => vec![Block::List(items.to_vec())],
    }
}

/// What marks a line as code.
const CODE_INDENT: &str = "    ";

/// Paragraphs are separated by blank lines, or by code; blank lines within code belong to it.
fn parse_blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut code: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if let Some(line) = line.strip_prefix(CODE_INDENT) {
            end_paragraph(&mut paragraph, &mut blocks);
            code.push(line);
        } else if line.is_empty() {
            end_paragraph(&mut paragraph, &mut blocks);
            if !code.is_empty() {
                code.push(line);
            }
        } else {
            end_code(&mut code, &mut blocks);
            paragraph.push(line.trim());
        }
    }
    end_paragraph(&mut paragraph, &mut blocks);
    end_code(&mut code, &mut blocks);
    blocks
}

fn end_paragraph(lines: &mut Vec<&str>, blocks: &mut Vec<Block>) {
    if !lines.is_empty() {
        blocks.push(Block::Paragraph(lines.join(" ")));
        lines.clear();
    }
}

fn end_code(lines: &mut Vec<&str>, blocks: &mut Vec<Block>) {
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    if !lines.is_empty() {
        blocks.push(Block::Code(lines.join("\n")));
        lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Catalogue;

    #[test]
    fn text_becomes_paragraphs_and_code() {
        let text = "One\nline.\n\nTwo:\n    a {\n\n      b\n    }\n\nThree.\n";
        let expect = [
            Block::Paragraph("One line.".to_owned()),
            Block::Paragraph("Two:".to_owned()),
            Block::Code("a {\n\n  b\n}".to_owned()),
            Block::Paragraph("Three.".to_owned()),
        ];
        assert_eq!(parse_blocks(text), expect);
        assert_eq!(parse_blocks("\n \n"), []);
    }

    #[test]
    fn a_page_has_its_sections_in_order_and_none_that_is_empty() {
        let catalogue = Catalogue::builtin();
        for pattern in catalogue.patterns() {
            let page = render_page(pattern);
            let headings: Vec<&str> = page.iter().map(|section| section.heading).collect();
            let expect = [
                "What happens",
                "Why memory grows",
                "How to confirm it",
                "How to fix it",
                "What looks alike",
                "Versions",
                "References",
                "Proof",
            ];
            assert_eq!(headings, expect, "{}", pattern.name);
        }
    }

    #[test]
    fn a_page_says_what_its_matchers_were_checked_on() {
        for pattern in Catalogue::builtin().patterns() {
            let expect = match pattern.page.proof {
                Proof::Captures => "checked on captures of real programs",
                Proof::Reports => "from public reports, not from a capture of ours",
            };
            let page = render_page(pattern);
            let said = page.last().map(|section| &section.blocks[..]);
            assert!(
                matches!(said, Some([Block::Paragraph(text)]) if text.contains(expect)),
                "{}: {said:?}",
                pattern.name
            );
        }
    }

    #[test]
    fn every_fix_shows_code_before_and_after() {
        for pattern in Catalogue::builtin().patterns() {
            let shows_both = parse_blocks(&pattern.page.fix).iter().any(|block| {
                matches!(block, Block::Code(code) if code.contains("// before") && code.contains("// after"))
            });
            assert!(shows_both, "{}", pattern.name);
        }
    }

    #[test]
    fn references_lead_to_issues() {
        let url = reference_url("kubernetes-sigs/controller-runtime#1122");
        let expect = "https://github.com/kubernetes-sigs/controller-runtime/issues/1122";
        assert_eq!(url.as_deref(), Some(expect));
        for title in ["", "A book", "a/b", "a#1", "a/b#c", "a/b/c#1", "a b/c#1"] {
            assert_eq!(reference_url(title), None, "{title}");
        }
    }
}
