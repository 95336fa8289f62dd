//! The same captures in another form: the answer stays, and what is wrong is said.

use crate::judged::{Judged, corpus};
use crate::misses::Ledger;
use crate::support::{Case, diagnose};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

#[test]
fn the_order_of_the_files_does_not_matter() {
    for Judged { case, .. } in corpus() {
        let mut files = case.part(&case.stems());
        let run = |files: &[PathBuf]| diagnose(files).0;
        let sorted = run(&files);
        // A fixed shuffle: every third file first.
        files.sort_by_key(|file| {
            let bytes = file.to_string_lossy().into_owned().into_bytes();
            bytes.into_iter().map(usize::from).sum::<usize>() % 3
        });
        files.reverse();
        let shuffled = run(&files);
        assert_eq!(sorted["findings"], shuffled["findings"], "{}", case.name);
        assert_eq!(sorted["series"], shuffled["series"], "{}", case.name);
    }
}

#[test]
fn files_given_twice_change_nothing() {
    let mut ledger = Ledger::of(&["twice"]);
    for judged in corpus() {
        let case = &judged.case;
        let dir = tempfile::tempdir().unwrap();
        for file in case.captured() {
            let name = file.file_name().unwrap().to_str().unwrap();
            for copy in [name.to_owned(), format!("again-{name}")] {
                fs::copy(&file, dir.path().join(copy)).unwrap();
            }
        }
        let (twice, code) = diagnose(&[dir.path()]);
        let is_same = answer(&twice) == answer(&judged.diagnosis) && code == judged.code;
        let said = format!(
            "{:?} became {:?}",
            answer(&judged.diagnosis),
            answer(&twice)
        );
        ledger.expect(case, is_same, "twice", said);
        let is_told = warnings(&twice).contains("show the same collector cycle twice");
        ledger.expect(case, is_told, "twice", "no warning of it".to_owned());
    }
    ledger.settle();
}

/// A capture that was cut off: one snapshot less, and its goroutines and figures without a heap.
/// It may cost a verdict that was just reached, so only leaks above twice the detection limit
/// are asked for, and nine of ten of those; a look-alike must not become a leak by it.
#[test]
fn a_file_that_is_cut_short_costs_one_snapshot() {
    let mut ledger = Ledger::of(&["cut"]);
    let (mut leaks, mut still, mut same_culprit) = (0, 0, 0);
    let mut changed = String::new();
    for judged in corpus() {
        let case = &judged.case;
        let dir = tempfile::tempdir().unwrap();
        let victim = heap_to_cut(case);
        for file in case.captured() {
            let name = file.file_name().unwrap();
            fs::copy(&file, dir.path().join(name)).unwrap();
        }
        let path = dir.path().join(&victim);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let (cut, _) = diagnose(&[dir.path()]);
        let is_told = warnings(&cut).contains(&format!("{victim} is left out"));
        ledger.expect(case, is_told, "cut", "no warning of it".to_owned());
        let (before, after) = (answer(&judged.diagnosis), answer(&cut));
        if before != after {
            changed += &format!(
                "{} without {victim}: {before:?} became {after:?}\n",
                case.name
            );
        }
        let becomes_a_leak = !case.is_leak() && !judged.is_called_a_leak() && after.0 == "leak";
        ledger.expect(case, !becomes_a_leak, "cut", "becomes a leak".to_owned());
        if judged.is_called_a_leak() && judged.is_above_twice_the_limit() {
            leaks += 1;
            still += usize::from(after.0 == "leak");
            same_culprit += usize::from(after == before);
        }
    }
    println!(
        "with one heap file cut short: {still} of {leaks} leaks are still called one, \
         {same_culprit} with the same first culprit\n{changed}"
    );
    ledger.settle();
    assert!(10 * still >= 9 * leaks, "{still} of {leaks}");
    assert!(10 * same_culprit >= 9 * leaks, "{same_culprit} of {leaks}");
}

/// One in the middle as a rule, another from case to case.
fn heap_to_cut(case: &Case) -> String {
    let stems = case.stems();
    let sum: usize = case.name.bytes().map(usize::from).sum();
    format!("{}.heap.pb.gz", stems[sum % stems.len()])
}

/// The verdict of the whole and the first culprit.
fn answer(diagnosis: &Value) -> (&str, Option<&str>) {
    let culprit = &diagnosis["findings"][0]["culprit"]["function"];
    (diagnosis["verdict"].as_str().unwrap(), culprit.as_str())
}

fn warnings(diagnosis: &Value) -> String {
    diagnosis["warnings"].to_string()
}
