//! From the shape of a growth to its verdict, and how sure that is.

use super::case::Case;
use super::finding::Parts;
use super::{FindingGrowth, FindingVerdict};
use crate::growth::{BlockTest, Container, History, MIN_POINTS, Shape, ShapeReading, read_shape};

/// Reads the shape of a set of buckets over the points of a run.
pub(super) fn shape_of(history: &History, buckets: &[u32]) -> ShapeReading {
    let values = history.series(buckets);
    let mut reading = read_shape(
        &values,
        history.seconds(),
        history.distinct(),
        |from, to| {
            match history.evidence(buckets, from, to) {
                Some(evidence) => BlockTest {
                    p_value: evidence.p_value(),
                    sd: evidence.sd_bytes(),
                    variance: evidence.test_variance(),
                    is_loose: evidence.is_loose(),
                },
                // Without an error estimate persistence is all there is.
                None => BlockTest {
                    p_value: if values[to] > values[from] { 0.0 } else { 1.0 },
                    sd: 0.0,
                    variance: 0.0,
                    is_loose: false,
                },
            }
        },
    );
    reading.container = Container::find(history, buckets);
    if reading.container.is_some() {
        reading.shape = Shape::Sustained;
    }
    reading
}

pub(super) fn heap_verdict(case: &Case, reading: &ShapeReading) -> FindingVerdict {
    let has_counts = case.history.sampler().is_some();
    named(case, reading.shape, has_counts && case.has_enough_cycles())
}

pub(super) fn crowd_verdict(case: &Case, shape: Shape) -> FindingVerdict {
    // Counts are exact and need no collector: four snapshots are enough.
    named(case, shape, case.crowds.points >= MIN_POINTS)
}

/// The verdict of a shape. Growth that lasts is a leak only on evidence that suffices, and only
/// within one process.
fn named(case: &Case, shape: Shape, suffices: bool) -> FindingVerdict {
    match shape {
        Shape::Step => FindingVerdict::Step,
        Shape::Sawtooth => FindingVerdict::Sawtooth,
        Shape::Plateauing => FindingVerdict::Plateauing,
        Shape::Sustained if suffices && case.run.is_one_process => FindingVerdict::Leak,
        Shape::Sustained | Shape::Open => FindingVerdict::Growing,
    }
}

/// How sure a finding is, 0 to 1. A verdict starts at what its rule proves (leak 0.7, growing
/// 0.4, a shape that argues against a leak 0.2, suspect 0.3); a window of ten minutes and eight
/// points, memory that is never freed, and a known pattern each add 0.05 to 0.1.
pub(super) fn confidence(
    case: &Case,
    verdict: FindingVerdict,
    parts: &Parts,
    growth: Option<&FindingGrowth>,
) -> f64 {
    let start: f64 = match verdict {
        FindingVerdict::Leak => 0.7,
        FindingVerdict::Growing => 0.4,
        FindingVerdict::Suspect => 0.3,
        _ => 0.2,
    };
    let points = case.history.distinct().len().max(case.crowds.points);
    let long = case
        .window_seconds()
        .is_some_and(|seconds| seconds >= 600.0);
    let kept = growth
        .and_then(|g| g.retention)
        .is_some_and(|kept| kept >= 0.9);
    let bonus = [
        (long, 0.1),
        (points >= 8, 0.05),
        (kept, 0.05),
        (parts.matched.is_some(), 0.09),
    ];
    let bonus: f64 = bonus
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, add)| add)
        .sum();
    (100.0 * (start + bonus)).round() / 100.0
}
