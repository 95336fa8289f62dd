//! Results as one HTML page in one file: no library, no network, nothing to install.
//!
//! The page tells everything without its script; the script adds search, zoom and sorting. Its
//! policy (a `meta` element) lets nothing run but this script, and nothing be fetched at all.
//! `diagnosis`, `diff` and `top` turn a result into what a [`page`] shows; the template lays it
//! out.

mod cards;
mod chart;
mod diagnosis;
mod flame;
mod page;
mod tables;

pub use diagnosis::diagnosis_html;
pub use tables::{diff_html, top_html};
