//! The memory figures of one snapshot, and what can be worked out from them.

use crate::diagnosis::case::Case;
use crate::profile::{HeapProfile, MemoryStats};

/// Least error of the profile's total (√(R/B), an upper bound) at which HeapAlloc is believed
/// rather than the profile.
const SHARP_PROFILE: f64 = 0.05;
/// HeapAlloc this long after a collection is mostly what that left; later it may be half garbage.
const FRESH_NANOS: u64 = 1_000_000_000;
/// Go's least heap at GOGC = 100 (`runtime/mgcpacer.go`, `defaultHeapMinimum`). With more than this
/// live, the least heap never sets the goal: live·(1 + g) is then above 4 MiB·g for any g.
pub(super) const LEAST_HEAP: u64 = 4 << 20;
/// The scavenger leaves a tenth more than the goal needs (`runtime/mgcscavenge.go`,
/// `retainExtraPercent`).
pub(super) const RETAINED: f64 = 1.10;

/// The memory figures of one snapshot, beside its heap profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub stats: &'a MemoryStats,
    pub heap: Option<&'a HeapProfile>,
    pub taken_at: Option<i64>,
}

/// All readings of the run, in time order.
pub(super) fn readings<'a>(case: &Case<'a>) -> Vec<Reading<'a>> {
    case.snapshots()
        .filter_map(|snapshot| {
            Some(Reading {
                stats: snapshot.memory.as_ref()?,
                heap: snapshot.heap.as_ref(),
                taken_at: snapshot.moment(),
            })
        })
        .collect()
}

impl Reading<'_> {
    /// Sys − HeapReleased: all that the Go runtime holds.
    pub fn held(&self) -> Option<u64> {
        let (sys, released) = self.stats.sys.zip(self.stats.heap_released)?;
        Some(sys.saturating_sub(released))
    }

    /// HeapIdle − HeapReleased.
    pub fn idle_kept(&self) -> Option<u64> {
        let (idle, released) = self.stats.heap_idle.zip(self.stats.heap_released)?;
        Some(idle.saturating_sub(released))
    }

    /// HeapInuse − HeapAlloc.
    pub fn fragmentation(&self) -> Option<u64> {
        let (inuse, alloc) = self.stats.heap_inuse.zip(self.stats.heap_alloc)?;
        Some(inuse.saturating_sub(alloc))
    }

    pub fn stacks(&self) -> Option<u64> {
        self.stats.stack_sys.or(self.stats.stack_inuse)
    }

    /// The runtime's own data.
    pub fn runtime(&self) -> Option<u64> {
        let stats = self.stats;
        let parts = [
            stats.mspan_sys,
            stats.mcache_sys,
            stats.buck_hash_sys,
            stats.gc_sys,
            stats.other_sys,
        ];
        let mut known = parts.iter().copied().flatten().peekable();
        known.peek()?;
        Some(known.fold(0, u64::saturating_add))
    }

    /// What is live after the last collection, and what that is taken from: the collector's
    /// goal where GOGC is reported, else as measured.
    pub fn live(&self) -> Option<(u64, &'static str)> {
        let from_goal = self.live_by_goal().map(|live| (live, "goal"));
        from_goal.or_else(|| self.live_measured())
    }

    /// The pacer's goal is live + (live + stacks + globals)·GOGC/100 (`runtime/mgcpacer.go`,
    /// `commit`): solved for live, without the globals, which are small. Not where a memory
    /// limit or the least heap may have set the goal.
    fn live_by_goal(&self) -> Option<u64> {
        let (goal, percent) = self.stats.next_gc.zip(self.stats.gogc_percent)?;
        let rate = percent as f64 / 100.0;
        let least = 1.01 * LEAST_HEAP as f64 * rate.max(1.0);
        let stacks = self.stats.stack_inuse.unwrap_or(0) as f64;
        let live = (goal as f64 - rate * stacks) / (1.0 + rate);
        let is_paced = self.stats.go_memory_limit.is_none() && goal as f64 > least && live > 0.0;
        let most = self.stats.heap_alloc.unwrap_or(u64::MAX);
        is_paced.then(|| (live as u64).min(most))
    }

    /// HeapAlloc right after a collection is exact but for what was allocated since, by the
    /// capture itself too (1 to 2 MiB); the profile is as of the collection but sampled, and
    /// never above HeapAlloc.
    fn live_measured(&self) -> Option<(u64, &'static str)> {
        let from_alloc = |alloc| (alloc, "heap-alloc");
        let Some(heap) = self.heap else {
            return self.stats.heap_alloc.map(from_alloc);
        };
        let inuse = heap.inuse_bytes().max(0).unsigned_abs();
        let Some(alloc) = self.stats.heap_alloc else {
            return Some((inuse, "profile"));
        };
        let is_sharp =
            heap.period > 0 && (heap.period as f64) <= SHARP_PROFILE * SHARP_PROFILE * inuse as f64;
        Some(match self.is_fresh() && !is_sharp {
            true => from_alloc(alloc),
            false => (inuse.min(alloc), "profile"),
        })
    }

    /// Whether a collection has just ended.
    fn is_fresh(&self) -> bool {
        let clocks = self.taken_at.zip(self.stats.last_gc_nanos);
        clocks.is_some_and(|(taken, gc)| taken.abs_diff(gc) <= FRESH_NANOS)
    }

    /// NextGC / live.
    pub fn gogc_factor(&self) -> Option<f64> {
        let (live, goal) = (self.live()?.0, self.stats.next_gc?);
        (live >= LEAST_HEAP && goal > live).then(|| goal as f64 / live as f64)
    }

    /// GOGC in per cent as seen: the pacer's formula again, with live as measured.
    pub fn gogc_seen(&self) -> Option<f64> {
        let (live, goal) = (self.live_measured()?.0, self.stats.next_gc?);
        let scanned = live as f64 + self.stats.stack_inuse.unwrap_or(0) as f64;
        let is_paced = live >= LEAST_HEAP && goal > live;
        is_paced.then(|| 100.0 * (goal as f64 - live as f64) / scanned)
    }

    /// GOGC in per cent, as reported, else as seen.
    pub fn gogc(&self) -> Option<f64> {
        let told = self.stats.gogc_percent.map(|percent| percent as f64);
        told.or_else(|| self.gogc_seen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{HeapColumns, StackId};

    const MIB: u64 = 1 << 20;

    fn heap(bytes: u64, period: i64) -> HeapProfile {
        let mut columns = HeapColumns::default();
        let bytes = bytes as i64;
        columns.push(StackId(0), 16, [bytes / 16, bytes, bytes / 16, bytes]);
        HeapProfile {
            columns,
            period,
            ..HeapProfile::default()
        }
    }

    fn reading<'a>(stats: &'a MemoryStats, heap: Option<&'a HeapProfile>) -> Reading<'a> {
        Reading {
            stats,
            heap,
            taken_at: Some(10_000_000_000),
        }
    }

    #[test]
    fn live_is_taken_from_what_errs_least() {
        let mut stats = MemoryStats {
            heap_alloc: Some(50 * MIB),
            last_gc_nanos: Some(9_900_000_000),
            ..MemoryStats::default()
        };
        // √(0.5 MiB / 40 MiB) = 11 %: HeapAlloc a tenth of a second after a collection is better.
        let dull = heap(40 * MIB, 512 << 10);
        assert_eq!(
            reading(&stats, Some(&dull)).live(),
            Some((50 * MIB, "heap-alloc"))
        );
        // √(64 KiB / 40 MiB) = 4 %.
        let sharp = heap(40 * MIB, 64 << 10);
        assert_eq!(
            reading(&stats, Some(&sharp)).live(),
            Some((40 * MIB, "profile"))
        );
        // A minute after a collection HeapAlloc is mostly garbage.
        stats.last_gc_nanos = Some(-50_000_000_000);
        assert_eq!(
            reading(&stats, Some(&dull)).live(),
            Some((40 * MIB, "profile"))
        );
        // More than is allocated cannot be live.
        let above = heap(60 * MIB, 512 << 10);
        assert_eq!(
            reading(&stats, Some(&above)).live(),
            Some((50 * MIB, "profile"))
        );
        assert_eq!(reading(&stats, None).live(), Some((50 * MIB, "heap-alloc")));
    }

    #[test]
    fn gogc_is_seen_from_the_goal() {
        let mut stats = MemoryStats {
            heap_alloc: Some(40 * MIB),
            stack_inuse: Some(10 * MIB),
            next_gc: Some(90 * MIB),
            ..MemoryStats::default()
        };
        // 90 / 40, and (90 − 40) / (40 + 10).
        assert_eq!(reading(&stats, None).gogc_factor(), Some(2.25));
        assert_eq!(reading(&stats, None).gogc_seen(), Some(100.0));
        stats.gogc_percent = Some(120);
        assert_eq!(reading(&stats, None).gogc(), Some(120.0));
        // (90 − 1.2 · 10) / 2.2 = 35.45 are live, by the goal.
        let live = (78.0 / 2.2 * MIB as f64) as u64;
        assert_eq!(reading(&stats, None).live(), Some((live, "goal")));
        stats.go_memory_limit = Some(95 * MIB);
        assert_eq!(
            reading(&stats, None).live(),
            Some((40 * MIB, "heap-alloc")),
            "the limit may set the goal"
        );
        stats.gogc_percent = None;
        // The least heap sets the goal of a small one.
        stats.heap_alloc = Some(LEAST_HEAP - 1);
        assert_eq!(reading(&stats, None).gogc_factor(), None);
        assert_eq!(reading(&stats, None).gogc_seen(), None);
    }

    #[test]
    fn parts_are_none_when_a_figure_is_missing() {
        let stats = MemoryStats {
            sys: Some(5),
            heap_released: Some(7),
            ..MemoryStats::default()
        };
        let reading = reading(&stats, None);
        assert_eq!(reading.held(), Some(0), "never below zero");
        assert_eq!((reading.idle_kept(), reading.runtime()), (None, None));
    }
}
