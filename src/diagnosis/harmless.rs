//! The names of memory that is not a leak of the heap.
//!
//! A verdict has no other name than one of these, and each has a page in the catalogue
//! (`src/pattern/not_a_leak`): a test holds that.

use serde::{Serialize, Serializer};
use std::fmt;

macro_rules! names {
    ($($(#[$meta:meta])* $variant:ident = $text:literal,)+) => {
        /// What memory is called that is not a leak of the heap.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NotALeakName {
            $($(#[$meta])* $variant,)+
        }

        impl NotALeakName {
            /// Every name that a diagnosis can give.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name as reports and the catalogue have it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

names! {
    /// A rise that this capture cannot tell from noise.
    BelowDetection = "below-detection",
    /// Objects of informers: a cache of the cluster's size.
    ClusterSizedCache = "cluster-sized-cache",
    /// A few huge objects that never change.
    ConstantBlock = "constant-block",
    /// Room for garbage up to the collector's goal.
    GcHeadroom = "gc-headroom",
    /// Empty pages that the runtime keeps.
    IdleKept = "idle-kept",
    /// Memory that Go did not allocate.
    NativeMemory = "native-memory",
    /// Pages of files in the control group's account.
    PageCache = "page-cache",
    /// A rise that was given back.
    Peak = "peak",
    /// What a peak before left behind.
    PeakKept = "peak-kept",
    /// What profiling takes.
    ProfilerMemory = "profiler-memory",
    /// The program's code changed within the window.
    Rebuild = "rebuild",
    /// The sampling rate changed within the window.
    RateChange = "rate-change",
    /// Pages given back to the system.
    ReleasedPages = "released-pages",
    /// What took the place of another caller's memory.
    Replaced = "replaced",
    /// The process was restarted within the window.
    Restart = "restart",
    /// Rises that were given back again and again.
    Sawtooth = "sawtooth",
    /// Goroutine stacks.
    Stacks = "stacks",
    /// A peak from before the window.
    StartUpSpike = "start-up-spike",
    /// One jump, and then level.
    Step = "step",
    /// Growth that no heap profile shows.
    UnseenGrowth = "unseen-growth",
}

impl fmt::Display for NotALeakName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for NotALeakName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::FindingVerdict;
    use crate::pattern::Catalogue;

    #[test]
    fn every_name_has_a_page() {
        let catalogue = Catalogue::builtin();
        let verdicts = [
            FindingVerdict::Plateauing,
            FindingVerdict::Step,
            FindingVerdict::Sawtooth,
        ];
        let words = verdicts.map(|verdict| serde_json::to_value(verdict).expect("a word"));
        let words = words.iter().filter_map(|word| word.as_str());
        let names = NotALeakName::ALL.iter().map(|name| name.as_str());
        let missing: Vec<&str> = names
            .chain(words)
            .filter(|name| catalogue.not_a_leak_page(name).is_none())
            .collect();
        assert!(missing.is_empty(), "no page: {missing:?}");
    }
}
