//! Several processes side by side: a capture store with one directory a target.

#[path = "support/profiles.rs"]
#[allow(dead_code)]
mod profiles;

use assert_cmd::Command;
use profiles::{Pprof, leaking_process};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Writes one target of a store.
fn target(root: &Path, directory: &str, name: &str, heaps: &[Pprof]) {
    let directory = root.join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    let description = serde_json::json!({"schema_version": 1, "target": name});
    std::fs::write(directory.join("target.json"), description.to_string()).unwrap();
    for (number, heap) in heaps.iter().enumerate() {
        let path = directory.join(format!("{number}.heap.pb.gz"));
        std::fs::write(path, heap.gzip()).unwrap();
    }
}

/// Eight snapshots, five minutes apart, of a process that frees all that it allocates.
fn steady_process() -> Vec<Pprof> {
    let snapshot = |number: i64| {
        Pprof::heap(number * 300).sampled("main.cache < main.main", 4096, 200 + 20 * number, 200)
    };
    (0..8).map(snapshot).collect()
}

/// Two of three pods leak alike.
fn store() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    target(root.path(), "x", "prod/api-0", &leaking_process(0, 8));
    target(root.path(), "y", "prod/api-1", &steady_process());
    target(root.path(), "z", "prod/api-2", &leaking_process(40, 8));
    root
}

fn diagnose(root: &TempDir, more: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("heapdrift"))
        .arg("diagnose")
        .arg(root.path())
        .args(more)
        .env("HEAPDRIFT_CONFIG", "")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

fn names(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect()
}

#[test]
fn it_says_which_pods_leak_and_which_do_not() {
    let (code, text) = diagnose(&store(), &["-f", "json"]);
    assert_eq!(code, Some(1));
    let fleet: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(fleet["verdict"], "leak");
    let verdicts: Vec<&str> = fleet["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["diagnosis"]["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["leak", "steady", "leak"]);
    let worst = &fleet["findings"][0];
    assert_eq!(names(&worst["leaks_in"]), ["prod/api-0", "prod/api-2"]);
    assert_eq!(names(&worst["not_in"]), ["prod/api-1"]);
    // Both leak at the same pace: the mean is that of each, and its interval is narrow.
    let rate_of = |member: usize| {
        let findings = &fleet["members"][member]["diagnosis"]["findings"];
        findings[0]["growth"]["bytes_per_hour"].as_f64().unwrap()
    };
    let pooled = worst["pooled"]["bytes_per_hour"].as_f64().unwrap();
    assert!(
        (pooled - (rate_of(0) + rate_of(2)) / 2.0).abs() < 1.0,
        "{pooled}"
    );
    // Evidence of two is stronger than that of the better one.
    let weakest = |member: usize| {
        let thirds = &fleet["members"][member]["diagnosis"]["findings"][0]["course"]["thirds"];
        let thirds = thirds.as_array().unwrap().iter();
        thirds
            .map(|third| third["p_value"].as_f64().unwrap())
            .fold(0.0, f64::max)
    };
    let together = worst["sustained_p_value"].as_f64().unwrap();
    assert!(together < weakest(0).min(weakest(2)), "{together}");
}

#[test]
fn the_json_is_as_its_schemas_say() {
    let (_, text) = diagnose(&store(), &["-f", "json"]);
    let fleet: Value = serde_json::from_str(&text).unwrap();
    let check = |schema: &str, value: &Value| {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0]);
    };
    check(heapdrift::report::FLEET_SCHEMA, &fleet);
    for member in fleet["members"].as_array().unwrap() {
        check(heapdrift::report::DIAGNOSIS_SCHEMA, &member["diagnosis"]);
    }
}

#[test]
fn each_pod_has_its_line() {
    let (_, text) = diagnose(&store(), &[]);
    assert!(
        text.starts_with("verdict     LEAK: 2 of 3 processes leak\n"),
        "{text}"
    );
    for (word, pod) in [("LEAK", "api-0"), ("STEADY", "api-1"), ("LEAK", "api-2")] {
        let has_line = text
            .lines()
            .any(|line| line.starts_with(word) && line.contains(&format!("prod/{pod}")));
        assert!(has_line, "{word} {pod}: {text}");
    }
    assert!(
        text.contains("a leak in 2 of 3: prod/api-0, prod/api-2; not in prod/api-1"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn it_is_written_as_markdown() {
    let (_, text) = diagnose(&store(), &["-f", "markdown"]);
    assert!(
        text.starts_with("## heapdrift: LEAK\n\n**2 of 3 processes leak**"),
        "{text}"
    );
    for words in [
        "prod/api-1",
        "**where**: a leak in 2 of 3",
        "<details>",
        "main.keep",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let output = Command::new(assert_cmd::cargo::cargo_bin!("heapdrift"))
        .arg("diagnose")
        .arg(store().path())
        .args(["-f", "svg"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("several processes have a page and a flame graph each"),
        "{told}"
    );
}

#[test]
fn a_pod_that_cannot_be_judged_says_why() {
    let root = store();
    std::fs::remove_dir_all(root.path().join("y")).unwrap();
    target(root.path(), "y", "prod/api-1", &[]);
    std::fs::write(root.path().join("y/0.heap.pb.gz"), "<html>").unwrap();
    let (code, text) = diagnose(&root, &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("prod/api-1"), "{text}");
    assert!(text.contains("HTML"), "{text}");
}
