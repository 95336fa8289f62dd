//! Memory and goroutines that came and went within the window: not growth, but what a reader
//! sees in a dashboard and wants named.

use super::case::Case;
use super::{Finding, FindingVerdict, NotALeak, NotALeakName};
use crate::growth::MIN_GROWTH;
use crate::units::{duration, size};

/// p and z of a rise and of a fall that are beyond noise, though the moments were picked.
const PICKED_P: f64 = 1e-4;
const PICKED_Z: f64 = -3.72;
/// Least swing as a share of the heap in its highest snapshot.
const LEAST_SWING: f64 = 0.1;
/// Least jump as a share of the heap before it.
const LEAST_STEP: f64 = 0.25;
/// A reversal counts as a swing of its own from this share of the whole range on.
const SWING_SHARE: f64 = 0.5;

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
    let totals = history.series(&super::finding::all_buckets(case));
    let jump_at = |pair: &[usize]| totals[pair[1]] - totals[pair[0]];
    let (index, pair) = points
        .windows(2)
        .enumerate()
        .max_by(|(_, a), (_, b)| jump_at(a).total_cmp(&jump_at(b)))?;
    let (jump, before) = (jump_at(pair), totals[pair[0]]);
    let rose = history.evidence(history.active(), pair[0], pair[1])?;
    let halfway = before + SWING_SHARE * jump;
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
    let all = super::finding::all_buckets(case);
    let totals = history.series(&all);
    let values: Vec<f64> = points.iter().map(|&point| totals[point]).collect();
    let swing = Swing::of(&values)?;
    let at = |index: usize| points[index];
    let rose = history.evidence(active, at(swing.before), at(swing.peak))?;
    let fell = history.evidence(active, at(swing.peak), at(swing.after))?;
    let is_real = rose.p_value() <= PICKED_P && fell.z() <= PICKED_Z;
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

/// The highest point of a series, with the lowest before and after it.
#[derive(Debug, PartialEq)]
struct Swing {
    before: usize,
    peak: usize,
    after: usize,
    /// How many rises were given back, of at least half the range.
    peaks: usize,
}

impl Swing {
    /// None when the highest point is at an end: nothing was given back, or nothing rose.
    fn of(values: &[f64]) -> Option<Self> {
        let indices = || 0..values.len();
        let peak = indices().max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)))?;
        let lowest =
            |range: std::ops::Range<usize>| range.min_by(|&a, &b| values[a].total_cmp(&values[b]));
        let before = lowest(0..peak)?;
        let after = lowest(peak + 1..values.len())?;
        let low = values[before].min(values[after]);
        let step = SWING_SHARE * (values[peak] - low);
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
        let level = Swing::of(&[2.0, 2.0, 2.0]);
        assert_eq!(level, None);
    }
}
