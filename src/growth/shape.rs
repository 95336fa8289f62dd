//! What kind of growth a series of values shows: the three-block rule and its verdicts.
//!
//! Significance is not leakiness: a cache that fills grows significantly too. A leak is growth
//! that is significant in *each* third of the window (an intersection–union test, so the
//! level needs no correction: Berger 1982), at a slope that does not fade, without giving
//! much back.

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
    /// Whether the change is significant at 5 % by itself.
    pub is_significant: bool,
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
}

/// What a block's change is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockTest {
    /// Significant growth at 5 %.
    pub is_significant: bool,
    /// Standard error of the change.
    pub sd: f64,
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
    let clock = |point: usize| seconds.map_or(point as f64, |seconds| seconds[point]);
    let growth = values
        .last()
        .zip(values.first())
        .map_or(0.0, |(last, first)| last - first);
    let (largest, largest_at) = largest_interval(values);
    let mut reading = ShapeReading {
        shape: Shape::Open,
        blocks: Vec::new(),
        largest_interval: if growth > 0.0 { largest / growth } else { 0.0 },
        largest_at,
        draw_down: if growth > 0.0 {
            draw_down(values) / growth
        } else {
            f64::INFINITY
        },
    };
    if reading.draw_down > MAX_DRAW_DOWN {
        reading.shape = Shape::Sawtooth;
    } else if values.len() > MIN_STEP_INTERVALS && reading.largest_interval >= STEP_SHARE {
        reading.shape = Shape::Step;
    }
    if distinct.len() < MIN_POINTS {
        return reading;
    }
    let tests: Vec<BlockTest> = thirds(distinct)
        .map(|(from, to)| {
            let result = test(from, to);
            let change = values[to] - values[from];
            reading.blocks.push(Block {
                from,
                to,
                change,
                slope: change / (clock(to) - clock(from)).max(f64::MIN_POSITIVE),
                is_significant: result.is_significant,
            });
            result
        })
        .collect();
    if reading.shape != Shape::Open {
        return reading;
    }
    let (first, last) = (distinct[0], distinct[distinct.len() - 1]);
    let mean = (values[last] - values[first]) / (clock(last) - clock(first)).max(f64::MIN_POSITIVE);
    // A slope counts as too small only if it is so by more than its own error.
    let is_slow = |block: &Block, test: &BlockTest| {
        let slope_sd = test.sd / (clock(block.to) - clock(block.from)).max(f64::MIN_POSITIVE);
        block.slope + slope_sd < MIN_BLOCK_SLOPE * mean
    };
    let slow: Vec<bool> = reading
        .blocks
        .iter()
        .zip(&tests)
        .map(|(b, t)| is_slow(b, t))
        .collect();
    let significant = |i: usize| tests[i].is_significant;
    reading.shape = if (0..3).all(|i| significant(i) && !slow[i]) {
        Shape::Sustained
    } else if slow[2] && reading.blocks[2].slope < reading.blocks[0].slope {
        Shape::Plateauing
    } else {
        Shape::Open
    };
    reading
}

/// Cuts the points into three blocks that share their ends.
fn thirds(distinct: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
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

    fn shape(values: &[f64]) -> Shape {
        let distinct: Vec<usize> = (0..values.len()).collect();
        read_shape(values, None, &distinct, |from, to| BlockTest {
            is_significant: values[to] - values[from] > 1.0,
            sd: 0.0,
        })
        .shape
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
        let reading = read_shape(&values, None, &[0, 8], |_, _| BlockTest {
            is_significant: true,
            sd: 0.0,
        });
        assert_eq!(reading.shape, Shape::Step);
        assert_eq!(reading.largest_at, (7, 8));
    }
}
