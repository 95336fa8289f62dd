//! What kind of growth a series of values shows: the three-block rule and its verdicts.
//!
//! Significance is not leakiness: a cache that fills grows significantly too. A leak is growth
//! that is significant in *each* third of the window (an intersection–union test, so the
//! level needs no correction: Berger 1982), at a slope that does not fade, without giving
//! much back.
//!
//! A program that was just started, or a load that just began, fills its caches first. Growth
//! that goes on after such a warm-up is found by leaving the beginning out, at most a third
//! of the points; the rest then has to pass the whole rule by itself.

use super::Container;
use super::scatter::{Scatter, theil_sen};
use super::test::{normal_quantile, normal_upper_tail};

/// Level of the test in each third.
pub const BLOCK_ALPHA: f64 = 0.05;
/// Least slope of the slowest third, as a share of the mean slope (ρ).
pub const MIN_BLOCK_SLOPE: f64 = 0.5;
/// Largest fall below an earlier value, as a share of the net growth.
pub const MAX_DRAW_DOWN: f64 = 0.35;
/// Share of the net growth within one interval that makes it a step.
pub const STEP_SHARE: f64 = 0.7;
/// Fewest points of distinct collector cycles for the three-block rule.
pub const MIN_POINTS: usize = 4;
/// Fewest intervals among which one can stand out as a step.
const MIN_STEP_INTERVALS: usize = 3;
/// Standard errors by which the last third must be slower than the first to count as fading:
/// a steady slope looks so once in a hundred series.
const FADING_Z: f64 = 2.33;
/// Growth fades when the last third keeps less than this share of the first one's slope, beyond
/// noise: load that varies by less is not a cache that fills.
const FADED_SLOPE: f64 = 0.5;
/// A warm-up is at least so many times as steep as what follows.
const WARM_UP_STEEPER: f64 = 4.0;
/// After a warm-up the last third keeps at least this share of the first one's slope. A cache
/// that fills exponentially loses more, wherever its beginning is cut.
const SETTLED_SLOPE: f64 = 0.75;
/// Fewest points after a warm-up: two intervals a third.
const MIN_SETTLED_POINTS: usize = 7;

/// The kind of a growth that is known to be real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Growth in every third of the window.
    Sustained,
    /// Growth that levels off.
    Plateauing,
    /// Nearly all growth within one interval.
    Step,
    /// Memory comes and goes.
    Sawtooth,
    /// Too few points, or no steady slope.
    Open,
}

/// A third of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// First and last point.
    pub from: usize,
    /// See `from`.
    pub to: usize,
    /// Change within it.
    pub change: f64,
    /// Change per second, or per interval without clocks.
    pub slope: f64,
    /// One-sided p of "no net growth" within it, load noise included.
    pub p_value: f64,
}

impl Block {
    /// Whether it grew beyond noise, at [`BLOCK_ALPHA`] by itself.
    pub fn is_significant(&self) -> bool {
        self.p_value <= BLOCK_ALPHA
    }
}

/// A shape and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeReading {
    /// The kind.
    pub shape: Shape,
    /// The thirds; empty with fewer than [`MIN_POINTS`] distinct points.
    pub blocks: Vec<Block>,
    /// Share of the net growth in the largest interval.
    pub largest_interval: f64,
    /// The interval that holds it, as points.
    pub largest_at: (usize, usize),
    /// Largest fall below an earlier value as a share of the net growth.
    pub draw_down: f64,
    /// Scatter around the slope as a multiple of what counts predict (φ̂); None with few points.
    pub dispersion: Option<f64>,
    /// The point at which a warm-up that is left out ends.
    pub warm_up_ends: Option<usize>,
    /// One object that was reallocated ever larger, if that is what grew: then its persistence
    /// makes the growth [`Shape::Sustained`].
    pub container: Option<Container>,
}

/// What a change between two points is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockTest {
    /// One-sided p of "no net growth".
    pub p_value: f64,
    /// Standard error of the change.
    pub sd: f64,
    /// Variance of the change that counts predict without growth, Σ s²w²m; 0 = exact values.
    pub variance: f64,
    /// Whether counts cannot bound the turnover, because frees could have renewed nearly
    /// everything: the scatter of the series then measures it.
    pub is_loose: bool,
}

/// Reads the shape of `values` (one per point, net growth positive and real).
///
/// `seconds` are the points' clocks (their numbers serve without); `distinct` the points
/// that show a collector cycle of their own; `test` judges the change between two points.
pub fn read_shape(
    values: &[f64],
    seconds: Option<&[f64]>,
    distinct: &[usize],
    test: impl Fn(usize, usize) -> BlockTest,
) -> ShapeReading {
    let clocks: Vec<f64> = match seconds {
        Some(seconds) => seconds.to_vec(),
        None => (0..values.len()).map(|point| point as f64).collect(),
    };
    let window = Window {
        values,
        clocks: &clocks,
    };
    let whole = window.read(distinct, &test);
    if matches!(whole.shape, Shape::Sustained | Shape::Sawtooth) {
        return whole;
    }
    let settled = (1..=distinct.len() / 3)
        .filter(|cut| distinct.len() - cut >= MIN_SETTLED_POINTS)
        .find_map(|cut| window.read_after(cut, distinct, &test));
    settled.unwrap_or(whole)
}

/// Values over time.
#[derive(Clone, Copy)]
struct Window<'a> {
    values: &'a [f64],
    clocks: &'a [f64],
}

impl Window<'_> {
    fn time(&self, from: usize, to: usize) -> f64 {
        (self.clocks[to] - self.clocks[from]).max(f64::MIN_POSITIVE)
    }

    fn slope(&self, from: usize, to: usize) -> f64 {
        (self.values[to] - self.values[from]) / self.time(from, to)
    }

    /// The rule over the points from the first distinct one on.
    fn read(&self, distinct: &[usize], test: &impl Fn(usize, usize) -> BlockTest) -> ShapeReading {
        let start = distinct.first().copied().unwrap_or(0);
        let values = &self.values[start.min(self.values.len())..];
        let growth = match (values.first(), values.last()) {
            (Some(first), Some(last)) => last - first,
            _ => 0.0,
        };
        let (largest, (from, to)) = largest_interval(values);
        let mut reading = ShapeReading {
            shape: Shape::Open,
            blocks: Vec::new(),
            largest_interval: if growth > 0.0 { largest / growth } else { 0.0 },
            largest_at: (start + from, start + to),
            draw_down: if growth > 0.0 {
                draw_down(values) / growth
            } else {
                f64::INFINITY
            },
            dispersion: None,
            warm_up_ends: None,
            container: None,
        };
        if reading.draw_down > MAX_DRAW_DOWN {
            reading.shape = Shape::Sawtooth;
        } else if values.len() > MIN_STEP_INTERVALS && reading.largest_interval >= STEP_SHARE {
            reading.shape = Shape::Step;
        }
        if distinct.len() < MIN_POINTS {
            return reading;
        }
        let scatter = self.scatter(distinct, test);
        reading.dispersion = scatter.and_then(|scatter| scatter.dispersion);
        let noise = scatter.map_or(1.0, |scatter| scatter.load_noise());
        let mut sds = Vec::new();
        for (from, to) in thirds(distinct) {
            let result = test(from, to);
            let change = self.values[to] - self.values[from];
            let time = self.time(from, to);
            sds.push((result.sd.powi(2) * noise).sqrt() / time);
            reading.blocks.push(Block {
                from,
                to,
                change,
                slope: change / time,
                p_value: weigh(result, scatter, change, time),
            });
        }
        if reading.shape == Shape::Open {
            let mean = self.slope(distinct[0], distinct[distinct.len() - 1]);
            reading.shape = judge(&reading.blocks, &sds, mean);
            // A slope that few pairs of points share is the work of odd snapshots.
            let median = self.median_slope(distinct);
            if reading.shape == Shape::Sustained && median < MIN_BLOCK_SLOPE * mean {
                reading.shape = Shape::Open;
            }
        }
        reading
    }

    /// The rule after a warm-up of `cut` intervals; None if that was none, or if what follows
    /// is not sustained growth.
    fn read_after(
        &self,
        cut: usize,
        distinct: &[usize],
        test: &impl Fn(usize, usize) -> BlockTest,
    ) -> Option<ShapeReading> {
        let (start, end) = (distinct[0], distinct[cut]);
        let mut reading = self.read(&distinct[cut..], test);
        let mean = self.slope(end, distinct[distinct.len() - 1]);
        let is_steeper = self.slope(start, end) >= WARM_UP_STEEPER * mean
            && test(start, end).p_value <= BLOCK_ALPHA;
        let (first, last) = (reading.blocks.first()?, reading.blocks.last()?);
        let is_settled = last.slope >= SETTLED_SLOPE * first.slope;
        reading.warm_up_ends = Some(end);
        (reading.shape == Shape::Sustained && is_steeper && is_settled).then_some(reading)
    }

    fn median_slope(&self, distinct: &[usize]) -> f64 {
        let at = |all: &[f64]| -> Vec<f64> { distinct.iter().map(|&point| all[point]).collect() };
        theil_sen(&at(self.values), &at(self.clocks)).unwrap_or(0.0)
    }

    fn scatter(
        &self,
        distinct: &[usize],
        test: &impl Fn(usize, usize) -> BlockTest,
    ) -> Option<Scatter> {
        let intervals = distinct.windows(2);
        let predicted = intervals.map(|pair| test(pair[0], pair[1]).variance).sum();
        let at = |all: &[f64], (from, to): (usize, usize)| -> Vec<f64> {
            let inside = distinct.iter().filter(|point| (from..=to).contains(*point));
            inside.map(|&point| all[point]).collect()
        };
        let thirds: Vec<(Vec<f64>, Vec<f64>)> = thirds(distinct)
            .map(|third| (at(self.values, third), at(self.clocks, third)))
            .collect();
        let thirds: Vec<_> = thirds
            .iter()
            .map(|(values, clocks)| (values.as_slice(), clocks.as_slice()))
            .collect();
        Scatter::of(&thirds, predicted)
    }
}

/// The p-value of a block once the scatter of the series is taken into account.
fn weigh(test: BlockTest, scatter: Option<Scatter>, change: f64, time: f64) -> f64 {
    let Some(scatter) = scatter else {
        return test.p_value;
    };
    let noise = scatter.load_noise();
    match test.is_loose {
        true if noise > 1.0 => scatter.p_value(change, time),
        true => test.p_value.min(scatter.p_value(change, time)),
        // z/√φ̂
        false if noise > 1.0 => normal_upper_tail(normal_quantile(test.p_value) / noise.sqrt()),
        false => test.p_value,
    }
}

/// The verdict on three blocks with the standard errors of their slopes.
fn judge(blocks: &[Block], sds: &[f64], mean: f64) -> Shape {
    let (first, last) = (&blocks[0], &blocks[2]);
    let is_slow = |block: &Block| block.slope < MIN_BLOCK_SLOPE * mean;
    // Fading: slower than the first third beyond noise, and by enough to matter.
    let apart = sds[0].hypot(sds[2]);
    let is_fading =
        last.slope < FADED_SLOPE * first.slope && first.slope - last.slope >= FADING_Z * apart;
    let has_ended = last.slope < first.slope && last.slope + sds[2] < MIN_BLOCK_SLOPE * mean;
    if is_fading || has_ended {
        Shape::Plateauing
    } else if blocks
        .iter()
        .all(|block| block.is_significant() && !is_slow(block))
    {
        Shape::Sustained
    } else {
        Shape::Open
    }
}

/// Cuts the points into three blocks that share their ends.
pub(super) fn thirds(distinct: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let intervals = (distinct.len() - 1) as f64;
    let cut = move |third: u8| distinct[(intervals * f64::from(third) / 3.0).round() as usize];
    (0..3).map(move |third| (cut(third), cut(third + 1)))
}

fn largest_interval(values: &[f64]) -> (f64, (usize, usize)) {
    let mut largest = (f64::NEG_INFINITY, (0, 0));
    for (index, pair) in values.windows(2).enumerate() {
        let change = pair[1] - pair[0];
        if change > largest.0 {
            largest = (change, (index, index + 1));
        }
    }
    largest
}

fn draw_down(values: &[f64]) -> f64 {
    let mut peak = f64::NEG_INFINITY;
    let mut worst = 0.0f64;
    for &value in values {
        peak = peak.max(value);
        worst = worst.max(peak - value);
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values without noise.
    fn exact(values: &[f64]) -> impl Fn(usize, usize) -> BlockTest + '_ {
        |from, to| BlockTest {
            p_value: if values[to] - values[from] > 1.0 {
                0.0
            } else {
                1.0
            },
            sd: 0.0,
            variance: 0.0,
            is_loose: false,
        }
    }

    fn shape(values: &[f64]) -> Shape {
        let distinct: Vec<usize> = (0..values.len()).collect();
        read_shape(values, None, &distinct, exact(values)).shape
    }

    #[test]
    fn shapes_by_hand() {
        assert_eq!(
            shape(&[0.0, 10.0, 21.0, 29.0, 41.0, 50.0, 61.0]),
            Shape::Sustained
        );
        assert_eq!(
            shape(&[0.0, 30.0, 50.0, 62.0, 68.0, 71.0, 72.0]),
            Shape::Plateauing
        );
        assert_eq!(shape(&[5.0, 5.0, 5.0, 90.0, 90.0, 90.0, 90.0]), Shape::Step);
        assert_eq!(
            shape(&[0.0, 50.0, 10.0, 60.0, 5.0, 55.0, 40.0]),
            Shape::Sawtooth
        );
        // Two intervals: the larger one says nothing about a step.
        assert_eq!(shape(&[0.0, 9.0, 10.0]), Shape::Open);
        // It only starts to grow in the end.
        assert_eq!(shape(&[0.0, 0.0, 1.0, 10.0, 25.0, 45.0, 70.0]), Shape::Open);
    }

    /// A start-up that loads 100 within an interval or two, then a slope of 10: the rest is
    /// judged by itself. A cache that fills exponentially has no such end of its warm-up.
    #[test]
    fn a_warm_up_is_left_out() {
        let leak_after = |start: &[f64]| -> Vec<f64> {
            let last = start[start.len() - 1];
            start
                .iter()
                .copied()
                .chain((1..9).map(|i| last + 10.0 * f64::from(i)))
                .collect()
        };
        let values = leak_after(&[0.0, 100.0]);
        let distinct: Vec<usize> = (0..values.len()).collect();
        let reading = read_shape(&values, None, &distinct, exact(&values));
        assert_eq!(
            (reading.shape, reading.warm_up_ends),
            (Shape::Sustained, Some(1))
        );
        let values = leak_after(&[0.0, 70.0, 100.0]);
        let distinct: Vec<usize> = (0..values.len()).collect();
        let reading = read_shape(&values, None, &distinct, exact(&values));
        assert_eq!(
            (reading.shape, reading.warm_up_ends),
            (Shape::Sustained, Some(2))
        );
        for time_constant in [1.0, 2.0, 3.0, 4.0, 5.0] {
            let values: Vec<f64> = (0..10)
                .map(|i| 1000.0 * (1.0 - (-f64::from(i) / time_constant).exp()))
                .collect();
            assert_ne!(shape(&values), Shape::Sustained, "{time_constant}");
        }
    }

    /// The middle third must be there as well as the last: thirds of 30, 4 and 30.
    #[test]
    fn a_slow_third_is_not_a_steady_slope() {
        assert_eq!(
            shape(&[0.0, 15.0, 30.0, 32.0, 34.0, 49.0, 64.0]),
            Shape::Open
        );
    }

    #[test]
    fn blocks_share_their_ends_and_cover_the_window() {
        let distinct = [0, 1, 2, 5, 6, 7, 8, 9];
        let cuts: Vec<_> = thirds(&distinct).collect();
        assert_eq!(cuts, [(0, 2), (2, 7), (7, 9)]);
        assert_eq!(
            thirds(&[0, 1, 2, 3]).collect::<Vec<_>>(),
            [(0, 1), (1, 2), (2, 3)]
        );
    }

    #[test]
    fn repeats_do_not_hide_a_step() {
        // Parca's public series: eight snapshots of one cycle, then a step of 95 MB.
        let values = [48.9, 48.9, 48.9, 48.9, 48.9, 48.9, 48.9, 48.9, 143.7, 143.7];
        let reading = read_shape(&values, None, &[0, 8], exact(&values));
        assert_eq!(reading.shape, Shape::Step);
        assert_eq!(reading.largest_at, (7, 8));
    }
}
