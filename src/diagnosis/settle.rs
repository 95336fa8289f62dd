//! What would change a finding's verdict, with the number of snapshots or the sampling rate.

use super::case::Case;
use super::{FindingGrowth, FindingVerdict};
use crate::growth::{BLOCK_ALPHA, MIN_POINTS, ShapeReading, normal_quantile};
use crate::units::{duration, size};

/// Standard errors at which nearly every third (90 %) is significant: 1.64 for the test and
/// 1.28 for its power.
const WANTED_Z: f64 = 2.92;
/// Longer than that (in windows) nobody is told to wait; a finer sampling rate is better advice.
const MAX_WINDOWS: f64 = 20.0;
/// Windows from which on "a cache that is still filling" is not worth a sentence.
const LONG_SECONDS: f64 = 3600.0;
/// Rates that are worth setting.
const RATES: [i64; 5] = [524_288, 131_072, 65_536, 16_384, 4_096];

/// Sentences on what would make it another verdict.
pub(super) fn would_change(
    case: &Case,
    verdict: FindingVerdict,
    reading: Option<&ShapeReading>,
    growth: Option<&FindingGrowth>,
) -> Vec<String> {
    let window = case.window_seconds();
    let seen = window.map_or_else(
        || "the snapshots given".to_owned(),
        |seconds| format!("{} of window", duration(seconds)),
    );
    let more_of_it = window.map_or_else(
        || "as many snapshots again".to_owned(),
        |seconds| format!("another {}", duration(seconds)),
    );
    match verdict {
        FindingVerdict::Leak if window.is_none_or(|seconds| seconds < LONG_SECONDS) => {
            vec![format!(
                "growth that levels off would make this a cache that fills: {seen} cannot exclude one that takes longer"
            )]
        }
        FindingVerdict::Leak | FindingVerdict::Suspect => Vec::new(),
        FindingVerdict::Growing => growing(case, reading, growth),
        FindingVerdict::Plateauing => vec![format!(
            "a slope that holds for {more_of_it} would make this a leak; a cache stays where it is"
        )],
        FindingVerdict::Step => vec![format!(
            "a second step of this kind would make this a leak: watch for {more_of_it}"
        )],
        FindingVerdict::Sawtooth => vec![
            "low points that rise from one swing to the next would make this a leak: take snapshots over several swings".to_owned(),
        ],
    }
}

/// What keeps real growth from being called a leak.
fn growing(
    case: &Case,
    reading: Option<&ShapeReading>,
    growth: Option<&FindingGrowth>,
) -> Vec<String> {
    let points = case.history.distinct().len();
    if points < MIN_POINTS {
        return vec![format!(
            "{} of collector cycles of their own (heap?gc=1) would tell whether it goes on: {MIN_POINTS} are needed, {points} are here",
            snapshots(MIN_POINTS - points),
        )];
    }
    if !case.run.is_one_process {
        return vec![
            "snapshots of one process would: several processes, compared as independent samples, show growth but never a leak".to_owned(),
        ];
    }
    if !case.has_enough_cycles() {
        return vec![
            "a window of at least ten collector cycles would, or snapshots that force one each (heap?gc=1)".to_owned(),
        ];
    }
    let (Some(reading), Some(p)) = (reading, growth.and_then(|growth| growth.p_value)) else {
        return Vec::new();
    };
    let weakest = reading
        .blocks
        .iter()
        .map(|block| block.p_value)
        .fold(0.0, f64::max);
    // A third of the window has a third of the turnover, and 1/√3 of the standard errors.
    let per_third = normal_quantile(p.max(f64::MIN_POSITIVE)) / 3f64.sqrt();
    let is_too_short = weakest > BLOCK_ALPHA && per_third < WANTED_Z;
    if !is_too_short {
        return vec![format!(
            "thirds that grow alike would: the slowest of these has a p of {weakest:.2}; watch for longer than the load's own ups and downs, {} more or so",
            snapshots(points - 1),
        )];
    }
    // Both more time and more samples raise the standard errors by the square root.
    let factor = (WANTED_Z / per_third.max(0.1)).powi(2);
    let mut ways = Vec::new();
    if factor <= MAX_WINDOWS {
        let more = ((factor - 1.0) * (points - 1) as f64).ceil().max(1.0) as usize;
        ways.push(format!("about {} at this pace", snapshots(more)));
    }
    let rate = case.history.sampler().map_or(1, |sampler| sampler.rate());
    let finer = RATES
        .into_iter()
        .find(|&finer| finer as f64 * factor <= rate as f64 && finer < rate);
    if let Some(finer) = finer {
        ways.push(format!(
            "MemProfileRate {} (GODEBUG=memprofilerate={finer}) in a window as long as this one",
            size(finer as f64)
        ));
    }
    match ways.is_empty() {
        true => Vec::new(),
        false => vec![format!("{} would settle it", ways.join(", or "))],
    }
}

fn snapshots(count: usize) -> String {
    match count {
        1 => "one more snapshot".to_owned(),
        count => format!("{count} more snapshots"),
    }
}
