//! Decoded files into a series: joined by moment, ordered by clock, checked.

use super::process::{
    differs, forced_run, is_other_build, is_same_cycle, one_run, split_into_runs,
};
use super::stem::natural_order;
use super::{
    OtherProcess, Run, SeriesWarning, Skipped, Snapshot, SourceFile, SourceKind, Unsuitable,
};
use crate::profile::{
    GoroutineProfile, HeapProfile, MemoryStats, ProfileFile, StackId, SymbolTable,
};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// One file as it came from a source.
#[derive(Debug)]
pub struct LoadedFile {
    /// What the user calls it (a path, a URL); untrusted text.
    pub source: String,
    /// Files with the same key are of one moment.
    pub moment: String,
    /// Its content, or why there is none.
    pub content: Result<ProfileFile, Skipped>,
}

/// Snapshots in time order, with the names that they share.
#[derive(Debug, Default)]
pub struct Series {
    /// Names and stacks of all snapshots.
    pub symbols: SymbolTable,
    /// In time order.
    pub snapshots: Vec<Snapshot>,
    /// Runs of one process, in order of their first snapshot; every snapshot is in exactly one.
    pub runs: Vec<Run>,
    /// The runs of single processes; other than [`Self::runs`] where these were forced into one.
    pub processes: Vec<Run>,
    /// Where a process ends and another begins.
    pub boundary: Option<Boundary>,
    /// Files that were left out, with the reason of each.
    pub left_out: Vec<(String, Skipped)>,
    /// What the user should know, in the order found.
    pub warnings: Vec<SeriesWarning>,
}

/// Where a process ends and another begins: at the first rebuild, without one at the first
/// restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// Index of the last heap profile of the one.
    pub before: usize,
    /// Index of the first heap profile of the other.
    pub after: usize,
    /// What shows it.
    pub cause: OtherProcess,
}

/// A memory file further than this from its heap profile is of another moment: without
/// `gc=1` the last collection is up to two minutes old, and a clock may be a little ahead.
const MEMORY_WINDOW_SECONDS: std::ops::RangeInclusive<i64> = -10..=600;
/// Depths at which Go's runtime cuts a stack: before and since Go 1.23.
const RUNTIME_STACK_DEPTHS: [usize; 2] = [32, 128];
/// Builds with which a process is compared, the latest first: it bounds the time.
const MAX_BUILDS_COMPARED: usize = 8;

impl Series {
    /// Joins, orders and checks the files. With `force`, profiles that cannot be compared
    /// (deltas, saved diffs) and different processes are taken as if they could.
    pub fn assemble(symbols: SymbolTable, files: Vec<LoadedFile>, force: bool) -> Self {
        let mut series = Self {
            symbols,
            ..Self::default()
        };
        let mut moments: BTreeMap<String, Moment> = BTreeMap::new();
        for file in files {
            series.sort_into(&mut moments, file, force);
        }
        for (_, moment) in moments {
            moment.into_snapshots(&mut series);
        }
        series.order();
        series.runs = split_into_runs(&series.snapshots);
        if series.runs.len() > 1 {
            series.mend_clock();
            series.runs = split_into_runs(&series.snapshots);
        }
        series.processes = series.runs.clone();
        series.boundary = series.find_boundary();
        series.warn_about_processes(force);
        if force && series.runs.len() > 1 {
            series.runs = vec![forced_run(series.snapshots.len())];
            series.warn_about_mixed_run();
        }
        series.mark_repeats();
        series.warn_about_error_estimates();
        series.warn_about_truncated_stacks();
        series
    }

    /// The run that is judged: the one with the most snapshots, of equal ones the latest.
    pub fn main_run(&self) -> Option<&Run> {
        self.runs.iter().max_by_key(|run| run.snapshots.len())
    }

    fn sort_into(&mut self, moments: &mut BTreeMap<String, Moment>, file: LoadedFile, force: bool) {
        let LoadedFile {
            source,
            moment,
            content,
        } = file;
        let content = match content {
            Ok(ProfileFile::Several(parts)) => {
                for part in parts {
                    let part = LoadedFile {
                        source: source.clone(),
                        moment: moment.clone(),
                        content: Ok(part),
                    };
                    self.sort_into(moments, part, force);
                }
                return;
            }
            one => one,
        };
        let content = content.and_then(|content| match &content {
            ProfileFile::Heap { heap, .. } => match Unsuitable::of(heap) {
                Some(reason) if force => {
                    self.warnings.push(SeriesWarning::ForcedFile {
                        source_name: source.clone(),
                        reason,
                    });
                    Ok(content)
                }
                Some(reason) => Err(reason.into()),
                None => Ok(content),
            },
            _ => Ok(content),
        });
        let content = match content {
            Ok(content) => content,
            Err(reason) => {
                self.warnings.push(SeriesWarning::LeftOut {
                    source_name: source.clone(),
                    reason: reason.clone(),
                });
                self.left_out.push((source, reason));
                return;
            }
        };
        let moment = moments.entry(moment).or_default();
        match content {
            ProfileFile::Heap { heap, memory } => {
                self.note_warnings(&source, &heap.warnings);
                moment.heaps.push((source, *heap, memory.map(|m| *m)));
            }
            ProfileFile::Goroutines(goroutines) => {
                self.note_warnings(&source, &goroutines.warnings);
                moment.goroutines.push((source, goroutines));
            }
            ProfileFile::Memory(memory) => moment.memories.push((source, *memory)),
            // Taken apart above.
            ProfileFile::Several(_) => {}
        }
    }

    fn note_warnings(&mut self, source: &str, warnings: &[crate::profile::ProfileWarning]) {
        for warning in warnings {
            self.warnings.push(SeriesWarning::Profile {
                source_name: source.to_owned(),
                warning: warning.clone(),
            });
        }
    }

    fn order(&mut self) {
        let without_time = self
            .snapshots
            .iter()
            .filter(|s| s.taken_at.is_none())
            .count();
        if without_time == 0 {
            self.snapshots
                .sort_by(|a, b| (a.taken_at, a.name()).cmp(&(b.taken_at, b.name())));
            return;
        }
        if self.snapshots.len() > 1 {
            self.warnings.push(SeriesWarning::NoTime {
                count: without_time,
            });
        }
        self.snapshots
            .sort_by(|a, b| natural_order(a.name(), b.name()));
    }

    fn mark_repeats(&mut self) {
        let (mut repeats, mut intervals) = (0, 0);
        for run in &self.runs {
            let with_heap: Vec<usize> = run
                .snapshots
                .iter()
                .copied()
                .filter(|&index| self.snapshots[index].heap.is_some())
                .collect();
            for pair in with_heap.windows(2) {
                intervals += 1;
                let columns =
                    |index: usize| self.snapshots[index].heap.as_ref().map(|h| &h.columns);
                let (Some(before), Some(after)) = (columns(pair[0]), columns(pair[1])) else {
                    continue;
                };
                if is_same_cycle(before, after) {
                    self.snapshots[pair[1]].repeats_previous = true;
                    repeats += 1;
                }
            }
        }
        if repeats > 0 {
            self.warnings
                .push(SeriesWarning::RepeatedCycle { repeats, intervals });
        }
    }

    fn warn_about_processes(&mut self, force: bool) {
        let heaps = || self.snapshots.iter().filter_map(|s| s.heap.as_ref());
        if heaps().count() > 1 && heaps().any(|h| !h.has_type("alloc_space")) {
            self.warnings.push(SeriesWarning::NoAllocCounters);
        }
        let Some(Boundary { after, cause, .. }) = self.boundary else {
            return;
        };
        let first = self.snapshots[after].name().to_owned();
        let processes = self.runs.len();
        let ends_before_next = |pair: &[Run]| pair[0].snapshots.last() < pair[1].snapshots.first();
        let warning = if force {
            SeriesWarning::ForcedProcesses {
                processes,
                cause,
                first,
            }
        } else if self.runs.windows(2).all(ends_before_next) {
            SeriesWarning::Restarted {
                restarts: processes - 1,
                cause,
                first,
            }
        } else {
            SeriesWarning::SeveralProcesses {
                processes,
                cause,
                first,
            }
        };
        self.warnings.push(warning);
    }

    fn find_boundary(&self) -> Option<Boundary> {
        let has_heap = |index: &usize| self.snapshots[*index].heap.is_some();
        let boundaries = self.processes.windows(2).filter_map(|pair| {
            let after = pair[1].snapshots.iter().copied().find(has_heap)?;
            // What the second one's first snapshot did not continue.
            let known = pair[0].snapshots.iter().rev().copied();
            let before = known.filter(|index| *index < after).find(has_heap)?;
            let (one, other) = (&self.snapshots[before], &self.snapshots[after]);
            let cause = differs(&self.symbols, one, other)?;
            Some(Boundary {
                before,
                after,
                cause,
            })
        });
        let boundaries: Vec<Boundary> = boundaries.collect();
        let is_rebuild = |boundary: &&Boundary| boundary.cause.is_other_build();
        let rebuild = boundaries.iter().find(is_rebuild);
        rebuild.or(boundaries.first()).copied()
    }

    /// The heap profiles of a run by build: indices into [`Self::snapshots`], in time order,
    /// the builds in the order of their first. One list where all are of the same code.
    pub fn builds(&self, run: &Run) -> Vec<Vec<usize>> {
        let mut builds: Vec<Vec<usize>> = Vec::new();
        for process in &self.processes {
            let with_heap = |index: &usize| {
                run.snapshots.contains(index) && self.snapshots[*index].heap.is_some()
            };
            let heaps: Vec<usize> = process
                .snapshots
                .iter()
                .copied()
                .filter(with_heap)
                .collect();
            let Some(&first) = heaps.first() else {
                continue;
            };
            let is_same = |build: &&mut Vec<usize>| {
                let known = build
                    .last()
                    .and_then(|last| self.snapshots[*last].heap.as_ref());
                let (Some(known), Some(heap)) = (known, &self.snapshots[first].heap) else {
                    return false;
                };
                !is_other_build(&self.symbols, known, heap)
            };
            // Many processes are mostly of the latest builds.
            let recent = builds.iter_mut().rev().take(MAX_BUILDS_COMPARED);
            match { recent }.find(is_same) {
                Some(build) => build.extend(heaps),
                None => builds.push(heaps),
            }
        }
        for build in &mut builds {
            build.sort_unstable();
        }
        builds
    }

    /// Exchanges two snapshots.
    pub fn swap(&mut self, a: usize, b: usize) {
        self.snapshots.swap(a, b);
        for run in self.runs.iter_mut().chain(&mut self.processes) {
            for index in &mut run.snapshots {
                *index = match *index {
                    i if i == a => b,
                    i if i == b => a,
                    i => i,
                };
            }
            run.snapshots.sort_unstable();
        }
        self.boundary = self.find_boundary();
    }

    /// Takes all snapshots as those of one process.
    pub(super) fn take_as_one_process(&mut self) {
        self.runs = vec![one_run(self.snapshots.len())];
        self.processes = self.runs.clone();
        self.boundary = None;
        self.warnings
            .retain(|warning| !warning.is_about_processes());
    }

    /// What differs within the one run that the user forced.
    fn warn_about_mixed_run(&mut self) {
        let heaps = self.snapshots.iter().filter_map(|s| s.heap.as_ref());
        let rates: Vec<i64> = heaps.map(|heap| heap.period).collect();
        let builds = self.main_run().map_or(0, |run| self.builds(run).len());
        if builds > 1 {
            self.warnings.push(SeriesWarning::OtherBuild { builds });
        }
        if rates.windows(2).any(|pair| pair[0] != pair[1]) {
            self.warnings.push(SeriesWarning::other_rates(rates));
        }
    }

    fn warn_about_error_estimates(&mut self) {
        let lacks_counts = |snapshot: &&Snapshot| {
            let heap = snapshot.heap.as_ref();
            // A pasted report says so by itself.
            heap.is_some_and(|h| h.pasted.is_none() && !h.columns.is_empty() && !h.has_counts())
        };
        let mut without = self.snapshots.iter().filter(lacks_counts);
        if let Some(first) = without.next() {
            self.warnings.push(SeriesWarning::NoErrorEstimate {
                source_name: first.name().to_owned(),
                others: without.count(),
            });
        }
    }

    fn warn_about_truncated_stacks(&mut self) {
        let mut in_use = vec![false; self.symbols.stack_count()];
        for heap in self.snapshots.iter().filter_map(|s| s.heap.as_ref()) {
            for (stack, bytes) in heap.columns.stack.iter().zip(&heap.columns.inuse_space) {
                in_use[stack.index()] |= *bytes != 0;
            }
        }
        let stacks = in_use.par_iter().enumerate().with_min_len(4096);
        let cut = stacks
            .filter(|(_, used)| **used)
            .map(|(index, _)| {
                let depth = self.symbols.stack_depth(StackId(index as u32));
                RUNTIME_STACK_DEPTHS.map(|limit| usize::from(depth == limit))
            })
            .reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
        for (stacks, depth) in cut.into_iter().zip(RUNTIME_STACK_DEPTHS) {
            // A whole stack can happen to have this depth; several of them are a cut.
            if stacks > 1 {
                self.warnings
                    .push(SeriesWarning::TruncatedStacks { stacks, depth });
            }
        }
    }
}

impl SourceKind {
    fn of(self, name: String) -> SourceFile {
        SourceFile { name, kind: self }
    }
}

/// Seconds from the last collection that the figures know of to the snapshot's own clock; 0 when
/// either is unknown (a control group has no clock).
fn seconds_apart(snapshot: &Snapshot, memory: &MemoryStats) -> i64 {
    let clocks = snapshot.taken_at.zip(memory.last_gc_nanos);
    clocks.map_or(0, |(taken, gc)| taken.saturating_sub(gc) / 1_000_000_000)
}

/// The files of one moment.
#[derive(Default)]
struct Moment {
    heaps: Vec<(String, HeapProfile, Option<MemoryStats>)>,
    goroutines: Vec<(String, GoroutineProfile)>,
    memories: Vec<(String, MemoryStats)>,
}

impl Moment {
    fn into_snapshots(mut self, series: &mut Series) {
        // `heap?debug=1` beside a protobuf heap is there for its trailer only.
        let is_text = |heap: &(String, HeapProfile, Option<MemoryStats>)| heap.2.is_some();
        if self.heaps.len() > 1 && self.heaps.iter().filter(|heap| !is_text(heap)).count() == 1 {
            let (texts, profile): (Vec<_>, Vec<_>) = self.heaps.into_iter().partition(is_text);
            self.heaps = profile;
            self.memories.extend(
                texts
                    .into_iter()
                    .filter_map(|(s, _, memory)| Some((s, memory?))),
            );
        }
        let mut snapshots: Vec<Snapshot> = self
            .heaps
            .into_iter()
            .map(|(source, heap, memory)| Snapshot {
                sources: vec![SourceKind::Heap.of(source)],
                taken_at: heap.time_nanos,
                heap: Some(heap),
                memory,
                ..Snapshot::default()
            })
            .collect();
        let joinable = snapshots.len() <= 1;
        // A list of leaked goroutines alone says something of all of them, where these are here.
        let has_all = self.goroutines.iter().any(|(_, g)| !g.lists_only_leaked);
        let (leaks, goroutines): (Vec<_>, Vec<_>) = self
            .goroutines
            .into_iter()
            .partition(|(_, g)| g.lists_only_leaked && has_all && joinable);
        for (source, goroutines) in goroutines {
            match snapshots
                .iter_mut()
                .find(|s| joinable && s.goroutines.is_none())
            {
                Some(snapshot) => {
                    snapshot.taken_at = snapshot.taken_at.or(goroutines.time_nanos);
                    snapshot.sources.push(SourceKind::Goroutines.of(source));
                    snapshot.goroutines = Some(goroutines);
                }
                None if joinable => snapshots.push(Snapshot {
                    sources: vec![SourceKind::Goroutines.of(source)],
                    taken_at: goroutines.time_nanos,
                    goroutines: Some(goroutines),
                    ..Snapshot::default()
                }),
                None => series.warnings.push(SeriesWarning::Unjoined {
                    source_name: source,
                }),
            }
        }
        for (source, leaks) in leaks {
            if let Some(snapshot) = snapshots.iter_mut().find(|s| s.leaks.is_none()) {
                snapshot.sources.push(SourceKind::Leaks.of(source));
                snapshot.leaks = Some(leaks);
            }
        }
        // The first value of a figure stays: an order that no argument list can change.
        self.memories.sort_by(|a, b| a.0.cmp(&b.0));
        for (source, memory) in self.memories {
            if !joinable {
                series.warnings.push(SeriesWarning::Unjoined {
                    source_name: source,
                });
                continue;
            }
            if snapshots.is_empty() {
                snapshots.push(Snapshot::default());
            }
            let snapshot = &mut snapshots[0];
            let apart = seconds_apart(snapshot, &memory);
            if snapshot.heap.is_some() && !MEMORY_WINDOW_SECONDS.contains(&apart) {
                series.warnings.push(SeriesWarning::MemoryOfAnotherMoment {
                    source_name: source,
                    seconds: apart,
                });
                continue;
            }
            snapshot.taken_at = snapshot.taken_at.or(memory.last_gc_nanos);
            snapshot.sources.push(SourceKind::Memory.of(source));
            match &mut snapshot.memory {
                Some(known) => known.fill_from(&memory),
                None => snapshot.memory = Some(memory),
            }
        }
        series.snapshots.append(&mut snapshots);
    }
}
