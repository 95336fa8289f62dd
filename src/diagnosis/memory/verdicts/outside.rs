//! Verdicts about memory that the Go runtime does not hold: the process and its control group.

use super::{entry, is_material};
use crate::diagnosis::{MemoryBreakdown, NotALeak, NotALeakName};
use crate::units::{signed_size, size};

/// Least share of the resident set that native memory holds, to say so without growth.
const NATIVE_SHARE: f64 = 1.0 / 3.0;
/// Least native memory that is said without growth: the program's own code and read-only data,
/// which are mapped from its file, make up to about as much.
const NATIVE_BYTES: f64 = 32.0 * crate::diagnosis::memory::MIB;

/// File pages in the control group's account.
pub(super) fn page_cache(memory: &MemoryBreakdown) -> Option<NotALeak> {
    let file = memory.cgroup_file? as f64;
    let all = match (memory.cgroup_current, memory.cgroup_anon) {
        (Some(current), _) => current as f64,
        (None, anon) => anon? as f64 + file,
    };
    if !is_material(file, all) {
        return None;
    }
    let counted = match memory.cgroup_inactive_file {
        Some(inactive) => format!(
            "; a working set (kubectl top) leaves out the {} that are inactive and counts the other {}",
            size(inactive as f64),
            size((file - inactive as f64).max(0.0)),
        ),
        None => String::new(),
    };
    let text = format!(
        "{} of the {} that the control group is charged for are pages of files, which the kernel drops \
         when memory is short{counted}",
        size(file),
        size(all),
    );
    entry(NotALeakName::PageCache, file, text)
}

/// Resident memory that Go did not allocate: it grows more than the heap does, or is large.
pub(super) fn native_memory(memory: &MemoryBreakdown) -> Option<NotALeak> {
    let (native, rss) = (memory.native? as f64, memory.rss? as f64);
    let heap_grew = memory.change.profile_inuse.unwrap_or(0).max(0) as f64;
    let grew = memory.change.native.unwrap_or(0) as f64;
    // Against the resident set as it was: a share of it at the end would hide fast growth.
    let before = rss - memory.change.rss.unwrap_or(0) as f64;
    let is_growing = is_material(grew, before) && grew > heap_grew;
    let is_large = native >= NATIVE_SHARE * rss && native >= NATIVE_BYTES;
    if !is_growing && !is_large {
        return None;
    }
    let how = match is_growing {
        true => format!(
            "; they changed by {} in the window, the heap in use by {}: look at C libraries (cgo), mapped \
             files and memory that is mapped by hand; a heap profile shows none of it",
            signed_size(grew),
            signed_size(memory.change.profile_inuse.unwrap_or(0) as f64),
        ),
        false => " (C libraries, mapped files, the program's own code)".to_owned(),
    };
    let text = format!(
        "{} of the {} resident were not allocated by Go{how}",
        size(native),
        size(rss)
    );
    entry(NotALeakName::NativeMemory, native.max(grew), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::MemoryChange;

    const MIB: u64 = 1 << 20;

    fn grown(native: i64, rss: u64, grew: i64, heap_grew: i64) -> MemoryBreakdown {
        MemoryBreakdown {
            native: Some(native << 20),
            rss: Some(rss * MIB),
            change: MemoryChange {
                native: Some(grew << 20),
                rss: Some((grew + heap_grew) << 20),
                profile_inuse: Some(heap_grew << 20),
                ..MemoryChange::default()
            },
            ..MemoryBreakdown::default()
        }
    }

    #[test]
    fn native_memory_that_grows_beside_a_flat_heap() {
        let said = native_memory(&grown(40, 63, 30, 0)).expect("30 MiB of 33 before");
        assert_eq!(
            (said.name.as_str(), said.bytes),
            ("native-memory", Some(40.0 * 1_048_576.0))
        );
        assert!(
            said.text.contains("40.0 MiB of the 63.0 MiB") && said.text.contains("by +30.0 MiB"),
            "{}",
            said.text
        );
        // The heap grows more than it: the heap is the story.
        assert_eq!(native_memory(&grown(10, 63, 5, 20)), None);
        // 3 MiB are less than the least.
        assert_eq!(native_memory(&grown(10, 40, 3, 0)), None);
        // 5 MiB of 95 MiB before.
        assert_eq!(native_memory(&grown(10, 100, 5, 0)), None);
    }

    #[test]
    fn native_memory_that_is_large() {
        // 40 of 100 MiB is more than a third and 32 MiB.
        let said = native_memory(&grown(40, 100, 0, 0)).expect("large");
        assert!(
            said.text.contains("not allocated by Go (C libraries"),
            "{}",
            said.text
        );
        assert_eq!(
            native_memory(&grown(30, 60, 0, 0)),
            None,
            "a large program's code"
        );
        assert_eq!(native_memory(&grown(40, 200, 0, 0)), None);
        assert_eq!(native_memory(&grown(-5, 100, 0, 0)), None);
        let unknown = MemoryBreakdown {
            rss: Some(MIB),
            ..MemoryBreakdown::default()
        };
        assert_eq!(native_memory(&unknown), None);
    }

    #[test]
    fn file_pages_are_said_when_they_are_a_tenth() {
        let group = |current, file, inactive| MemoryBreakdown {
            cgroup_current: Some(current * MIB),
            cgroup_file: Some(file * MIB),
            cgroup_inactive_file: Some(inactive * MIB),
            ..MemoryBreakdown::default()
        };
        let said = page_cache(&group(100, 20, 15)).expect("a fifth");
        assert_eq!(said.bytes, Some(20.0 * 1_048_576.0));
        // 20 − 15 count.
        assert!(
            said.text
                .contains("the 15.0 MiB that are inactive and counts the other 5.0 MiB"),
            "{}",
            said.text
        );
        assert_eq!(page_cache(&group(100, 9, 5)), None);
        assert_eq!(page_cache(&group(10, 3, 1)), None, "below 4 MiB");
        let without_current = MemoryBreakdown {
            cgroup_anon: Some(80 * MIB),
            cgroup_file: Some(20 * MIB),
            ..MemoryBreakdown::default()
        };
        assert!(
            page_cache(&without_current).is_some_and(|said| said.text.contains("of the 100.0 MiB"))
        );
    }
}
