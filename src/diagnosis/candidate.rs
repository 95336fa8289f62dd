//! Growth of the heap that is real, gathered into candidates for findings.

use super::culprit::{Background, blame};
use super::joined::join_alike;
use super::replaced::replaced_bytes;
use crate::growth::{Evidence, History, TestedUnits, UnitKind};
use crate::site::{CanonId, SiteIndex};
use hashbrown::{HashMap, HashSet};

/// A candidate is split at the caller of this share of its growth.
const SPLIT_SHARE: f64 = 0.6;
/// Bounds the search for thinly spread growth.
const MAX_SUBTREES: usize = 20;
/// Growth below both is set aside: bytes, and share of the heap in the last snapshot.
const SLIGHT_BYTES: f64 = 65_536.0;
const SLIGHT_SHARE: f64 = 0.001;
/// Without an error estimate: least growth worth a finding, in bytes and as a share of the heap.
const BLIND_MIN_BYTES: f64 = 1024.0 * 1024.0;
const BLIND_MIN_SHARE: f64 = 0.05;

/// Buckets that grew for one reason, as far as the heap shows.
#[derive(Debug, Clone)]
pub(super) struct HeapCandidate {
    /// Numbers of its active buckets, ascending.
    pub buckets: Vec<u32>,
    /// What it was split off from: callers of one helper that were told apart stay apart.
    pub split_from: Option<usize>,
}

impl HeapCandidate {
    fn of(buckets: Vec<u32>) -> Self {
        Self {
            buckets,
            split_from: None,
        }
    }
}

/// Candidates on the heap, and what had to be left out.
#[derive(Debug, Default)]
pub(super) struct HeapCandidates {
    /// Those that are looked at.
    pub kept: Vec<HeapCandidate>,
    /// How many more there were.
    pub cut: usize,
    /// Growth of those, bytes.
    pub cut_bytes: f64,
    /// How many are too small to matter, and their growth in bytes.
    pub slight: (usize, f64),
    /// Those that took the place of another caller's bytes, and how many bytes that were.
    pub replaced: Vec<(HeapCandidate, f64)>,
}

/// Candidates on the heap, from the tested units.
///
/// First the functions that ordered the growing allocations, then sites and single buckets
/// that grew though their orderer did not; then, on what is left, the subtree that explains
/// most of the thinly spread growth. Each is split where a caller tells it apart; last,
/// candidates with the same callers are joined.
pub(super) fn heap_candidates(
    history: &History,
    sites: &SiteIndex,
    background: &Background,
    tested: &TestedUnits,
) -> HeapCandidates {
    let mut taken: HashSet<u32> = HashSet::new();
    let mut found: Vec<HeapCandidate> = Vec::new();
    let mut take = |buckets: &[u32], taken: &mut HashSet<u32>| {
        taken.extend(buckets);
        found.push(HeapCandidate::of(buckets.to_vec()));
    };
    let of_kind = |wanted: fn(UnitKind) -> bool| {
        tested
            .units
            .iter()
            .filter(move |unit| unit.grew && wanted(unit.kind))
    };
    let narrower: [fn(UnitKind) -> bool; 3] = [
        |kind| matches!(kind, UnitKind::Orderer(_)),
        |kind| matches!(kind, UnitKind::Site(_)),
        |kind| matches!(kind, UnitKind::Bucket),
    ];
    for unit in narrower.into_iter().flat_map(of_kind) {
        let rest = without(&unit.buckets, &taken);
        if still_grew(history, &rest, tested) {
            take(&rest, &mut taken);
        }
    }
    for _ in 0..MAX_SUBTREES {
        let rests = of_kind(|kind| matches!(kind, UnitKind::Subtree(_) | UnitKind::Total))
            .map(|unit| without(&unit.buckets, &taken))
            .filter(|rest| still_grew(history, rest, tested));
        // Of equal growth the set with the least besides it says most.
        let best = rests.max_by(|a, b| {
            let score = |rest: &[u32]| explained(history, rest);
            score(a).total_cmp(&score(b)).then(b.len().cmp(&a.len()))
        });
        match best {
            Some(rest) => take(&rest, &mut taken),
            None => break,
        }
    }
    let split = found
        .into_iter()
        .enumerate()
        .flat_map(|(number, all)| split_by_caller(all, number, history, sites, background, tested))
        .collect();
    let mut candidates = join_alike(split, history, sites);
    candidates.set_aside_slight(history);
    candidates.set_aside_replaced(history, sites);
    candidates
}

impl HeapCandidates {
    /// Growth so small that no one would act on it: with every allocation recorded, even a few
    /// objects are beyond doubt.
    fn set_aside_slight(&mut self, history: &History) {
        let last = history.points().saturating_sub(1);
        let heap: f64 = (0..history.buckets().len() as u32)
            .map(|bucket| history.inuse(last, bucket) as f64)
            .sum();
        let least = SLIGHT_BYTES.min(SLIGHT_SHARE * heap);
        self.kept.retain(|candidate| {
            let growth = growth_of(history, &candidate.buckets);
            if growth < least {
                self.slight.0 += 1;
                self.slight.1 += growth;
            }
            growth >= least
        });
    }

    fn set_aside_replaced(&mut self, history: &History, sites: &SiteIndex) {
        for candidate in std::mem::take(&mut self.kept) {
            match replaced_bytes(history, sites, &candidate.buckets) {
                Some(gave_up) => self.replaced.push((candidate, gave_up)),
                None => self.kept.push(candidate),
            }
        }
    }
}

/// Tells the callers of a shared helper apart: if most growth of a candidate passes through
/// the frame that explains it best, and stands out better without the rest, then the rest is
/// a candidate of its own if it grew beyond noise, and is left out if it did not.
fn split_by_caller(
    candidate: HeapCandidate,
    number: usize,
    history: &History,
    sites: &SiteIndex,
    background: &Background,
    tested: &TestedUnits,
) -> Vec<HeapCandidate> {
    let last = history.points().saturating_sub(1);
    let Some(blamed) = blame(history, sites, background, &candidate.buckets, (0, last)) else {
        return vec![candidate];
    };
    let function = sites.canon(blamed.frame.function);
    let passes = |bucket: &u32| {
        let stack = history.buckets()[*bucket as usize].stack;
        sites
            .frames(stack)
            .any(|frame| sites.canon(frame.function) == function)
    };
    let (below, beside): (Vec<u32>, Vec<u32>) = candidate.buckets.iter().copied().partition(passes);
    let is_most =
        growth_of(history, &below) >= SPLIT_SHARE * growth_of(history, &candidate.buckets);
    let z = |buckets: &[u32]| history.evidence(buckets, 0, last).map_or(0.0, |e| e.z());
    if !is_most || z(&below) < z(&candidate.buckets) {
        return vec![candidate];
    }
    let rest = still_grew(history, &beside, tested).then_some(beside);
    [Some(below), rest]
        .into_iter()
        .flatten()
        .map(|buckets| HeapCandidate {
            buckets,
            split_from: Some(number),
        })
        .collect()
}

/// Candidates when there is no error estimate: orderers that grew by a part of the heap.
pub(super) fn blind_candidates(history: &History, sites: &SiteIndex) -> HeapCandidates {
    let mut groups: HashMap<CanonId, Vec<u32>> = HashMap::new();
    for &bucket in history.active() {
        let stack = history.buckets()[bucket as usize].stack;
        if let Some(frame) = sites.orderer(stack) {
            groups
                .entry(sites.canon(frame.function))
                .or_default()
                .push(bucket);
        }
    }
    let heap: f64 = (0..history.buckets().len() as u32)
        .map(|bucket| history.inuse(0, bucket) as f64)
        .sum();
    let least = BLIND_MIN_BYTES.max(BLIND_MIN_SHARE * heap);
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(canon, _)| *canon);
    let found = groups
        .into_iter()
        .filter(|(_, buckets)| growth_of(history, buckets) >= least)
        .map(|(_, buckets)| HeapCandidate::of(buckets))
        .collect();
    join_alike(found, history, sites)
}

/// Change of a set of buckets over the window, bytes.
pub(super) fn growth_of(history: &History, buckets: &[u32]) -> f64 {
    let last = history.points().saturating_sub(1);
    buckets
        .iter()
        .map(|&bucket| (history.inuse(last, bucket) - history.inuse(0, bucket)) as f64)
        .sum()
}

fn without(buckets: &[u32], taken: &HashSet<u32>) -> Vec<u32> {
    buckets
        .iter()
        .copied()
        .filter(|bucket| !taken.contains(bucket))
        .collect()
}

fn still_grew(history: &History, buckets: &[u32], tested: &TestedUnits) -> bool {
    let last = history.points().saturating_sub(1);
    !buckets.is_empty()
        && history
            .evidence(buckets, 0, last)
            .is_some_and(|evidence: Evidence| evidence.p_value() <= tested.threshold)
}

/// Ochiai of a set against all growth: growth²/(growth + steady bytes).
fn explained(history: &History, buckets: &[u32]) -> f64 {
    let last = history.points().saturating_sub(1);
    let growth = growth_of(history, buckets).max(0.0);
    let steady: f64 = buckets
        .iter()
        .map(|&bucket| history.inuse(0, bucket).min(history.inuse(last, bucket)) as f64)
        .sum();
    growth * growth / (growth + steady).max(1.0)
}
