//! Findings over two or more snapshots: candidates held against the catalogue, those of one
//! pattern joined, growth without a pattern given to the pattern that it belongs to.

use super::candidate::HeapCandidate;
use super::case::Case;
use super::crowd_candidate::crowd_candidates;
use super::finding::{Parts, write_finding};
use super::judge::shape_of;
use super::measure::{measure, weigh};
use super::replaced::write_replaced;
use super::single::{leaked_crowds, write_leaked};
use super::{Finding, NotALeak, candidate, sorted_union};
use crate::growth::{Shape, grow_in_step};
use crate::pattern::{Catalogue, EvidenceView, Pattern, match_patterns, reread};
use crate::units::size;

/// Patterns of a specificity below this are general: they go by little more than what grows, so
/// they name only growth that lasts. What steps, levels off or comes and goes has its own name.
const GENERAL: u8 = 30;

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
        Some(_) => {
            candidate::heap_candidates(case.history, case.sites, case.background, case.tested)
        }
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
    for candidate in &candidates.kept {
        let growth = measure(case, &candidate.buckets);
        let mut heap = weigh(case, &candidate.buckets);
        heap.churn = growth.churn;
        heap.retention = growth.retention;
        let shape = shape_of(case.history, &candidate.buckets).shape;
        heap.shape = Some(shape);
        let matches = match_patterns(catalogue, view, Some(&heap), &everything);
        let fits = |pattern: &Pattern| pattern.specificity >= GENERAL || lasts(shape);
        let open = matches.unsettled.iter().filter(|pattern| fits(pattern));
        unsettled.extend(open.map(|pattern| pattern.name.clone()));
        let mut matched = matches.matched.into_iter().filter(|found| {
            fits(found.pattern) || {
                let explained = explained(case, candidate, &found.gathered, &candidates.kept);
                lasts(shape_of(case.history, &explained).shape)
            }
        });
        let best = matched.next();
        let parts = Parts {
            grown: candidate.buckets.clone(),
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
    for candidate in crowd_candidates(case.crowds) {
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
    join_in_step(case, view, &mut all_parts);
    for parts in &mut all_parts {
        if let Some(found) = &mut parts.matched {
            let mut heap = weigh(case, &sorted_union(&parts.grown, &parts.gathered));
            (heap.churn, heap.retention) = {
                let growth = measure(case, &parts.grown);
                (growth.churn, growth.retention)
            };
            heap.shape =
                (!parts.grown.is_empty()).then(|| shape_of(case.history, &parts.grown).shape);
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

/// All growth that a pattern explains beside a candidate's own: what else grew and is mostly made
/// of what the pattern gathers. How it grows is seen better in all of it than in a part.
fn explained(
    case: &Case,
    own: &HeapCandidate,
    gathered: &[u32],
    all: &[HeapCandidate],
) -> Vec<u32> {
    let is_gathered = |other: &&HeapCandidate| is_mostly_of(case, &other.buckets, gathered);
    let others = all.iter().filter(is_gathered);
    others.fold(own.buckets.clone(), |sum, other| {
        sorted_union(&sum, &other.buckets)
    })
}

/// Whether at least half of the growth of these buckets is in those that a pattern gathers.
fn is_mostly_of(case: &Case, buckets: &[u32], gathered: &[u32]) -> bool {
    let shared: Vec<u32> = buckets
        .iter()
        .copied()
        .filter(|bucket| gathered.binary_search(bucket).is_ok())
        .collect();
    let growth = |buckets: &[u32]| candidate::growth_of(case.history, buckets);
    growth(&shared) >= 0.5 * growth(buckets)
}

/// Whether growth of that shape goes on, as far as the window shows.
fn lasts(shape: Shape) -> bool {
    matches!(shape, Shape::Sustained | Shape::Open)
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

/// Gives growth to the more specific pattern that gathers most of it: growth without a pattern,
/// or with one that saw only a part of what the other one explains.
fn absorb(case: &Case, all: &mut Vec<Parts>) {
    let specificity = |parts: &Parts| {
        let found = parts.matched.as_ref();
        found.map(|found| found.pattern.specificity)
    };
    let mut open = std::mem::take(all);
    open.sort_by_key(|parts| std::cmp::Reverse(specificity(parts)));
    for parts in open {
        let home = all.iter_mut().find(|other| {
            let has_crowds = parts.crowds.iter().all(|c| other.crowds.contains(c));
            let has_heap = is_mostly_of(case, &parts.grown, &other.gathered);
            let has_all = has_crowds && (parts.grown.is_empty() || has_heap);
            specificity(other) > specificity(&parts) && has_all
        });
        let Some(home) = home else {
            all.push(parts);
            continue;
        };
        home.grown = sorted_union(&home.grown, &parts.grown);
        home.crowd_shape = home.crowd_shape.or(parts.crowd_shape);
        if let Some(found) = &parts.matched {
            home.runner_up
                .get_or_insert_with(|| found.pattern.name.clone());
        }
    }
}

/// Gives goroutines that are a library's own throughout to the finding whose goroutines they are
/// in step with: nobody but that finding says whose they are.
fn join_in_step(case: &Case, view: &EvidenceView, all: &mut Vec<Parts>) {
    let counts = |crowd: &usize| &case.crowds.crowds[*crowd].counts[..];
    let is_nobodys = |parts: &Parts| {
        let says_nothing = parts.matched.is_none() && parts.grown.is_empty();
        says_nothing && view.crowd_owner(&parts.crowds).is_none()
    };
    let (rest, mut named): (Vec<Parts>, Vec<Parts>) =
        std::mem::take(all).into_iter().partition(is_nobodys);
    for parts in rest {
        let is_home = |home: &&mut Parts| {
            home.matched.is_some()
                && home.crowds.iter().any(|theirs| {
                    let is_in_step = |own| {
                        grow_in_step(counts(own), counts(theirs))
                            || grow_in_step(counts(theirs), counts(own))
                    };
                    parts.crowds.iter().all(is_in_step)
                })
        };
        match named.iter_mut().find(is_home) {
            Some(home) => {
                home.crowds.extend(parts.crowds);
                home.crowds.sort_unstable();
                home.crowds.dedup();
            }
            None => all.push(parts),
        }
    }
    all.extend(named);
}
