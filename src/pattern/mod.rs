//! The catalogue: leak patterns, how growth is matched against them, and pages about memory
//! that is not a leak.
//!
//! A pattern labels growth: it never changes what the statistics said.

mod catalogue;
mod definition;
mod entry;
mod explain;
mod goroutines;
mod matcher;
mod not_a_leak;
mod passing;
mod view;

pub use catalogue::{Catalogue, CatalogueError, CatalogueProblem, closest, position};
pub use definition::{
    CulpritRule, Expression, GoroutineCondition, GrowthShape, HeapCondition, Owner, Page, Pattern,
    Proof, Trend, Variant,
};
pub use entry::{Entry, Found};
pub use explain::{Block, Section, reference_url, render_not_a_leak, render_page};
pub use matcher::{Matches, PatternMatch, match_patterns, reread};
pub use not_a_leak::NotALeakPage;
pub use view::{BlamedFrame, EvidenceView, HeapView, WeighedFrame, WeighedStack};

#[cfg(test)]
mod condition_tests;
