//! The resident memory taken apart, and what changed in the window.

use super::reading::{LEAST_HEAP, Reading, readings};
use crate::diagnosis::case::Case;
use crate::diagnosis::{MemoryBreakdown, MemoryChange};

/// GOGC that is merely estimated has to change by this factor to be called a change: HeapAlloc
/// holds up to a fifth more than what is live, which makes 100 look like (2 − 1.2)/1.2 = 67.
const GOGC_CHANGED: f64 = 1.75;

/// Figures of the last snapshot that has any.
pub(in crate::diagnosis) fn breakdown(case: &Case) -> Option<MemoryBreakdown> {
    let readings = readings(case);
    let last = readings.last()?;
    let stats = last.stats;
    let heap = case
        .snapshots()
        .rev()
        .find_map(|snapshot| snapshot.heap.as_ref());
    let live = last.live();
    Some(MemoryBreakdown {
        profile_inuse: heap.map(|heap| heap.inuse_bytes()),
        live: live.map(|(bytes, _)| bytes),
        live_from: live.map(|(_, from)| from),
        heap_alloc: stats.heap_alloc,
        heap_inuse: stats.heap_inuse,
        fragmentation: last.fragmentation(),
        heap_idle_kept: last.idle_kept(),
        heap_released: stats.heap_released,
        stacks: last.stacks(),
        runtime: last.runtime(),
        sys: stats.sys,
        held: last.held(),
        rss: stats.rss,
        native: stats.native,
        max_rss: stats.max_rss,
        next_gc: stats.next_gc,
        garbage_headroom: stats
            .next_gc
            .zip(live)
            .map(|(goal, (live, _))| goal.saturating_sub(live)),
        gogc_percent: stats.gogc_percent,
        gogc_factor: last.gogc_factor(),
        gogc_seen_percent: last.gogc_seen(),
        gogc_change: gogc_change(&readings),
        go_memory_limit: stats.go_memory_limit,
        cgroup_anon: stats.cgroup_anon,
        cgroup_file: stats.cgroup_file,
        cgroup_inactive_file: stats.cgroup_inactive_file,
        cgroup_current: stats.cgroup_current,
        cgroup_limit: stats.cgroup_limit,
        change: changes(case, &readings),
    })
}

fn changes(case: &Case, readings: &[Reading]) -> MemoryChange {
    let heaps: Vec<i64> = case
        .snapshots()
        .filter_map(|snapshot| Some(snapshot.heap.as_ref()?.inuse_bytes()))
        .collect();
    let of = |figure: fn(&Reading<'_>) -> Option<u64>| {
        change(
            readings
                .iter()
                .filter_map(|reading| Some(figure(reading)?.min(i64::MAX as u64) as i64)),
        )
    };
    MemoryChange {
        profile_inuse: change(heaps.into_iter()),
        heap_alloc: of(|reading| reading.stats.heap_alloc),
        heap_inuse: of(|reading| reading.stats.heap_inuse),
        fragmentation: of(|reading| reading.fragmentation()),
        heap_idle_kept: of(|reading| reading.idle_kept()),
        heap_released: of(|reading| reading.stats.heap_released),
        stacks: of(|reading| reading.stacks()),
        runtime: of(|reading| reading.runtime()),
        sys: of(|reading| reading.stats.sys),
        held: of(|reading| reading.held()),
        rss: of(|reading| reading.stats.rss),
        native: change(readings.iter().filter_map(|reading| reading.stats.native)),
        max_rss: of(|reading| reading.stats.max_rss),
        cgroup_anon: of(|reading| reading.stats.cgroup_anon),
        cgroup_file: of(|reading| reading.stats.cgroup_file),
    }
}

/// Last less first, of two values or more.
fn change(values: impl Iterator<Item = i64>) -> Option<i64> {
    let values: Vec<i64> = values.collect();
    let [first, .., last] = values.as_slice() else {
        return None;
    };
    Some(last.saturating_sub(*first))
}

/// GOGC before and after its largest change in the window. As reported, any change counts; as
/// seen, one by [`GOGC_CHANGED`] that moves the goal by more than the runtime's least heap and
/// parts all readings before it from all after it. The figures are medians of both sides.
fn gogc_change(readings: &[Reading]) -> Option<[f64; 2]> {
    let told: Vec<f64> = readings
        .iter()
        .filter_map(|reading| Some(reading.stats.gogc_percent? as f64))
        .collect();
    if let ([first, .., last], true) = (told.as_slice(), told.len() == readings.len()) {
        return (first != last).then_some([*first, *last]);
    }
    let seen: Vec<(f64, u64)> = readings
        .iter()
        .filter_map(|reading| Some((reading.gogc_seen()?, reading.stats.next_gc?)))
        .filter(|(percent, _)| *percent > 0.0)
        .collect();
    let moved = |at: &usize| (seen[at + 1].0 / seen[*at].0).ln().abs();
    let at = (0..seen.len().saturating_sub(1)).max_by(|a, b| moved(a).total_cmp(&moved(b)))?;
    let (before, after) = seen.split_at(at + 1);
    let [from, to] = [before, after].map(|side| median(side.iter().map(|(percent, _)| *percent)));
    let [goal_before, goal_after] =
        [before, after].map(|side| median(side.iter().map(|(_, goal)| *goal as f64)));
    let is_apart = |low: &[(f64, u64)], high: &[(f64, u64)]| {
        let highest = low.iter().map(|(percent, _)| *percent).fold(0.0, f64::max);
        high.iter().all(|(percent, _)| *percent > highest)
    };
    let is_large = (to / from).ln().abs() >= GOGC_CHANGED.ln()
        && (goal_after - goal_before).abs() > LEAST_HEAP as f64;
    (is_large && (is_apart(before, after) || is_apart(after, before))).then_some([from, to])
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::MemoryStats;

    const MIB: u64 = 1 << 20;

    fn changed(points: &[(u64, u64, Option<u64>)]) -> Option<[f64; 2]> {
        let stats: Vec<MemoryStats> = points
            .iter()
            .map(|&(live, goal, told)| MemoryStats {
                heap_alloc: Some(live * MIB),
                next_gc: Some(goal * MIB),
                gogc_percent: told,
                ..MemoryStats::default()
            })
            .collect();
        let readings: Vec<Reading> = stats
            .iter()
            .map(|stats| Reading {
                stats,
                heap: None,
                taken_at: None,
            })
            .collect();
        gogc_change(&readings)
    }

    #[test]
    fn a_change_of_gogc_is_seen_in_the_goal() {
        // (20 − 10)/10 = 100 %, (22 − 11)/11, then (50 − 10)/10 = 400 %, (55 − 11)/11.
        let points = [
            (10, 20, None),
            (11, 22, None),
            (10, 50, None),
            (11, 55, None),
        ];
        assert_eq!(changed(&points), Some([100.0, 400.0]));
        // One odd reading between does not part the others.
        let odd = [
            (10, 20, None),
            (10, 50, None),
            (10, 20, None),
            (10, 20, None),
            (10, 20, None),
        ];
        assert_eq!(changed(&odd), None);
        // A leak moves the goal and not GOGC.
        assert_eq!(
            changed(&[(10, 20, None), (20, 40, None), (40, 80, None)]),
            None
        );
        // HeapAlloc with a fifth of garbage: 67 % instead of 100 %, a factor of 1.5.
        assert_eq!(changed(&[(10, 20, None), (12, 20, None)]), None);
        // The goal moved by 4 MiB only: 5 → 9 live 4.
        assert_eq!(changed(&[(4, 5, None), (4, 9, None)]), None);
        assert_eq!(changed(&[(10, 20, None)]), None);
        assert_eq!(changed(&[]), None);
    }

    #[test]
    fn what_the_process_reports_needs_no_estimate() {
        assert_eq!(
            changed(&[(10, 20, Some(100)), (10, 20, Some(120))]),
            Some([100.0, 120.0])
        );
        assert_eq!(changed(&[(10, 20, Some(100)), (10, 90, Some(100))]), None);
    }

    #[test]
    fn a_change_needs_two_values() {
        assert_eq!(change([5].into_iter()), None);
        assert_eq!(change([5, 9, 3].into_iter()), Some(-2));
        assert_eq!(change([i64::MIN, i64::MAX].into_iter()), Some(i64::MAX));
    }
}
