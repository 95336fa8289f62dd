//! Heap profiles that cannot take part in a series, told from the bytes.

use crate::profile::HeapProfile;
use thiserror::Error;

/// Why a heap profile cannot be compared with others.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unsuitable {
    /// Label `pprof::base`.
    #[error("it is a saved diff (made with -diff_base): its values are differences, not a heap")]
    SavedDiff,
    /// Duration on a heap profile, or values below zero.
    #[error("it is a delta profile{}: its values are changes over a window, not a heap", over(*.seconds))]
    Delta {
        /// Length of the window; 0 if the file does not say.
        seconds: u64,
    },
    /// One sample type, a duration and no object sizes.
    #[error(
        "it is a window of {seconds} s merged by a profile store: in-use values of several moments are summed in it"
    )]
    MergedWindow {
        /// Length of the window.
        seconds: u64,
    },
    /// Period 0 and no samples.
    #[error("heap profiling is switched off in that process (period 0 and no samples)")]
    ProfilingOff,
    /// Only `alloc_*`.
    #[error("it holds only what was ever allocated ({kinds}), not what is in use")]
    NotInUse {
        /// The sample types seen.
        kinds: String,
    },
}

fn over(seconds: u64) -> String {
    match seconds {
        0 => String::new(),
        seconds => format!(" over {seconds} s"),
    }
}

impl Unsuitable {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::SavedDiff => "give the two profiles that it was made of",
            Self::Delta { .. } => "fetch /debug/pprof/heap?gc=1 without `seconds=`",
            Self::MergedWindow { .. } => "fetch single profiles from the process itself",
            Self::ProfilingOff => "set MemProfileRate above 0 (GODEBUG=memprofilerate=524288)",
            Self::NotInUse { .. } => {
                "fetch /debug/pprof/heap?gc=1, which holds in-use values (go tool pprof -sample_index=inuse_space shows them); to read alloc_* as memory in use is the classic mistake"
            }
        }
    }

    /// Looks for a reason why `heap` cannot take part in a series.
    pub fn of(heap: &HeapProfile) -> Option<Self> {
        let seconds = u64::try_from(heap.duration_nanos / 1_000_000_000).unwrap_or(0);
        if heap.is_saved_diff {
            return Some(Self::SavedDiff);
        }
        if heap.duration_nanos > 0 && heap.sample_types.len() == 1 && !heap.has_object_sizes {
            return Some(Self::MergedWindow { seconds });
        }
        if heap.duration_nanos > 0 || heap.has_negative_inuse {
            return Some(Self::Delta { seconds });
        }
        if heap.period == 0 && heap.columns.is_empty() {
            return Some(Self::ProfilingOff);
        }
        let in_use = ["inuse_space", "inuse_objects", "space", "objects"];
        if !in_use.iter().any(|kind| heap.has_type(kind)) {
            let kinds: Vec<_> = heap.sample_types.iter().map(|t| t.kind.as_str()).collect();
            return Some(Self::NotInUse {
                kinds: kinds.join(", "),
            });
        }
        None
    }
}
