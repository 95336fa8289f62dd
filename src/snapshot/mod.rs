//! One process at one instant, a series of such instants, and whether they can be compared.
//!
//! [`Series::assemble`] takes decoded files in any order: files of one moment are joined,
//! moments are ordered by the profiles' own clocks, what cannot be compared is left out with
//! its reason, and snapshots of different processes are told apart by their allocation
//! counters, which never go back within a process.
//!
//! This module knows profiles and their comparability. It must not know where files come
//! from, nor what growth means.

mod assemble;
mod clock;
mod code;
mod process;
mod stem;
mod suitability;
mod warning;

pub use assemble::{Boundary, LoadedFile, Series};
pub use code::CodeChange;
pub use process::{OtherProcess, Run, differs, is_other_build};
pub use stem::stem_of;
pub use suitability::Unsuitable;
pub use warning::{SeriesWarning, Skipped};

use crate::profile::{GoroutineProfile, HeapProfile, MemoryStats};

/// One process at one instant.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The files it was made of.
    pub sources: Vec<SourceFile>,
    /// Wall clock in nanoseconds since the Unix epoch, from the profile itself.
    pub taken_at: Option<i64>,
    /// What makes up for a jump of that clock: added to `taken_at` it gives a time that only
    /// goes forward. 0 where it did not jump.
    pub clock_shift: i64,
    /// The heap profile.
    pub heap: Option<HeapProfile>,
    /// The goroutine profile.
    pub goroutines: Option<GoroutineProfile>,
    /// The goroutines that the runtime has proved to be stuck for good, where they were captured
    /// beside all goroutines.
    pub leaks: Option<GoroutineProfile>,
    /// The runtime's memory figures.
    pub memory: Option<MemoryStats>,
    /// Whether its heap is of the same collector cycle as the snapshot before it: a repeat
    /// holds no new heap evidence.
    pub repeats_previous: bool,
}

impl Snapshot {
    /// When it was taken, on a clock that did not jump.
    pub fn moment(&self) -> Option<i64> {
        Some(self.taken_at?.saturating_add(self.clock_shift))
    }

    /// The first source: what a message calls this snapshot.
    pub fn name(&self) -> &str {
        self.sources
            .first()
            .map_or("", |source| source.name.as_str())
    }
}

/// A file that a snapshot was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// As the user knows it; untrusted text.
    pub name: String,
    /// What it gave to the snapshot.
    pub kind: SourceKind,
}

/// What a file gives to a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// The heap profile.
    Heap,
    /// The goroutine profile.
    Goroutines,
    /// Leaked goroutines alone, beside all of them.
    Leaks,
    /// The runtime's memory figures.
    Memory,
}

impl SourceKind {
    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Goroutines | Self::Leaks => "goroutines",
            Self::Memory => "memory",
        }
    }
}
