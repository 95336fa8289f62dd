use super::*;
use crate::profile::MemoryStats;

const MIB: u64 = 1 << 20;
const M: f64 = 1_048_576.0;

fn totals(live: i64) -> Totals {
    Totals {
        first_bytes: None,
        first_sd: None,
        last_bytes: Some(live << 20),
        last_sd: None,
        bytes_per_hour: None,
        ci95: None,
        series: Vec::new(),
        goroutines: Vec::new(),
    }
}

fn held(stats: &MemoryStats, is_of_group: bool) -> Option<Held> {
    let reading = Reading {
        stats,
        heap: None,
        taken_at: None,
    };
    held_now(&[reading], &totals(50), 2.0, is_of_group)
}

/// 50 MiB allocated in 55 in use, 20 kept, 5 beside: 80 held; the goal is 100.
fn figures() -> MemoryStats {
    MemoryStats {
        heap_alloc: Some(50 * MIB),
        heap_inuse: Some(55 * MIB),
        heap_idle: Some(30 * MIB),
        heap_released: Some(10 * MIB),
        sys: Some(90 * MIB),
        next_gc: Some(100 * MIB),
        ..MemoryStats::default()
    }
}

#[test]
fn what_is_held_has_a_peak_to_be() {
    let now = held(&figures(), false).expect("known");
    // 80 − 55 − 20 = 5 beside the heap; the peak is 5 + 100 + 5 of room between objects.
    assert_eq!(
        (now.now, now.peak, now.from),
        (80.0 * M, 110.0 * M, "runtime")
    );
    // 55 + 20 are three quarters of the goal; 5 + 0.75 × 100; without garbage 5 + 50 are left.
    assert_eq!(now.shares, (0.75, 1.1));
    assert_eq!((now.least, now.beside), (80.0 * M, 5.0 * M));
    assert_eq!(now.without_garbage, Some(55.0 * M));
    let mut idle = figures();
    (idle.heap_idle, idle.sys) = (Some(110 * MIB), Some(170 * MIB));
    // 160 held, of which 100 idle: the goal needs 105 only, and 155 % of it were resident.
    let now = held(&idle, false).expect("known");
    assert_eq!(
        (now.least, now.now, now.peak),
        (105.0 * M, 160.0 * M, 160.0 * M)
    );
}

#[test]
fn the_resident_set_goes_before_the_runtimes_figures() {
    let mut stats = figures();
    // A peak says nothing of now.
    stats.max_rss = Some(400 * MIB);
    assert_eq!(held(&stats, false).map(|held| held.now), Some(80.0 * M));
    stats.rss = Some(95 * MIB);
    let now = held(&stats, false).expect("known");
    // 95 − 75 = 20 beside the heap.
    assert_eq!((now.now, now.peak, now.from), (95.0 * M, 125.0 * M, "rss"));
    stats.cgroup_anon = Some(130 * MIB);
    assert_eq!(held(&stats, false).map(|held| held.from), Some("rss"));
    let group = held(&stats, true).expect("known");
    assert_eq!((group.now, group.from), (130.0 * M, "cgroup"));
    stats.cgroup_anon = Some(60 * MIB);
    assert_eq!(held(&stats, true).map(|held| held.from), Some("rss"));
}

#[test]
fn without_figures_the_live_heap_counts_with_its_headroom() {
    let now = held_now(&[], &totals(50), 2.0, false).expect("known");
    assert_eq!(
        (now.now, now.least, now.from),
        (100.0 * M, 50.0 * M, "profile")
    );
    let empty = MemoryStats::default();
    assert_eq!(held(&empty, false).map(|held| held.from), Some("profile"));
}

/// 200 to reach; 80 held, 5 of it beside the heap, a peak of 110 to be, 50 live. 10 to 12 MiB/h
/// at a factor of 2: (200 − 110)/(12 · 2 · 1.1) = 3.41 h at the earliest. The goal is there
/// after (200 − 80)/(10 · 2) = 6 h, and two cycles of (200 − 5)/2 = 97.5 of garbage later:
/// at 390 MiB/h half an hour.
#[test]
fn the_range_has_both_ends_of_each_part() {
    let mut now = Held {
        now: 80.0 * M,
        least: 80.0 * M,
        peak: 110.0 * M,
        beside: 5.0 * M,
        without_garbage: Some(55.0 * M),
        shares: (1.0, RETAINED),
        from: "runtime",
    };
    let mut pace = Pace {
        low: 10.0 * M,
        high: 12.0 * M,
        factor: 2.0,
        allocated: Some(390.0 * M),
        reaches_goal: true,
        go_memory_limit: None,
    };
    let close = |(earliest, latest): (f64, f64), expected: (f64, f64)| {
        let is_close = |a: f64, b: f64| (a - b).abs() < 0.001;
        assert!(
            is_close(earliest, expected.0) && is_close(latest, expected.1),
            "{earliest} {latest}"
        );
    };
    close(reach(200.0 * M, &now, &pace), (3.409, 6.5));
    // A limit within this cycle's reach: 1 h and two cycles of 47.5.
    close(reach(100.0 * M, &now, &pace), (0.0, 1.0 + 95.0 / 390.0));
    // Where nothing is garbage a cycle takes for ever: live memory has to fill it, (200 − 55)/10.
    pace.allocated = Some(10.0 * M);
    close(reach(200.0 * M, &now, &pace), (3.409, 14.5));
    pace.allocated = None;
    close(reach(200.0 * M, &now, &pace), (3.409, 14.5));
    pace.allocated = Some(390.0 * M);
    // Forced collections keep the heap below its goal.
    pace.reaches_goal = false;
    close(reach(200.0 * M, &now, &pace), (3.409, 14.5));
    pace.reaches_goal = true;
    // Beyond GOMEMLIMIT nothing but live memory grows.
    pace.go_memory_limit = Some(150.0 * M);
    close(reach(200.0 * M, &now, &pace), (3.409, 14.5));
    pace.go_memory_limit = Some(250.0 * M);
    close(reach(200.0 * M, &now, &pace), (3.409, 6.5));
    // 90/(12 · 2 · 1.5), and 120/(10 · 2 · 0.8) and half an hour.
    now.shares = (0.8, 1.5);
    close(reach(200.0 * M, &now, &pace), (2.5, 8.0));
}

#[test]
fn a_goal_is_reached_where_the_collector_ran_by_itself() {
    let counted = |all, forced| MemoryStats {
        num_gc: Some(all),
        num_forced_gc: Some(forced),
        ..MemoryStats::default()
    };
    let check = |stats: &[MemoryStats], expected: bool| {
        let readings: Vec<Reading> = stats
            .iter()
            .map(|stats| Reading {
                stats,
                heap: None,
                taken_at: None,
            })
            .collect();
        assert_eq!(reaches_goal(&readings), expected, "{stats:?}");
    };
    check(&[counted(9, 1), counted(12, 3)], true);
    check(&[counted(9, 1), counted(12, 3), counted(14, 5)], false);
    check(&[counted(9, 1)], true);
    check(&[MemoryStats::default(), counted(14, 5)], true);
}

#[test]
fn stacks_add_to_the_slope() {
    let stacks = [1, 3, 4].map(|size| MemoryStats {
        stack_sys: Some(size * MIB),
        ..MemoryStats::default()
    });
    let readings: Vec<Reading> = stacks
        .iter()
        .map(|stats| Reading {
            stats,
            heap: None,
            taken_at: None,
        })
        .collect();
    // 3 MiB in half an hour.
    assert_eq!(stack_slope(&readings, 0.5), 6.0 * M);
    assert_eq!(stack_slope(&readings[..1], 0.5), 0.0);
    assert_eq!(stack_slope(&[], 0.5), 0.0);
}
