use super::*;
use crate::diagnosis::MemoryChange;

const MIB: u64 = 1 << 20;

fn mib(size: u64) -> Option<u64> {
    Some(size * MIB)
}

/// 100 MiB live at GOGC = 100: a goal of 200 MiB, all of it resident but 10 MiB.
fn ordinary() -> MemoryBreakdown {
    MemoryBreakdown {
        live: mib(100),
        heap_alloc: mib(100),
        heap_inuse: mib(110),
        heap_idle_kept: mib(80),
        heap_released: mib(20),
        stacks: mib(1),
        runtime: mib(9),
        sys: mib(220),
        held: mib(200),
        next_gc: mib(200),
        gogc_factor: Some(2.0),
        gogc_seen_percent: Some(99.0),
        ..MemoryBreakdown::default()
    }
}

fn bytes(said: Option<NotALeak>) -> Option<f64> {
    said.map(|said| said.bytes.unwrap() / MIB as f64)
}

#[test]
fn headroom_is_what_is_resident_of_the_goal_and_not_live() {
    // min(200, 110 + 80) − 100 = 90 of 200 resident.
    let said = gc_headroom(&ordinary()).expect("45 %");
    for part in [
        "100.0 MiB are live",
        "only at 200.0 MiB, 2.0 times",
        "about 99",
        "90.0 MiB of the 200.0 MiB",
    ] {
        assert!(said.text.contains(part), "{part}: {}", said.text);
    }
    assert_eq!(bytes(Some(said)), Some(90.0));
    let mut little = ordinary();
    // 120 − 100 = 20 of 200.
    little.next_gc = mib(120);
    assert_eq!(gc_headroom(&little), None);
    // A tenth is enough when GOGC changed.
    little.gogc_change = Some([100.0, 20.0]);
    let said = gc_headroom(&little).expect("changed");
    assert!(
        said.text.contains("from about 100 to about 20"),
        "{}",
        said.text
    );
    let mut told = ordinary();
    told.gogc_percent = Some(100);
    assert!(gc_headroom(&told).is_some_and(|said| said.text.contains("GOGC is 100)")));
}

#[test]
fn headroom_that_never_became_resident_is_not_said() {
    let mut forced = ordinary();
    // A process whose snapshots force collections before the goal is reached: 113 − 100.
    (forced.heap_inuse, forced.heap_idle_kept) = (mib(108), mib(5));
    assert_eq!(gc_headroom(&forced), None);
    assert_eq!(gc_headroom(&MemoryBreakdown::default()), None);
}

#[test]
fn released_pages_are_a_third_of_what_was_obtained() {
    assert_eq!(released_pages(&ordinary()), None, "20 of 220");
    let mut released = ordinary();
    (released.heap_released, released.sys) = (mib(280), mib(480));
    released.max_rss = mib(460);
    let said = released_pages(&released).expect("280 of 480");
    for part in [
        "280.0 MiB are given back",
        "peak of 460.0 MiB",
        "the 200.0 MiB held now",
    ] {
        assert!(said.text.contains(part), "{part}: {}", said.text);
    }
    assert_eq!(bytes(Some(said)), Some(280.0));
    released.max_rss = mib(203);
    assert_eq!(released_pages(&released), None, "never resident");
    let small = MemoryBreakdown {
        heap_released: mib(3),
        sys: mib(8),
        held: mib(5),
        ..MemoryBreakdown::default()
    };
    assert_eq!(released_pages(&small), None, "an ordinary 3 MiB");
}

#[test]
fn idle_pages_count_beyond_the_goal() {
    assert_eq!(idle_kept(&ordinary()), None, "110 + 80 are below 1.1 × 200");
    let mut burst = ordinary();
    (burst.heap_idle_kept, burst.held) = (mib(160), mib(280));
    // 110 + 160 − 1.1 × 200 = 50 of 280.
    let said = idle_kept(&burst).expect("18 %");
    assert!(
        said.text.contains("160.0 MiB of heap pages"),
        "{}",
        said.text
    );
    let beyond = bytes(Some(said)).unwrap();
    assert!((beyond - 50.0).abs() < 1e-9, "{beyond}");
    // Never more than is kept: 300 in use after the goal fell.
    (burst.heap_inuse, burst.heap_idle_kept) = (mib(300), mib(30));
    assert_eq!(bytes(idle_kept(&burst)), Some(30.0));
    burst.heap_idle_kept = mib(20);
    assert_eq!(idle_kept(&burst), None, "20 of 280");
}

#[test]
fn a_spike_came_before_the_window() {
    let mut spike = ordinary();
    spike.max_rss = mib(600);
    spike.heap_released = mib(380);
    spike.change = MemoryChange {
        max_rss: Some(0),
        ..MemoryChange::default()
    };
    let still = Growth::default();
    // 200 + 1 + 9 are needed: 390 above it.
    let said = start_up_spike(&spike, still, Some(1)).expect("600 against 210");
    for part in [
        "600.0 MiB resident (MaxRSS)",
        "needs 210.0 MiB",
        "380.0 MiB are given back",
    ] {
        assert!(said.text.contains(part), "{part}: {}", said.text);
    }
    assert_eq!(bytes(Some(said)), Some(390.0));
    assert!(start_up_spike(&spike, still, None).is_some());
    assert_eq!(
        start_up_spike(&spike, still, Some(2)),
        None,
        "debug.FreeOSMemory"
    );
    let growing = Growth {
        any: true,
        goroutines: false,
    };
    assert_eq!(start_up_spike(&spike, growing, Some(1)), None);
    spike.native = Some(100 << 20);
    // 600 is less than 2 × 310.
    assert_eq!(start_up_spike(&spike, still, Some(1)), None);
    spike.native = None;
    spike.change.max_rss = Some(7 << 20);
    assert_eq!(
        start_up_spike(&spike, still, Some(1)),
        None,
        "the peak rose by more than 1 %"
    );
    // Without MaxRSS what was ever obtained tells.
    (spike.max_rss, spike.sys) = (None, mib(500));
    let said = start_up_spike(&spike, still, Some(1)).expect("500 against 210");
    assert!(
        said.text.contains("500.0 MiB obtained (Sys)"),
        "{}",
        said.text
    );
}

#[test]
fn stacks_are_a_quarter_of_what_is_resident() {
    let mut many = ordinary();
    assert_eq!(stacks(&many, Growth::default(), 40), None);
    many.stacks = mib(50);
    let said = stacks(&many, Growth::default(), 6400).expect("50 of 200");
    assert!(
        said.text.contains(
            "50.0 MiB of the 200.0 MiB resident are stacks of 6400 goroutines, 8.0 KiB each"
        ),
        "{}",
        said.text
    );
    assert!(stacks(&many, Growth::default(), 0).is_some());
    let piling = Growth {
        any: true,
        goroutines: true,
    };
    assert_eq!(stacks(&many, piling, 6400), None);
    // 30 % of 10 MiB is below 4 MiB.
    (many.stacks, many.held) = (mib(3), mib(10));
    assert_eq!(stacks(&many, Growth::default(), 6400), None);
}
