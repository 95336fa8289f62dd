//! How a finding's growth is spread over the window, and how the same sites fared elsewhere.

use super::case::Case;
use super::judge::shape_of;
use super::{Course, OtherRuns, Third};
use crate::growth::{BLOCK_ALPHA, Evidence, History, Shape, ShapeReading};
use crate::site::Bucket;

/// Writes out a reading.
pub(super) fn course(case: &Case, reading: &ShapeReading) -> Course {
    let history = case.history;
    let seconds = |from: usize, to: usize| history.seconds().map(|all| [all[from], all[to]]);
    let has_error = history.sampler().is_some();
    Course {
        thirds: reading
            .blocks
            .iter()
            .map(|block| Third {
                seconds: seconds(block.from, block.to),
                bytes: block.change,
                p_value: has_error.then_some(block.p_value),
            })
            .collect(),
        largest_interval_share: reading.largest_interval,
        draw_down_share: reading.draw_down.is_finite().then_some(reading.draw_down),
        dispersion: reading.dispersion.filter(|_| has_error),
        warm_up_seconds: reading
            .warm_up_ends
            .and_then(|end| Some(seconds(0, end)?[1])),
    }
}

/// The same sites in the other runs of the series. Runs are independent samples: their counts
/// are pooled, and it is the runs that are counted, not their bytes.
pub(super) fn other_runs(case: &Case, buckets: &[u32]) -> Option<OtherRuns> {
    let comparable = |history: &&History| history.points() > 1;
    let others: Vec<&History> = case.others.iter().filter(comparable).collect();
    if others.is_empty() || buckets.is_empty() {
        return None;
    }
    let keys: Vec<Bucket> = buckets
        .iter()
        .map(|&number| case.history.buckets()[number as usize])
        .collect();
    let mut pooled: Option<Evidence> = case.history.evidence(buckets, 0, case.last());
    let (mut grew, mut sustained) = (0, 0);
    for history in &others {
        let same: Vec<u32> = keys
            .iter()
            .filter_map(|key| history.buckets().binary_search(key).ok())
            .map(|index| index as u32)
            .collect();
        let evidence = history.evidence(&same, 0, history.points() - 1);
        let is_real = evidence
            .as_ref()
            .is_some_and(|evidence| evidence.p_value() <= BLOCK_ALPHA);
        grew += usize::from(is_real);
        sustained += usize::from(is_real && shape_of(history, &same).shape == Shape::Sustained);
        pooled = pooled.zip(evidence).map(|(mut all, one)| {
            all.merge(&one);
            all
        });
    }
    Some(OtherRuns {
        runs: others.len(),
        grew,
        sustained,
        pooled_p_value: pooled.map(|evidence| evidence.p_value()),
    })
}
