//! What is known of a process besides its profiles, and how a snapshot writes it down.
//!
//! The form of `memory.json` is defined here and read by `profile::memory`.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// A container of a pod, as the API tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PodFacts {
    /// Its namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// Tells a pod from one of the same name before it.
    pub uid: String,
    /// The container.
    pub container: String,
    /// Where it runs.
    pub node: Option<String>,
    /// How often the container was restarted (a count).
    pub restart_count: u64,
    /// When this instance of the container began.
    pub started_at: Option<Timestamp>,
    /// Its memory limit in bytes; `None`: none.
    pub memory_limit_bytes: Option<u64>,
    /// Why its instance before this one ended, such as `OOMKilled`.
    pub last_end: Option<String>,
}

/// The memory figures of one moment as a JSON text.
///
/// `memstats` is the trailer of `heap?debug=1`, `metrics` a page of Prometheus; of both the
/// lines that hold a figure of memory are kept, as they came.
pub(super) fn memory_json(
    taken_at: Timestamp,
    memstats: &str,
    metrics: &str,
    pod: Option<&PodFacts>,
) -> String {
    let memory = Memory {
        kind: "heapdrift-memory",
        schema_version: 1,
        taken_at,
        memstats: figures_of_trailer(memstats),
        metrics: figures_of_page(metrics),
        pod,
    };
    // Texts and numbers alone always have a JSON form.
    let mut text = serde_json::to_string_pretty(&memory).unwrap_or_default();
    text.push('\n');
    text
}

/// The form of `memory.json`.
#[derive(Serialize)]
struct Memory<'a> {
    kind: &'static str,
    schema_version: u32,
    taken_at: Timestamp,
    #[serde(skip_serializing_if = "Map::is_empty")]
    memstats: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metrics: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<&'a PodFacts>,
}

/// `# Name = figures` of a MemStats trailer; its lists of pauses are left out.
fn figures_of_trailer(text: &str) -> Map<String, Value> {
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("# ")?.split_once(" = ")?;
        (!value.contains('[')).then(|| (name.to_owned(), value.into()))
    });
    lines.collect()
}

/// `name value` of the runtime's and the process's own metrics.
fn figures_of_page(text: &str) -> Map<String, Value> {
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once(' ')?;
        let is_own = name.starts_with("go_") || name.starts_with("process_");
        (is_own && !name.contains('{')).then(|| (name.to_owned(), value.trim().into()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_kept_as_they_came() {
        let trailer = "0x1\n# runtime.MemStats\n# Alloc = 12\n# Stack = 3 / 4\n# PauseNs = [1 2]\n";
        let page = "# HELP x\ngo_memstats_sys_bytes 1e+06\nprocess_resident_memory_bytes 5\nhttp_requests_total 7\ngo_info{version=\"go1.26\"} 1\n";
        let text = memory_json(Timestamp::UNIX_EPOCH, trailer, page, None);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "kind": "heapdrift-memory",
                "schema_version": 1,
                "taken_at": "1970-01-01T00:00:00Z",
                "memstats": {"Alloc": "12", "Stack": "3 / 4"},
                "metrics": {
                    "go_memstats_sys_bytes": "1e+06",
                    "process_resident_memory_bytes": "5",
                },
            })
        );
    }
}
