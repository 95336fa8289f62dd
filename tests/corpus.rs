//! The real captures of `fixtures/corpus`: what heapdrift says of each, against the label that
//! was written before it ever saw them.

mod support;

use serde_json::Value;
use support::{Case, cases, heapdrift, json};

#[test]
fn every_leak_is_named_and_every_repaired_program_is_clean() {
    let mut table = String::new();
    let mut misses = Vec::new();
    for case in cases() {
        let output = heapdrift()
            .arg("diagnose")
            .arg(&case.dir)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let diagnosis = json(&output);
        let first = &diagnosis["findings"][0];
        table.push_str(&format!(
            "{:32} label {:10} verdict {:9} pattern {:22} culprit {}\n",
            case.name,
            case.label,
            diagnosis["verdict"].as_str().unwrap_or("?"),
            first["pattern"].as_str().unwrap_or("-"),
            first["culprit"]["function"].as_str().unwrap_or("-"),
        ));
        misses.extend(misjudged(&case, &diagnosis, output.status.code()));
    }
    println!("{table}");
    assert!(misses.is_empty(), "{table}\n{}", misses.join("\n"));
}

/// What is wrong with a diagnosis, in words.
fn misjudged(case: &Case, diagnosis: &Value, code: Option<i32>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            wrong.push(format!("{}: {what}", case.name));
        }
    };
    let findings = diagnosis["findings"].as_array().unwrap();
    if case.label == "not-a-leak" {
        let leaks = findings
            .iter()
            .filter(|finding| finding["verdict"] == "leak")
            .count();
        expect(leaks == 0, format!("{leaks} findings are called a leak"));
        expect(code == Some(0), format!("exit code {code:?}"));
        return wrong;
    }
    expect(
        diagnosis["verdict"] == "leak",
        format!("verdict {}", diagnosis["verdict"]),
    );
    expect(code == Some(1), format!("exit code {code:?}"));
    let first = &findings[0];
    expect(
        first["verdict"] == "leak",
        format!("first finding {}", first["verdict"]),
    );
    expect(
        first["pattern"].as_str() == case.pattern.as_deref(),
        format!("pattern {}", first["pattern"]),
    );
    expect(
        first["culprit"]["function"].as_str() == case.culprit.as_deref(),
        format!("culprit {}", first["culprit"]["function"]),
    );
    // The program's own counters, against the interval.
    let rate = (case.rate[0] + case.rate[1]) / 2.0;
    let [low, high] = [0, 1].map(|i| first["growth"]["ci95"][i].as_f64().unwrap_or(f64::NAN));
    expect(
        low <= rate && rate <= high,
        format!("interval {low:.3e} to {high:.3e} misses the program's own rate {rate:.3e}"),
    );
    wrong
}

#[test]
fn one_snapshot_is_a_suspect_and_two_are_never_a_leak() {
    for case in cases().into_iter().filter(|case| case.label == "leak") {
        let stems = case.stems();
        let one = case.part(&stems[stems.len() - 1..]);
        let output = heapdrift()
            .arg("diagnose")
            .args(&one)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let diagnosis = json(&output);
        assert_eq!(diagnosis["verdict"], "undecided", "{}", case.name);
        let first = &diagnosis["findings"][0];
        assert_eq!(first["verdict"], "suspect", "{}", case.name);
        assert_eq!(
            first["pattern"].as_str(),
            case.pattern.as_deref(),
            "{}",
            case.name
        );
        let steps = diagnosis["next_steps"].to_string();
        assert!(steps.contains("four or more"), "{}: {steps}", case.name);
        assert_eq!(output.status.code(), Some(0), "{}", case.name);

        let two = case.part(&[stems[0].clone(), stems[stems.len() - 1].clone()]);
        let output = heapdrift()
            .arg("diagnose")
            .args(&two)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let diagnosis = json(&output);
        assert_eq!(diagnosis["verdict"], "growing", "{}", case.name);
        let verdicts: Vec<_> = diagnosis["findings"].as_array().unwrap().iter().collect();
        assert!(
            verdicts.iter().all(|f| f["verdict"] != "leak"),
            "{}",
            case.name
        );
        assert_eq!(
            diagnosis["findings"][0]["pattern"].as_str(),
            case.pattern.as_deref()
        );
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}: --fail-on is leak by default",
            case.name
        );
        let strict = heapdrift()
            .arg("diagnose")
            .args(&two)
            .args(["--fail-on", "growing"])
            .output()
            .unwrap();
        assert_eq!(strict.status.code(), Some(1), "{}", case.name);
    }
}

#[test]
fn one_snapshot_of_a_repaired_program_is_no_suspect() {
    for case in cases()
        .into_iter()
        .filter(|case| case.label == "not-a-leak")
    {
        let stems = case.stems();
        let one = case.part(&stems[stems.len() - 1..]);
        let output = heapdrift()
            .arg("diagnose")
            .args(&one)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let findings = &json(&output)["findings"];
        assert_eq!(
            findings.as_array().map(Vec::len),
            Some(0),
            "{}: {findings}",
            case.name
        );
    }
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    for case in cases() {
        let mut files = case.part(&case.stems());
        let run = |files: &[std::path::PathBuf]| {
            let output = heapdrift()
                .arg("diagnose")
                .args(files)
                .args(["-f", "json"])
                .output()
                .unwrap();
            json(&output)
        };
        let sorted = run(&files);
        // A fixed shuffle: every third file first.
        files.sort_by_key(|file| {
            file.to_string_lossy()
                .bytes()
                .map(usize::from)
                .sum::<usize>()
                % 3
        });
        files.reverse();
        let shuffled = run(&files);
        assert_eq!(sorted["findings"], shuffled["findings"], "{}", case.name);
        assert_eq!(sorted["series"], shuffled["series"], "{}", case.name);
    }
}
