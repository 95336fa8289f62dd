//! Sets of buckets whose growth is tested: the bucket, the site, the function that ordered
//! the allocation, and the subtree under each function.
//!
//! Growth spread thinly over many sites under one frame is found at the subtree; growth at a
//! site that an honest caller shares is found at the bucket.

use super::{Evidence, History, benjamini_hochberg};
use crate::profile::Frame;
use crate::site::{CanonId, FrameClass, SiteIndex};
use hashbrown::{HashMap, HashSet};

/// False-discovery rate over all tests of a diagnosis.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// What a unit stands for, narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitKind {
    /// One (stack, object size).
    Bucket,
    /// A function and line where objects are allocated.
    Site(Frame),
    /// The leaf-most function that is neither runtime nor a mere producer.
    Orderer(CanonId),
    /// Everything allocated below a function.
    Subtree(CanonId),
    /// The whole heap.
    Total,
}

/// A set of active buckets, and the test of its growth over the whole window.
#[derive(Debug, Clone)]
pub struct Unit {
    /// What it stands for.
    pub kind: UnitKind,
    /// Numbers of its active buckets, ascending.
    pub buckets: Vec<u32>,
    /// Change over the whole window.
    pub evidence: Evidence,
    /// Whether it grew, at [`FALSE_DISCOVERY_RATE`] over all units.
    pub grew: bool,
}

/// All units that could reach significance, tested.
#[derive(Debug, Default)]
pub struct TestedUnits {
    /// Narrowest kind first, then by key.
    pub units: Vec<Unit>,
    /// Number of tests, over which the false-discovery rate is held.
    pub tests: usize,
    /// The largest p-value that was accepted; 0 if none.
    pub threshold: f64,
}

/// Tests every unit between the first and the last point. Empty without sampled counts.
pub fn test_units(history: &History, sites: &SiteIndex) -> TestedUnits {
    let last = history.points().saturating_sub(1);
    let mut units: Vec<Unit> = Vec::new();
    let mut seen: HashSet<Vec<u32>> = HashSet::new();
    for (kind, buckets) in group_active(history, sites) {
        // Sets that are equal are one hypothesis; the narrowest name stands for it.
        if !seen.insert(buckets.clone()) {
            continue;
        }
        let Some(evidence) = history.evidence(&buckets, 0, last) else {
            return TestedUnits::default();
        };
        if evidence.can_reach(FALSE_DISCOVERY_RATE) {
            units.push(Unit {
                kind,
                buckets,
                evidence,
                grew: false,
            });
        }
    }
    let p: Vec<f64> = units.iter().map(|unit| unit.evidence.p_value()).collect();
    let mut threshold = 0.0f64;
    for ((unit, grew), p) in units
        .iter_mut()
        .zip(benjamini_hochberg(&p, FALSE_DISCOVERY_RATE))
        .zip(&p)
    {
        unit.grew = grew;
        if grew {
            threshold = threshold.max(*p);
        }
    }
    TestedUnits {
        tests: units.len(),
        units,
        threshold,
    }
}

/// Active buckets by what they stand for, sorted by kind.
fn group_active(history: &History, sites: &SiteIndex) -> Vec<(UnitKind, Vec<u32>)> {
    let mut groups: HashMap<UnitKind, Vec<u32>> = HashMap::new();
    let mut singles: Vec<(UnitKind, Vec<u32>)> = Vec::new();
    let mut functions: Vec<CanonId> = Vec::new();
    for &number in history.active() {
        let stack = history.buckets()[number as usize].stack;
        singles.push((UnitKind::Bucket, vec![number]));
        let site = sites.site(stack).map(UnitKind::Site);
        let orderer = sites
            .orderer(stack)
            .map(|frame| UnitKind::Orderer(sites.canon(frame.function)));
        functions.clear();
        functions.extend(
            sites
                .frames(stack)
                .filter(|frame| sites.class(frame.function) != FrameClass::Runtime)
                .map(|frame| sites.canon(frame.function)),
        );
        functions.sort_unstable();
        functions.dedup();
        let subtrees = functions.iter().copied().map(UnitKind::Subtree);
        for kind in site
            .into_iter()
            .chain(orderer)
            .chain(subtrees)
            .chain([UnitKind::Total])
        {
            groups.entry(kind).or_default().push(number);
        }
    }
    let mut wider: Vec<_> = groups.into_iter().collect();
    wider.sort_unstable_by_key(|(kind, _)| *kind);
    singles.extend(wider);
    singles
}
