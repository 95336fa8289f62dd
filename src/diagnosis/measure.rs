//! The figures of a set of buckets: how much it grew, how surely, and what of it stays.

use super::FindingGrowth;
use super::case::Case;
use crate::growth::theil_sen;
use crate::pattern::{HeapView, WeighedFrame, WeighedStack};

/// Numbers of all buckets of the run.
pub(super) fn all_buckets(case: &Case) -> Vec<u32> {
    (0..case.history.buckets().len() as u32).collect()
}

/// Growth of a set of buckets from the first to the last point.
pub(super) fn measure(case: &Case, buckets: &[u32]) -> FindingGrowth {
    let (history, last) = (case.history, case.last());
    let evidence = history.evidence(buckets, 0, last);
    let series = history.series(buckets);
    let plain = series.last().copied().unwrap_or(0.0) - series.first().copied().unwrap_or(0.0);
    let bytes = evidence
        .as_ref()
        .map_or(plain, |evidence| evidence.delta_bytes());
    let per_hour = |bytes: f64| case.hours().map(|hours| bytes / hours);
    let ci95 = evidence.as_ref().and_then(|evidence| {
        let (low, high) = evidence.interval95();
        Some([per_hour(low)?, per_hour(high)?])
    });
    let allocated = history.allocated_between(buckets, 0, last);
    // Sites that hold nothing at either end are churn, not a part of what is kept.
    let holding: Vec<u32> = buckets
        .iter()
        .copied()
        .filter(|&bucket| history.inuse(0, bucket) != 0 || history.inuse(last, bucket) != 0)
        .collect();
    let allocated_by_holding = history.allocated_between(&holding, 0, last);
    let objects = |point| {
        let count = buckets
            .iter()
            .map(|&b| history.inuse_objects(point, b) as f64);
        count.sum::<f64>()
    };
    let share_of = |whole: f64, part: f64| (whole > 0.0 && plain > 0.0).then(|| part / whole);
    FindingGrowth {
        bytes,
        sd_bytes: evidence.as_ref().map(|evidence| evidence.sd_bytes()),
        bytes_per_hour: per_hour(bytes),
        ci95,
        median_bytes_per_hour: history
            .seconds()
            .and_then(|seconds| theil_sen(&series, seconds))
            .map(|per_second| per_second * 3600.0),
        p_value: evidence.as_ref().map(|evidence| evidence.p_value()),
        objects: objects(last) - objects(0),
        retention: share_of(allocated_by_holding, plain).map(|kept| kept.min(1.0)),
        churn: share_of(allocated, plain).map(|kept| (1.0 / kept).max(1.0)),
    }
}

/// Buckets as patterns weigh them: by growth, or by what is in use in a single snapshot.
pub(super) fn weigh(case: &Case, buckets: &[u32]) -> HeapView {
    let (history, last) = (case.history, case.last());
    let stacks: Vec<WeighedStack> = buckets
        .iter()
        .map(|&number| {
            let bucket = history.buckets()[number as usize];
            let before = if case.is_single() {
                0
            } else {
                history.inuse(0, number)
            };
            WeighedStack {
                bucket: number,
                stack: bucket.stack,
                size: bucket.size,
                weight: (history.inuse(last, number) - before) as f64,
            }
        })
        .collect();
    let passing = match case.is_single() {
        true => passing_frames(case),
        false => Vec::new(),
    };
    HeapView {
        passing,
        total: stacks.iter().map(|stack| stack.weight).sum(),
        stacks,
        churn: None,
        retention: None,
        shape: None,
    }
}

/// What a pasted report knows of functions above stacks that it does not show.
fn passing_frames(case: &Case) -> Vec<WeighedFrame> {
    let heaps = case
        .snapshots()
        .filter_map(|snapshot| snapshot.heap.as_ref());
    heaps
        .flat_map(|heap| &heap.passing)
        .map(|passing| WeighedFrame {
            frame: case.sites.symbols().frame(passing.frame),
            weight: passing.bytes as f64,
        })
        .collect()
}
