use super::VerifyVerdict::{Fixed, Reduced, TooShortToTell, Unchanged, Worse};
use super::rules::{combine, judge_rates, seconds_to_settle};
use crate::growth::Rate;

/// A rate over one hour with symmetric limits.
fn rate(bytes: f64, reach: f64) -> Rate {
    Rate {
        bytes,
        hours: 1.0,
        low: bytes - reach,
        high: bytes + reach,
    }
}

/// By hand: the interval of a difference reaches √(reach² + reach²) to each side.
#[test]
fn rates_are_judged_as_by_hand() {
    for (before, after, expect) in [
        ((100.0, 10.0), (0.0, 10.0), Fixed),
        // 9 of 100 is left at most.
        ((100.0, 10.0), (5.0, 4.0), Fixed),
        ((100.0, 10.0), (50.0, 10.0), Reduced),
        // It may have stopped, and 70 of 100 may be left.
        ((100.0, 10.0), (20.0, 50.0), TooShortToTell),
        ((100.0, 10.0), (95.0, 10.0), Unchanged),
        // 100 ± 10 and 120 ± 10: the difference reaches from 5.9 to 34.1.
        ((100.0, 10.0), (120.0, 10.0), Worse),
        ((100.0, 10.0), (112.0, 10.0), Unchanged),
        ((5.0, 10.0), (0.0, 10.0), TooShortToTell),
        ((5.0, 10.0), (50.0, 10.0), Worse),
        // It shrank before; now it stands still.
        ((-100.0, 10.0), (0.0, 10.0), TooShortToTell),
    ] {
        let verdict = judge_rates(
            &rate(before.0, before.1),
            &rate(after.0, after.1),
            [false; 2],
        );
        assert_eq!(verdict, expect, "{before:?} {after:?}");
    }
}

#[test]
fn growth_that_a_series_shows_by_its_parts_counts() {
    // Wide limits, as of growth in bumps.
    let bumps = rate(100.0, 150.0);
    assert_eq!(judge_rates(&bumps, &bumps, [true; 2]), Unchanged);
    assert_eq!(judge_rates(&bumps, &bumps, [true, false]), TooShortToTell);
    assert_eq!(judge_rates(&bumps, &bumps, [false; 2]), TooShortToTell);
}

/// By hand: the difference reaches √(30² + 40²) = 50 where half of 40 would do: 2.5 times too
/// far, hence 6.25 times the hour.
#[test]
fn the_window_that_settles_by_hand() {
    let seconds = seconds_to_settle(&rate(40.0, 30.0), &rate(0.0, 40.0));
    assert_eq!(seconds, Some(6.25 * 3600.0));
    assert_eq!(seconds_to_settle(&rate(-5.0, 10.0), &rate(0.0, 1.0)), None);
    let near = seconds_to_settle(&rate(100.0, 1.0), &rate(0.0, 1.0));
    assert_eq!(near, Some(2.0 * 3600.0));
}

#[test]
fn heap_and_goroutines_make_one_word() {
    assert_eq!(combine(Some(Fixed), None), Some(Fixed));
    assert_eq!(combine(None, Some(Unchanged)), Some(Unchanged));
    assert_eq!(combine(Some(TooShortToTell), Some(Fixed)), Some(Fixed));
    assert_eq!(combine(Some(Fixed), Some(Unchanged)), Some(Reduced));
    assert_eq!(combine(Some(Worse), Some(Fixed)), Some(Worse));
    assert_eq!(combine(None, None), None);
}
