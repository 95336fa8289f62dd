//! What the user should know about a series, each with its advice.

use super::{OtherProcess, Unsuitable};
use crate::profile::{ProfileError, ProfileWarning};
use thiserror::Error;

/// A file that takes no part, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Skipped {
    /// It could not be read as a profile.
    #[error("{0}")]
    Unreadable(#[from] ProfileError),
    /// It is a profile that cannot be compared.
    #[error("{0}")]
    Unsuitable(#[from] Unsuitable),
    /// The file could not be opened or read.
    #[error("{0}")]
    Io(String),
}

impl Skipped {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(error) => error.hint(),
            Self::Unsuitable(reason) => reason.hint(),
            Self::Io(_) => "check the path and its permissions",
        }
    }
}

/// ` has`, or ` and 3 more have`.
fn and_others(others: usize) -> String {
    match others {
        0 => " has".to_owned(),
        others => format!(" and {others} more have"),
    }
}

/// What happened between two runs.
fn begun_anew(restarts: usize, cause: &OtherProcess, first: &str) -> String {
    let times = times(restarts);
    match cause {
        OtherProcess::RateChanged { .. } if restarts == 1 => format!("{cause} at {first}"),
        OtherProcess::Build => {
            format!(
                "the process was restarted {times} as another build (at {first} the build id differs)"
            )
        }
        OtherProcess::Code(change) => {
            format!("the process was restarted {times} as another build (at {first} {change})")
        }
        _ => format!("the process restarted {times} (first at {first}: {cause})"),
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// A fact about the series that a careful reader needs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SeriesWarning {
    /// One file is left out; the rest is used.
    #[error("{source_name} is left out: {reason}; {}", reason.hint())]
    LeftOut {
        /// The file.
        source_name: String,
        /// Why.
        reason: Skipped,
    },
    /// A file that cannot be compared, taken all the same.
    #[error("{source_name} is taken as it stands (--force): {reason}")]
    ForcedFile {
        /// The file.
        source_name: String,
        /// What speaks against it.
        reason: Unsuitable,
    },
    /// Several processes, compared all the same.
    #[error(
        "the snapshots come from {processes} different processes (at {first}: {cause}); they are compared as independent samples (--force), which sees far less"
    )]
    ForcedProcesses {
        /// How many.
        processes: usize,
        /// What tells the second from the first.
        cause: OtherProcess,
        /// First snapshot of the second.
        first: String,
    },
    /// The reader had something to say.
    #[error("{source_name}: {warning}")]
    Profile {
        /// The file.
        source_name: String,
        /// What it said.
        warning: ProfileWarning,
    },
    /// Snapshots of one collector cycle.
    #[error(
        "{repeats} of {intervals} intervals show the same collector cycle twice: nothing could change between them; fetch heap?gc=1 or wait longer than a GC cycle"
    )]
    RepeatedCycle {
        /// Intervals without a new cycle.
        repeats: usize,
        /// All intervals.
        intervals: usize,
    },
    /// The process restarted within the series, or changed its sampling rate.
    #[error(
        "{}; only the run with the most snapshots is judged",
        begun_anew(*.restarts, .cause, .first)
    )]
    Restarted {
        /// How many runs begin.
        restarts: usize,
        /// What shows where one of them begins: a rebuild, if there is one.
        cause: OtherProcess,
        /// Its first snapshot.
        first: String,
    },
    /// Several processes in one directory.
    #[error(
        "the snapshots come from {processes} different processes (at {first}: {cause}); only the run with the most snapshots is judged; put each process in a directory of its own"
    )]
    SeveralProcesses {
        /// How many.
        processes: usize,
        /// What tells the second from the first.
        cause: OtherProcess,
        /// First snapshot of the second.
        first: String,
    },
    /// Builds differ within a forced run.
    #[error("the snapshots come from {builds} different builds; sites are matched by name")]
    OtherBuild {
        /// How many build ids.
        builds: usize,
    },
    /// Sampling rates differ within a forced run.
    #[error(
        "the snapshots were taken at different sampling rates ({rates} bytes): scaled sizes compare, sampled counts do not, so no error estimate"
    )]
    OtherRate {
        /// The rates.
        rates: String,
    },
    /// No sampled counts.
    #[error(
        "{source_name}{} lost the object sizes (label `bytes`) or the sampling rate: no error estimate; profiles straight from /debug/pprof/heap have both",
        and_others(*.others)
    )]
    NoErrorEstimate {
        /// The first such file.
        source_name: String,
        /// How many more.
        others: usize,
    },
    /// The same-process test needs `alloc_*`.
    #[error(
        "the profiles hold no allocation counters (alloc_objects): it can't be checked that they are of one process"
    )]
    NoAllocCounters,
    /// Stacks cut by the runtime.
    #[error(
        "{stacks} stacks are cut at {depth} frames by the runtime: their callers near the root are missing{}",
        if *.depth == 32 { "; Go 1.23 and later record 128" } else { "" }
    )]
    TruncatedStacks {
        /// How many.
        stacks: usize,
        /// 32 or 128.
        depth: usize,
    },
    /// The clock was set back within one process.
    #[error(
        "the clock jumped back by {back_seconds} s before {first}: the order is that of the allocation counters{}",
        step_seconds.map_or_else(String::new, |seconds| format!(
            ", and the interval across the jump counts as {seconds} s, like the others"
        ))
    )]
    ClockJumped {
        /// First snapshot after the jump.
        first: String,
        /// How far.
        back_seconds: i64,
        /// What the interval across it is taken to be.
        step_seconds: Option<i64>,
    },
    /// No clock in some file.
    #[error(
        "{count} snapshot(s) hold no time of their own: the series is ordered by file name and has no rate"
    )]
    NoTime {
        /// How many.
        count: usize,
    },
    /// Two files of one kind and one stem.
    #[error(
        "{source_name} can't be joined to one snapshot (several heap profiles share its name); it is left out"
    )]
    Unjoined {
        /// The file.
        source_name: String,
    },
    /// A memory file of another moment.
    #[error(
        "the memory figures of {source_name} are of another moment than its heap profile ({seconds} s apart) and are left out"
    )]
    MemoryOfAnotherMoment {
        /// The file.
        source_name: String,
        /// Distance of the clocks.
        seconds: i64,
    },
}

impl SeriesWarning {
    /// Of sampling rates in any order.
    pub fn other_rates(mut rates: Vec<i64>) -> Self {
        rates.sort_unstable();
        rates.dedup();
        let rates: Vec<String> = rates.iter().map(i64::to_string).collect();
        Self::OtherRate {
            rates: rates.join(" and "),
        }
    }

    /// Whether it tells several processes or builds apart.
    pub fn is_about_processes(&self) -> bool {
        matches!(
            self,
            Self::Restarted { .. }
                | Self::SeveralProcesses { .. }
                | Self::ForcedProcesses { .. }
                | Self::OtherBuild { .. }
        )
    }
}
