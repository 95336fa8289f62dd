//! The judgement: snapshots in, one [`Diagnosis`] out.
//!
//! Growth that is real becomes candidates, candidates are held against the catalogue,
//! those of one pattern are joined, and each is written out as a [`Finding`] with its culprit
//! and its evidence. This module knows everything below it and nothing of how a result is
//! shown; it does no I/O and reads no clock.

mod candidate;
mod case;
mod course;
mod culprit;
mod diff;
mod finding;
mod grown;
mod harmless;
mod listing;
mod memory;
mod model;
mod movement;
mod next_steps;
mod replaced;
mod sentences;
mod settle;
mod single;
mod summary;
mod top;

pub use diff::diff;
pub use harmless::NotALeakName;
pub use model::*;
pub use top::top;

use crate::growth::{Crowds, History, Point, test_units};
use crate::pattern::{Catalogue, EvidenceView};
use crate::profile::{HeapColumns, StackId};
use crate::site::{Classifier, SiteIndex};
use crate::snapshot::{OtherProcess, Run, Series, differs};
use case::Case;
use finding::{all_buckets, weigh};
use hashbrown::HashSet;
use std::borrow::Cow;
use thiserror::Error;

/// What the user said about the program.
#[derive(Debug, Clone, Default)]
pub struct DiagnoseOptions {
    /// Modules that are the application; empty = recognised by the source paths.
    pub app_modules: Vec<String>,
    /// The memory limit in bytes, for the forecast.
    pub limit_bytes: Option<u64>,
}

/// Why inputs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotComparable {
    /// They are of different processes.
    #[error("{before} and {after} are not of one process: {cause}")]
    OtherProcess {
        /// First file.
        before: String,
        /// Second file.
        after: String,
        /// What shows it.
        cause: OtherProcess,
    },
    /// The second profile is the older one.
    #[error("{after} is older than {before}")]
    WrongOrder {
        /// First file.
        before: String,
        /// Second file.
        after: String,
    },
    /// No heap profile where one is needed.
    #[error("{} needed, and the inputs hold {found} that can be used", profiles(*.needed))]
    TooFew {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        found: usize,
    },
}

fn profiles(needed: usize) -> &'static str {
    match needed {
        1 => "a heap profile is",
        _ => "two heap profiles are",
    }
}

impl NotComparable {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherProcess { .. } => {
                "compare profiles of one process between restarts, or use --force: they are then compared as two independent samples, which sees far less"
            }
            Self::WrongOrder { .. } => "give the older profile first, or use --force",
            Self::TooFew { .. } => "fetch /debug/pprof/heap?gc=1",
        }
    }
}

/// Judges a series.
///
/// # Errors
/// Several heap profiles none of which is of the same process as another: there is
/// nothing to compare.
pub fn diagnose(
    series: &Series,
    catalogue: &Catalogue,
    options: &DiagnoseOptions,
) -> Result<Diagnosis, NotComparable> {
    let Some(run) = series.main_run() else {
        return Err(NotComparable::TooFew {
            needed: 1,
            found: 0,
        });
    };
    refuse_strangers(series, run)?;
    let sites = SiteIndex::new(
        &series.symbols,
        &Classifier::new(options.app_modules.clone()),
    );
    let columns = comparable_columns(series, run, || sites.stacks_by_name());
    let history = History::new(&points(series, run, &columns), run.is_one_process);
    let other_runs: Vec<&Run> = series.runs.iter().filter(|other| *other != run).collect();
    let other_columns: Vec<_> = other_runs
        .iter()
        .map(|other| comparable_columns(series, other, || sites.stacks_by_name()))
        .collect();
    let others: Vec<History> = other_runs
        .iter()
        .zip(&other_columns)
        .map(|(other, columns)| History::new(&points(series, other, columns), other.is_one_process))
        .collect();
    let goroutines: Vec<_> = run
        .snapshots
        .iter()
        .map(|&index| &series.snapshots[index])
        .filter_map(|snapshot| Some((snapshot.goroutines.as_ref()?, snapshot.taken_at)))
        .collect();
    let crowds = Crowds::gather(&goroutines, &sites);
    let tested = test_units(&history, &sites);
    let case = Case {
        series,
        run,
        sites: &sites,
        history: &history,
        others: &others,
        tested: &tested,
        crowds: &crowds,
    };
    let view = EvidenceView::new(&sites, &crowds, case.is_single());
    let mut unsettled = Vec::new();
    let mut not_a_leak = Vec::new();
    let mut warnings: Vec<String> = series.warnings.iter().map(ToString::to_string).collect();
    let mut findings = if case.is_single() {
        single::suspects(&case, &view, catalogue, &mut unsettled)
    } else {
        grown::findings(
            &case,
            &view,
            catalogue,
            &mut unsettled,
            &mut warnings,
            &mut not_a_leak,
        )
    };
    let weight = |finding: &Finding| {
        let growth = finding.growth.as_ref();
        let low = growth.and_then(|g| g.ci95).map(|[low, _]| low);
        low.or(growth.map(|g| g.bytes)).unwrap_or(0.0)
    };
    findings.sort_by(|a, b| {
        b.verdict
            .cmp(&a.verdict)
            .then(weight(b).total_cmp(&weight(a)))
            .then_with(|| a.title.cmp(&b.title))
    });
    let totals = summary::totals(&case);
    let verdict = summary::verdict(&case, &findings);
    let memory = memory::breakdown(&case);
    not_a_leak.extend(movement::movements(&case, &findings));
    not_a_leak.extend(memory::verdicts(&case, &findings, memory.as_ref()));
    let size = |entry: &NotALeak| entry.bytes.unwrap_or(0.0);
    not_a_leak.sort_by(|a, b| size(b).total_cmp(&size(a)));
    Ok(Diagnosis {
        schema_version: SCHEMA_VERSION,
        verdict,
        inputs: summary::inputs(series, run),
        series: summary::series(&case),
        forecast: memory::forecast(&case, &totals, verdict, options.limit_bytes),
        totals,
        next_steps: next_steps::next_steps(&case, verdict, &findings, &unsettled),
        not_a_leak,
        findings,
        memory,
        warnings,
    })
}

/// Refuses inputs of which no two are of one process.
fn refuse_strangers(series: &Series, run: &Run) -> Result<(), NotComparable> {
    let with_heap: Vec<usize> = (0..series.snapshots.len())
        .filter(|&index| series.snapshots[index].heap.is_some())
        .collect();
    let in_run = |index: &&usize| run.snapshots.contains(index);
    match with_heap.as_slice() {
        [first, second, ..] if with_heap.iter().filter(in_run).count() <= 1 => {
            Err(strangers(series, *first, *second))
        }
        _ => Ok(()),
    }
}

fn strangers(series: &Series, first: usize, second: usize) -> NotComparable {
    let (before, after) = (&series.snapshots[first], &series.snapshots[second]);
    NotComparable::OtherProcess {
        before: before.name().to_owned(),
        after: after.name().to_owned(),
        // Never absent: the two would have been put into one run.
        cause: differs(before, after).unwrap_or(OtherProcess::Build),
    }
}

/// The run's heap profiles, keyed by name where builds differ.
fn comparable_columns<'a>(
    series: &'a Series,
    run: &Run,
    stacks_by_name: impl FnOnce() -> Vec<StackId>,
) -> Vec<Cow<'a, HeapColumns>> {
    let heaps = || {
        run.snapshots
            .iter()
            .filter_map(|&index| series.snapshots[index].heap.as_ref())
    };
    let builds: HashSet<&str> = heaps().map(|heap| heap.build_id.as_str()).collect();
    if builds.len() <= 1 {
        return heaps().map(|heap| Cow::Borrowed(&heap.columns)).collect();
    }
    let key_of = stacks_by_name();
    heaps()
        .map(|heap| Cow::Owned(heap.columns.rekey(&key_of)))
        .collect()
}

/// One point of history per heap profile of the run.
fn points<'a>(series: &Series, run: &Run, columns: &'a [Cow<HeapColumns>]) -> Vec<Point<'a>> {
    let snapshots = run.snapshots.iter().map(|&index| &series.snapshots[index]);
    let with_heap = snapshots.filter_map(|snapshot| Some((snapshot, snapshot.heap.as_ref()?)));
    with_heap
        .zip(columns)
        .map(|((snapshot, heap), columns)| Point {
            columns,
            taken_at: snapshot.taken_at,
            sampling_rate: heap.has_counts().then_some(heap.period),
            repeats_previous: snapshot.repeats_previous,
        })
        .collect()
}

fn sorted_union(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut all: Vec<u32> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Everything in use, weighed for a single snapshot.
fn whole_heap(case: &Case) -> crate::pattern::HeapView {
    weigh(case, &all_buckets(case))
}
