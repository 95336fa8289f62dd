//! Which snapshots are of one process: allocation counters never go back within it.

use super::Snapshot;
use super::code::{CodeChange, code_change};
use crate::profile::{HeapColumns, HeapProfile, SymbolTable};
use crate::units::period;
use thiserror::Error;

/// Snapshots of one process between two restarts: indices into the series, in time order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Indices into [`super::Series::snapshots`].
    pub snapshots: Vec<usize>,
    /// False only when the user forced snapshots of several processes into one run.
    pub is_one_process: bool,
}

/// The snapshots of several processes as one run.
pub(super) fn forced_run(snapshots: usize) -> Run {
    Run {
        snapshots: (0..snapshots).collect(),
        is_one_process: false,
    }
}

/// All snapshots as those of one process.
pub(super) fn one_run(snapshots: usize) -> Run {
    Run {
        snapshots: (0..snapshots).collect(),
        is_one_process: true,
    }
}

/// Splits snapshots (in time order) into runs.
///
/// A snapshot continues a run when no counter of the run's last heap profile is smaller in
/// it, its build is the same and its rate too. Snapshots of several pods that alternate are so told apart
/// as well. A snapshot without heap joins the run of the one before it.
pub(super) fn split_into_runs(snapshots: &[Snapshot]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut last_joined = 0;
    for index in 0..snapshots.len() {
        let home = match &snapshots[index].heap {
            None => (!runs.is_empty()).then_some(last_joined),
            // The latest run first: a restart is more common than a mix.
            Some(_) => {
                (0..runs.len())
                    .rev()
                    .find(|&run| match last_heap_of(&runs[run], snapshots) {
                        None => true,
                        Some(last) => continues(&snapshots[last], &snapshots[index]),
                    })
            }
        };
        last_joined = home.unwrap_or(runs.len());
        match home {
            Some(run) => runs[run].snapshots.push(index),
            None => runs.push(Run {
                snapshots: vec![index],
                is_one_process: true,
            }),
        }
    }
    runs
}

fn last_heap_of(run: &Run, snapshots: &[Snapshot]) -> Option<usize> {
    run.snapshots
        .iter()
        .rev()
        .copied()
        .find(|&index| snapshots[index].heap.is_some())
}

/// What shows that two heap profiles are not of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OtherProcess {
    /// Build ids differ.
    #[error("it is another build")]
    Build,
    /// The process began anew, and its code is another.
    #[error("it is of other code: {0}")]
    Code(CodeChange),
    /// Another process that samples at another rate.
    #[error("it samples at another rate")]
    Rate,
    /// One process that changed its sampling rate: the counters go on.
    #[error("the sampling rate changed from {} to {}", period(*.from), period(*.to))]
    RateChanged {
        /// `MemProfileRate` before.
        from: i64,
        /// And after.
        to: i64,
    },
    /// Allocation counters are smaller in the second.
    #[error("{went_back} of {counters} allocation counters went back")]
    Counters {
        /// How many.
        went_back: usize,
        /// All counters of the first.
        counters: usize,
    },
    /// Functions of the first are not known to the second.
    #[error("{gone} of {known} functions of the first are gone from the second")]
    Functions {
        /// How many.
        gone: usize,
        /// All functions of the first.
        known: usize,
    },
}

impl OtherProcess {
    /// Whether the code is another.
    pub fn is_other_build(&self) -> bool {
        matches!(self, Self::Build | Self::Code(_))
    }
}

/// Share of the functions that may be missing: a tool that rewrites profiles may drop a few.
const MAX_MISSING_FUNCTIONS: f64 = 0.01;

/// Whether `after` may be of the process of `before`, sampled at the same rate.
pub(super) fn continues(before: &Snapshot, after: &Snapshot) -> bool {
    let (Some(before), Some(after)) = (&before.heap, &after.heap) else {
        return true;
    };
    !have_other_ids(before, after)
        && before.period == after.period
        && counters_that_went_back(before, after) == 0
        && functions_that_are_gone(before, after).is_none()
}

/// Why `after` cannot be of the process of `before`; `None`: it can.
pub fn differs(symbols: &SymbolTable, before: &Snapshot, after: &Snapshot) -> Option<OtherProcess> {
    if continues(before, after) {
        return None;
    }
    let (before, after) = (before.heap.as_ref()?, after.heap.as_ref()?);
    if have_other_ids(before, after) {
        return Some(OtherProcess::Build);
    }
    let restart = match counters_that_went_back(before, after) {
        0 => functions_that_are_gone(before, after),
        went_back => Some(OtherProcess::Counters {
            went_back,
            counters: before.columns.len(),
        }),
    };
    let (from, to) = (before.period, after.period);
    match restart {
        Some(restart) => Some(match code_change(symbols, before, after) {
            Some(change) if !have_one_id(before, after) => OtherProcess::Code(change),
            _ if from != to => OtherProcess::Rate,
            _ => restart,
        }),
        None if from > 0 && to > 0 => Some(OtherProcess::RateChanged { from, to }),
        None => Some(OtherProcess::Rate),
    }
}

/// Whether two processes run other code: their build ids say so, or their functions where an id
/// is missing.
pub fn is_other_build(symbols: &SymbolTable, one: &HeapProfile, other: &HeapProfile) -> bool {
    have_other_ids(one, other)
        || !have_one_id(one, other) && code_change(symbols, one, other).is_some()
}

fn have_one_id(one: &HeapProfile, other: &HeapProfile) -> bool {
    !one.build_id.is_empty() && one.build_id == other.build_id
}

/// A missing id says nothing: text forms have none, and stores may lose it.
fn have_other_ids(one: &HeapProfile, other: &HeapProfile) -> bool {
    let are_known = !one.build_id.is_empty() && !other.build_id.is_empty();
    are_known && one.build_id != other.build_id
}

/// Whether the earlier profile names functions that the later one does not: the runtime never
/// forgets a bucket. This tells processes apart of which too little was sampled for counters to do so.
fn functions_that_are_gone(before: &HeapProfile, after: &HeapProfile) -> Option<OtherProcess> {
    let known = before.functions.len();
    let gone = before.functions.missing_from(&after.functions);
    // A form without names has none to compare.
    let differs = !after.functions.is_empty() && gone as f64 > MAX_MISSING_FUNCTIONS * known as f64;
    differs.then_some(OtherProcess::Functions { gone, known })
}

/// Number of (stack, object size) keys whose `alloc_space` is smaller in `after`: 0 within one
/// process. 0 too when there are no allocation counters at all. At different sampling rates the
/// sampled objects are counted: the runtime scales all of them by the rate of the moment.
fn counters_that_went_back(before: &HeapProfile, after: &HeapProfile) -> usize {
    let (from, to) = (before.period, after.period);
    let is_rescaled = from != to && from > 0 && to > 0;
    let counter = |bytes: i64, size: u64, period: i64| match is_rescaled && size > 0 {
        true => {
            let size = size as f64;
            let odds = match period {
                1 => 1.0,
                period => -(-size / period as f64).exp_m1(),
            };
            (bytes as f64 * odds / size).round() as i64
        }
        false => bytes,
    };
    let (before, after) = (&before.columns, &after.columns);
    let mut next = 0;
    (0..before.len())
        .filter(|&row| {
            let key = before.key(row);
            while next < after.len() && after.key(next) < key {
                next += 1;
            }
            let now = match next < after.len() && after.key(next) == key {
                true => after.alloc_space[next],
                false => 0,
            };
            counter(now, key.1, to) < counter(before.alloc_space[row], key.1, from)
        })
        .count()
}

/// Whether the two hold the same allocations and the same live objects: the same collector cycle.
pub(super) fn is_same_cycle(before: &HeapColumns, after: &HeapColumns) -> bool {
    before == after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{HeapProfile, StackId};

    fn heap(rows: &[(u32, i64, i64)]) -> Snapshot {
        let mut columns = HeapColumns::default();
        for &(stack, alloc, inuse) in rows {
            columns.push(StackId(stack), 16, [alloc / 16, alloc, inuse / 16, inuse]);
        }
        Snapshot {
            heap: Some(HeapProfile {
                columns,
                period: 1,
                ..HeapProfile::default()
            }),
            ..Snapshot::default()
        }
    }

    fn runs(snapshots: &[Snapshot]) -> Vec<Vec<usize>> {
        split_into_runs(snapshots)
            .into_iter()
            .map(|run| run.snapshots)
            .collect()
    }

    #[test]
    fn a_restart_begins_a_run() {
        let series = [
            heap(&[(0, 160, 16)]),
            heap(&[(0, 320, 16), (1, 16, 16)]),
            heap(&[(0, 32, 16)]),
            heap(&[(0, 64, 32)]),
        ];
        assert_eq!(runs(&series), [vec![0, 1], vec![2, 3]]);
    }

    #[test]
    fn alternating_processes_are_told_apart() {
        let series = [
            heap(&[(0, 160, 16)]),
            heap(&[(0, 16, 16), (5, 800, 0)]),
            Snapshot::default(),
            heap(&[(0, 320, 16)]),
            heap(&[(0, 32, 16), (5, 816, 0)]),
        ];
        assert_eq!(runs(&series), [vec![0, 3], vec![1, 2, 4]]);
    }

    #[test]
    fn a_key_that_vanished_went_back() {
        let (before, after) = (heap(&[(0, 16, 0), (3, 16, 16)]), heap(&[(0, 16, 0)]));
        let [before, after] = [&before, &after].map(|s| s.heap.as_ref().unwrap());
        assert_eq!(counters_that_went_back(before, after), 1);
        assert_eq!(counters_that_went_back(after, before), 0);
    }

    #[test]
    fn a_rate_that_changed_is_told_from_another_process() {
        // Ten objects of 16 bytes were sampled at a rate of 512 KiB, then one more at 64 KiB:
        // the runtime scales all of them by the rate of the moment, so the bytes fall.
        let at_rate = |sampled: f64, rate: i64| {
            let odds = -(-16.0 / rate as f64).exp_m1();
            let bytes = (sampled * 16.0 / odds) as i64;
            let mut snapshot = heap(&[(0, bytes, bytes)]);
            snapshot.heap.as_mut().unwrap().period = rate;
            snapshot
        };
        let mut symbols = SymbolTable::new();
        symbols.intern_stack(&[]);
        let (before, after) = (at_rate(10.0, 524_288), at_rate(11.0, 65_536));
        let cause = differs(&symbols, &before, &after).unwrap();
        assert_eq!(
            cause.to_string(),
            "the sampling rate changed from 512 KiB to 64 KiB"
        );
        let restarted = at_rate(9.0, 65_536);
        let cause = differs(&symbols, &before, &restarted).unwrap();
        assert_eq!(cause, OtherProcess::Rate);
        assert!(!continues(&before, &after));
        assert!(continues(&before, &at_rate(10.0, 524_288)));
    }
}
