//! The gate: do the heaps of one build hold more than those of another, by more than a budget
//! and beyond noise?
//!
//! The two are different processes, hence independent samples (statistics.md §3). Sites are
//! matched across builds; what moved within a package is summed out before anything fails. This
//! module knows series and budgets; it must not know how the answer is shown.

mod allow;
mod baseline;
mod gate;
mod runs;
#[cfg(test)]
mod tests;

pub use allow::{Allow, AllowStatus, AllowUse, Day};
pub use baseline::{BASELINE_VERSION, Baseline, BaselineSite};

use super::identity::{matched_between, rekeyed};
use super::programs::refuse_other_programs;
use super::summary::written_time;
use super::{Identity, NotComparable, SCHEMA_VERSION, Unshown};
use crate::growth::{Holding, Sampler, limit_bytes, objects_needed};
use crate::profile::HeapProfile;
use crate::site::{Classifier, SiteIndex, keys_across_builds};
use crate::snapshot::{Series, Snapshot, is_other_build};
use crate::units::size;
use gate::{ALPHA, Units, judge};
use runs::{last_heaps, write_side};
use serde::Serialize;

/// Most growth that passes. With both given, both must be exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// Of the whole heap of the base, 0.05 = 5 %.
    pub relative: Option<f64>,
    /// In bytes.
    pub bytes: Option<f64>,
}

impl Budget {
    /// 5 % of the heap, and 1 MiB: what two runs of one build seldom differ by.
    pub const DEFAULT: Self = Self {
        relative: Some(0.05),
        bytes: Some(1_048_576.0),
    };

    /// The bytes of growth that pass when the base's whole heap holds `base` bytes.
    pub fn limit(&self, base: f64) -> f64 {
        let relative = self.relative.map_or(0.0, |share| share * base);
        relative.max(self.bytes.unwrap_or(0.0))
    }
}

/// What the gate holds the builds to.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// For the whole heap.
    pub heap: Budget,
    /// For what the functions of one package order.
    pub package: Budget,
    /// For one site.
    pub site: Budget,
    /// Growth that is meant.
    pub allow: Vec<Allow>,
    /// Modules that are the application.
    pub app_modules: Vec<String>,
    /// Compare different programs too.
    pub force: bool,
}

/// What the gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// Nothing exceeds its budget beyond noise.
    Passed,
    /// Something does.
    Failed,
    /// There is no error estimate.
    Undecided,
}

/// What the gate says of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckRowVerdict {
    /// Grew beyond its budget and beyond noise.
    OverBudget,
    /// The same, and an `[[allow]]` entry says that it is meant.
    Allowed,
    /// The same, and as much went away elsewhere in the package.
    Moved,
    /// Grew beyond noise, within its budget.
    Grew,
    /// Shrank beyond noise.
    Shrank,
    /// Not to be told from noise.
    WithinNoise,
    /// No error estimate.
    Unknown,
}

/// What a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckLevel {
    /// The whole heap.
    Heap,
    /// What the functions of a package order.
    Package,
    /// A function that allocates for another.
    Site,
}

/// What is compared with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckAgainst {
    /// The base build.
    Base,
    /// The baseline file.
    Baseline,
}

/// The answer of [`check`]. Sizes are bytes per run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The answer in a word.
    pub verdict: CheckVerdict,
    /// The base; null when there is a baseline alone.
    pub base: Option<CheckSide>,
    /// The build that is checked.
    pub head: CheckSide,
    /// The baseline; null without one.
    pub baseline: Option<CheckSide>,
    /// Failures first, then the largest change.
    pub rows: Vec<CheckRow>,
    /// What the rows leave out; `bytes` is the sum of their deltas.
    pub unshown: Unshown,
    /// Rows over their budgets, shown or not.
    pub failures: usize,
    /// Smaller growth of one site can go unseen.
    pub detection_limit_bytes: Option<f64>,
    /// What became of the `[[allow]]` entries, in their order.
    pub allow: Vec<AllowUse>,
    /// How the sites of the two were matched; null without a base.
    pub identity: Option<Identity>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// The heaps of one build.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckSide {
    /// Its first file, as the user knows it.
    pub source: String,
    /// RFC 3339 of the latest.
    pub taken_at: Option<String>,
    /// Processes, each with its last heap.
    pub runs: usize,
    /// Mean bytes in use.
    pub inuse_bytes: f64,
    /// Mean bytes between samples.
    pub sampling_period: Option<i64>,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckRow {
    /// With what.
    pub against: CheckAgainst,
    /// Of what.
    pub level: CheckLevel,
    /// The function or package; `heap` for the whole.
    pub name: String,
    /// The function that ordered the allocation, where it is another.
    pub ordered_by: Option<String>,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known.
    pub line: Option<u32>,
    /// Bytes per run before.
    pub base_bytes: f64,
    /// Bytes per run now.
    pub head_bytes: f64,
    /// Head less base; with four runs a side or more Hodges and Lehmann's estimate.
    pub delta_bytes: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// One-sided test of "not more than before", by counts.
    pub p_value: Option<f64>,
    /// The same by the runs themselves (Mann and Whitney); null with fewer than four a side.
    pub rank_p_value: Option<f64>,
    /// Growth that passes.
    pub budget_bytes: f64,
    /// What it comes to.
    pub verdict: CheckRowVerdict,
    /// Why growth is allowed.
    pub allowed: Option<String>,
}

/// What is compared: a base build, a baseline, or both.
pub struct Reference<'a> {
    /// The base build; it shares its symbol table with the head.
    pub base: Option<&'a Series>,
    /// Figures of an earlier build.
    pub baseline: Option<&'a Baseline>,
}

/// Holds a build to its budgets. Returns the answer, and the head's figures as a new baseline.
///
/// # Errors
/// A side without a heap profile; two sides of different programs.
pub fn check(
    reference: &Reference,
    head: &Series,
    options: &CheckOptions,
) -> Result<(Check, Baseline), NotComparable> {
    let classifier = Classifier::new(options.app_modules.clone());
    let sites = SiteIndex::new(&head.symbols, &classifier);
    let new = last_heaps(head)?;
    let old = reference.base.map(last_heaps).transpose()?;
    let new_refs = heaps_of(&new);
    let old_refs = old.as_ref().map(|runs| heaps_of(runs)).unwrap_or_default();
    let identity = match (old.as_ref().and_then(|runs| runs.last()), new.first()) {
        (Some(last), Some(first)) => {
            matched_between(&sites, last, first).map(|(identity, _)| (identity, [*last, *first]))
        }
        _ => None,
    };
    if let Some((identity, nearest)) = identity.as_ref().filter(|_| !options.force) {
        refuse_other_programs(identity, *nearest, &sites, [&old_refs, &new_refs])?;
    }
    let keys = match (old_refs.last(), new_refs.first()) {
        (Some(last), Some(first)) if is_other_build(&head.symbols, last, first) => {
            keys_across_builds(&sites, &[old_refs.clone(), new_refs.clone()]).keys
        }
        _ => Vec::new(),
    };
    let mut keys = keys.into_iter();
    let keys = [(); 2].map(|()| keys.next().unwrap_or_default());
    let gather = |heaps: &[&HeapProfile], keys| {
        let mut units = Units::default();
        for heap in heaps {
            units.add_run(&rekeyed(heap, keys), heap, &sites);
        }
        units
    };
    let head_units = gather(&new_refs, &keys[1]);
    let mut rows = Vec::new();
    let mut tests = 0;
    if !old_refs.is_empty() {
        let base_units = gather(&old_refs, &keys[0]);
        let judged = judge(&base_units, &head_units, options, CheckAgainst::Base);
        tests = tests.max(judged.tests);
        rows.extend(judged.rows);
    }
    if let Some(baseline) = reference.baseline {
        let judged = judge(
            &baseline.units(),
            &head_units,
            options,
            CheckAgainst::Baseline,
        );
        tests = tests.max(judged.tests);
        rows.extend(judged.rows);
    }
    let head_side = write_side(&new, &head_units);
    let allow = allow::apply(&options.allow, &mut rows, head_side.taken_at.as_deref());
    let failures = rows
        .iter()
        .filter(|row| row.verdict == CheckRowVerdict::OverBudget)
        .count();
    rows.sort_by(|a, b| {
        let is_failure = |row: &CheckRow| row.verdict == CheckRowVerdict::OverBudget;
        (is_failure(b).cmp(&is_failure(a)))
            .then(a.level.cmp(&b.level))
            .then(b.delta_bytes.abs().total_cmp(&a.delta_bytes.abs()))
            .then_with(|| (&a.name, &a.ordered_by).cmp(&(&b.name, &b.ordered_by)))
    });
    let is_unknown = rows
        .iter()
        .any(|row| row.level == CheckLevel::Heap && row.verdict == CheckRowVerdict::Unknown);
    let runs = head_units.runs.min(match old.as_ref() {
        Some(old) => old.len(),
        None => head_units.runs,
    });
    let detection_limit_bytes = Sampler::new(head_units.rate).map(|sampler| {
        limit_bytes(sampler, objects_needed(ALPHA, tests.max(1))) / runs.max(1) as f64
    });
    let baseline = Baseline::of(&head_units, &head_side, &new_refs);
    let mut result = Check {
        schema_version: SCHEMA_VERSION,
        verdict: match (failures, is_unknown) {
            (0, true) => CheckVerdict::Undecided,
            (0, false) => CheckVerdict::Passed,
            _ => CheckVerdict::Failed,
        },
        base: old.as_ref().map(|runs| {
            let units = gather(&old_refs, &keys[0]);
            write_side(runs, &units)
        }),
        head: head_side,
        baseline: reference.baseline.map(Baseline::side),
        rows,
        unshown: Unshown::default(),
        failures,
        detection_limit_bytes,
        allow,
        identity: identity.map(|(identity, _)| identity),
        warnings: Vec::new(),
    };
    result.warnings = runs::warnings(&result, reference, head, options, [&old_refs, &new_refs]);
    Ok((result, baseline))
}

fn heaps_of<'a>(runs: &[&'a Snapshot]) -> Vec<&'a HeapProfile> {
    runs.iter().filter_map(|run| run.heap.as_ref()).collect()
}

/// The clock of a snapshot as the reports write it.
fn clock(snapshot: &Snapshot) -> Option<String> {
    written_time(snapshot.taken_at)
}

/// The rate that would show growth of `budget` bytes.
fn rate_for(budget: f64, limit: f64, rate: i64) -> Option<i64> {
    (budget > 0.0 && limit > budget && rate > 1)
        .then(|| ((rate as f64 * budget / limit / 2.0) as i64).max(1))
}

/// `5 %` or `1.0 MiB`, for sentences.
fn budget_words(budget: &Budget) -> String {
    let relative = budget.relative.map(|share| format!("{} %", share * 100.0));
    let bytes = budget.bytes.map(size);
    let parts: Vec<String> = relative.into_iter().chain(bytes).collect();
    parts.join(" and ")
}

/// Nothing at all.
const NOTHING: Holding = Holding {
    bytes: 0.0,
    exact_bytes: 0.0,
    objects: 0,
    square: 0.0,
    variance: 0.0,
    exact_variance: 0.0,
};
