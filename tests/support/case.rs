//! The labelled series of `fixtures/corpus`: the files, and what `case.toml` says of them.

use super::project;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::Value;

/// A labelled series.
pub struct Case {
    pub name: String,
    pub dir: PathBuf,
    /// `leak` or `not-a-leak`.
    pub label: String,
    /// `tune`: rules may be refined on it; `held`: put aside for judging them.
    pub split: String,
    pub pattern: Option<String>,
    pub culprit: Option<String>,
    /// What a look-alike is; none for a repaired program.
    pub shape: Option<String>,
    /// Names of harmless memory that the diagnosis must give besides what the shape asks for.
    pub also: Vec<String>,
    /// Growth of the live heap by the program's own figures, bytes per hour.
    pub rate: [f64; 2],
    /// Goroutines by the program's own count, one a snapshot.
    pub goroutines: Vec<u64>,
}

impl Case {
    fn read(dir: PathBuf) -> Self {
        let text = std::fs::read_to_string(dir.join("case.toml")).unwrap();
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        let word = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let must = |key: &str| word(key).unwrap_or_else(|| panic!("{name} has no {key}"));
        let rate = table["rate_bytes_per_hour"].as_array().unwrap();
        let also = match table.get("also") {
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
            _ => word("also").into_iter().collect(),
        };
        let goroutines = table["counters"]["goroutines"].as_array().unwrap();
        let case = Self {
            label: must("label"),
            split: must("split"),
            pattern: word("pattern"),
            culprit: word("culprit"),
            shape: word("shape"),
            also,
            rate: [number(&rate[0]), number(&rate[1])],
            goroutines: goroutines.iter().map(|n| number(n) as u64).collect(),
            name,
            dir,
        };
        let name = &case.name;
        assert!(
            ["leak", "not-a-leak"].contains(&case.label.as_str()),
            "{name}"
        );
        assert!(
            ["tune", "held", "libraries"].contains(&case.split.as_str()),
            "{name}"
        );
        case
    }

    pub fn is_leak(&self) -> bool {
        self.label == "leak"
    }

    /// The stems of its snapshots in time order.
    pub fn stems(&self) -> Vec<String> {
        let mut stems = BTreeSet::new();
        for path in files_of(&self.dir) {
            let name = path.file_name().unwrap().to_str().unwrap();
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

    /// All that was captured.
    pub fn captured(&self) -> Vec<PathBuf> {
        let mut files = files_of(&self.dir);
        files.retain(|path| !path.ends_with("case.toml"));
        files
    }
}

fn number(value: &Value) -> f64 {
    let whole = || value.as_integer().unwrap() as f64;
    value.as_float().unwrap_or_else(whole)
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let entries = dir.read_dir().unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// All labelled series of the corpus, by name.
pub fn cases() -> Vec<Case> {
    let dirs = files_of(&project().join("fixtures/corpus"));
    let labelled = dirs
        .into_iter()
        .filter(|dir| dir.join("case.toml").exists());
    // One half alone while rules are being worked on: the other is not to be looked at.
    let half = std::env::var("HEAPDRIFT_HALF").ok();
    let cases: Vec<Case> = labelled
        .map(Case::read)
        .filter(|case| half.as_ref().is_none_or(|half| case.split == *half))
        .collect();
    assert!(!cases.is_empty(), "the corpus is not there");
    cases
}
