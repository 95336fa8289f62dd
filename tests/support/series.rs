//! Made-up series of ten snapshots, whose truth is known because they are made up.

use super::profiles::Pprof;
use super::{heapdrift, json};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Sampled objects allocated and in use at each of ten points, 30 s apart.
pub type Path10 = fn(i64) -> (i64, i64);

/// Writes ten snapshots: heap rows `(stack, size, history)` and, with `goroutines`, a dump.
pub fn write_series(
    dir: &Path,
    rows: &[(&str, i64, Path10)],
    goroutines: Option<fn(i64) -> String>,
) {
    for point in 0..10 {
        let mut heap = Pprof::heap(point * 30);
        for (stack, size, history) in rows {
            let (allocated, in_use) = history(point);
            heap = heap.sampled(stack, *size, allocated, in_use);
        }
        fs::write(dir.join(format!("{point:02}.heap.pb.gz")), heap.gzip()).unwrap();
        if let Some(dump) = goroutines {
            fs::write(dir.join(format!("{point:02}.goroutine.txt")), dump(point)).unwrap();
        }
    }
}

/// What `diagnose -f json` says of ten snapshots of these rows.
pub fn diagnose(rows: &[(&str, i64, Path10)], goroutines: Option<fn(i64) -> String>) -> Value {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path(), rows, goroutines);
    let mut command = heapdrift();
    command.arg("diagnose").arg(dir.path()).args(["-f", "json"]);
    // Only package main is the program's own: the made-up files lie in no module cache.
    let output = command
        .args(["--app-module", "example.com/app"])
        .output()
        .unwrap();
    json(&output)
}

pub fn verdict_of_first(diagnosis: &Value) -> &str {
    diagnosis["findings"][0]["verdict"]
        .as_str()
        .unwrap_or("none")
}

pub fn culprit_of_first(diagnosis: &Value) -> &str {
    diagnosis["findings"][0]["culprit"]["function"]
        .as_str()
        .unwrap_or("none")
}

/// A table that stays as it is.
pub const STEADY: (&str, i64, Path10) = ("main.table < main.main", 8192, |_| (60, 60));
/// Work that comes and goes.
pub const CHURN: (&str, i64, Path10) = ("main.scratch < main.serve < main.main", 1024, |t| {
    // As many are freed as come, give or take.
    (
        400 * (t + 1),
        50 + [3, -4, 0, 2, -1, 4, -3, 1, -2, 0][t as usize],
    )
});
