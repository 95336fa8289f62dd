//! `top` and `diff` against `go tool pprof`, row by row, on every capture that both can read.
//!
//! Needs Go; says so where it is skipped.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{cases, heapdrift, json, public_profiles, skipped};

/// Flat and cumulative bytes by function name.
type Rows = BTreeMap<String, (i64, i64)>;

fn has_go() -> bool {
    let found = Command::new("go")
        .arg("version")
        .output()
        .is_ok_and(|o| o.status.success());
    if !found {
        skipped("Go is not installed, so nothing was compared with go tool pprof");
    }
    found
}

/// Rows of `go tool pprof -top`, names as they stand in the profile; None if it cannot read it.
fn pprof_top(files: &[&Path]) -> Option<Rows> {
    let mut command = Command::new("go");
    command.args([
        "tool",
        "pprof",
        "-top",
        "-unit=B",
        "-nodefraction=0",
        "-edgefraction=0",
        "-nodecount=1000000",
        "-sample_index=inuse_space",
        "-symbolize=none",
    ]);
    if let [before, after] = files {
        command.arg("-diff_base").arg(before).arg(after);
    } else {
        command.arg(files[0]);
    }
    let output = command
        .env("PPROF_TMPDIR", std::env::temp_dir())
        .output()
        .unwrap();
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("flat "))
        .skip(1);
    let mut parsed = Rows::new();
    for line in rows {
        let mut rest = line.trim_start();
        let mut words = [""; 5];
        for word in &mut words {
            let end = rest.find(' ').unwrap_or(rest.len());
            *word = &rest[..end];
            rest = rest[end..].trim_start();
        }
        let bytes = |word: &str| word.trim_end_matches('B').parse::<i64>().unwrap();
        let name = rest
            .trim_end_matches(" (inline)")
            .trim_end_matches(" (partial-inline)");
        let entry = parsed.entry(name.to_owned()).or_default();
        entry.0 += bytes(words[0]);
        entry.1 += bytes(words[3]);
    }
    parsed.retain(|_, (flat, cum)| *flat != 0 || *cum != 0);
    Some(parsed)
}

fn run(arguments: &[&str], files: &[&Path]) -> Option<Value> {
    let output = heapdrift()
        .args(arguments)
        .args(files)
        .args(["-f", "json"])
        .output()
        .unwrap();
    output.status.success().then(|| json(&output))
}

fn number(row: &Value, key: &str) -> i64 {
    row[key].as_i64().unwrap()
}

fn our_top(file: &Path) -> Option<Rows> {
    let top = run(&["top"], &[file])?;
    let mut rows = Rows::new();
    for row in top["rows"].as_array().unwrap() {
        // pprof's top merges functions of one name in several files.
        let entry = rows
            .entry(row["function"].as_str().unwrap().to_owned())
            .or_default();
        entry.0 += number(row, "flat_bytes");
        entry.1 += number(row, "cum_bytes");
    }
    Some(rows)
}

/// Change by function, and whether the two are of different builds.
fn our_diff(before: &Path, after: &Path) -> Option<(BTreeMap<String, i64>, bool)> {
    let diff = run(&["diff", "--force"], &[before, after])?;
    let mut rows = BTreeMap::new();
    for row in diff["rows"].as_array().unwrap() {
        *rows
            .entry(row["function"].as_str().unwrap().to_owned())
            .or_insert(0) += number(row, "delta_bytes");
    }
    rows.retain(|_, delta| *delta != 0);
    Some((rows, diff["identity"]["is_other_build"] == true))
}

/// Names as pprof prints them: an address without a name is padded and not called a function.
fn is_named(name: &str) -> bool {
    name != "<unknown>"
        && !name.starts_with("0x")
        && !name.starts_with('[')
        && !name.starts_with("00000")
}

fn heaps_of(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = dir
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            !name.contains(".goroutine.") && !name.ends_with(".toml") && !name.ends_with(".string")
        })
        .collect();
    files.sort();
    files
}

fn compare_top(file: &Path) -> bool {
    let (Some(theirs), Some(ours)) = (pprof_top(&[file]), our_top(file)) else {
        return false;
    };
    let named = |rows: Rows| -> Rows {
        rows.into_iter()
            .filter(|(name, _)| is_named(name))
            .collect()
    };
    let flat = |rows: &Rows| rows.values().map(|(flat, _)| flat).sum::<i64>();
    assert_eq!(flat(&theirs), flat(&ours), "{}: totals", file.display());
    // pprof does not read the symbol comments of a text, so only its totals compare.
    if theirs.contains_key("<unknown>") && file.to_string_lossy().contains(".memory.") {
        return true;
    }
    assert_eq!(named(theirs), named(ours), "{}", file.display());
    true
}

fn compare_diff(before: &Path, after: &Path) -> bool {
    let (Some(theirs), Some((ours, is_other_build))) =
        (pprof_top(&[before, after]), our_diff(before, after))
    else {
        return false;
    };
    if is_other_build {
        // pprof does not know that a function was renamed or moved: only the sums compare.
        let theirs: i64 = theirs.values().map(|(flat, _)| flat).sum();
        assert_eq!(theirs, ours.values().sum::<i64>(), "{}", after.display());
        return true;
    }
    let theirs: BTreeMap<String, i64> = theirs
        .into_iter()
        .map(|(name, (flat, _))| (name, flat))
        .filter(|(name, flat)| *flat != 0 && is_named(name))
        .collect();
    let ours: BTreeMap<String, i64> = ours
        .into_iter()
        .filter(|(name, _)| is_named(name))
        .collect();
    assert_eq!(theirs, ours, "{} to {}", before.display(), after.display());
    true
}

/// Whether a memory file is the whole of `heap?debug=1`, and not its trailer alone.
fn is_heap_text(path: &Path) -> bool {
    let mut text = [0; 12];
    let file = std::fs::File::open(path).unwrap();
    let read = flate2::read::GzDecoder::new(file).read_exact(&mut text);
    read.is_ok() && text == *b"heap profile"
}

/// The programs that heapdrift grew from.
const INCIDENTS: [&str; 4] = [
    "logger-promise-chain",
    "backed-up-informer",
    "stale-watchers",
    "stale-watchers-v019-stopped",
];

#[test]
fn every_fixture_agrees_with_pprof() {
    if !has_go() {
        return;
    }
    let (mut tops, mut diffs) = (0, 0);
    for case in cases() {
        let heaps = heaps_of(&case.dir);
        let protos: Vec<&PathBuf> = heaps
            .iter()
            .filter(|path| path.to_string_lossy().contains(".heap."))
            .collect();
        // A text form of each case that keeps one as well; all of them would take minutes.
        let text = heaps
            .iter()
            .find(|path| path.to_string_lossy().contains(".memory.") && is_heap_text(path));
        // All files of the incidents; of the rest, which come from the same few programs, the
        // first and the last, for each takes pprof a second.
        let compared: Vec<&PathBuf> = match INCIDENTS.contains(&case.name.as_str()) {
            true => protos.clone(),
            false => [protos.first(), protos.last()]
                .into_iter()
                .flatten()
                .copied()
                .collect(),
        };
        for file in compared.into_iter().chain(text) {
            assert!(compare_top(file), "{} was not read by both", file.display());
            tops += 1;
        }
        assert!(
            compare_diff(protos[0], protos[protos.len() - 1]),
            "{}",
            case.name
        );
        diffs += 1;
    }
    eprintln!("compared with go tool pprof: {tops} tops, {diffs} diffs");
}

#[test]
fn every_public_profile_agrees_with_pprof() {
    let (true, Some(public)) = (has_go(), public_profiles()) else {
        return;
    };
    let (mut tops, mut diffs, mut unread) = (0, 0, Vec::new());
    for dir in public
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if !dir.is_dir() {
            continue;
        }
        let files = heaps_of(&dir);
        for file in &files {
            match compare_top(file) {
                true => tops += 1,
                false => unread.push(file.file_name().unwrap().to_owned()),
            }
        }
        for pair in files.windows(2) {
            diffs += usize::from(compare_diff(&pair[0], &pair[1]));
        }
    }
    eprintln!(
        "compared with go tool pprof: {tops} tops, {diffs} diffs; not read by both: {unread:?}"
    );
    assert!(
        tops >= 16 && diffs >= 12,
        "{tops} tops and {diffs} diffs only"
    );
}
