//! Reads what the goroutines of a run say to one condition of a pattern.

use super::matcher::{Standing, fill};
use super::view::EvidenceView;
use super::{Expression, GoroutineCondition, Trend};
use crate::growth::{Crowd, grow_in_step, growth_of, is_growing};
use crate::profile::Frame;
use crate::site::{CanonId, FrameClass};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Groups are "as many" when they are so within this share.
const EQUAL_WITHIN: f64 = 0.1;

/// What a condition says.
pub(super) struct GoroutineReading {
    pub standing: Standing,
    pub sentence: String,
    /// Indices of the crowds that meet it.
    pub crowds: Vec<usize>,
}

/// Goroutines that meet a condition's rules on stacks and states.
struct Tally {
    /// How many in each snapshot.
    counts: Vec<u64>,
    /// How many of each state, over all snapshots.
    states: BTreeMap<String, u64>,
    /// Application frames inside the condition's frame, with how many.
    insides: HashMap<CanonId, (u64, Frame)>,
    /// Frames in which they are blocked, with how many.
    standings: HashMap<CanonId, (u64, Frame)>,
    /// Longest wait in the last snapshot, if it tells waits.
    wait: Option<u32>,
}

impl Tally {
    fn new(points: usize) -> Self {
        Self {
            counts: vec![0; points],
            states: BTreeMap::new(),
            insides: HashMap::new(),
            standings: HashMap::new(),
            wait: None,
        }
    }

    fn add(&mut self, other: Self) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum += count;
        }
        for (state, count) in other.states {
            *self.states.entry(state).or_default() += count;
        }
        for (sums, more) in [
            (&mut self.insides, other.insides),
            (&mut self.standings, other.standings),
        ] {
            for (canon, (count, frame)) in more {
                sums.entry(canon).or_insert((0, frame)).0 += count;
            }
        }
        self.wait = self.wait.max(other.wait);
    }

    fn last(&self) -> u64 {
        self.counts.last().copied().unwrap_or(0)
    }

    fn seen(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0).count()
    }
}

pub(super) fn read_goroutines(
    condition: &GoroutineCondition,
    view: &EvidenceView,
) -> GoroutineReading {
    let mut reading = GoroutineReading {
        standing: Standing::Unknown,
        sentence: String::new(),
        crowds: Vec::new(),
    };
    if view.crowds.is_empty() || condition.needs_dump && !has_dump(view) {
        return reading;
    }
    let crowds = view.crowds.crowds.iter().enumerate();
    let mut met: Vec<(usize, Tally)> = crowds
        .filter_map(|(index, crowd)| Some((index, tally_crowd(condition, view, crowd)?)))
        .filter(|(_, tally)| !condition.one_stack || fits_by_itself(condition, view, tally))
        .collect();
    if condition.in_step > 0 {
        let counts: Vec<&[u64]> = met.iter().map(|(_, tally)| &tally.counts[..]).collect();
        let mut is_in_step = in_step(&counts, condition.in_step).into_iter();
        met.retain(|_| is_in_step.next() == Some(true));
    }
    let mut whole = Tally::new(view.crowds.points);
    for (index, tally) in met {
        reading.crowds.push(index);
        whole.add(tally);
    }
    reading.standing = match holds(condition, view, &whole) {
        true => Standing::Holds,
        false => Standing::Fails,
    };
    reading.sentence = sentence(condition, view, &whole);
    reading
}

/// Whether any form that was given tells states, waits and creators.
fn has_dump(view: &EvidenceView) -> bool {
    let mut groups = view.crowds.crowds.iter().flat_map(|crowd| &crowd.groups);
    groups.any(|(_, group)| group.state.is_some())
}

/// Those of one crowd that meet the rules on stacks and states; None when there are none.
fn tally_crowd(
    condition: &GoroutineCondition,
    view: &EvidenceView,
    crowd: &Crowd,
) -> Option<Tally> {
    let frames = view.crowd_frames(crowd);
    let at = match &condition.frame {
        Some(frame) => Some(view.position(&frames, frame)?),
        None => None,
    };
    let standing = standing(view, crowd);
    if !is_blocked_there(condition, view, crowd, standing) {
        return None;
    }
    if let Some(expression) = &condition.created_by
        && !is_created_by(view, crowd, expression)
    {
        return None;
    }
    let leafward = &frames[..at.unwrap_or(frames.len())];
    if let Some(below) = &condition.below
        && view.position(leafward, below).is_none()
    {
        return None;
    }
    if let Some(without) = &condition.without
        && view.position(&frames, without).is_some()
    {
        return None;
    }
    let inside = view.application_inside(&frames, leafward.len());
    if condition.inside_application && inside.is_none() {
        return None;
    }
    let mut tally = Tally::new(view.crowds.points);
    let mut is_met = false;
    for (point, group) in &crowd.groups {
        let state = group.state.map(|state| view.sites.symbols().str(state));
        let state_fits = match (&condition.state, state) {
            (Some(expression), Some(state)) => expression.is_match(state),
            _ => true,
        };
        if !state_fits {
            continue;
        }
        is_met = true;
        tally.counts[*point] += group.count;
        if let Some(state) = state {
            *tally.states.entry(state.to_owned()).or_default() += group.count;
        }
        for (frames, frame) in [
            (&mut tally.insides, inside),
            (&mut tally.standings, standing),
        ] {
            if let Some(frame) = frame {
                let canon = view.sites.canon(frame.function);
                frames.entry(canon).or_insert((0, frame)).0 += group.count;
            }
        }
        if *point + 1 == view.crowds.points {
            tally.wait = tally.wait.max(group.wait_minutes_max);
        }
    }
    is_met.then_some(tally)
}

/// Where goroutines of that stack are blocked: the leaf-most frame that is neither of the runtime
/// nor of the standard library.
fn standing(view: &EvidenceView, crowd: &Crowd) -> Option<Frame> {
    let mut frames = view.sites.frames(crowd.stack);
    frames.find(|frame| view.sites.class(frame.function) > FrameClass::Standard)
}

/// Whether they are blocked in the code that the condition asks for.
fn is_blocked_there(
    condition: &GoroutineCondition,
    view: &EvidenceView,
    crowd: &Crowd,
    standing: Option<Frame>,
) -> bool {
    if condition.blocked_in.is_empty() {
        return true;
    }
    let class = |frame: Frame| view.sites.class(frame.function);
    let is_theirs = |frame: Frame| condition.blocked_in.iter().any(|o| o.is(class(frame)));
    let mut frames = view.sites.frames(crowd.stack);
    let leaf = frames.find(|&frame| class(frame) != FrameClass::Runtime);
    standing.is_some_and(is_theirs) && (!condition.directly || leaf == standing)
}

/// Whether that frame created them. Forms without states do not tell creators either.
fn is_created_by(view: &EvidenceView, crowd: &Crowd, expression: &Expression) -> bool {
    match crowd.created_by {
        Some(id) => view.is_match(expression, view.sites.symbols().frame(id)),
        None => crowd.groups.iter().all(|(_, group)| group.state.is_none()),
    }
}

/// Whether there are enough, they wait long enough and develop as asked.
fn fits_by_itself(condition: &GoroutineCondition, view: &EvidenceView, tally: &Tally) -> bool {
    let seconds = view.crowds.seconds.as_deref();
    let trend_fits = view.is_single
        || match condition.trend {
            Trend::Any => true,
            Trend::Growing => is_growing(&tally.counts, seconds),
            Trend::Steady => !is_growing(&tally.counts, seconds),
        };
    let wait_fits = match (condition.min_wait_minutes, tally.wait) {
        (Some(least), Some(wait)) => wait >= least,
        _ => true,
    };
    tally.last() >= condition.min_count && trend_fits && wait_fits
}

fn holds(condition: &GoroutineCondition, view: &EvidenceView, tally: &Tally) -> bool {
    let seen = tally.seen();
    if condition.absent {
        return seen == 0;
    }
    // In a single snapshot there is no growth to compare, but there are counts.
    let size = |counts: &[u64]| match view.is_single {
        true => last_of(counts),
        false => growth_of(counts),
    };
    let grew_equally = condition
        .equal_growth
        .iter()
        .all(|expression| is_equal(size(&tally.counts), size(&counts_of(expression, view))));
    let are_as_many = condition.equal_count.iter().all(|expression| {
        is_equal(
            last_of(&tally.counts),
            last_of(&counts_of(expression, view)),
        )
    });
    (seen > 0 || condition.min_count == 0)
        && seen as f64 >= condition.in_snapshots * tally.counts.len() as f64
        && fits_by_itself(condition, view, tally)
        && grew_equally
        && are_as_many
}

fn sentence(condition: &GoroutineCondition, view: &EvidenceView, tally: &Tally) -> String {
    let (first, last) = (
        tally.counts.first().copied().unwrap_or(0),
        tally.counts.last().copied().unwrap_or(0),
    );
    let count = match view.is_single {
        true => last.to_string(),
        false => format!("{first} → {last}"),
    };
    let state = tally.states.iter().max_by_key(|(_, count)| **count);
    let most = |frames: &HashMap<CanonId, (u64, Frame)>| {
        let most = frames
            .values()
            .max_by_key(|(count, frame)| (*count, *frame));
        most.map_or("", |(_, frame)| {
            view.sites.symbols().function_name(frame.function)
        })
        .to_owned()
    };
    fill(
        &condition.says,
        &[
            ("count", count),
            ("before", first.to_string()),
            ("after", last.to_string()),
            ("seen", tally.seen().to_string()),
            ("snapshots", tally.counts.len().to_string()),
            (
                "state",
                state.map_or_else(|| "unknown".to_owned(), |(state, _)| state.clone()),
            ),
            (
                "wait",
                tally
                    .wait
                    .map_or_else(|| "?".to_owned(), |wait| wait.to_string()),
            ),
            ("standing", most(&tally.standings)),
            ("inside", most(&tally.insides)),
        ],
    )
}

fn counts_of(expression: &Expression, view: &EvidenceView) -> Vec<u64> {
    let mut counts = vec![0u64; view.crowds.points];
    for crowd in &view.crowds.crowds {
        if view
            .position(&view.crowd_frames(crowd), expression)
            .is_some()
        {
            for (sum, count) in counts.iter_mut().zip(&crowd.counts) {
                *sum += count;
            }
        }
    }
    counts
}

/// Which of several series of counts grow in step with one another: the largest set of at least
/// `least` whose counts are whole multiples of those of one of them. None where there is no such
/// set.
fn in_step(counts: &[&[u64]], least: usize) -> Vec<bool> {
    let sets = counts.iter().map(|unit| -> Vec<bool> {
        let set = counts.iter().map(|many| grow_in_step(many, unit));
        set.collect()
    });
    let size = |set: &Vec<bool>| set.iter().filter(|&&is_in_step| is_in_step).count();
    let largest = sets.max_by_key(size).filter(|set| size(set) >= least);
    largest.unwrap_or_else(|| vec![false; counts.len()])
}

fn last_of(counts: &[u64]) -> i64 {
    counts.last().copied().unwrap_or(0) as i64
}

fn is_equal(a: i64, b: i64) -> bool {
    let larger = a.abs().max(b.abs());
    larger > 0 && ((a - b).abs() as f64) <= EQUAL_WITHIN * larger as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_equal_within_a_tenth() {
        assert!(is_equal(100, 91));
        assert!(!is_equal(100, 89));
        assert!(!is_equal(0, 0), "nothing grew");
    }

    #[test]
    fn parts_of_one_whole_grow_in_step() {
        let (runs, pairs, sixes) = ([3, 5, 8, 14], [6, 10, 16, 28], [18, 30, 48, 84]);
        let others = ([2, 2, 2, 2], [3, 11, 12, 14]);
        let all: [&[u64]; 5] = [&sixes, &runs, &others.0, &pairs, &others.1];
        assert_eq!(in_step(&all, 3), [true, true, false, true, false]);
        assert_eq!(in_step(&all, 4), [false; 5], "only three do");
        assert_eq!(in_step(&[&[1, 2, 3], &[1, 2, 3]], 2), [false; 2], "chance");
        assert_eq!(in_step(&[&[100], &[100]], 2), [false; 2], "one snapshot");
        let late: [&[u64]; 2] = [&[3, 5, 8, 13], &sixes];
        assert_eq!(in_step(&late, 2), [true; 2], "one is just being started");
    }
}
