//! Memory figures of one moment, from any of four texts: the `# runtime.MemStats` trailer of
//! `heap?debug=1`, a `/metrics` page in Prometheus' text format, the kernel's cgroup files, and
//! the `memory.json` of a capture store, which holds the first two.
//!
//! Knows which figures there are and how two readings of one moment are put together; each
//! text's own grammar is in a file of its own. Must not know the profiles beside it, nor what
//! the figures mean for a judgement. A line that is not understood is left alone: runtimes and
//! kernels add figures with every few releases.

mod cgroup;
mod json;
mod prometheus;
mod trailer;

use super::legacy::text::Lines;
use super::sniff::Form;
use super::{ProfileError, ProfileFile};

pub(super) use cgroup::is_cgroup;
pub(super) use json::is_memory_json;
pub(super) use prometheus::is_metrics;
pub(super) use trailer::is_trailer;

/// Figures of one moment, bytes unless said otherwise; `None` = not in the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryStats {
    /// Bytes in live and not yet swept objects.
    pub heap_alloc: Option<u64>,
    /// All bytes ever allocated.
    pub total_alloc: Option<u64>,
    /// Bytes obtained from the system.
    pub sys: Option<u64>,
    /// Heap bytes obtained from the system.
    pub heap_sys: Option<u64>,
    /// Bytes in spans without objects.
    pub heap_idle: Option<u64>,
    /// Bytes in spans with objects.
    pub heap_inuse: Option<u64>,
    /// Idle bytes given back to the system.
    pub heap_released: Option<u64>,
    /// Live objects (a count).
    pub heap_objects: Option<u64>,
    /// Bytes in goroutine stacks.
    pub stack_inuse: Option<u64>,
    /// Stack bytes obtained from the system.
    pub stack_sys: Option<u64>,
    /// Bytes in span descriptors, system share.
    pub mspan_sys: Option<u64>,
    /// Bytes in allocation caches, system share.
    pub mcache_sys: Option<u64>,
    /// Bytes in the profiler's buckets.
    pub buck_hash_sys: Option<u64>,
    /// Bytes in the collector's own data.
    pub gc_sys: Option<u64>,
    /// Other runtime bytes.
    pub other_sys: Option<u64>,
    /// Heap size at which the next cycle starts.
    pub next_gc: Option<u64>,
    /// End of the last cycle, nanoseconds since the Unix epoch.
    pub last_gc_nanos: Option<i64>,
    /// Finished cycles (a count).
    pub num_gc: Option<u64>,
    /// Cycles that the program forced (a count).
    pub num_forced_gc: Option<u64>,
    /// Largest resident set since the process began: a peak, never the present size.
    pub max_rss: Option<u64>,
    /// Resident set of this moment.
    pub rss: Option<u64>,
    /// Resident bytes that the Go runtime did not obtain: `rss − (sys − heap_released)`, all
    /// three of one reading, so that the figures of two readings never make up a difference.
    /// Below zero where pages that were obtained have never been touched.
    pub native: Option<i64>,
    /// When the process began, nanoseconds since the Unix epoch.
    pub start_time_nanos: Option<i64>,
    /// `GOGC` in per cent.
    pub gogc_percent: Option<u64>,
    /// `GOMEMLIMIT`; `None` also when it is off.
    pub go_memory_limit: Option<u64>,
    /// Anonymous memory of the control group: what cannot be dropped without swap.
    pub cgroup_anon: Option<u64>,
    /// File pages of the control group (the page cache).
    pub cgroup_file: Option<u64>,
    /// Those of them that are dropped first; a kubelet does not count them.
    pub cgroup_inactive_file: Option<u64>,
    /// All that the control group is charged for.
    pub cgroup_current: Option<u64>,
    /// Its hard limit; `None` also when there is none.
    pub cgroup_limit: Option<u64>,
}

/// Reads a file that holds memory figures and no profile.
pub(super) fn decode(bytes: &[u8], form: Form) -> Result<ProfileFile, ProfileError> {
    if form == Form::MemoryJson {
        return Ok(ProfileFile::Memory(Box::new(json::read(bytes)?)));
    }
    let read_line = match form {
        Form::MetricsText => MemoryStats::read_metric,
        Form::CgroupText => MemoryStats::read_cgroup_line,
        _ => MemoryStats::read_line,
    };
    let mut stats = MemoryStats::default();
    let mut is_any = false;
    for line in Lines::new(bytes) {
        is_any |= read_line(&mut stats, line.bytes.trim_ascii()).is_some();
    }
    if !is_any {
        return Err(ProfileError::Text {
            line: 1,
            reason: match form {
                Form::MetricsText => {
                    "metrics, but none of memory such as go_memstats_heap_alloc_bytes 123"
                }
                _ => "no memory figure follows, such as `# HeapAlloc = 123`",
            }
            .to_owned(),
        });
    }
    stats.native = stats.native_of_one_reading();
    Ok(ProfileFile::Memory(Box::new(stats)))
}

impl MemoryStats {
    fn native_of_one_reading(&self) -> Option<i64> {
        let held = self.sys?.checked_sub(self.heap_released?)?;
        // Every figure is at most i64::MAX.
        Some(i64::try_from(self.rss?).ok()? - i64::try_from(held).ok()?)
    }

    /// Takes from another reading of the same moment what this one lacks.
    pub fn fill_from(&mut self, other: &Self) {
        fn fill<T: Copy>(mine: &mut Option<T>, theirs: Option<T>) {
            *mine = mine.or(theirs);
        }
        // Named one by one, so that a new field cannot be forgotten.
        let Self {
            heap_alloc,
            total_alloc,
            sys,
            heap_sys,
            heap_idle,
            heap_inuse,
            heap_released,
            heap_objects,
            stack_inuse,
            stack_sys,
            mspan_sys,
            mcache_sys,
            buck_hash_sys,
            gc_sys,
            other_sys,
            next_gc,
            last_gc_nanos,
            num_gc,
            num_forced_gc,
            max_rss,
            rss,
            native,
            start_time_nanos,
            gogc_percent,
            go_memory_limit,
            cgroup_anon,
            cgroup_file,
            cgroup_inactive_file,
            cgroup_current,
            cgroup_limit,
        } = self;
        fill(heap_alloc, other.heap_alloc);
        fill(total_alloc, other.total_alloc);
        fill(sys, other.sys);
        fill(heap_sys, other.heap_sys);
        fill(heap_idle, other.heap_idle);
        fill(heap_inuse, other.heap_inuse);
        fill(heap_released, other.heap_released);
        fill(heap_objects, other.heap_objects);
        fill(stack_inuse, other.stack_inuse);
        fill(stack_sys, other.stack_sys);
        fill(mspan_sys, other.mspan_sys);
        fill(mcache_sys, other.mcache_sys);
        fill(buck_hash_sys, other.buck_hash_sys);
        fill(gc_sys, other.gc_sys);
        fill(other_sys, other.other_sys);
        fill(next_gc, other.next_gc);
        fill(last_gc_nanos, other.last_gc_nanos);
        fill(num_gc, other.num_gc);
        fill(num_forced_gc, other.num_forced_gc);
        fill(max_rss, other.max_rss);
        fill(rss, other.rss);
        fill(native, other.native);
        fill(start_time_nanos, other.start_time_nanos);
        fill(gogc_percent, other.gogc_percent);
        fill(go_memory_limit, other.go_memory_limit);
        fill(cgroup_anon, other.cgroup_anon);
        fill(cgroup_file, other.cgroup_file);
        fill(cgroup_inactive_file, other.cgroup_inactive_file);
        fill(cgroup_current, other.cgroup_current);
        fill(cgroup_limit, other.cgroup_limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_memory_is_of_one_reading() {
        let page = "go_memstats_sys_bytes 1000\ngo_memstats_heap_released_bytes 300\n\
            process_resident_memory_bytes 1200\n";
        let Ok(ProfileFile::Memory(metrics)) = decode(page.as_bytes(), Form::MetricsText) else {
            panic!("a page of metrics");
        };
        // 1200 − (1000 − 300)
        assert_eq!(metrics.native, Some(500));
        let mut stats = MemoryStats {
            sys: Some(2000),
            heap_released: Some(100),
            ..MemoryStats::default()
        };
        stats.fill_from(&metrics);
        assert_eq!((stats.sys, stats.rss), (Some(2000), Some(1200)));
        assert_eq!(stats.native, Some(500), "not 1200 − 1900");
        let small = "process_resident_memory_bytes 5\ngo_memstats_sys_bytes 9\n\
            go_memstats_heap_released_bytes 1\n";
        let Ok(ProfileFile::Memory(small)) = decode(small.as_bytes(), Form::MetricsText) else {
            panic!("a page of metrics");
        };
        assert_eq!(small.native, Some(-3));
    }

    #[test]
    fn the_first_value_of_a_figure_stays() {
        let mut first = MemoryStats {
            heap_alloc: Some(1),
            ..MemoryStats::default()
        };
        first.fill_from(&MemoryStats {
            heap_alloc: Some(2),
            cgroup_limit: Some(3),
            ..MemoryStats::default()
        });
        assert_eq!((first.heap_alloc, first.cgroup_limit), (Some(1), Some(3)));
    }
}
