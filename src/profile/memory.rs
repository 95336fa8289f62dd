//! The runtime's own memory figures (`# runtime.MemStats` of `heap?debug=1`).

use super::{ProfileError, ProfileFile};

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
    /// Peak resident set size.
    pub max_rss: Option<u64>,
}

pub(super) fn decode(_bytes: &[u8]) -> Result<ProfileFile, ProfileError> {
    todo!()
}
