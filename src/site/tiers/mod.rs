//! Sites across builds: which buckets of two heaps are of the same place in the source, when
//! the code between them changed (statistics.md §6).
//!
//! Each bucket is matched in the first of these tiers that finds a partner: the same frames
//! (name and line), the same names with the same offsets into their functions, the same names,
//! a move (the code stands elsewhere now). Of what is left it is only reported whether its site
//! or its package is there on the other side: it is called from elsewhere, or new.
//!
//! This module knows names, lines and sizes, and the bytes that say which of several partners
//! is meant. It must not know whether anything grew, nor what is said about it.

mod entry;
mod joins;
mod line_up;
mod moved;
mod places;
mod signature;
#[cfg(test)]
mod tests;
mod translate;

use super::{Bucket, SiteIndex};
use crate::profile::{Frame, FunctionId, HeapProfile};
use entry::{BEFORE, Entry};
use hashbrown::{HashMap, HashSet};
use joins::Joins;
use line_up::LineUp;
use serde::Serialize;
use signature::Signer;
use std::collections::BTreeMap;

/// What two buckets of different builds have in common, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The same functions, on the same lines.
    SameLines,
    /// The same functions, as many lines below where each begins.
    SameOffsets,
    /// The same functions.
    SameNames,
    /// Most functions; the others are gone from one build and new in the other.
    Moved,
    /// Only the package of the site: they are not matched.
    SamePackage,
}

/// All tiers, closest first.
const TIERS: [Tier; 5] = [
    Tier::SameLines,
    Tier::SameOffsets,
    Tier::SameNames,
    Tier::Moved,
    Tier::SamePackage,
];

/// Shares of the bytes in use of both sides, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TierShare {
    /// How they were matched.
    pub tier: Tier,
    /// Of the first heap.
    pub before: f64,
    /// Of the second heap.
    pub after: f64,
}

/// Code that stands elsewhere in the second build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The leaf-most function of the first build that is not on the stack of the second.
    pub from: FunctionId,
    /// The leaf-most function of the second build that was not on the stack of the first.
    pub to: FunctionId,
    /// The smaller of the bytes in use there before and here after.
    pub bytes: i64,
}

/// Bytes of the first heap that count at another place now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The bucket in the first heap.
    pub bucket: Bucket,
    /// The function that allocated them in the first build.
    pub from: FunctionId,
    /// How many.
    pub bytes: i64,
}

/// Buckets of one build with the key at which they count.
pub type Keys = HashMap<Bucket, Bucket>;

/// The heaps of two builds, or of two processes of one build, matched.
#[derive(Debug)]
pub struct Comparison {
    /// One entry a tier, closest first.
    pub tiers: Vec<TierShare>,
    /// What is in one of the two only, as shares of the first and the second heap.
    pub unmatched: [f64; 2],
    /// Largest first.
    pub moves: Vec<Move>,
    /// What moved, by bucket and function.
    pub origins: Vec<Origin>,
    /// Keys of the buckets of the first and the second heap; a bucket that keeps its own key
    /// is left out.
    pub keys: [Keys; 2],
    /// Buckets of the first heap without partner.
    pub translations: Vec<Translation>,
}

/// A bucket of an earlier build whose stack is in none of the last build, with its frames as
/// the last build has them, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    /// Number of the build.
    pub build: usize,
    /// The bucket as it was.
    pub bucket: Bucket,
    /// Leaf first.
    pub frames: Vec<Frame>,
}

/// The keys of several builds.
#[derive(Debug)]
pub struct AcrossBuilds {
    /// Per build.
    pub keys: Vec<Keys>,
    /// Buckets without partner.
    pub translations: Vec<Translation>,
}

/// Matches the heaps of two processes. Those of the same code have the same lines or nothing
/// in common.
pub fn compare(
    sites: &SiteIndex,
    before: &HeapProfile,
    after: &HeapProfile,
    is_same_code: bool,
) -> Comparison {
    let mut signer = Signer::new(sites, &[before, after]);
    let entries = [before, after].map(|heap| Entry::all_of(&[heap], heap, &mut signer));
    let mut joins = Joins::new(&[&entries[0], &entries[1]]);
    let line_up = LineUp::new(
        sites,
        &signer,
        [before, after],
        [&entries[0], &entries[1]],
        [0, 1],
    )
    .run(&mut joins, is_same_code);
    let mut keys = joins.keys().into_iter();
    let keys = [(); 2].map(|()| keys.next().unwrap_or_default());
    let (tiers, unmatched) = shares(&line_up, &entries);
    Comparison {
        tiers: TIERS
            .into_iter()
            .zip(tiers)
            .map(|(tier, [before, after])| TierShare {
                tier,
                before,
                after,
            })
            .collect(),
        unmatched,
        moves: moves(sites, &line_up, &entries),
        origins: line_up
            .moved
            .iter()
            .filter(|moved| moved.side == BEFORE)
            .map(|moved| {
                let entry = &entries[BEFORE][moved.entry];
                Origin {
                    bucket: entry.bucket,
                    from: moved.from,
                    bytes: entry.bytes,
                }
            })
            .collect(),
        keys,
        translations: translations(&line_up, 0),
    }
}

fn translations(line_up: &LineUp, build: usize) -> Vec<Translation> {
    let all = line_up.translations().into_iter();
    all.map(|(bucket, frames)| Translation {
        build,
        bucket,
        frames,
    })
    .collect()
}

/// The keys under which the buckets of several builds (in time order, each with its heaps in time
/// order) count together. All are matched with the last build.
pub fn keys_across_builds(sites: &SiteIndex, builds: &[Vec<&HeapProfile>]) -> AcrossBuilds {
    let all: Vec<&HeapProfile> = builds.iter().flatten().copied().collect();
    let mut signer = Signer::new(sites, &all);
    let last = builds.len().saturating_sub(1);
    let entries: Vec<Vec<Entry>> = builds
        .iter()
        .enumerate()
        .map(|(number, heaps)| {
            // The heap that is nearest to the last build says how many bytes are where.
            let nearest = match number == last {
                true => heaps.first(),
                false => heaps.last(),
            };
            nearest.map_or_else(Vec::new, |heap| Entry::all_of(heaps, heap, &mut signer))
        })
        .collect();
    let views: Vec<&[Entry]> = entries.iter().map(Vec::as_slice).collect();
    let mut joins = Joins::new(&views);
    let mut translated = Vec::new();
    for number in 0..last {
        let (Some(before), Some(after)) = (builds[number].last(), builds[last].first()) else {
            continue;
        };
        let line_up = LineUp::new(
            sites,
            &signer,
            [before, after],
            [&entries[number], &entries[last]],
            [number, last],
        )
        .run(&mut joins, false);
        translated.extend(translations(&line_up, number));
    }
    joins.join_equal_frames();
    AcrossBuilds {
        keys: joins.keys(),
        translations: translated,
    }
}

/// Per tier, and of what has no partner at all: shares of the first and the second heap.
fn shares(line_up: &LineUp, entries: &[Vec<Entry>; 2]) -> (Vec<[f64; 2]>, [f64; 2]) {
    let mut tiers = vec![[0.0; 2]; TIERS.len()];
    let mut unmatched = [0.0; 2];
    for side in 0..2 {
        // Whole numbers below 2^60: sums are exact enough for shares that add up.
        let mut bytes = [0i64; TIERS.len()];
        let mut rest = 0;
        for (entry, tier) in entries[side].iter().zip(&line_up.tiers[side]) {
            match tier {
                Some(tier) => bytes[*tier as usize] += entry.bytes,
                None => rest += entry.bytes,
            }
        }
        let total = rest + bytes.iter().sum::<i64>();
        if total > 0 {
            for (tier, bytes) in tiers.iter_mut().zip(bytes) {
                tier[side] = bytes as f64 / total as f64;
            }
            unmatched[side] = rest as f64 / total as f64;
        }
    }
    (tiers, unmatched)
}

/// What moved, by the pair of functions.
fn moves(sites: &SiteIndex, line_up: &LineUp, entries: &[Vec<Entry>; 2]) -> Vec<Move> {
    let mut bytes: BTreeMap<(FunctionId, FunctionId), [i64; 2]> = BTreeMap::new();
    for moved in &line_up.moved {
        let of_pair = bytes.entry((moved.from, moved.to)).or_default();
        let of_side = &mut of_pair[moved.side];
        *of_side = of_side.saturating_add(entries[moved.side][moved.entry].bytes);
    }
    let mut moves: Vec<Move> = bytes
        .into_iter()
        .map(|((from, to), [before, after])| Move {
            from,
            to,
            bytes: before.min(after),
        })
        .collect();
    let name = |function| sites.symbols().function_name(function);
    moves.sort_by(|a, b| {
        let key = |moved: &Move| (name(moved.from), name(moved.to));
        b.bytes.cmp(&a.bytes).then_with(|| key(a).cmp(&key(b)))
    });
    moves
}

/// The names of all functions that a build is known to have.
fn names_of(signer: &Signer, heap: &HeapProfile, entries: &[Entry]) -> HashSet<u32> {
    let on_stacks = entries
        .iter()
        .flat_map(|entry| signer.names(entry.sign.names));
    on_stacks
        .copied()
        .chain(signer.names_in(&heap.functions))
        .collect()
}
