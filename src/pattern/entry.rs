//! A page of the catalogue of either kind, and where a word stands in it.

use super::{Block, NotALeakPage, Pattern, Section, render_not_a_leak, render_page};
use regex::{Regex, RegexBuilder};

/// Characters of text shown on each side of a word that was found.
const AROUND: usize = 36;

/// A page of the catalogue.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'c> {
    /// A leak pattern.
    Leak(&'c Pattern),
    /// Memory that is not a leak of the heap.
    NotALeak(&'c NotALeakPage),
}

/// Where a word stands in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `name`, `title`, `why`, `fix`, or a heading of the page.
    pub place: &'static str,
    /// The text around it, on one line.
    pub text: String,
}

impl<'c> Entry<'c> {
    /// Its name.
    pub fn name(&self) -> &'c str {
        match self {
            Self::Leak(pattern) => &pattern.name,
            Self::NotALeak(page) => &page.name,
        }
    }

    /// One line that says what it is about.
    pub fn title(&self) -> &'c str {
        match self {
            Self::Leak(pattern) => &pattern.title,
            Self::NotALeak(page) => &page.title,
        }
    }

    /// Whether it is a leak pattern.
    pub fn is_leak(&self) -> bool {
        matches!(self, Self::Leak(_))
    }

    /// The page, without name and title.
    pub fn sections(&self) -> Vec<Section> {
        match self {
            Self::Leak(pattern) => render_page(pattern),
            Self::NotALeak(page) => render_not_a_leak(page),
        }
    }

    /// Public reports.
    pub fn references(&self) -> &'c [String] {
        match self {
            Self::Leak(pattern) => &pattern.page.references,
            Self::NotALeak(page) => &page.references,
        }
    }

    /// Where a word stands, whatever its case: once for each part of the page that has it.
    pub fn search(&self, word: &str) -> Vec<Found> {
        // Escaped text of the command line's length always compiles; if not, it is nowhere.
        let wanted = RegexBuilder::new(&regex::escape(word.trim()))
            .case_insensitive(true)
            .build();
        let (Ok(wanted), false) = (wanted, word.trim().is_empty()) else {
            return Vec::new();
        };
        let mut texts: Vec<(&'static str, String)> = vec![
            ("name", self.name().to_owned()),
            ("title", self.title().to_owned()),
        ];
        match self {
            Self::Leak(pattern) => {
                texts.push(("why", pattern.why.clone()));
                texts.push(("fix", pattern.fix.clone()));
            }
            Self::NotALeak(page) => {
                texts.extend(page.also.iter().map(|other| ("name", other.clone())));
            }
        }
        for section in self.sections() {
            for block in section.blocks {
                match block {
                    Block::Paragraph(text) | Block::Code(text) => {
                        texts.push((section.heading, text));
                    }
                    Block::List(items) => {
                        texts.extend(items.into_iter().map(|item| (section.heading, item)));
                    }
                }
            }
        }
        let mut found: Vec<Found> = Vec::new();
        for (place, text) in texts {
            if found.iter().all(|other| other.place != place)
                && let Some(text) = excerpt(&wanted, &text)
            {
                found.push(Found { place, text });
            }
        }
        found
    }
}

/// The first place of a word with the words around it; `…` where text is left out.
fn excerpt(wanted: &Regex, text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = wanted.find(&text)?;
    let mut start = at.start();
    for (index, c) in text[..at.start()].char_indices().rev().take(AROUND) {
        if c == ' ' || index == 0 {
            start = if index == 0 { 0 } else { index + 1 };
        }
    }
    let mut end = at.end();
    for (index, c) in text[at.end()..].char_indices().take(AROUND) {
        if c == ' ' {
            end = at.end() + index;
        }
    }
    if text[at.end()..].chars().count() <= AROUND {
        end = text.len();
    }
    let before = if start > 0 { "… " } else { "" };
    let after = if end < text.len() { " …" } else { "" };
    Some(format!("{before}{}{after}", text[start..end].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Catalogue;

    #[test]
    fn a_word_is_found_whatever_its_case_and_once_for_each_part() {
        let catalogue = Catalogue::builtin();
        let entry = catalogue.entry("backed-up-informer").expect("built in");
        let places = |word: &str| -> Vec<&str> {
            entry.search(word).iter().map(|found| found.place).collect()
        };
        assert_eq!(places("RINGGROWING"), [""; 0]);
        let ring = places("RING BUFFER");
        assert_eq!(ring, ["What happens"]);
        assert!(places("Informer").starts_with(&["name", "title"]));
        assert_eq!(places("kube-router#795"), ["References"]);
        assert_eq!(places("no such word"), [""; 0]);
        assert_eq!(places(" "), [""; 0]);
        assert_eq!(places("(*"), [""; 0], "no expression");
    }

    #[test]
    fn other_names_are_found() {
        let catalogue = Catalogue::builtin();
        let entry = catalogue.entry("plateauing").expect("another word for it");
        assert_eq!((entry.name(), entry.is_leak()), ("plateau", false));
        assert_eq!(entry.search("plateauing")[0].place, "name");
    }

    #[test]
    fn excerpts_end_at_words() {
        let cut = |word: &str, text: &str| {
            let wanted = Regex::new(word).expect("an expression");
            excerpt(&wanted, text)
        };
        assert_eq!(cut("b", "a b c").as_deref(), Some("a b c"));
        assert_eq!(cut("x", "a b c"), None);
        let long =
            "the quick brown fox jumps over the lazy dog and then goes home to sleep for a while";
        let expect = "the quick brown fox jumps over the lazy dog and then goes home to sleep …";
        assert_eq!(cut("lazy", long).as_deref(), Some(expect));
        assert_eq!(
            cut("the", long).map(|text| text.starts_with("the")),
            Some(true)
        );
        assert_eq!(cut("ß", "aß ä").as_deref(), Some("aß ä"));
    }
}
