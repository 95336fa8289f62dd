//! What `-f pprof` and `-f folded` write holds exactly the changes of `diff -f json` and the
//! figures of `top -f json`: read by a second implementation of the format and, where Go is
//! installed, by `go tool pprof` itself.

mod support;

use pprof::protos::{Message, Profile};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{cases, heapdrift, json, profiles, skipped};

/// Bytes by function.
type Bytes = BTreeMap<String, i64>;

/// Series of the corpus: a leak, goroutines that leak, memory that shrinks in places.
const CASES: [&str; 4] = [
    "logger-promise-chain",
    "stale-watchers",
    "batch-sawtooth",
    "metric-label-cardinality",
];

fn first_and_last(case: &str) -> Option<[PathBuf; 2]> {
    let case = cases().into_iter().find(|known| known.name == case)?;
    let stems = case.stems();
    let file = |stem: &String| case.dir.join(format!("{stem}.heap.pb.gz"));
    Some([file(stems.first()?), file(stems.last()?)])
}

fn run(arguments: &[&str], files: &[PathBuf]) -> Vec<u8> {
    let output = heapdrift().args(arguments).args(files).output().unwrap();
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn rows(arguments: &[&str], files: &[PathBuf], key: &str) -> Bytes {
    let result: Value = serde_json::from_slice(&run(arguments, files)).unwrap();
    let mut sums = Bytes::new();
    for row in result["rows"].as_array().unwrap() {
        let function = row["function"].as_str().unwrap().to_owned();
        *sums.entry(function).or_default() += row[key].as_i64().unwrap();
    }
    sums.retain(|_, bytes| *bytes != 0);
    sums
}

fn decode(bytes: &[u8]) -> Profile {
    Profile::decode(profiles::gunzip(bytes).as_slice()).unwrap()
}

/// Bytes at the leaf of each sample, by the second reader.
fn flat(profile: &Profile) -> Bytes {
    let name = |location: u64| {
        let location = profile.location.iter().find(|l| l.id == location).unwrap();
        let id = location.line[0].function_id;
        let function = profile.function.iter().find(|f| f.id == id).unwrap();
        profile.string_table[function.name as usize].clone()
    };
    let space = profile
        .sample_type
        .iter()
        .position(|kind| profile.string_table[kind.ty as usize] == "inuse_space")
        .unwrap();
    let mut sums = Bytes::new();
    for sample in &profile.sample {
        *sums.entry(name(sample.location_id[0])).or_default() += sample.value[space];
    }
    sums.retain(|_, bytes| *bytes != 0);
    sums
}

#[test]
fn the_profile_holds_the_changes_of_the_diff() {
    for case in CASES {
        let Some(files) = first_and_last(case) else {
            continue;
        };
        let ours = flat(&decode(&run(&["diff", "-f", "pprof"], &files)));
        let told = rows(&["diff", "-f", "json"], &files, "delta_bytes");
        assert_eq!(ours, told, "{case}");
        assert!(ours.values().any(|bytes| *bytes < 0) && ours.values().any(|bytes| *bytes > 0));
        let last = &files[1..];
        let ours = flat(&decode(&run(&["top", "-f", "pprof"], last)));
        assert_eq!(
            ours,
            rows(&["top", "-f", "json"], last, "flat_bytes"),
            "{case}"
        );
    }
}

#[test]
fn a_diagnosis_is_written_as_the_growth_of_its_run() {
    let Some(files) = first_and_last(CASES[0]) else {
        return;
    };
    let dir = files[0].parent().unwrap().to_owned();
    let profile = decode(&run(&["diagnose", "-f", "pprof"], &[dir]));
    let told = rows(&["diff", "-f", "json"], &files, "delta_bytes");
    assert_eq!(flat(&profile), told, "of one process: the same as the diff");
    let comments: Vec<&str> = profile
        .comment
        .iter()
        .map(|index| profile.string_table[*index as usize].as_str())
        .collect();
    assert!(comments[0].starts_with("heapdrift: growth of the heap in use"));
    assert_eq!(
        comments.len(),
        11,
        "a line for each of ten snapshots: {comments:?}"
    );
    assert!(profile.duration_nanos > 0 && profile.time_nanos > 0);
}

#[test]
fn the_folded_lines_are_the_same_stacks() {
    let Some(files) = first_and_last(CASES[1]) else {
        return;
    };
    let text = String::from_utf8(run(&["diff", "-f", "folded"], &files)).unwrap();
    let mut sums = Bytes::new();
    let mut last = "";
    for line in text.lines() {
        let (rest, after) = line.rsplit_once(' ').unwrap();
        let (stack, before) = rest.rsplit_once(' ').unwrap();
        let change = after.parse::<i64>().unwrap() - before.parse::<i64>().unwrap();
        *sums
            .entry(stack.rsplit(';').next().unwrap().to_owned())
            .or_default() += change;
        assert!(last < stack, "sorted, and each stack once");
        last = stack;
    }
    sums.retain(|_, bytes| *bytes != 0);
    assert_eq!(sums, rows(&["diff", "-f", "json"], &files, "delta_bytes"));
}

#[test]
fn a_growth_profile_is_no_snapshot() {
    let Some(files) = first_and_last(CASES[0]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let growth = dir.path().join("growth.pb.gz");
    std::fs::write(&growth, run(&["diff", "-f", "pprof"], &files)).unwrap();
    let output = heapdrift().arg("top").arg(&growth).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn the_same_input_gives_the_same_bytes_and_files_their_formats() {
    let Some(files) = first_and_last(CASES[0]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let names = [
        "a.pb.gz", "a.pb", "a.folded", "a.svg", "a.md", "a.json", "a.txt",
    ];
    for round in ["1", "2"] {
        let mut command = heapdrift();
        command.arg("diff").args(&files);
        std::fs::create_dir(dir.path().join(round)).unwrap();
        for name in names {
            command.arg("-o").arg(dir.path().join(round).join(name));
        }
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty());
    }
    let read = |round: &str, name: &str| std::fs::read(dir.path().join(round).join(name)).unwrap();
    for name in names {
        assert!(read("1", name) == read("2", name), "{name}");
    }
    assert_eq!(profiles::gunzip(&read("1", "a.pb.gz")), read("1", "a.pb"));
    assert!(read("1", "a.svg").starts_with(b"<?xml"));
    assert!(read("1", "a.md").starts_with(b"## heapdrift"));
}

/// Flat bytes of `go tool pprof -top`.
fn pprof_top(file: &Path) -> Bytes {
    let output = Command::new("go")
        .args([
            "tool",
            "pprof",
            "-top",
            "-unit=B",
            "-nodefraction=0",
            "-edgefraction=0",
        ])
        .args(["-nodecount=1000000", "-symbolize=none"])
        .arg(file)
        .env("PPROF_TMPDIR", std::env::temp_dir())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Type: inuse_space"), "{text}");
    let rows = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("flat "))
        .skip(1);
    let mut sums = Bytes::new();
    for line in rows {
        let bytes = line.split_whitespace().next().unwrap();
        // flat, flat %, sum %, cum, cum %, and the rest is the name.
        let mut rest = line.trim_start();
        for _ in 0..5 {
            rest = rest[rest.find(' ').unwrap()..].trim_start();
        }
        let bytes: i64 = bytes.trim_end_matches('B').parse().unwrap();
        *sums
            .entry(rest.trim_end_matches(" (inline)").to_owned())
            .or_default() += bytes;
    }
    sums.retain(|_, bytes| *bytes != 0);
    sums
}

#[test]
fn go_tool_pprof_shows_the_changes_of_the_diff() {
    let has_go = Command::new("go").arg("version").output();
    if !has_go.is_ok_and(|output| output.status.success()) {
        skipped("Go is not installed, so go tool pprof did not open what -f pprof writes");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for case in CASES {
        let Some(files) = first_and_last(case) else {
            continue;
        };
        let file = dir.path().join(format!("{case}.pb.gz"));
        std::fs::write(&file, run(&["diff", "-f", "pprof"], &files)).unwrap();
        let told = rows(&["diff", "-f", "json"], &files, "delta_bytes");
        assert_eq!(pprof_top(&file), told, "{case}");
    }
}

#[test]
fn two_builds_are_written_under_the_names_at_which_they_compare() {
    let old = profiles::Pprof::heap(0)
        .sampled("main.keep@20/18 < main.main@9/5", 4096, 900, 400)
        .sampled("main.table@30/28 < main.main@10/5", 65_536, 30, 20)
        .with(|profile| profile.build_id = "aa".to_owned());
    let new = profiles::Pprof::heap(600)
        .sampled("main.keep@25/23 < main.main@14/10", 4096, 500, 420)
        .sampled("main.table@35/33 < main.main@15/10", 65_536, 25, 20)
        .with(|profile| profile.build_id = "bb".to_owned());
    let dir = tempfile::tempdir().unwrap();
    let files = [("1.pb.gz", old), ("2.pb.gz", new)].map(|(name, profile)| {
        let path = dir.path().join(name);
        std::fs::write(&path, profile.gzip()).unwrap();
        path
    });
    let diff = json(
        &heapdrift()
            .arg("diff")
            .args(&files)
            .args(["-f", "json"])
            .output()
            .unwrap(),
    );
    assert_eq!(diff["identity"]["is_other_build"], true);
    let profile = decode(&run(&["diff", "-f", "pprof"], &files));
    assert_eq!(
        flat(&profile),
        rows(&["diff", "-f", "json"], &files, "delta_bytes")
    );
    // Lined up, each site is one sample with the change, not one that went and one that came.
    assert!(profile.sample.len() <= 2, "{}", profile.sample.len());
}
