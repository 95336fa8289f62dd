//! Goroutines over time. Their counts are exact, so growth needs no test, only persistence.

use super::shape::{BlockTest, Shape, ShapeReading, read_shape};
use crate::profile::{FrameId, GoroutineGroup, GoroutineProfile, StackId, SymbolTable};
use crate::site::{CanonId, FrameClass, SiteIndex};
use hashbrown::HashMap;

/// Fewest goroutines by which a crowd must have grown to be reported.
pub const MIN_GROWTH: u64 = 20;
/// Least growth as a share of the first count, to be reported.
const MIN_RELATIVE_GROWTH: f64 = 0.02;

/// Goroutines of equal functions on the stack and equal creator, over the snapshots.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// A stack of theirs, from the snapshot with the most of them.
    pub stack: StackId,
    /// The frame that created them, if known.
    pub created_by: Option<FrameId>,
    /// How many there are in each goroutine snapshot.
    pub counts: Vec<u64>,
    /// How many of them the runtime has proved to be stuck for good, in each of these snapshots.
    pub leaked: Vec<u64>,
    /// The groups themselves, by snapshot: state, waiting time, lines.
    pub groups: Vec<(usize, GroupFacts)>,
}

/// What a profile says of one group.
#[derive(Debug, Clone, Copy)]
pub struct GroupFacts {
    /// Its exact stack.
    pub stack: StackId,
    /// How many.
    pub count: u64,
    /// The state, in a dump.
    pub state: Option<crate::profile::StrId>,
    /// Longest wait in minutes, in a dump.
    pub wait_minutes_max: Option<u32>,
}

/// All goroutines of a run.
#[derive(Debug, Default)]
pub struct Crowds {
    /// Largest in the last snapshot first.
    pub crowds: Vec<Crowd>,
    /// Number of snapshots with goroutines.
    pub points: usize,
    /// Their clocks in seconds since the first, if known.
    pub seconds: Option<Vec<f64>>,
}

impl Crowds {
    /// Gathers the goroutine profiles of a run, in time order.
    pub fn gather(profiles: &[(&GoroutineProfile, Option<i64>)], sites: &SiteIndex) -> Self {
        let mut ids: HashMap<(Vec<CanonId>, Option<CanonId>), usize> = HashMap::new();
        let mut crowds: Vec<Crowd> = Vec::new();
        for (point, (profile, _)) in profiles.iter().enumerate() {
            for group in &profile.groups {
                let index = *ids.entry(key_of(group, sites)).or_insert_with(|| {
                    crowds.push(Crowd {
                        stack: group.stack,
                        created_by: group.created_by,
                        counts: vec![0; profiles.len()],
                        leaked: vec![0; profiles.len()],
                        groups: Vec::new(),
                    });
                    crowds.len() - 1
                });
                let crowd = &mut crowds[index];
                crowd.counts[point] += group.count;
                crowd.leaked[point] += group.leaked;
                crowd.groups.push((
                    point,
                    GroupFacts {
                        stack: group.stack,
                        count: group.count,
                        state: group.state,
                        wait_minutes_max: group.wait_minutes_max,
                    },
                ));
            }
        }
        for crowd in &mut crowds {
            let largest = crowd.groups.iter().max_by_key(|(_, group)| group.count);
            crowd.stack = largest.map_or(crowd.stack, |(_, group)| group.stack);
        }
        crowds.sort_by_key(|crowd| std::cmp::Reverse(crowd.counts.last().copied()));
        let start = profiles.first().and_then(|(_, time)| *time);
        Self {
            crowds,
            points: profiles.len(),
            seconds: profiles
                .iter()
                .map(|(_, time)| Some((*time)?.saturating_sub(start?) as f64 / 1e9))
                .collect(),
        }
    }

    /// Takes a profile of leaked goroutines alone (`goroutineleak`) into the snapshot `point`,
    /// whose other goroutines are known. Creators and states are not in such a profile: a stack
    /// is enough.
    pub fn mark_leaked(&mut self, point: usize, leaks: &GoroutineProfile, sites: &SiteIndex) {
        let mut left: HashMap<Vec<CanonId>, u64> = HashMap::new();
        for group in &leaks.groups {
            *left.entry(key_of(group, sites).0).or_default() += group.count;
        }
        for crowd in &mut self.crowds {
            let frames = frames_of(crowd.stack, sites);
            let Some(left) = left.get_mut(&frames) else {
                continue;
            };
            let room = crowd.counts[point].saturating_sub(crowd.leaked[point]);
            let taken = room.min(*left);
            crowd.leaked[point] += taken;
            *left -= taken;
        }
    }

    /// Whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.points == 0
    }
}

/// Functions on the stack without leading runtime frames (a dump hides them, the other forms
/// do not), and the creator.
fn key_of(group: &GoroutineGroup, sites: &SiteIndex) -> (Vec<CanonId>, Option<CanonId>) {
    let frames = frames_of(group.stack, sites);
    let symbols: &SymbolTable = sites.symbols();
    let creator = group
        .created_by
        .map(|frame| sites.canon(symbols.frame(frame).function));
    (frames, creator)
}

fn frames_of(stack: StackId, sites: &SiteIndex) -> Vec<CanonId> {
    sites
        .frames(stack)
        .skip_while(|frame| sites.class(frame.function) == FrameClass::Runtime)
        .filter(|frame| !is_goexit(sites, frame.function))
        .map(|frame| sites.canon(frame.function))
        .collect()
}

fn is_goexit(sites: &SiteIndex, function: crate::profile::FunctionId) -> bool {
    sites.name(sites.canon(function)) == "runtime.goexit"
}

impl Crowd {
    /// Goroutines more in the last snapshot than in the first.
    pub fn growth(&self) -> i64 {
        growth_of(&self.counts)
    }

    /// How many the runtime says can never go on, in the last snapshot.
    pub fn leaked(&self) -> u64 {
        self.leaked.last().copied().unwrap_or(0)
    }

    /// The most common state in the last snapshot that has one.
    pub fn state(&self) -> Option<crate::profile::StrId> {
        let last = self
            .groups
            .iter()
            .filter(|(_, g)| g.state.is_some())
            .map(|(p, _)| *p)
            .max()?;
        let mut states: Vec<(u64, crate::profile::StrId)> = Vec::new();
        for (_, group) in self.groups.iter().filter(|(point, _)| *point == last) {
            let Some(state) = group.state else { continue };
            match states.iter_mut().find(|(_, known)| *known == state) {
                Some((count, _)) => *count += group.count,
                None => states.push((group.count, state)),
            }
        }
        states
            .into_iter()
            .max_by_key(|(count, _)| *count)
            .map(|(_, state)| state)
    }

    /// Longest wait in the last snapshot that tells one, in minutes.
    pub fn wait_minutes(&self) -> Option<u32> {
        let last = self.groups.iter().map(|(point, _)| *point).max()?;
        self.groups
            .iter()
            .filter(|(point, _)| *point == last)
            .filter_map(|(_, group)| group.wait_minutes_max)
            .max()
    }
}

/// Growth of a series of counts.
pub fn growth_of(counts: &[u64]) -> i64 {
    match (counts.first(), counts.last()) {
        (Some(&first), Some(&last)) => last as i64 - first as i64,
        _ => 0,
    }
}

/// Counts are "the same multiple" within this share.
const MULTIPLE_WITHIN: f64 = 0.1;
/// A whole must be there this many times more often in the last snapshot than in the first, or
/// that its parts grow in step may be chance.
const LEAST_STARTS: i64 = 3;

/// Whether counts grow in step as parts of one whole do: in each snapshot there are as many as in
/// `unit`, or the same whole multiple. Those of one whole that is just being started may be
/// missing.
pub fn grow_in_step(counts: &[u64], unit: &[u64]) -> bool {
    let (Some(&last), Some(&last_unit)) = (counts.last(), unit.last()) else {
        return false;
    };
    let times = (last as f64 / last_unit as f64).round();
    growth_of(unit) >= LEAST_STARTS
        && times >= 1.0
        && counts.iter().zip(unit).all(|(&count, &unit)| {
            let expected = times * unit as f64;
            (count as f64 - expected).abs() <= (MULTIPLE_WITHIN * expected).max(times)
        })
}

/// Whether counts grew by enough to be reported, and how.
pub fn read_growth(counts: &[u64], seconds: Option<&[f64]>) -> Option<ShapeReading> {
    let growth = growth_of(counts);
    let first = counts.first().copied().unwrap_or(0) as f64;
    if growth < MIN_GROWTH as i64 || (growth as f64) < MIN_RELATIVE_GROWTH * first {
        return None;
    }
    let values: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let all: Vec<usize> = (0..values.len()).collect();
    Some(read_shape(&values, seconds, &all, |from, to| {
        let change = values[to] - values[from];
        BlockTest {
            p_value: if change > 0.0 { 0.0 } else { 1.0 },
            // The count is exact; when goroutines start and end is a matter of load (Poisson).
            sd: change.abs().sqrt(),
            variance: 0.0,
            is_loose: false,
        }
    }))
}

/// Whether counts grew over the window and did not level off, jump just once or come back.
pub fn is_growing(counts: &[u64], seconds: Option<&[f64]>) -> bool {
    read_growth(counts, seconds)
        .is_some_and(|reading| matches!(reading.shape, Shape::Sustained | Shape::Open))
}
