//! Who is to blame for a finding's growth: Ochiai over the frames above it.
//!
//! Score of a frame f = g/√(G·(g + c)), where g is the growth through f, c the steady bytes
//! through f in the whole heap, G all growth of the finding (Ochiai 1957; as a ranking of
//! suspicious code: Abreu, Zoeteweij & van Gemund 2007). Plumbing and roots lose by their
//! large c.
//!
//! The frames of one chain of calls score alike. What tells them apart is what else passes
//! through them: a helper that also serves callers who let go of what they get, and a router
//! that also serves other handlers, allocate much that is freed; of the one who keeps, most
//! stays. Of those that are left, the leaf-most is nearest to the line; but a plain function
//! has nothing to keep things in, and hands them to the method that called it.

use super::callers::is_even;
use crate::growth::History;
use crate::profile::Frame;
use crate::site::{CanonId, FrameClass, SiteIndex};
use hashbrown::{HashMap, HashSet};

/// An application frame is blamed when it scores at least this share of the best.
const APPLICATION_BONUS: f64 = 0.8;
/// Frames that score this share of the best are told apart by what they keep.
const NEAR_BEST: f64 = 0.9;
/// Frames that keep this share of what the best one keeps are told apart by their growth.
const NEAR_RETENTION: f64 = 0.8;
/// Frames with this share of the largest growth are a chain of calls, told apart by nothing.
const CHAINED: f64 = 0.95;

/// The blamed frame and how it scored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blame {
    /// The function, at its line with the most growth.
    pub frame: Frame,
    /// 0 to 1.
    pub score: f64,
    /// Growth through it, as a share of the finding's growth.
    pub share: f64,
}

struct Tally {
    growth: f64,
    steady: f64,
    /// Bytes allocated through it within the window, kept or not.
    allocated: f64,
    /// Growth-weighted distance from the leaf.
    depth: f64,
    lines: HashMap<Frame, f64>,
    class: FrameClass,
}

impl Tally {
    /// Ochiai's coefficient, 0 to 1.
    fn score(&self, total: f64) -> f64 {
        self.growth / (total * (self.growth + self.steady)).sqrt()
    }

    /// Of what was allocated through it in the window, the share that stayed; 1 if unknown.
    fn retention(&self) -> f64 {
        match self.allocated > self.growth {
            true => self.growth / self.allocated,
            false => 1.0,
        }
    }

    fn mean_depth(&self) -> f64 {
        self.depth / self.growth.max(f64::MIN_POSITIVE)
    }
}

/// Ranks the frames above a finding's growth. `between` are the points of the first and last
/// snapshot; for a single snapshot both are the same and what is in use counts as growth.
pub(super) fn blame(
    history: &History,
    sites: &SiteIndex,
    background: &Background,
    buckets: &[u32],
    between: (usize, usize),
) -> Option<Blame> {
    let Tallies {
        frames: tallies,
        owners,
        total,
    } = tally(history, sites, background, buckets, between)?;
    let largest = |tallies: &mut dyn Iterator<Item = &Tally>, of: &dyn Fn(&Tally) -> f64| {
        tallies.map(of).fold(0.0, f64::max)
    };
    let score = |tally: &Tally| tally.score(total);
    let best = largest(&mut tallies.values(), &score);
    // The application's frames that explain enough of it to be blamed before a library.
    let application: Vec<&Tally> = tallies
        .values()
        .filter(|tally| tally.class == FrameClass::Application)
        .filter(|tally| score(tally) >= APPLICATION_BONUS * best)
        .collect();
    // A library that many of the application's functions use alike keeps by itself, unless a
    // frame above them all lets as little go.
    let kept = |tallies: &mut dyn Iterator<Item = &Tally>| largest(tallies, &Tally::retention);
    let is_plumbing = is_even(&owners)
        && kept(&mut application.iter().copied()) < NEAR_RETENTION * kept(&mut tallies.values());
    let blames_application = !application.is_empty() && !is_plumbing;
    let mut suspects: Vec<(CanonId, &Tally)> = tallies
        .iter()
        .filter(|(_, tally)| !blames_application || tally.class == FrameClass::Application)
        .map(|(canon, tally)| (*canon, tally))
        .collect();
    let mut keep = |share: f64, of: &dyn Fn(&Tally) -> f64| {
        let best = largest(&mut suspects.iter().map(|(_, tally)| *tally), of);
        suspects.retain(|(_, tally)| of(tally) >= share * best);
    };
    keep(NEAR_BEST, &score);
    keep(NEAR_RETENTION, &Tally::retention);
    keep(CHAINED, &|tally| tally.growth);
    suspects.sort_by(|(a, x), (b, y)| x.mean_depth().total_cmp(&y.mean_depth()).then(a.cmp(b)));
    let (_, tally) = suspects.get(keeper(sites, &suspects))?;
    let mut lines: Vec<_> = tally.lines.iter().collect();
    lines.sort_unstable_by_key(|(frame, _)| **frame);
    let (frame, _) = lines.into_iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    Some(Blame {
        frame: *frame,
        score: tally.score(total),
        share: tally.growth / total,
    })
}

/// Of a chain of calls (leaf-most first) the position of the one that can keep things: the
/// first method, if all below it are plain functions of its package; else the leaf-most.
fn keeper(sites: &SiteIndex, chain: &[(CanonId, &Tally)]) -> usize {
    let Some((leaf, _)) = chain.first() else {
        return 0;
    };
    let package = sites.package(*leaf);
    chain
        .iter()
        .take_while(|(canon, _)| sites.package(*canon) == package)
        .position(|(canon, _)| sites.has_receiver(*canon))
        .unwrap_or(0)
}

/// A finding's growth by the functions above it.
struct Tallies {
    /// What passes through each function that can be blamed.
    frames: HashMap<CanonId, Tally>,
    /// Growth by the application's function nearest to it.
    owners: HashMap<CanonId, f64>,
    /// All of it.
    total: f64,
}

fn tally(
    history: &History,
    sites: &SiteIndex,
    background: &Background,
    buckets: &[u32],
    between: (usize, usize),
) -> Option<Tallies> {
    let is_single = between.0 == between.1;
    let growth_of = |bucket: u32| {
        let (before, after) = (
            history.inuse(between.0, bucket),
            history.inuse(between.1, bucket),
        );
        if is_single {
            after as f64
        } else {
            (after - before).max(0) as f64
        }
    };
    let mut tallies: HashMap<CanonId, Tally> = HashMap::new();
    let mut owners: HashMap<CanonId, f64> = HashMap::new();
    let mut total = 0.0;
    for &bucket in buckets {
        let growth = growth_of(bucket);
        total += growth;
        let stack = history.buckets()[bucket as usize].stack;
        let owner = sites
            .frames(stack)
            .find(|frame| sites.class(frame.function) == FrameClass::Application);
        if let Some(owner) = owner {
            *owners.entry(sites.canon(owner.function)).or_default() += growth;
        }
        let mut seen: HashSet<CanonId> = HashSet::new();
        for (depth, frame) in sites.frames(stack).enumerate() {
            let class = sites.class(frame.function);
            let canon = sites.canon(frame.function);
            let is_nobody = class == FrameClass::Runtime || sites.is_transparent(frame.function);
            if is_nobody || !seen.insert(canon) {
                continue;
            }
            let tally = tallies.entry(canon).or_insert_with(|| Tally {
                growth: 0.0,
                steady: 0.0,
                allocated: 0.0,
                depth: 0.0,
                lines: HashMap::new(),
                class,
            });
            tally.growth += growth;
            tally.depth += growth * depth as f64;
            *tally.lines.entry(frame).or_default() += growth;
        }
    }
    if total <= 0.0 {
        return None;
    }
    add_the_rest(history, sites, background, buckets, between, &mut tallies);
    Some(Tallies {
        frames: tallies,
        owners,
        total,
    })
}

/// What passes through each function in the whole heap, worked out once.
#[derive(Debug, Default)]
pub(super) struct Background {
    /// By canonical name: bytes in use both in the first and in the last snapshot.
    steady: Vec<f64>,
    /// By canonical name: bytes allocated within the window, kept or not.
    allocated: Vec<f64>,
}

impl Background {
    pub fn new(history: &History, sites: &SiteIndex) -> Self {
        let last = history.points().saturating_sub(1);
        let mut background = Self {
            steady: vec![0.0; sites.names().len()],
            allocated: vec![0.0; sites.names().len()],
        };
        if history.points() == 0 {
            return background;
        }
        for bucket in 0..history.buckets().len() as u32 {
            let steady = steady_bytes(history, bucket, (0, last));
            let allocated = history.allocated_between(&[bucket], 0, last).max(0.0);
            if steady <= 0.0 && allocated <= 0.0 {
                continue;
            }
            for function in functions_above(history, sites, bucket) {
                background.steady[function.index()] += steady;
                background.allocated[function.index()] += allocated;
            }
        }
        background
    }
}

/// Bytes of a bucket that are there at both moments.
fn steady_bytes(history: &History, bucket: u32, (first, last): (usize, usize)) -> f64 {
    let held = history
        .inuse(first, bucket)
        .min(history.inuse(last, bucket));
    held.max(0) as f64
}

/// The functions on a bucket's stack, each once.
fn functions_above(history: &History, sites: &SiteIndex, bucket: u32) -> Vec<CanonId> {
    let stack = history.buckets()[bucket as usize].stack;
    let mut functions: Vec<CanonId> = sites
        .frames(stack)
        .map(|frame| sites.canon(frame.function))
        .collect();
    functions.sort_unstable();
    functions.dedup();
    functions
}

/// Takes over what passes through each frame in the whole heap. A finding's own bytes count too,
/// except in a single snapshot, where they stand for growth.
fn add_the_rest(
    history: &History,
    sites: &SiteIndex,
    background: &Background,
    own: &[u32],
    between: (usize, usize),
    tallies: &mut HashMap<CanonId, Tally>,
) {
    for (function, tally) in tallies.iter_mut() {
        tally.steady = background.steady[function.index()];
        tally.allocated = background.allocated[function.index()];
    }
    if between.0 != between.1 {
        return;
    }
    for &bucket in own {
        let steady = steady_bytes(history, bucket, between);
        for function in functions_above(history, sites, bucket) {
            if let Some(tally) = tallies.get_mut(&function) {
                tally.steady = (tally.steady - steady).max(0.0);
            }
        }
    }
}
