//! The judgement: snapshots in, one [`Diagnosis`] out.
//!
//! Growth that is real becomes candidates, candidates are held against the catalogue,
//! those of one pattern are joined, and each is written out as a [`Finding`] with its culprit
//! and its evidence. This module knows everything below it and nothing of how a result is
//! shown; it does no I/O and reads no clock.

mod callers;
mod candidate;
mod case;
mod check;
mod course;
mod crowd_candidate;
mod culprit;
mod diff;
mod finding;
mod fleet;
mod grown;
mod harmless;
mod identity;
mod joined;
mod judge;
mod listing;
mod measure;
mod memory;
mod model;
mod movement;
mod next_steps;
mod programs;
mod replaced;
mod restarts;
mod sentences;
mod settle;
mod settling;
mod single;
mod stacks;
mod summary;
mod timeline;
mod top;
mod verify;

pub use check::{
    Allow, AllowStatus, AllowUse, BASELINE_VERSION, Baseline, BaselineSite, Budget, Check,
    CheckAgainst, CheckLevel, CheckOptions, CheckRow, CheckRowVerdict, CheckSide, CheckVerdict,
    Day, Reference, check,
};
pub use diff::diff;
pub use fleet::{Fleet, FleetMember, PooledGrowth, SharedFinding, diagnose_fleet};
pub use harmless::NotALeakName;
pub use model::*;
pub use settling::Settling;
pub use stacks::{
    StackFrame, StackRow, StackSide, Stacks, diagnosis_stacks, diff_stacks, top_stacks,
};
pub use top::top;
pub use verify::{
    NewFinding, RateChange, Verification, VerifiedFinding, VerifySide, VerifyVerdict, verify,
};

use crate::growth::{Crowds, History, Point, test_units};
use crate::pattern::{Catalogue, EvidenceView};
use crate::profile::HeapColumns;
use crate::site::{Classifier, SiteIndex};
use crate::snapshot::{OtherProcess, Run, Series, differs};
use case::Case;
use culprit::Background;
use identity::{Comparable, comparable, keyed_like};
use measure::{all_buckets, weigh};
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
    /// They are of one process that changed its sampling rate.
    #[error("{before} and {after} do not compare object by object: {cause}")]
    OtherRate {
        /// First file.
        before: String,
        /// Second file.
        after: String,
        /// From which rate to which.
        cause: OtherProcess,
    },
    /// They have next to nothing in common.
    #[error(
        "{before} and {after} are not of one program: {percent} % of the bytes in use are at sites of both"
    )]
    OtherProgram {
        /// First file.
        before: String,
        /// Second file.
        after: String,
        /// Share of the bytes, in whole percent.
        percent: u32,
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
            Self::OtherProgram { .. } => {
                "compare builds of one program, or use --force: they are then compared as two independent samples"
            }
            Self::OtherRate { .. } => {
                "compare profiles taken at one rate, or use --force: sizes are then compared without error estimate"
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
    let classifier = Classifier::new(options.app_modules.clone());
    let as_read = SiteIndex::new(&series.symbols, &classifier);
    let Comparable {
        columns, symbols, ..
    } = comparable(series, run, &as_read);
    let sites = match &symbols {
        Cow::Borrowed(_) => as_read,
        Cow::Owned(symbols) => SiteIndex::new(symbols, &classifier),
    };
    let history = History::new(&points(series, run, &columns), run.is_one_process);
    let other_runs: Vec<&Run> = series.runs.iter().filter(|other| *other != run).collect();
    let other_columns: Vec<_> = other_runs
        .iter()
        .map(|other| keyed_like(series, run, other, &sites))
        .collect();
    let others: Vec<History> = other_runs
        .iter()
        .zip(&other_columns)
        .map(|(other, columns)| History::new(&points(series, other, columns), other.is_one_process))
        .collect();
    let with_goroutines: Vec<_> = run
        .snapshots
        .iter()
        .map(|&index| &series.snapshots[index])
        .filter_map(|snapshot| Some((snapshot, snapshot.goroutines.as_ref()?)))
        .collect();
    let goroutines: Vec<_> = with_goroutines
        .iter()
        .map(|(snapshot, goroutines)| (*goroutines, snapshot.moment()))
        .collect();
    let mut crowds = Crowds::gather(&goroutines, &sites);
    for (point, (snapshot, _)) in with_goroutines.iter().enumerate() {
        if let Some(leaks) = &snapshot.leaks {
            crowds.mark_leaked(point, leaks, &sites);
        }
    }
    let background = Background::new(&history, &sites);
    let tested = test_units(&history, &sites);
    let case = Case {
        series,
        run,
        sites: &sites,
        history: &history,
        others: &others,
        background: &background,
        tested: &tested,
        crowds: &crowds,
    };
    let view = EvidenceView::new(&sites, &crowds, case.is_single());
    let mut unsettled = Vec::new();
    let mut not_a_leak = Vec::new();
    let mut warnings: Vec<String> = series.warnings.iter().map(ToString::to_string).collect();
    let mut findings = if case.is_single() {
        single::suspects(&case, &view, catalogue, &mut unsettled, &mut warnings)
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
    not_a_leak.extend(restarts::restarts(&case));
    not_a_leak.extend(movement::movements(&case, &findings));
    not_a_leak.extend(memory::verdicts(&case, &findings, memory.as_ref()));
    let size = |entry: &NotALeak| entry.bytes.unwrap_or(0.0);
    not_a_leak.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let (all_sites, sites_unshown) = timeline::all_sites(&case);
    Ok(Diagnosis {
        schema_version: SCHEMA_VERSION,
        timeline: timeline::timeline(&case),
        sites: all_sites,
        sites_unshown,
        verdict,
        inputs: summary::inputs(series, run),
        series: summary::series(&case),
        forecast: memory::forecast(&case, &totals, verdict, options.limit_bytes),
        identity: identity::at_boundary(series, &sites),
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
    let [one, other] = [first, second].map(|index| &series.snapshots[index]);
    let (before, after) = (one.name().to_owned(), other.name().to_owned());
    // Never absent: the two would have been put into one run.
    let cause = differs(&series.symbols, one, other).unwrap_or(OtherProcess::Build);
    match cause {
        OtherProcess::RateChanged { .. } => NotComparable::OtherRate {
            before,
            after,
            cause,
        },
        _ => NotComparable::OtherProcess {
            before,
            after,
            cause,
        },
    }
}

/// One point of history per heap profile of the run.
fn points<'a>(series: &Series, run: &Run, columns: &'a [Cow<HeapColumns>]) -> Vec<Point<'a>> {
    let snapshots = run.snapshots.iter().map(|&index| &series.snapshots[index]);
    let with_heap = snapshots.filter_map(|snapshot| Some((snapshot, snapshot.heap.as_ref()?)));
    with_heap
        .zip(columns)
        .map(|((snapshot, heap), columns)| Point {
            columns,
            taken_at: snapshot.moment(),
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
