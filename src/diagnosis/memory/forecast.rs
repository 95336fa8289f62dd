//! When a memory limit is reached, as a range.
//!
//! What the process holds grows by 1 + GOGC/100 for each byte of live growth, because the
//! collector lets garbage pile up in proportion. The time to the limit is
//! (limit − held) / (slope · (1 + GOGC/100)), and each part of it has two ends:
//!
//! - **slope**: the 95 % interval of the live heap's growth (stacks, which are counted exactly
//!   and on which the collector's goal depends too, are added to both ends);
//! - **held**: now is somewhere in a collector cycle. Before the next collection ends the heap
//!   may fill up to its goal with the room between objects besides, so the *peak to be* counts
//!   for the earliest time. For the latest, pages beyond the goal are room for growth: only
//!   what the goal needs counts, or what is held if that is less;
//! - **factor**: the scavenger keeps up to 10 % more than the goal, which counts for the
//!   earliest time; and what is resident goes up and down with it. The snapshots show between
//!   which shares of the goal: the largest counts for the earliest time, the smallest for the latest;
//! - **cycle**: garbage reaches a goal only at the end of a cycle, which lasts
//!   live · GOGC/100 / (rate of allocation). When the goal has come to the limit, a cycle with a
//!   smaller goal may be under way, and the next one has to run up to the limit: two cycles
//!   more for the latest time. In a pure leak, where nothing is garbage, that is long.
//!
//! Whatever the garbage does, the limit is reached when live memory alone has come to it: the
//! latest time is never later than (limit − live − beside the heap) / slope. It is just that
//! where every collection between the last two snapshots was forced, so that the heap never
//! came to its goal, and where GOMEMLIMIT lies below the limit, so that the collector gives up
//! garbage before the limit is crossed.
//!
//! A forecast reaches no further than ten times the window that it rests on.

use super::reading::{LEAST_HEAP, RETAINED, Reading, readings};
use crate::diagnosis::case::Case;
use crate::diagnosis::{Forecast, Totals, Verdict};
use crate::units::duration;

/// A forecast reaches no further than this many windows.
const MAX_WINDOWS: f64 = 10.0;
/// 1 + GOGC/100 at Go's default of 100.
const DEFAULT_FACTOR: f64 = 2.0;

/// What counts against the limit, bytes, at the last snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Held {
    /// As measured.
    now: f64,
    /// What the collector's goal needs, if less: for the latest time.
    least: f64,
    /// What the cycle may come to before it ends: for the earliest time.
    peak: f64,
    /// What is not of the heap: stacks, the runtime's own data, native memory.
    beside: f64,
    /// Live heap and what is beside the heap, where known: what is left without any garbage.
    without_garbage: Option<f64>,
    /// Least and largest share of the goal that was resident at a snapshot: (1, 1.1) if unknown.
    shares: (f64, f64),
    from: &'static str,
}

/// Growth of what is live, bytes per hour, and how what is held follows it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pace {
    low: f64,
    high: f64,
    /// 1 + GOGC/100.
    factor: f64,
    /// All that is allocated, bytes per hour, if known.
    allocated: Option<f64>,
    /// Whether a collection of the window was the collector's own, so that the goal was reached.
    reaches_goal: bool,
    go_memory_limit: Option<f64>,
}

/// When what the process holds reaches the limit that was given, or else its control group's.
pub(in crate::diagnosis) fn forecast(
    case: &Case,
    totals: &Totals,
    verdict: Verdict,
    given: Option<u64>,
) -> Forecast {
    let readings = readings(case);
    let last = readings.last();
    let of_group = || Some((last?.stats.cgroup_limit?, "cgroup"));
    let Some((limit, limit_from)) = given.map(|limit| (limit, "given")).or_else(of_group) else {
        return Forecast {
            reason: Some("no memory limit was given (--limit 512MiB)".to_owned()),
            ..Forecast::default()
        };
    };
    let gogc = last.and_then(Reading::gogc);
    let factor = 1.0 + gogc.map_or(DEFAULT_FACTOR - 1.0, |percent| percent.max(0.0) / 100.0);
    let held = held_now(&readings, totals, factor, limit_from == "cgroup");
    let forecast = Forecast {
        limit_bytes: Some(limit),
        limit_from: Some(limit_from),
        held_bytes: held.map(|held| held.now as u64),
        held_from: held.map(|held| held.from),
        factor: Some(factor),
        ..Forecast::default()
    };
    let because = |reason: &str| Forecast {
        reason: Some(reason.to_owned()),
        ..forecast.clone()
    };
    let (Some(ci95), Some(hours)) = (totals.ci95, case.hours()) else {
        return because("the series has no rate with an error estimate");
    };
    let Some(held) = held else {
        return because("the memory held now is not known");
    };
    if held.now >= limit as f64 {
        return because("the process is already at or above the limit");
    }
    let stacks = stack_slope(&readings, hours);
    let pace = Pace {
        low: ci95[0] + stacks,
        high: ci95[1] + stacks,
        factor,
        allocated: allocated(case, hours),
        reaches_goal: reaches_goal(&readings),
        go_memory_limit: last.and_then(|last| Some(last.stats.go_memory_limit? as f64)),
    };
    if ci95[0] <= 0.0 || pace.low <= 0.0 {
        return because("the lower limit of the growth rate is not above zero");
    }
    // A step or a cache that filled has a rate too, and it is over.
    if !matches!(verdict, Verdict::Leak | Verdict::Growing) {
        return because("nothing was found that keeps growing");
    }
    let (earliest, latest) = reach(limit as f64, &held, &pace);
    let horizon = MAX_WINDOWS * hours;
    Forecast {
        earliest_hours: Some(earliest.min(horizon)),
        latest_hours: (latest <= horizon).then_some(latest),
        reason: (earliest > horizon).then(|| {
            format!(
                "not within {}, which is {MAX_WINDOWS:.0} times the window that was seen; watch longer to look further",
                duration(horizon * 3600.0)
            )
        }),
        ..forecast
    }
}

/// The earliest and the latest time, in hours from now.
fn reach(limit: f64, held: &Held, pace: &Pace) -> (f64, f64) {
    let (share_low, share_high) = held.shares;
    let earliest = (limit - held.peak).max(0.0) / (pace.high * pace.factor * share_high);
    let goal_is_there = (limit - held.least).max(0.0) / (pace.low * pace.factor * share_low);
    let Some(without_garbage) = held.without_garbage else {
        return (earliest, goal_is_there);
    };
    let by_live = (limit - without_garbage).max(0.0) / pace.low;
    let is_soft = pace.go_memory_limit.is_some_and(|soft| soft <= limit);
    let latest = match pace.allocated {
        Some(allocated) if pace.reaches_goal && !is_soft => {
            // The heap under the limit, with its garbage.
            let heap = (limit - held.beside).max(0.0);
            let garbage = heap * (1.0 - 1.0 / pace.factor);
            goal_is_there + 2.0 * garbage / allocated.max(pace.low)
        }
        _ => by_live,
    };
    (earliest, latest.min(by_live))
}

/// What counts against the limit now: the resident set (the control group's anonymous memory if
/// that is more and its limit counts), what the Go runtime holds, or the live heap with its headroom.
fn held_now(readings: &[Reading], totals: &Totals, factor: f64, is_of_group: bool) -> Option<Held> {
    let Some((now, from, last)) = readings.last().and_then(|last| {
        let (now, from) = measured(last, is_of_group)?;
        Some((now as f64, from, last))
    }) else {
        let live = totals.last_bytes? as f64;
        return Some(Held {
            now: live * factor,
            least: live,
            peak: live * factor * RETAINED,
            beside: 0.0,
            without_garbage: Some(live),
            shares: (1.0, RETAINED),
            from: "profile",
        });
    };
    let heap = last.stats.heap_inuse.zip(last.idle_kept());
    let held = Held {
        now,
        least: now,
        peak: now,
        beside: 0.0,
        without_garbage: None,
        shares: (1.0, RETAINED),
        from,
    };
    let (Some((in_use, kept)), Some(goal)) = (heap, last.stats.next_gc) else {
        return Some(held);
    };
    let beside = (now - (in_use + kept) as f64).max(0.0);
    let (goal, between) = (goal as f64, last.fragmentation().unwrap_or(0) as f64);
    let (low, high) = shares_of_goal(readings);
    Some(Held {
        least: now.min(beside + low * goal),
        peak: now.max(beside + (goal + between).max(high * goal)),
        shares: (low, high.max(RETAINED)),
        beside,
        without_garbage: last.live().map(|(live, from)| {
            // HeapAlloc holds a little more than what is live: the profile may be nearer.
            let profile = totals.last_bytes.filter(|_| from == "heap-alloc");
            let seen = profile.map_or(f64::INFINITY, |bytes| bytes.max(0) as f64);
            beside + seen.min(live as f64)
        }),
        ..held
    })
}

/// Heap pages that were resident at a snapshot, as a share of the goal then: the least, at most
/// 1, and the largest, at least 1.
fn shares_of_goal(readings: &[Reading]) -> (f64, f64) {
    let shares = readings.iter().filter_map(|reading| {
        let goal = reading.stats.next_gc.filter(|goal| *goal >= LEAST_HEAP)?;
        let pages = reading.stats.heap_inuse? + reading.idle_kept()?;
        Some(pages as f64 / goal as f64)
    });
    shares
        .filter(|share| *share > 0.0)
        .fold((1.0, 1.0), |(low, high), share| {
            (share.min(low), share.max(high))
        })
}

fn measured(last: &Reading, is_of_group: bool) -> Option<(u64, &'static str)> {
    let group = last.stats.cgroup_anon.filter(|_| is_of_group);
    match (last.stats.rss, group) {
        (rss, Some(anon)) if rss.is_none_or(|rss| anon > rss) => Some((anon, "cgroup")),
        (Some(rss), _) => Some((rss, "rss")),
        (None, _) => last.held().map(|held| (held, "runtime")),
    }
}

/// Bytes allocated per hour, by the runtime's counter or else by the profiles'.
fn allocated(case: &Case, hours: f64) -> Option<f64> {
    let counted = case.first_and_last(|stats| stats.total_alloc);
    let counted = counted.map(|(first, last)| last.saturating_sub(first) as f64);
    let history = case.history;
    let bytes = counted
        .filter(|bytes| *bytes > 0.0)
        .unwrap_or_else(|| history.allocated_between(history.active(), 0, case.last()));
    (bytes > 0.0).then_some(bytes / hours)
}

/// Growth of the stacks, bytes per hour. Exact, but for the whole window only.
fn stack_slope(readings: &[Reading], hours: f64) -> f64 {
    let mut stacks = readings.iter().filter_map(Reading::stacks);
    let Some(first) = stacks.next() else {
        return 0.0;
    };
    let last = stacks.next_back().unwrap_or(first);
    (last as f64 - first as f64) / hours
}

/// Whether the collector ran by itself between the last two readings: then the heap had come to
/// its goal. Where nothing is known, it does.
fn reaches_goal(readings: &[Reading]) -> bool {
    let own = |reading: &Reading| {
        let (all, forced) = reading.stats.num_gc.zip(reading.stats.num_forced_gc)?;
        Some(all.saturating_sub(forced))
    };
    let [.., before, last] = readings else {
        return true;
    };
    own(before)
        .zip(own(last))
        .is_none_or(|(before, last)| last > before)
}

#[cfg(test)]
mod tests;
