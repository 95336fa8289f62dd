//! Where the resident memory is, and when a limit is reached.

use super::case::Case;
use super::{Forecast, MemoryBreakdown, Totals};

/// A forecast reaches no further than this many windows.
const MAX_WINDOWS: f64 = 10.0;
/// The collector lets the heap grow to this multiple of what is live, at GOGC = 100.
const GOGC_FACTOR: f64 = 2.0;

/// The runtime's figures of the last snapshot that has them.
pub(super) fn breakdown(case: &Case) -> Option<MemoryBreakdown> {
    let (_, last) = case.memories()?;
    let sum = |parts: &[Option<u64>]| {
        let known: Vec<u64> = parts.iter().copied().flatten().collect();
        (!known.is_empty()).then(|| {
            known
                .iter()
                .fold(0u64, |sum, part| sum.saturating_add(*part))
        })
    };
    let heap = case
        .snapshots()
        .rev()
        .find_map(|snapshot| snapshot.heap.as_ref());
    Some(MemoryBreakdown {
        profile_inuse: heap.map(|heap| heap.inuse_bytes()),
        heap_alloc: last.heap_alloc,
        heap_inuse: last.heap_inuse,
        heap_idle_kept: last
            .heap_idle
            .zip(last.heap_released)
            .map(|(idle, released)| idle.saturating_sub(released)),
        heap_released: last.heap_released,
        stacks: last.stack_sys.or(last.stack_inuse),
        runtime: sum(&[
            last.mspan_sys,
            last.mcache_sys,
            last.buck_hash_sys,
            last.gc_sys,
            last.other_sys,
        ]),
        sys: last.sys,
        max_rss: last.max_rss,
    })
}

/// When the heap reaches the limit, from the interval of the total slope.
pub(super) fn forecast(case: &Case, totals: &Totals, limit: Option<u64>) -> Forecast {
    let none = |reason: &str| Forecast {
        limit_bytes: limit,
        reason: Some(reason.to_owned()),
        ..Forecast::default()
    };
    let Some(limit_bytes) = limit else {
        return none("no memory limit was given (--limit 512MiB)");
    };
    let (Some([low, high]), Some(hours)) = (totals.ci95, case.hours()) else {
        return none("the series has no rate with an error estimate");
    };
    if low <= 0.0 {
        return none("the lower limit of the growth rate is not above zero");
    }
    // What the process holds now: the runtime's own figure where captured, else what the
    // collector lets the live heap become.
    let held = match case.memories() {
        Some((_, last)) => last
            .sys
            .zip(last.heap_released)
            .map(|(sys, released)| sys.saturating_sub(released) as f64),
        None => totals.last_bytes.map(|bytes| bytes as f64 * GOGC_FACTOR),
    };
    let Some(held) = held else {
        return none("the memory held now is not known");
    };
    let room = limit_bytes as f64 - held;
    if room <= 0.0 {
        return none("the process is already at or above the limit");
    }
    let reach = |slope: f64| room / (slope * GOGC_FACTOR);
    let (earliest, latest) = (reach(high), reach(low));
    let horizon = MAX_WINDOWS * hours;
    Forecast {
        limit_bytes: limit,
        earliest_hours: Some(earliest.min(horizon)),
        latest_hours: (latest <= horizon).then_some(latest),
        reason: (earliest > horizon).then(|| {
            format!("not within {MAX_WINDOWS:.0} times the window that was seen; watch longer to look further")
        }),
    }
}
