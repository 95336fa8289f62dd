//! What a page shows, section by section, and its template.

use super::cards::{Card, Group};
use super::chart::Chart;
use super::flame::Flame;
use crate::report::sanitize::html::Text;
use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page.
#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct Page {
    pub(super) banner: Banner,
    pub(super) chart: Option<Chart>,
    pub(super) cards: Vec<Card>,
    pub(super) flame: Option<Flame>,
    pub(super) sites: Option<Table>,
    pub(super) goroutines: Vec<Group>,
    pub(super) memory: Option<Memory>,
    pub(super) not_a_leak: Vec<Note>,
    /// What the judgement rests on.
    pub(super) facts: Vec<(&'static str, Text)>,
    pub(super) warnings: Vec<Text>,
    pub(super) next_steps: Vec<Text>,
    pub(super) inputs: Vec<InputRow>,
    /// With those that are not listed.
    pub(super) input_count: usize,
    pub(super) command: Text,
}

/// The verdict, and the figures that the eye should find first.
pub(super) struct Banner {
    /// Class of its colour: `bad`, `warn`, `good` or `plain`.
    pub(super) class: &'static str,
    pub(super) symbol: &'static str,
    pub(super) word: &'static str,
    pub(super) sentence: Text,
    pub(super) tiles: Vec<Tile>,
}

pub(super) struct Tile {
    pub(super) label: &'static str,
    pub(super) value: Text,
    pub(super) note: Text,
}

/// A table that the script can sort and search.
pub(super) struct Table {
    pub(super) heading: &'static str,
    pub(super) note: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// What the rows leave out; empty for nothing.
    pub(super) unshown: String,
}

pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) is_number: bool,
}

pub(super) enum Cell {
    /// A function and where it stands.
    Name {
        function: Text,
        place: Text,
        address: Option<Text>,
    },
    /// What is shown of a number, and the number for sorting.
    Number { shown: String, value: f64 },
    /// A word with a class for its colour.
    Word { text: Text, class: &'static str },
    /// A small drawing.
    Spark { svg: String },
}

/// Where the resident memory is.
pub(super) struct Memory {
    pub(super) total: String,
    /// The parts of the bar, largest first.
    pub(super) parts: Vec<Part>,
    pub(super) beside: Vec<Text>,
}

pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    pub(super) shown: String,
    pub(super) bytes: i64,
    pub(super) change: String,
    /// Begin and width in the bar, per cent.
    pub(super) start: f64,
    pub(super) width: f64,
}

/// Memory that is no leak.
pub(super) struct Note {
    pub(super) name: Text,
    pub(super) figure: String,
    pub(super) text: Text,
}

pub(super) struct InputRow {
    pub(super) source: Text,
    pub(super) facts: Text,
    pub(super) warnings: Vec<Text>,
}

impl Page {
    /// The whole file.
    pub(super) fn html(&self) -> String {
        // Writing to a string cannot fail.
        self.render().unwrap_or_default()
    }

    fn style(&self) -> &'static str {
        STYLE
    }

    fn script(&self) -> &'static str {
        SCRIPT
    }

    fn style_hash(&self) -> String {
        hash(STYLE)
    }

    fn script_hash(&self) -> String {
        hash(SCRIPT)
    }
}

/// As a content security policy names what may be used.
fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}
