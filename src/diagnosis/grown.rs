//! Findings over two or more snapshots: candidates held against the catalogue, those of one
//! pattern joined, growth without a pattern given to the pattern that it belongs to.

use super::case::Case;
use super::finding::{Parts, measure, weigh, write_finding};
use super::replaced::write_replaced;
use super::single::{leaked_crowds, write_leaked};
use super::{Finding, NotALeak, candidate, sorted_union};
use crate::pattern::{Catalogue, EvidenceView, match_patterns, reread};
use crate::units::size;

/// Findings over two or more snapshots.
pub(super) fn findings(
    case: &Case,
    view: &EvidenceView,
    catalogue: &Catalogue,
    unsettled: &mut Vec<String>,
    warnings: &mut Vec<String>,
    not_a_leak: &mut Vec<NotALeak>,
) -> Vec<Finding> {
    let mut all_parts: Vec<Parts> = Vec::new();
    let everything = weigh(case, case.history.active());
    let candidates = match case.history.sampler() {
        _ if case.history.points() < 2 => candidate::HeapCandidates::default(),
        Some(_) => candidate::heap_candidates(case.history, case.sites, case.tested),
        None => candidate::blind_candidates(case.history, case.sites),
    };
    if candidates.cut > 0 {
        warnings.push(format!(
            "{} more places grew, by {} in all; only the {} that grew most are listed",
            candidates.cut,
            size(candidates.cut_bytes),
            candidates.kept.len(),
        ));
    }
    if candidates.slight.0 > 0 {
        warnings.push(format!(
            "{} more places grew by less than 0.1 % of the heap each, {} in all: not listed",
            candidates.slight.0,
            size(candidates.slight.1),
        ));
    }
    for (candidate, gave_up) in &candidates.replaced {
        not_a_leak.push(write_replaced(case, &candidate.buckets, *gave_up));
    }
    for candidate in candidates.kept {
        let growth = measure(case, &candidate.buckets);
        let mut heap = weigh(case, &candidate.buckets);
        heap.churn = growth.churn;
        heap.retention = growth.retention;
        let matches = match_patterns(catalogue, view, Some(&heap), &everything);
        unsettled.extend(matches.unsettled.iter().map(|pattern| pattern.name.clone()));
        let mut matched = matches.matched.into_iter();
        let best = matched.next();
        let parts = Parts {
            grown: candidate.buckets,
            gathered: best
                .as_ref()
                .map_or_else(Vec::new, |found| found.gathered.clone()),
            crowds: best
                .as_ref()
                .map_or_else(Vec::new, |found| found.crowds.clone()),
            crowd_shape: None,
            runner_up: matched.next().map(|found| found.pattern.name.clone()),
            matched: best,
        };
        join(&mut all_parts, parts);
    }
    for candidate in candidate::crowd_candidates(case.crowds) {
        let matches = match_patterns(catalogue, view, None, &everything);
        let is_about = |crowds: &[usize]| candidate.crowds.iter().any(|c| crowds.contains(c));
        let mut matched = matches
            .matched
            .into_iter()
            .filter(|found| is_about(&found.crowds));
        let best = matched.next();
        let mut crowds = candidate.crowds.clone();
        crowds.extend(best.iter().flat_map(|found| found.crowds.iter().copied()));
        crowds.sort_unstable();
        crowds.dedup();
        let parts = Parts {
            grown: Vec::new(),
            gathered: best
                .as_ref()
                .map_or_else(Vec::new, |found| found.gathered.clone()),
            crowds,
            crowd_shape: Some(candidate.shape),
            runner_up: matched.next().map(|found| found.pattern.name.clone()),
            matched: best,
        };
        join(&mut all_parts, parts);
    }
    absorb(case, &mut all_parts);
    for parts in &mut all_parts {
        if let Some(found) = &mut parts.matched {
            let mut heap = weigh(case, &sorted_union(&parts.grown, &parts.gathered));
            (heap.churn, heap.retention) = {
                let growth = measure(case, &parts.grown);
                (growth.churn, growth.retention)
            };
            *found = reread(found.pattern, view, &heap, &everything);
        }
    }
    let known: Vec<usize> = all_parts
        .iter()
        .flat_map(|parts| parts.crowds.iter().copied())
        .collect();
    let leaked = leaked_crowds(case, &known, warnings);
    all_parts
        .iter()
        .map(|parts| write_finding(case, view, parts))
        .chain(
            leaked
                .into_iter()
                .map(|crowd| write_leaked(case, view, crowd)),
        )
        .collect()
}

/// Adds `parts` to those of the same pattern, or as parts of their own.
fn join<'c>(all: &mut Vec<Parts<'c>>, parts: Parts<'c>) {
    let name = |parts: &Parts| {
        parts
            .matched
            .as_ref()
            .map(|found| found.pattern.name.clone())
    };
    let same = all
        .iter_mut()
        .find(|known| name(known).is_some() && name(known) == name(&parts));
    let Some(known) = same else {
        all.push(parts);
        return;
    };
    known.grown = sorted_union(&known.grown, &parts.grown);
    known.gathered = sorted_union(&known.gathered, &parts.gathered);
    known.crowds.extend(parts.crowds);
    known.crowds.sort_unstable();
    known.crowds.dedup();
    known.crowd_shape = known.crowd_shape.or(parts.crowd_shape);
    known.runner_up = known.runner_up.take().or(parts.runner_up);
    // The match that saw the heap knows more.
    if known.grown.is_empty() {
        known.matched = parts.matched;
    }
}

/// Gives growth without a pattern to the pattern that gathers most of it.
fn absorb(case: &Case, all: &mut Vec<Parts>) {
    let (named, plain): (Vec<_>, Vec<_>) = std::mem::take(all)
        .into_iter()
        .partition(|parts| parts.matched.is_some());
    *all = named;
    for parts in plain {
        let own = candidate::growth_of(case.history, &parts.grown);
        let home = all.iter_mut().find(|named| {
            let shared: Vec<u32> = parts
                .grown
                .iter()
                .copied()
                .filter(|bucket| named.gathered.binary_search(bucket).is_ok())
                .collect();
            let is_heap = !parts.grown.is_empty();
            is_heap && candidate::growth_of(case.history, &shared) >= 0.5 * own
                || !is_heap
                    && parts
                        .crowds
                        .iter()
                        .all(|crowd| named.crowds.contains(crowd))
        });
        match home {
            Some(named) => named.grown = sorted_union(&named.grown, &parts.grown),
            None => all.push(parts),
        }
    }
}
