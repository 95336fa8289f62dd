//! Results as Markdown that can be pasted into GitHub, Slack and Jira, and the catalogue's pages.
//!
//! What matters stands open, the rest in `<details>`; figures that belong in columns are text
//! between fences, which every reader of Markdown shows alike.

mod diagnosis;
mod document;
mod fleet;
mod pages;
mod tables;

pub use diagnosis::diagnosis_markdown;
pub use fleet::fleet_markdown;
pub use pages::{catalogue_markdown, entry_markdown, search_markdown};
pub use tables::{check_markdown, diff_markdown, top_markdown, verification_markdown};

use super::Layout;

/// How wide text between fences is: what fits beside a forge's margins.
const WIDTH: usize = 100;

fn fence_layout() -> Layout {
    Layout {
        width: WIDTH,
        ..Layout::default()
    }
}
