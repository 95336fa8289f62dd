//! The catalogue of leak patterns, and how growth is matched against it.
//!
//! A pattern labels growth: it never changes what the statistics said.

mod catalogue;
mod definition;
mod explain;
mod goroutines;
mod matcher;
mod passing;
mod view;

pub use catalogue::{Catalogue, CatalogueError, CatalogueProblem};
pub use definition::{
    CulpritRule, Expression, GoroutineCondition, GrowthShape, HeapCondition, Owner, Page, Pattern,
    Proof, Trend, Variant,
};
pub use explain::{Block, Section, reference_url, render_page};
pub use matcher::{Matches, PatternMatch, match_patterns, reread};
pub use view::{BlamedFrame, EvidenceView, HeapView, WeighedFrame, WeighedStack};

#[cfg(test)]
mod condition_tests;
