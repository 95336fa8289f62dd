//! What the tests of the binary share.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod profiles;

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The binary, with nothing of the environment that changes its output.
pub fn heapdrift() -> Command {
    let mut command = Command::cargo_bin("heapdrift").unwrap();
    command.env_remove("HEAPDRIFT_CONFIG").env("NO_COLOR", "1");
    command
}

/// Standard output as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// What `diagnose -f json` prints of some sources, and its exit code.
pub fn diagnose(sources: &[impl AsRef<OsStr>]) -> (Value, Option<i32>) {
    let output = heapdrift()
        .arg("diagnose")
        .args(sources)
        .args(["-f", "json"])
        .output()
        .unwrap();
    (json(&output), output.status.code())
}

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Says that a check was skipped. Written past the test harness, which would keep it to itself.
pub fn skipped(why: &str) {
    // A test must not fail because nobody listens.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The public profiles beside the project, where they are there. Tests say when they are not.
pub fn public_profiles() -> Option<PathBuf> {
    let dir = project().parent()?.join("shared/profiles");
    if dir.is_dir() {
        return Some(dir);
    }
    skipped("the public profiles are not beside the project");
    None
}

/// A labelled series.
pub struct Case {
    pub name: String,
    pub dir: PathBuf,
    pub label: String,
    pub pattern: Option<String>,
    pub culprit: Option<String>,
    /// Growth of the live heap by the program's own figures, bytes per hour.
    pub rate: [f64; 2],
}

impl Case {
    /// The stems of its snapshots in time order.
    pub fn stems(&self) -> Vec<String> {
        let mut stems = BTreeSet::new();
        for entry in self.dir.read_dir().unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if let Some(stem) = name.strip_suffix(".heap.pb.gz") {
                stems.insert(stem.to_owned());
            }
        }
        stems.into_iter().collect()
    }

    /// The files of some of its snapshots.
    pub fn part(&self, stems: &[String]) -> Vec<PathBuf> {
        let kinds = [
            "heap.pb.gz",
            "memory.txt.gz",
            "metrics.txt.gz",
            "cgroup.txt.gz",
            "goroutine.txt.gz",
        ];
        let names = stems
            .iter()
            .flat_map(|stem| kinds.map(|kind| format!("{stem}.{kind}")));
        names
            .map(|name| self.dir.join(name))
            .filter(|path| path.exists())
            .collect()
    }
}

/// All labelled series of the corpus, by name.
pub fn cases() -> Vec<Case> {
    let corpus = project().join("fixtures/corpus");
    let mut cases: Vec<Case> = corpus
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|dir| dir.join("case.toml").exists())
        .map(|dir| {
            let text = std::fs::read_to_string(dir.join("case.toml")).unwrap();
            let table: toml::Table = text.parse().unwrap();
            let word = |key: &str| table.get(key).and_then(|v| v.as_str()).map(str::to_owned);
            let number = |value: &toml::Value| {
                value
                    .as_float()
                    .unwrap_or_else(|| value.as_integer().unwrap() as f64)
            };
            let rate = table["rate_bytes_per_hour"].as_array().unwrap();
            Case {
                name: dir.file_name().unwrap().to_string_lossy().into_owned(),
                label: word("label").unwrap(),
                pattern: word("pattern"),
                culprit: word("culprit"),
                rate: [number(&rate[0]), number(&rate[1])],
                dir,
            }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() >= 8, "the corpus has {} cases", cases.len());
    cases
}
