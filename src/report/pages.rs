//! The catalogue's pages as JSON (`explain.schema.json`).

use crate::diagnosis::SCHEMA_VERSION;
use crate::pattern::{Entry, Found, Section, reference_url};
use serde::Serialize;

/// JSON Schema (draft 2020-12) of `explain -f json`.
pub const EXPLAIN_SCHEMA: &str = include_str!("explain.schema.json");

/// What `explain -f json` prints: one page, those that mention a word, or all.
#[derive(Debug, Serialize)]
pub struct Pages<'c> {
    schema_version: u32,
    /// The word that was searched for.
    search: Option<&'c str>,
    pages: Vec<PageEntry<'c>>,
}

#[derive(Debug, Serialize)]
struct PageEntry<'c> {
    kind: &'static str,
    name: &'c str,
    title: &'c str,
    /// Why memory grows and what to do, as a finding says it; null for what is not a leak.
    why: Option<&'c str>,
    fix: Option<&'c str>,
    sections: Vec<Section>,
    references: Vec<Reference<'c>>,
    found: Vec<Place>,
}

#[derive(Debug, Serialize)]
struct Reference<'c> {
    name: &'c str,
    url: Option<String>,
}

#[derive(Debug, Serialize)]
struct Place {
    place: &'static str,
    text: String,
}

impl<'c> Pages<'c> {
    /// These pages.
    pub fn of(entries: &[Entry<'c>]) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            search: None,
            pages: entries.iter().map(|entry| page(entry, &[])).collect(),
        }
    }

    /// The pages that mention a word.
    pub fn found(word: &'c str, hits: &[(Entry<'c>, Vec<Found>)]) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            search: Some(word),
            pages: hits
                .iter()
                .map(|(entry, found)| page(entry, found))
                .collect(),
        }
    }
}

fn page<'c>(entry: &Entry<'c>, found: &[Found]) -> PageEntry<'c> {
    let (kind, why, fix) = match entry {
        Entry::Leak(pattern) => ("leak", Some(&pattern.why), Some(&pattern.fix)),
        Entry::NotALeak(_) => ("not-a-leak", None, None),
    };
    PageEntry {
        kind,
        name: entry.name(),
        title: entry.title(),
        why: why.map(String::as_str),
        fix: fix.map(String::as_str),
        sections: entry.sections(),
        references: entry
            .references()
            .iter()
            .map(|name| Reference {
                name,
                url: reference_url(name),
            })
            .collect(),
        found: found
            .iter()
            .map(|found| Place {
                place: found.place,
                text: found.text.clone(),
            })
            .collect(),
    }
}
