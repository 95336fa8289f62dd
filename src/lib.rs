//! heapdrift finds out why a process's memory grows.
//!
//! # A snapshot's way through the house
//!
//! ```text
//! bytes → profile → snapshot → site → growth → pattern → diagnosis → report
//!           ▲          ▲                                              ▲
//!         source ──────┘                                             cli
//! ```
//!
//! | module | knows | must not know |
//! |---|---|---|
//! | [`profile`] | file formats: bytes in, columns of integers out | where bytes come from |
//! | [`snapshot`] | one process at one instant, a series of them, whether they compare | what growth means |
//! | [`site`] | canonical names, whose code a frame is, keys across builds | whether anything grew |
//! | [`growth`] | counts, tests, intervals, shapes, multiplicity | patterns |
//! | [`pattern`] | the catalogue, its matcher, its pages | verdicts |
//! | [`diagnosis`] | findings, culprits, the verdict: one `Diagnosis` | how it is shown |
//! | [`source`] | files, directories, standard input, processes that run, the store of captures | reports |
//! | [`report`] | one file a format, and the one place where names are escaped | sources |
//! | [`cli`] | arguments, environment, terminal, exit codes | everything else's insides |
//! | [`units`] | how sizes, rates and times are written | anything |
//!
//! Imports point one way; `tests/architecture.rs` reads the sources and holds them to it.
//!
//! # Invariants
//!
//! 1. `profile` to `diagnosis` do no I/O and read no clock: any diagnosis can be reproduced
//!    from files.
//! 2. Hostile bytes give an error or a warning, never a panic, with bounded memory and time.
//! 3. Output depends only on inputs and flags: sorted, no hash order, no current time.
//! 4. Every number that one format prints is in the JSON.
//! 5. Names from profiles are untrusted text; they are escaped in one place
//!    (`report::sanitize`).
//! 6. Patterns label growth; they never change the statistics.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cli;
pub mod diagnosis;
pub mod growth;
pub mod pattern;
pub mod profile;
pub mod report;
pub mod site;
pub mod snapshot;
pub mod source;
pub mod units;
