//! The figures of the whole: inputs, series, totals and the verdict in a word.

use super::case::Case;
use super::measure::{all_buckets, measure};
use super::{Finding, FindingVerdict, Input, SeriesSummary, Totals, Verdict};
use crate::growth::{
    BlockTest, FALSE_DISCOVERY_RATE, MIN_POINTS, Shape, limit_bytes, objects_needed, read_shape,
    standard_error,
};
use crate::snapshot::{Run, Series, SourceKind};
use jiff::Timestamp;

/// Sampled objects of a pure leak that every other capture calls a leak: each third needs 5 to
/// be significant at 5 %, and P[Poisson(21/3) ≥ 5]³ = 0.57, less what the slopes must agree
/// (0.5 by simulation, `tests/calibration_shape.rs`).
const OBJECTS_FOR_THREE_BLOCKS: u64 = 21;
/// z below which the whole heap is said to have shrunk: by chance once in 2,000 series.
const SHRUNK_Z: f64 = -3.29;

/// RFC 3339 of a profile's clock.
pub(super) fn written_time(nanos: Option<i64>) -> Option<String> {
    let time = Timestamp::from_nanosecond(i128::from(nanos?)).ok()?;
    Some(format!("{time:.0}"))
}

/// Every file, used or left out.
pub(super) fn inputs(series: &Series, run: &Run) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (index, snapshot) in series.snapshots.iter().enumerate() {
        for source in &snapshot.sources {
            let heap = snapshot
                .heap
                .as_ref()
                .filter(|_| source.kind == SourceKind::Heap);
            let crowd = match source.kind {
                SourceKind::Goroutines => snapshot.goroutines.as_ref(),
                SourceKind::Leaks => snapshot.leaks.as_ref(),
                _ => None,
            };
            inputs.push(Input {
                source: source.name.clone(),
                kind: source.kind.name(),
                taken_at: written_time(snapshot.taken_at),
                inuse_bytes: heap.map(|heap| heap.inuse_bytes()),
                goroutines: crowd.map(|goroutines| goroutines.total()),
                build_id: heap.map(|h| h.build_id.clone()).filter(|id| !id.is_empty()),
                used: run.snapshots.contains(&index),
                warnings: heap
                    .map(|heap| &heap.warnings)
                    .or(crowd.map(|crowd| &crowd.warnings))
                    .map_or_else(Vec::new, |all| {
                        all.iter().map(ToString::to_string).collect()
                    }),
            });
        }
    }
    for (source, reason) in &series.left_out {
        inputs.push(Input {
            source: source.clone(),
            kind: "left-out",
            taken_at: None,
            inuse_bytes: None,
            goroutines: None,
            build_id: None,
            used: false,
            warnings: vec![format!("{reason}; {}", reason.hint())],
        });
    }
    inputs
}

/// What the judgement rests on.
pub(super) fn series(case: &Case) -> SeriesSummary {
    let points = case.history.points();
    let gc_points = case.history.distinct().len();
    let first_heap = case.snapshots().find_map(|snapshot| snapshot.heap.as_ref());
    SeriesSummary {
        snapshots: case.run.snapshots.len(),
        window_seconds: case.window_seconds(),
        gc_points,
        gc_cycles: case.gc_cycles(),
        repeats: points - gc_points,
        restarts: case.series.runs.len() - 1,
        is_one_process: case.run.is_one_process,
        sampling_period: first_heap
            .map(|heap| heap.period)
            .filter(|period| *period > 0),
        detection_limit_bytes: detection_limit(case),
        detection_limit_bytes_per_hour: detection_limit(case)
            .zip(case.hours())
            .map(|(bytes, hours)| bytes / hours),
        tests: case.tested.tests,
    }
}

/// The growth of small objects, in bytes, that is called real in half of all captures like
/// this one, because it leaves just enough sampled objects: enough for a test among all that
/// were made, and with four points or more for a test in each third. At twice the size nearly
/// every capture shows it (96 to 100 % by simulation, `tests/calibration.rs`).
pub(super) fn detection_limit(case: &Case) -> Option<f64> {
    let sampler = case.history.sampler()?;
    if case.history.points() < 2 {
        return None;
    }
    let corrected = objects_needed(FALSE_DISCOVERY_RATE, case.tested.tests.max(1));
    let objects = match case.history.distinct().len() {
        points if points >= MIN_POINTS => corrected.max(OBJECTS_FOR_THREE_BLOCKS),
        _ => corrected,
    };
    Some(limit_bytes(sampler, objects))
}

/// The whole heap.
pub(super) fn totals(case: &Case) -> Totals {
    let heaps: Vec<i64> = case
        .snapshots()
        .filter_map(|snapshot| Some(snapshot.heap.as_ref()?.inuse_bytes()))
        .collect();
    let sd_at = |point: usize| {
        let sampler = case.history.sampler()?;
        let variance = all_buckets(case).into_iter().map(|number| {
            let bucket = case.history.buckets()[number as usize];
            standard_error(sampler, bucket.size, case.history.inuse(point, number)).powi(2)
        });
        Some(variance.sum::<f64>().sqrt())
    };
    let mut totals = Totals {
        first_bytes: heaps.first().copied(),
        first_sd: (!heaps.is_empty()).then(|| sd_at(0)).flatten(),
        last_bytes: heaps.last().copied(),
        last_sd: (!heaps.is_empty()).then(|| sd_at(case.last())).flatten(),
        bytes_per_hour: None,
        ci95: None,
        series: heaps,
        goroutines: case
            .snapshots()
            .filter_map(|snapshot| Some(snapshot.goroutines.as_ref()?.total()))
            .collect(),
    };
    if let (Some(hours), true) = (case.hours(), case.history.points() > 1) {
        let growth = measure(case, case.history.active());
        totals.bytes_per_hour = Some(growth.bytes / hours);
        totals.ci95 = growth.ci95;
    }
    totals
}

/// The answer in a word.
pub(super) fn verdict(case: &Case, findings: &[Finding]) -> Verdict {
    let worst = findings.iter().map(|finding| finding.verdict).max();
    let points = case.history.distinct().len().max(case.crowds.points);
    match worst {
        Some(FindingVerdict::Leak) => Verdict::Leak,
        _ if case.is_single() => Verdict::Undecided,
        Some(FindingVerdict::Growing) => Verdict::Growing,
        Some(_) if points < MIN_POINTS || case.history.distinct().len() < MIN_POINTS => {
            Verdict::Undecided
        }
        Some(_) => Verdict::Steady,
        None if shrank(case) => Verdict::Shrinking,
        None => Verdict::Steady,
    }
}

/// Whether the heap fell beyond noise and stayed down: memory that comes and goes may happen
/// to be low in the end.
fn shrank(case: &Case) -> bool {
    let active = case.history.active();
    let fell = case
        .history
        .evidence(active, 0, case.last())
        .is_some_and(|evidence| evidence.z() <= SHRUNK_Z);
    let mirrored: Vec<f64> = case
        .history
        .series(active)
        .iter()
        .map(|bytes| -bytes)
        .collect();
    let no_test = |_, _| BlockTest {
        p_value: 1.0,
        sd: 0.0,
        variance: 0.0,
        is_loose: false,
    };
    let reading = read_shape(&mirrored, None, &[], no_test);
    fell && reading.shape != Shape::Sawtooth
}
