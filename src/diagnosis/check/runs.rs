//! The runs of a build, and what is to be said of them.

use super::gate::Units;
use super::{
    AllowStatus, Check, CheckOptions, CheckSide, NotComparable, Reference, budget_words, clock,
    rate_for,
};
use crate::profile::HeapProfile;
use crate::snapshot::{Series, Snapshot};
use crate::units::{period, size};

/// Runs a side that are enough.
const ENOUGH_RUNS: usize = 4;

/// The last heap of each process, in time order.
///
/// # Errors
/// No heap profile.
pub(super) fn last_heaps(series: &Series) -> Result<Vec<&Snapshot>, NotComparable> {
    let runs: Vec<&Snapshot> = series
        .processes
        .iter()
        .filter_map(|run| {
            let snapshots = run.snapshots.iter().map(|&index| &series.snapshots[index]);
            snapshots.rev().find(|snapshot| snapshot.heap.is_some())
        })
        .collect();
    match runs.is_empty() {
        true => Err(NotComparable::TooFew {
            needed: 1,
            found: 0,
        }),
        false => Ok(runs),
    }
}

pub(super) fn write_side(runs: &[&Snapshot], units: &Units) -> CheckSide {
    let bytes = runs.iter().filter_map(|run| run.heap.as_ref());
    let bytes: f64 = bytes.map(|heap| heap.inuse_bytes() as f64).sum();
    CheckSide {
        source: runs
            .first()
            .map_or_else(String::new, |run| run.name().to_owned()),
        taken_at: runs.iter().filter_map(|run| clock(run)).max(),
        runs: units.runs,
        inuse_bytes: bytes / units.runs.max(1) as f64,
        sampling_period: Some(units.rate).filter(|rate| *rate > 0),
    }
}

/// What the reader should know.
pub(super) fn warnings(
    result: &Check,
    reference: &Reference,
    head: &Series,
    options: &CheckOptions,
    heaps: [&[&HeapProfile]; 2],
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (side, series) in [("base", reference.base), ("head", Some(head))] {
        let Some(series) = series else { continue };
        let texts = series
            .warnings
            .iter()
            .filter(|warning| !warning.is_about_processes());
        warnings.extend(texts.map(|text| format!("{side}: {text}")));
        let (profiles, runs) = (series.snapshots.len(), series.processes.len());
        if profiles > runs {
            warnings.push(format!(
                "{side}: {profiles} snapshots are of {runs} process(es), whose last heaps count; runs are independent only when each is a process of its own"
            ));
        }
        for (source, reason) in &series.left_out {
            warnings.push(format!("{side}: {source} is left out: {reason}"));
        }
    }
    if let Some(base) = &result.base {
        if base.runs.min(result.head.runs) < ENOUGH_RUNS {
            warnings.push(format!(
                "{} run(s) against {}: only the sampler's noise is known, not how much runs of one build differ; four or more a side tell",
                base.runs, result.head.runs
            ));
        }
        let same = heaps[0]
            .iter()
            .any(|one| heaps[1].iter().any(|two| one.columns == two.columns));
        if same {
            warnings.push(
                "base and head have a profile with the same values: is it one file twice?"
                    .to_owned(),
            );
        }
        if let (Some(old), Some(new)) = (&base.taken_at, &result.head.taken_at)
            && new < old
        {
            warnings.push(format!(
                "the head ({new}) is older than the base ({old}): are they swapped?"
            ));
        }
    }
    for reference in [&result.base, &result.baseline].into_iter().flatten() {
        if reference.sampling_period != result.head.sampling_period {
            let words = |rate: Option<i64>| rate.map_or("unknown or mixed".to_owned(), period);
            warnings.push(format!(
                "{} and {} were sampled at different rates ({} and {}): bytes compare, with the error of each; take both at one rate",
                reference.source, result.head.source, words(reference.sampling_period), words(result.head.sampling_period)
            ));
        }
    }
    if let (Some(limit), Some(rate)) = (result.detection_limit_bytes, result.head.sampling_period) {
        let reference = result.base.as_ref().or(result.baseline.as_ref());
        let budget = options
            .site
            .limit(reference.map_or(0.0, |side| side.inuse_bytes));
        if let Some(wanted) = rate_for(budget, limit, rate) {
            warnings.push(format!(
                "one sample per {} cannot see growth of {} ({}) at one site, only of {} and more: set GODEBUG=memprofilerate={wanted}, or take more runs",
                period(rate), size(budget), budget_words(&options.site), size(limit)
            ));
        }
    }
    for entry in &result.allow {
        let what = match entry.status {
            AllowStatus::Used => continue,
            AllowStatus::Unused => "lets nothing pass any more: take it out".to_owned(),
            AllowStatus::Expired => format!(
                "has expired on {}: fix the growth, or give it a new day",
                entry.expires.as_deref().unwrap_or_default()
            ),
            AllowStatus::Everything => {
                "matches everything, so it counts for nothing: name the sites".to_owned()
            }
        };
        warnings.push(format!(
            "the [[allow]] entry `{}` ({}) {what}",
            entry.site, entry.reason
        ));
    }
    warnings
}
