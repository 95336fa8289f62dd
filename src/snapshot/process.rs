//! Which snapshots are of one process: allocation counters never go back within it.

use super::Snapshot;
use crate::profile::{HeapColumns, HeapProfile};
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
                        Some(last) => differs(&snapshots[last], &snapshots[index]).is_none(),
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
    /// Sampling rates differ; a program sets its own at the start.
    #[error("it samples at another rate")]
    Rate,
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

/// Share of the functions that may be missing: a tool that rewrites profiles may drop a few.
const MAX_MISSING_FUNCTIONS: f64 = 0.01;

/// Why `after` cannot be of the process of `before`; `None`: it can.
pub fn differs(before: &Snapshot, after: &Snapshot) -> Option<OtherProcess> {
    let (before, after) = (before.heap.as_ref()?, after.heap.as_ref()?);
    if before.build_id != after.build_id {
        return Some(OtherProcess::Build);
    }
    if before.period != after.period {
        return Some(OtherProcess::Rate);
    }
    let went_back = counters_that_went_back(&before.columns, &after.columns);
    if went_back > 0 {
        return Some(OtherProcess::Counters {
            went_back,
            counters: before.columns.len(),
        });
    }
    functions_that_are_gone(before, after)
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
/// process. 0 too when there are no allocation counters at all.
fn counters_that_went_back(before: &HeapColumns, after: &HeapColumns) -> usize {
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
            now < before.alloc_space[row]
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
        let columns = |s: &Snapshot| s.heap.as_ref().map(|h| h.columns.clone()).unwrap();
        assert_eq!(
            counters_that_went_back(&columns(&before), &columns(&after)),
            1
        );
        assert_eq!(
            counters_that_went_back(&columns(&after), &columns(&before)),
            0
        );
    }
}
