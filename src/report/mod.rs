//! How a [`Diagnosis`](crate::diagnosis::Diagnosis), a diff or a page of the catalogue is shown.
//!
//! One file a format. Each report is a function from a result and a [`Layout`] to a string:
//! it does no I/O, asks no terminal and reads no clock.
//!
//! Every text that a report writes goes through [`sanitize`]: names come from profiles, and a
//! profile is untrusted. This module knows results and their words; it must not know where
//! they came from, and it computes no figure that the result does not hold.

mod check;
mod columns;
mod diff;
mod explain;
mod facts;
mod finding;
mod fleet;
mod folded;
mod github;
mod html;
mod identity;
mod json;
mod junit;
mod links;
mod live;
mod markdown;
mod memory;
mod names;
mod notices;
mod pages;
mod pprof;
mod printer;
mod rows;
mod sanitize;
mod sarif;
mod sparkline;
mod svg;
mod table;
mod top;
mod units;
mod verify;
mod wrap;

pub use check::{check_table, cut_check};
pub use diff::diff_table;
pub use explain::{entry_list, entry_page, search_list};
pub use fleet::{cut_fleet, fleet_screen, fleet_table};
pub use folded::folded;
pub use github::github;
pub use html::{diagnosis_html, diff_html, top_html};
pub use json::{
    CHECK_SCHEMA, DIAGNOSIS_SCHEMA, DIFF_SCHEMA, FLEET_SCHEMA, TOP_SCHEMA, VERIFY_SCHEMA, to_json,
};
pub use junit::junit;
pub use links::SourceLinks;
pub use live::{Live, live_line, live_screen};
pub use markdown::{
    catalogue_markdown, check_markdown, diagnosis_markdown, diff_markdown, entry_markdown,
    fleet_markdown, search_markdown, top_markdown, verification_markdown,
};
pub use notices::{Level, Notice, Notices, check_notices, diagnosis_notices, verification_notices};
pub use pages::{EXPLAIN_SCHEMA, Pages};
pub use pprof::{pprof, pprof_gz};
pub use rows::{cut_diagnosis, cut_diff, cut_top};
pub use sanitize::sanitize;
pub use sarif::sarif;
pub use svg::svg;
pub use table::diagnosis_table;
pub use top::top_table;
pub use units::counted;
pub use verify::verification_table;

/// How a report for people is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns to fill; no line is wider, unless it is code of a page.
    pub width: usize,
    /// Whether ANSI colours are written.
    pub color: bool,
    /// Whether inputs and references are listed.
    pub verbose: bool,
}

impl Default for Layout {
    /// 80 columns, no colour.
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            verbose: false,
        }
    }
}
