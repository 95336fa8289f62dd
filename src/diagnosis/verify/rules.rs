//! The rules: from two rates to a word, and how long a window would have to be.
//!
//! Knows rates; nothing of where they come from.

use super::{RateChange, VerifyVerdict};
use crate::growth::Rate;
use VerifyVerdict::{Fixed, Reduced, TooShortToTell, Unchanged, Worse};

/// Growth that is left, as a share of the former, below which it counts as stopped.
const NEGLIGIBLE: f64 = 0.1;
/// Where no growth is seen any more, as much of the former may yet hide in the noise.
const MAY_HIDE: f64 = 0.5;

/// What became of a rate. `found` says whether each series' own judgement, which looks at every
/// part of the window and not at its ends alone, calls it growth.
pub(super) fn judge_rates(before: &Rate, after: &Rate, found: [bool; 2]) -> VerifyVerdict {
    let [difference_low, difference_high] = after.less95(before);
    let was_growing = found[0] || before.ci95()[0] > 0.0;
    let [low, high] = after.ci95();
    let is_growing = found[1] || low > 0.0;
    let left = |share: f64| high <= share * before.per_hour();
    match () {
        () if difference_low > 0.0 && is_growing => Worse,
        () if !was_growing => TooShortToTell,
        () if difference_high < 0.0 && left(NEGLIGIBLE) => Fixed,
        () if difference_high < 0.0 && !is_growing && left(MAY_HIDE) => Fixed,
        () if difference_high < 0.0 && is_growing => Reduced,
        () if is_growing => Unchanged,
        () => TooShortToTell,
    }
}

/// One word for growth of the heap and of goroutines.
pub(super) fn combine(
    heap: Option<VerifyVerdict>,
    goroutines: Option<VerifyVerdict>,
) -> Option<VerifyVerdict> {
    match (heap, goroutines) {
        (one, None) | (None, one) => one,
        (Some(TooShortToTell), other) | (other, Some(TooShortToTell)) => other,
        (Some(one), Some(other)) if one == other => Some(one),
        (Some(Worse), _) | (_, Some(Worse)) => Some(Worse),
        _ => Some(Reduced),
    }
}

/// Seconds of window on both sides after which it would show that growth has stopped, if it has:
/// what the interval of the difference reaches shrinks with the root of the window, and must come
/// below [`MAY_HIDE`] of the former rate. None where the estimate before is no growth.
pub(super) fn seconds_to_settle(before: &Rate, after: &Rate) -> Option<f64> {
    if before.per_hour() <= 0.0 {
        return None;
    }
    let down = before.per_hour() - before.ci95()[0];
    let up = after.ci95()[1] - after.per_hour();
    let window = before.hours.max(after.hours) * 3600.0;
    let times = (down.hypot(up) / (MAY_HIDE * before.per_hour())).powi(2);
    // Where the reach is short enough already, it is the estimate that is off: once more as long.
    Some(window * times.max(2.0))
}

/// Why, as a sentence.
pub(super) fn reason(
    verdict: VerifyVerdict,
    change: Option<&RateChange>,
    was_found: bool,
    has_new_leak: bool,
) -> String {
    let left = change
        .filter(|change| change.before_per_hour > 0.0)
        .map(|change| change.after_per_hour / change.before_per_hour * 100.0);
    match verdict {
        Fixed => "what grew before does not grow any more".to_owned(),
        Reduced if has_new_leak => {
            "what grew before has stopped or slowed, and something else leaks now".to_owned()
        }
        Reduced => match left {
            Some(left) => format!("it still grows, at {left:.0} % of the former rate"),
            None => "it still grows, more slowly".to_owned(),
        },
        Unchanged => "it still grows, and not more slowly beyond noise".to_owned(),
        Worse => "it grows faster than before, beyond noise".to_owned(),
        TooShortToTell => match change {
            None => "there are no rates to compare".to_owned(),
            Some(change) if !was_found && change.before_ci95[0] <= 0.0 => {
                "nothing grew beyond noise before the fix, so there is nothing to compare with"
                    .to_owned()
            }
            Some(_) => {
                "growth before is seen, but what is left of it cannot be told from none".to_owned()
            }
        },
    }
}
