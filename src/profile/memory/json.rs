//! The `memory.json` of a capture store: figures of the runtime and the limit of the container.
//!
//! Knows its keys. The figures in it are lines of the other two texts, and are read as such.

use super::MemoryStats;
use crate::profile::ProfileError;
use serde_json::Value;

/// Says what the text is: the value of its `kind`.
const KIND: &str = "heapdrift-memory";
/// The version of the form that is written and read.
const SCHEMA_VERSION: u64 = 1;
/// The kind stands at the front.
const FRONT: usize = 1024;

/// Whether a text is such a file.
pub(in crate::profile) fn is_memory_json(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let front = &text[..text.len().min(FRONT)];
    text.starts_with(b"{") && memchr::memmem::find(front, KIND.as_bytes()).is_some()
}

/// Reads the figures.
///
/// # Errors
/// No such JSON, or one of a later version.
pub(super) fn read(bytes: &[u8]) -> Result<MemoryStats, ProfileError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let root: Value = serde_json::from_slice(bytes).map_err(|error| ProfileError::Text {
        line: error.line().max(1),
        reason: "the JSON ends early or is damaged".to_owned(),
    })?;
    let wrong = |reason: &str| ProfileError::Text {
        line: 1,
        reason: reason.to_owned(),
    };
    if root["kind"] != KIND {
        return Err(wrong("not the memory figures of a capture"));
    }
    if root["schema_version"] != SCHEMA_VERSION {
        return Err(wrong(
            "memory figures of another version of heapdrift; only version 1 is understood",
        ));
    }
    let mut stats = MemoryStats::default();
    for (name, value) in figures(&root["memstats"]) {
        stats.read_line(format!("# {name} = {value}").as_bytes());
    }
    // The page is a reading of its own: its figures alone make up a difference.
    let mut page = MemoryStats::default();
    for (name, value) in figures(&root["metrics"]) {
        page.read_metric(format!("{name} {value}").as_bytes());
    }
    page.native = page.native_of_one_reading();
    stats.fill_from(&page);
    stats.cgroup_limit = root["pod"]["memory_limit_bytes"]
        .as_u64()
        .or(stats.cgroup_limit);
    Ok(stats)
}

fn figures(table: &Value) -> impl Iterator<Item = (&String, &str)> {
    let table = table.as_object().into_iter().flatten();
    table.filter_map(|(name, value)| Some((name, value.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_all_three_parts_are_read() {
        let text = br#"{"kind": "heapdrift-memory", "schema_version": 1, "taken_at": "x",
            "memstats": {"HeapAlloc": "12", "Stack": "3 / 4", "Unknown": "5", "Sys": "x"},
            "metrics": {"process_resident_memory_bytes": "1e+06"},
            "pod": {"memory_limit_bytes": 77}}"#;
        assert!(is_memory_json(text));
        let stats = read(text).unwrap();
        assert_eq!(stats.heap_alloc, Some(12));
        assert_eq!((stats.stack_inuse, stats.stack_sys), (Some(3), Some(4)));
        assert_eq!(stats.rss, Some(1_000_000));
        assert_eq!(stats.cgroup_limit, Some(77));
        assert_eq!(stats.sys, None);
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, expected) in [
            ("{\"kind\": \"heapdrift-memory\"", "ends early"),
            (
                "{\"kind\": \"heapdrift-memory-2\"}",
                "not the memory figures",
            ),
            (
                "{\"kind\": \"heapdrift-memory\", \"schema_version\": 2}",
                "another version",
            ),
        ] {
            assert!(is_memory_json(text.as_bytes()), "{text}");
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(!is_memory_json(b"{\"schema_version\": 1}"));
        assert!(!is_memory_json(b"[\"heapdrift-memory\"]"));
    }

    #[test]
    fn odd_values_are_left_alone() {
        let text = br#"{"kind": "heapdrift-memory", "schema_version": 1,
            "memstats": [1], "metrics": {"a b": null, "process_resident_memory_bytes": 1},
            "pod": {"memory_limit_bytes": -1}}"#;
        assert_eq!(read(text).unwrap(), MemoryStats::default());
    }
}
