//! When the next snapshot is due.

use super::args::Timing;
use std::time::{Duration, Instant};

/// Unless the user says otherwise.
const DEFAULT_EVERY: Duration = Duration::from_secs(30);

/// Snapshots at even times. One that takes too long does not shift those after it: the times
/// that have passed are left out.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    start: Instant,
    every: Duration,
    count: Option<u32>,
    duration: Option<Duration>,
    taken: u32,
}

impl Schedule {
    /// The first snapshot is due at once. `is_series`: more follow even if no option says so.
    pub(super) fn new(timing: &Timing, is_series: bool, start: Instant) -> Self {
        let says_nothing =
            timing.every.is_none() && timing.count.is_none() && timing.duration.is_none();
        Self {
            start,
            every: timing.every.unwrap_or(DEFAULT_EVERY),
            count: match says_nothing && !is_series {
                true => Some(1),
                false => timing.count,
            },
            duration: timing.duration,
            taken: 0,
        }
    }

    /// Whether it goes on until it is stopped.
    pub(super) fn is_open(&self) -> bool {
        self.count.is_none() && self.duration.is_none()
    }

    /// Snapshots in all, where that is known.
    pub(super) fn planned(&self) -> Option<u32> {
        let fitting = self.duration.map(|duration| {
            let intervals = duration.as_secs_f64() / self.every.as_secs_f64();
            // A year of tenths of seconds is far below 2^32.
            intervals.floor() as u32 + 1
        });
        match (self.count, fitting) {
            (Some(count), Some(fitting)) => Some(count.min(fitting)),
            (one, other) => one.or(other),
        }
    }

    /// Notes a round as done, and says when the next is due; `None`: that was the last.
    pub(super) fn next(&mut self, now: Instant) -> Option<Instant> {
        self.taken += 1;
        if self.count.is_some_and(|count| self.taken >= count) {
            return None;
        }
        let elapsed = now.saturating_duration_since(self.start);
        let passed = elapsed.as_nanos() / self.every.as_nanos().max(1);
        let offset = self
            .every
            .saturating_mul(u32::try_from(passed + 1).unwrap_or(u32::MAX));
        if self.duration.is_some_and(|duration| offset > duration) {
            return None;
        }
        Some(self.start + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(every: u64, count: Option<u32>, duration: Option<u64>) -> Schedule {
        let timing = Timing {
            every: (every > 0).then(|| Duration::from_secs(every)),
            count,
            duration: duration.map(Duration::from_secs),
        };
        Schedule::new(&timing, false, Instant::now())
    }

    fn at(schedule: &mut Schedule, seconds: u64) -> Option<u64> {
        let now = schedule.start + Duration::from_secs(seconds);
        let next = schedule.next(now)?;
        Some(next.duration_since(schedule.start).as_secs())
    }

    #[test]
    fn one_snapshot_unless_more_are_asked_for() {
        assert_eq!(at(&mut schedule(0, None, None), 1), None);
        assert_eq!(at(&mut schedule(0, Some(2), None), 1), Some(30));
        assert!(schedule(10, None, None).is_open());
    }

    #[test]
    fn times_stay_even() {
        let mut schedule = schedule(10, Some(4), None);
        assert_eq!(schedule.planned(), Some(4));
        assert_eq!(at(&mut schedule, 1), Some(10));
        // A slow one: the times at 20 and 30 s have passed.
        assert_eq!(at(&mut schedule, 35), Some(40));
        assert_eq!(at(&mut schedule, 41), Some(50));
        assert_eq!(at(&mut schedule, 51), None);
    }

    #[test]
    fn the_last_one_is_within_the_time() {
        let mut schedule = schedule(10, None, Some(20));
        assert_eq!(schedule.planned(), Some(3));
        assert_eq!(at(&mut schedule, 0), Some(10));
        assert_eq!(at(&mut schedule, 10), Some(20));
        assert_eq!(at(&mut schedule, 20), None);
    }
}
