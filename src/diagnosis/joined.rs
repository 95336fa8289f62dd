//! Candidates of one cause, joined: those that the same function of the program owns, and those
//! whose growth comes down the same frames.

use super::candidate::{HeapCandidate, HeapCandidates, growth_of};
use crate::growth::History;
use crate::site::{CanonId, FrameClass, SiteIndex};
use hashbrown::{HashMap, HashSet};

/// Candidates that share this much of their frames are one (statistics.md §7.2).
const SHARED_FRAMES: f64 = 0.8;
/// A frame is typical of a candidate when it stands above this share of its growth.
const TYPICAL_SHARE: f64 = 0.8;
/// Most causes that are told apart; a program in which more places leak at once has one cause
/// that no profile shows. What is cut is counted.
const MAX_CANDIDATES: usize = 500;

/// Joins candidates that are one cause, the largest growth first.
pub(super) fn join_alike(
    mut found: Vec<HeapCandidate>,
    history: &History,
    sites: &SiteIndex,
) -> HeapCandidates {
    let growth = |candidate: &HeapCandidate| growth_of(history, &candidate.buckets);
    found.sort_by(|a, b| {
        growth(b)
            .total_cmp(&growth(a))
            .then_with(|| a.buckets.cmp(&b.buckets))
    });
    let cut = found.split_off(found.len().min(MAX_CANDIDATES));
    let mut joined: Vec<(HeapCandidate, Option<CanonId>, Vec<CanonId>)> = Vec::new();
    for candidate in found {
        let owner = owner_of(&candidate, history, sites);
        let frames = typical_frames(&candidate, history, sites);
        let is_one = |known: &&mut (HeapCandidate, Option<CanonId>, Vec<CanonId>)| {
            let is_split =
                known.0.split_from.is_some() && known.0.split_from == candidate.split_from;
            !is_split && (owner.is_some() && known.1 == owner || is_alike(&known.2, &frames))
        };
        match joined.iter_mut().find(is_one) {
            Some((first, ..)) => {
                first.buckets = super::sorted_union(&first.buckets, &candidate.buckets);
            }
            None => joined.push((candidate, owner, frames)),
        }
    }
    HeapCandidates {
        kept: joined
            .into_iter()
            .map(|(candidate, ..)| candidate)
            .collect(),
        cut: cut.len(),
        cut_bytes: cut.iter().map(growth).sum(),
        ..HeapCandidates::default()
    }
}

/// The application's function nearest to most of a candidate's growth: two candidates of one
/// such function (its own objects, and those that a library makes for it) are one cause.
fn owner_of(candidate: &HeapCandidate, history: &History, sites: &SiteIndex) -> Option<CanonId> {
    let last = history.points().saturating_sub(1);
    let mut owners: HashMap<Option<CanonId>, f64> = HashMap::new();
    let mut total = 0.0;
    for &bucket in &candidate.buckets {
        let growth = (history.inuse(last, bucket) - history.inuse(0, bucket)).max(0) as f64;
        let owner = sites
            .frames(history.buckets()[bucket as usize].stack)
            .find(|frame| sites.class(frame.function) == FrameClass::Application)
            .map(|frame| sites.canon(frame.function));
        *owners.entry(owner).or_default() += growth;
        total += growth;
    }
    // At most one can have that share.
    let is_most =
        |(_, growth): &(Option<CanonId>, f64)| total > 0.0 && *growth >= TYPICAL_SHARE * total;
    owners.into_iter().find(is_most)?.0
}

/// Whether two sorted lists share [`SHARED_FRAMES`] of the longer one.
fn is_alike(a: &[CanonId], b: &[CanonId]) -> bool {
    let longer = a.len().max(b.len());
    // Lists of very different length can't.
    if (a.len().min(b.len()) as f64) < SHARED_FRAMES * longer as f64 || longer == 0 {
        return false;
    }
    let shared = a
        .iter()
        .filter(|frame| b.binary_search(frame).is_ok())
        .count();
    shared as f64 >= SHARED_FRAMES * longer as f64
}

/// Functions, neither runtime nor producers, in ascending order, above most of a candidate's growth.
fn typical_frames(candidate: &HeapCandidate, history: &History, sites: &SiteIndex) -> Vec<CanonId> {
    let last = history.points().saturating_sub(1);
    let mut weights: HashMap<CanonId, f64> = HashMap::new();
    let mut total = 0.0;
    for &bucket in &candidate.buckets {
        let growth = (history.inuse(last, bucket) - history.inuse(0, bucket)).max(0) as f64;
        total += growth;
        let stack = history.buckets()[bucket as usize].stack;
        let functions: HashSet<CanonId> = sites
            .frames(stack)
            .filter(|frame| {
                sites.class(frame.function) != FrameClass::Runtime
                    && !sites.is_transparent(frame.function)
            })
            .map(|frame| sites.canon(frame.function))
            .collect();
        for function in functions {
            *weights.entry(function).or_default() += growth;
        }
    }
    let mut typical: Vec<CanonId> = weights
        .into_iter()
        .filter(|(_, weight)| *weight >= TYPICAL_SHARE * total && total > 0.0)
        .map(|(function, _)| function)
        .collect();
    typical.sort_unstable();
    typical
}
