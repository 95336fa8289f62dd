//! Heaps of different builds or processes: under which keys they are compared, and how their
//! sites were matched.

use super::{Identity, IdentityMove, IdentityShares, IdentityTier, Unshown};
use crate::profile::{FrameId, FunctionId, HeapColumns, HeapProfile, SymbolTable};
use crate::site::{
    AcrossBuilds, Bucket, Comparison, Keys, SiteIndex, Translation, compare, keys_across_builds,
};
use crate::snapshot::{OtherProcess, Run, Series, Snapshot, is_other_build};
use hashbrown::HashMap;
use std::borrow::Cow;

/// Moves that are listed.
const MAX_MOVES: usize = 20;

/// Heap profiles under keys that mean the same in all of them.
pub(super) struct Comparable<'a> {
    /// In time order.
    pub columns: Vec<Cow<'a, HeapColumns>>,
    /// The names and stacks that the keys are of.
    pub symbols: Cow<'a, SymbolTable>,
    /// Of a pair: what moved, by the bucket at which it counts.
    pub moved: HashMap<Bucket, Vec<(FunctionId, i64)>>,
}

/// The run's heap profiles, keyed so that equal keys mean equal sites in the last build.
pub(super) fn comparable<'a>(series: &'a Series, run: &Run, sites: &SiteIndex) -> Comparable<'a> {
    let heap_of = |index: &usize| series.snapshots[*index].heap.as_ref();
    let heaps = || run.snapshots.iter().filter_map(heap_of);
    let builds = match run.is_one_process {
        true => Vec::new(),
        false => series.builds(run),
    };
    if builds.len() <= 1 {
        return Comparable {
            columns: heaps().map(|heap| Cow::Borrowed(&heap.columns)).collect(),
            symbols: Cow::Borrowed(&series.symbols),
            moved: HashMap::new(),
        };
    }
    let heaps_of = |build: &Vec<usize>| build.iter().filter_map(heap_of).collect::<Vec<_>>();
    let by_build: Vec<Vec<&HeapProfile>> = builds.iter().map(heaps_of).collect();
    let AcrossBuilds {
        mut keys,
        translations,
    } = keys_across_builds(sites, &by_build);
    let symbols = translate(&series.symbols, &mut keys, &translations);
    let own = Keys::new();
    let columns = run
        .snapshots
        .iter()
        .filter_map(|index| {
            let heap = heap_of(index)?;
            let build = builds.iter().position(|build| build.contains(index));
            Some(rekeyed(heap, build.map_or(&own, |build| &keys[build])))
        })
        .collect();
    Comparable {
        columns,
        symbols,
        moved: HashMap::new(),
    }
}

/// The heap profiles of another run of the series under the keys of the judged one, which keeps
/// its own.
pub(super) fn keyed_like<'a>(
    series: &'a Series,
    run: &Run,
    other: &Run,
    sites: &SiteIndex,
) -> Vec<Cow<'a, HeapColumns>> {
    let heaps_of = |run: &Run| -> Vec<&'a HeapProfile> {
        let snapshots = run.snapshots.iter().map(|&index| &series.snapshots[index]);
        snapshots
            .filter_map(|snapshot| snapshot.heap.as_ref())
            .collect()
    };
    let (judged, others) = (heaps_of(run), heaps_of(other));
    let keys = match (judged.first(), others.last()) {
        (Some(one), Some(last)) if is_other_build(&series.symbols, last, one) => {
            let keys = keys_across_builds(sites, &[others.clone(), judged]).keys;
            keys.into_iter().next().unwrap_or_default()
        }
        _ => Keys::new(),
    };
    others
        .into_iter()
        .map(|heap| rekeyed(heap, &keys))
        .collect()
}

/// The two heap profiles of a comparison under its keys.
pub(super) fn comparable_pair<'a>(
    series: &'a Series,
    heaps: [&'a HeapProfile; 2],
    comparison: &Comparison,
) -> Comparable<'a> {
    let mut keys = comparison.keys.clone();
    let symbols = translate(&series.symbols, &mut keys, &comparison.translations);
    let pairs = heaps.into_iter().zip(&keys);
    let mut moved: HashMap<Bucket, Vec<(FunctionId, i64)>> = HashMap::new();
    for origin in &comparison.origins {
        let key = keys[0].get(&origin.bucket).unwrap_or(&origin.bucket);
        let of_key = moved.entry(*key).or_default();
        of_key.push((origin.from, origin.bytes));
    }
    Comparable {
        columns: pairs.map(|(heap, keys)| rekeyed(heap, keys)).collect(),
        symbols,
        moved,
    }
}

/// Adds the translated stacks, and keys that lead there.
fn translate<'a>(
    symbols: &'a SymbolTable,
    keys: &mut [Keys],
    translations: &[Translation],
) -> Cow<'a, SymbolTable> {
    let mut extended = Cow::Borrowed(symbols);
    for translation in translations {
        let symbols = extended.to_mut();
        let frames: Vec<FrameId> = translation
            .frames
            .iter()
            .map(|frame| symbols.intern_frame(frame.function, frame.line))
            .collect();
        let key = Bucket {
            stack: symbols.intern_stack(&frames),
            ..translation.bucket
        };
        keys[translation.build].insert(translation.bucket, key);
    }
    extended
}

/// A heap's samples under other keys.
pub(super) fn rekeyed<'a>(heap: &'a HeapProfile, keys: &Keys) -> Cow<'a, HeapColumns> {
    if keys.is_empty() {
        return Cow::Borrowed(&heap.columns);
    }
    Cow::Owned(heap.columns.rekey(|stack, size| {
        let key = keys.get(&Bucket { stack, size });
        key.map_or((stack, size), |key| (key.stack, key.size))
    }))
}

/// How the sites around the boundary of a series match; none when it is of one process.
pub(super) fn at_boundary(series: &Series, sites: &SiteIndex) -> Option<Identity> {
    let boundary = series.boundary?;
    if matches!(boundary.cause, OtherProcess::RateChanged { .. }) {
        return None;
    }
    let (identity, _) = matched(series, sites, boundary.before, boundary.after)?;
    Some(identity)
}

/// How the sites of two snapshots match; none without a heap in both.
pub(super) fn matched(
    series: &Series,
    sites: &SiteIndex,
    before: usize,
    after: usize,
) -> Option<(Identity, Comparison)> {
    let [before, after] = [before, after].map(|index| &series.snapshots[index]);
    matched_between(sites, before, after)
}

/// The same of two snapshots whose names `sites` knows.
pub(super) fn matched_between(
    sites: &SiteIndex,
    before: &Snapshot,
    after: &Snapshot,
) -> Option<(Identity, Comparison)> {
    let symbols = sites.symbols();
    let heaps = [before.heap.as_ref()?, after.heap.as_ref()?];
    let is_other_build = is_other_build(symbols, heaps[0], heaps[1]);
    let comparison = compare(sites, heaps[0], heaps[1], !is_other_build);
    let bytes = heaps.map(|heap| heap.inuse_bytes().max(0) as f64);
    let all = bytes[0] + bytes[1];
    let shares = |before: f64, after: f64| IdentityShares {
        share: match all > 0.0 {
            true => ((before * bytes[0] + after * bytes[1]) / all).min(1.0),
            false => 0.0,
        },
        before_share: before,
        after_share: after,
    };
    let tiers = comparison.tiers.iter().map(|tier| {
        let shares = shares(tier.before, tier.after);
        IdentityTier {
            tier: tier.tier,
            share: shares.share,
            before_share: shares.before_share,
            after_share: shares.after_share,
        }
    });
    let name = |function| symbols.function_name(function).to_owned();
    let (listed, rest) = comparison
        .moves
        .split_at(comparison.moves.len().min(MAX_MOVES));
    let id = |heap: &HeapProfile| match heap.build_id.as_str() {
        "" => "unknown".to_owned(),
        id => id.to_owned(),
    };
    let identity = Identity {
        is_other_build,
        builds: heaps.map(id),
        before: before.name().to_owned(),
        after: after.name().to_owned(),
        tiers: tiers.collect(),
        unmatched: shares(comparison.unmatched[0], comparison.unmatched[1]),
        moves: listed
            .iter()
            .map(|moved| IdentityMove {
                from: name(moved.from),
                to: name(moved.to),
                bytes: moved.bytes,
            })
            .collect(),
        moves_unshown: Unshown {
            rows: rest.len(),
            bytes: rest.iter().map(|moved| moved.bytes as f64).sum(),
        },
    };
    Some((identity, comparison))
}
