//! Memory and goroutines that came and went within the window: not growth, but what a reader
//! sees in a dashboard and wants named.

use super::case::Case;
use super::{Finding, FindingVerdict, NotALeak, NotALeakName};
use crate::growth::MIN_GROWTH;
use crate::units::{duration, size};

/// p and z of a rise and of a fall that are both beyond noise: together by chance once in 40,000
/// triples of moments, and ten snapshots have 120 of these.
const SWING_P: f64 = 0.005;
const SWING_Z: f64 = -2.58;
/// p of a jump that is beyond noise, though the largest of all intervals was picked.
const PICKED_P: f64 = 1e-4;
/// Least swing as a share of the heap in its highest snapshot.
const LEAST_SWING: f64 = 0.1;
/// Least jump as a share of the heap before it.
const LEAST_STEP: f64 = 0.25;
/// A reversal counts as a swing of its own from this share of the whole range on.
const SWING_SHARE: f64 = 1.0 / 3.0;
/// A jump stays while the heap is above this share of it.
const STAYS_SHARE: f64 = 0.5;

/// Rises that were given back, named by how often they came.
pub(super) fn movements(case: &Case, findings: &[Finding]) -> Vec<NotALeak> {
    let is_told = |verdict| findings.iter().any(|finding| finding.verdict == verdict);
    let swing = || {
        (!is_told(FindingVerdict::Sawtooth))
            .then(|| of_heap(case))
            .flatten()
    };
    let step = || findings.is_empty().then(|| step_of_heap(case)).flatten();
    let heap = swing().or_else(step);
    heap.into_iter().chain(of_goroutines(case)).collect()
}

/// A jump of the whole heap that stays, though no place stands out by itself.
fn step_of_heap(case: &Case) -> Option<NotALeak> {
    let history = case.history;
    let points = history.distinct();
    let totals = history.series(&super::measure::all_buckets(case));
    let jump_at = |pair: &[usize]| totals[pair[1]] - totals[pair[0]];
    let (index, pair) = points
        .windows(2)
        .enumerate()
        .max_by(|(_, a), (_, b)| jump_at(a).total_cmp(&jump_at(b)))?;
    let (jump, before) = (jump_at(pair), totals[pair[0]]);
    let rose = history.evidence(history.active(), pair[0], pair[1])?;
    let halfway = before + STAYS_SHARE * jump;
    let stays = points[index + 1..]
        .iter()
        .all(|&point| totals[point] >= halfway)
        && points[..=index]
            .iter()
            .all(|&point| totals[point] <= halfway);
    let is_large = jump >= LEAST_STEP * before && jump > 0.0;
    (rose.p_value() <= PICKED_P && stays && is_large).then(|| {
        let when = history.seconds().map_or_else(String::new, |seconds| {
            format!(
                " between {} and {} into the window",
                duration(seconds[pair[0]]),
                duration(seconds[pair[1]])
            )
        });
        NotALeak {
            name: NotALeakName::Step,
            text: format!(
                "the heap jumped from {} to {}{when} and stays on that level: something was loaded, or load moved in",
                size(before),
                size(totals[pair[1]]),
            ),
            bytes: Some(jump),
        }
    })
}

fn of_heap(case: &Case) -> Option<NotALeak> {
    let history = case.history;
    let points = history.distinct();
    let active = history.active();
    let all = super::measure::all_buckets(case);
    let totals = history.series(&all);
    let values: Vec<f64> = points.iter().map(|&point| totals[point]).collect();
    let swing = Swing::of(&values)?;
    let at = |index: usize| points[index];
    let rose = history.evidence(active, at(swing.before), at(swing.peak))?;
    let fell = history.evidence(active, at(swing.peak), at(swing.after))?;
    let is_real = rose.p_value() <= SWING_P && fell.z() <= SWING_Z;
    let is_large = swing.given_back(&values) >= LEAST_SWING * values[swing.peak];
    (is_real && is_large).then(|| {
        let when = case.history.seconds().map_or_else(String::new, |seconds| {
            format!(", {} into the window,", duration(seconds[at(swing.peak)]))
        });
        let often = match swing.peaks {
            1 => "once".to_owned(),
            peaks => format!("{peaks} times"),
        };
        NotALeak {
            name: swing.name(),
            text: format!(
                "the heap rose from {} to {}{when} and fell to {}: memory came and went {often}",
                size(values[swing.before]),
                size(values[swing.peak]),
                size(values[swing.after]),
            ),
            bytes: Some(swing.given_back(&values)),
        }
    })
}

fn of_goroutines(case: &Case) -> Option<NotALeak> {
    let totals: Vec<f64> = (0..case.crowds.points)
        .map(|point| {
            let crowds = case.crowds.crowds.iter();
            crowds.map(|crowd| crowd.counts[point]).sum::<u64>() as f64
        })
        .collect();
    let swing = Swing::of(&totals)?;
    let given_back = swing.given_back(&totals);
    (given_back >= MIN_GROWTH as f64 && given_back >= LEAST_SWING * totals[swing.peak]).then(|| {
        NotALeak {
            name: swing.name(),
            text: format!(
                "goroutines rose from {:.0} to {:.0} and fell to {:.0}: they end; the memory of their stacks is kept for the next ones",
                totals[swing.before], totals[swing.peak], totals[swing.after],
            ),
            bytes: None,
        }
    })
}

/// The largest rise of a series that was given back: a high point with the lowest before and
/// after it.
#[derive(Debug, PartialEq)]
struct Swing {
    before: usize,
    peak: usize,
    after: usize,
    /// How many rises were given back, of at least a third of this one.
    peaks: usize,
}

impl Swing {
    /// None when nothing that rose was given back.
    fn of(values: &[f64]) -> Option<Self> {
        let lowest =
            |range: std::ops::Range<usize>| range.min_by(|&a, &b| values[a].total_cmp(&values[b]));
        let around = |peak: usize| Some((lowest(0..peak)?, peak, lowest(peak + 1..values.len())?));
        let given_back = |&(before, peak, after): &(usize, usize, usize)| {
            values[peak] - values[before].max(values[after])
        };
        let (before, peak, after) = (0..values.len())
            .filter_map(around)
            .max_by(|a, b| given_back(a).total_cmp(&given_back(b)))
            .filter(|triple| given_back(triple) > 0.0)?;
        let step = SWING_SHARE * given_back(&(before, peak, after));
        // Zigzag: a turn counts once the series went by `step` the other way.
        let (mut peaks, mut extreme, mut is_rising) = (0, values[0], true);
        for &value in values {
            match is_rising {
                true if value > extreme => extreme = value,
                true if extreme - value >= step => {
                    peaks += 1;
                    (extreme, is_rising) = (value, false);
                }
                false if value < extreme => extreme = value,
                false if value - extreme >= step => (extreme, is_rising) = (value, true),
                _ => {}
            }
        }
        Some(Self {
            before,
            peak,
            after,
            peaks: peaks.max(1),
        })
    }

    /// The smaller of the rise and the fall.
    fn given_back(&self, values: &[f64]) -> f64 {
        let rise = values[self.peak] - values[self.before];
        let fall = values[self.peak] - values[self.after];
        rise.min(fall).max(0.0)
    }

    fn name(&self) -> NotALeakName {
        match self.peaks {
            1 => NotALeakName::Peak,
            _ => NotALeakName::Sawtooth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swings_by_hand() {
        let peak = Swing::of(&[1.0, 5.0, 9.0, 4.0, 1.0]).expect("a peak");
        assert_eq!(
            (peak.before, peak.peak, peak.after, peak.peaks),
            (0, 2, 4, 1)
        );
        assert_eq!(peak.given_back(&[1.0, 5.0, 9.0, 4.0, 1.0]), 8.0);
        assert_eq!(peak.name(), NotALeakName::Peak);
        let saw = Swing::of(&[1.0, 8.0, 2.0, 9.0, 1.0, 7.0]).expect("two peaks");
        assert_eq!((saw.peaks, saw.name()), (2, NotALeakName::Sawtooth));
        assert_eq!(Swing::of(&[1.0, 2.0, 3.0]), None);
        assert_eq!(Swing::of(&[3.0, 2.0, 1.0]), None);
        assert_eq!(Swing::of(&[]), None);
        assert_eq!(Swing::of(&[2.0, 2.0, 2.0]), None);
        // The highest point has nothing before it; the swing is the second one.
        let second = Swing::of(&[9.0, 2.0, 8.0, 1.0]).expect("a peak");
        assert_eq!((second.before, second.peak, second.after), (1, 2, 3));
    }
}
