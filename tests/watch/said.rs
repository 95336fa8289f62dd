//! Lines, JSON lines, kept snapshots and written reports.

use crate::support::netrun::{Said, files, heaps, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Reply, Server};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn leaking() -> Server {
    let process = Process::leaking();
    Server::http(move |request| process.reply(request))
}

/// Answers heap requests as `change` says, by their number; the rest as the process does.
fn leaking_but(
    change: impl Fn(usize, &Process) -> Option<Reply> + Send + Sync + 'static,
) -> Server {
    let (process, asked) = (Arc::new(Process::leaking()), AtomicUsize::new(0));
    Server::http(move |request| {
        let is_heap = request.profile() == "heap?gc=1";
        let number = asked.fetch_add(usize::from(is_heap), Ordering::SeqCst);
        let reply = if is_heap {
            change(number, &process)
        } else {
            None
        };
        reply.unwrap_or_else(|| process.reply(request))
    })
}

fn watch(desk: &Path, server: &Server, options: &[&str]) -> Said {
    let url = server.url();
    let common = ["watch", &url, "--every", "100ms", "--retries", "0"];
    run(desk, &[&common, options].concat())
}

#[test]
fn a_line_for_each_snapshot_and_the_report() {
    let desk = tempfile::tempdir().unwrap();
    let said = watch(desk.path(), &leaking(), &["--count", "10", "-v"]);
    said.ended(1);
    for number in 1..=10 {
        let part = format!(" snapshot {number}: ");
        assert_eq!(said.count("note: ", &part), 1, "{}", said.err);
    }
    assert_eq!(said.lines("warning: ").len(), 0, "{}", said.err);
    assert!(said.out.contains("LEAK"), "{}", said.out);
    assert!(said.out.contains("main.keep"), "{}", said.out);
    // The snapshots were for the watch alone, and their place is nobody's business.
    assert_eq!(files(desk.path()).len(), 0);
    assert!(!said.out.contains("/tmp"), "{}", said.out);
    assert!(said.out.contains("127.0.0.1"), "{}", said.out);
}

#[test]
fn as_long_as_asked_for() {
    let desk = tempfile::tempdir().unwrap();
    let said = watch(desk.path(), &leaking(), &["--for", "500ms", "--exit-zero"]);
    said.ended(0);
    let taken = said.count("note: ", " snapshot ");
    assert!((1..=6).contains(&taken), "{}", said.err);
    assert!(!said.out.is_empty());
}

#[test]
fn quiet_is_quiet() {
    let desk = tempfile::tempdir().unwrap();
    let said = watch(desk.path(), &leaking(), &["--count", "10", "-q"]);
    said.ended(1);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
}

#[test]
fn json_lines_end_with_the_report() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking_but(|number, _| (number == 2).then(|| Reply::status(403, "not now")));
    let said = watch(desk.path(), &server, &["--count", "11", "-f", "json"]);
    said.ended(1);
    assert_eq!(said.err, "");
    let lines = said.json_lines();
    let events: Vec<&str> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(events.len(), 12, "{events:?}");
    assert_eq!(events[..4], ["snapshot", "snapshot", "missed", "snapshot"]);
    assert_eq!(events[11], "report");
    let target = server.url();
    for (index, line) in lines[..11].iter().enumerate() {
        assert_eq!(line["target"], target);
        if line["event"] == "missed" {
            assert!(line["message"].as_str().unwrap().contains("HTTP 403"));
            continue;
        }
        let taken = index + 1 - usize::from(index > 2);
        assert_eq!(line["snapshots"], taken);
        assert!(line["bytes"].as_i64().unwrap() > 0, "{line}");
    }
    assert_eq!(lines[10]["verdict"], "leak");
    assert_eq!(lines[10]["worst"]["verdict"], "leak");
    assert_eq!(lines[11]["report"]["verdict"], "leak");
    // The report is what `diagnose` prints.
    let schema = include_str!("../../src/report/diagnosis.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&lines[11]["report"])
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn snapshots_are_kept_and_reports_written_where_asked() {
    let desk = tempfile::tempdir().unwrap();
    let options = [
        "--count",
        "10",
        "-o",
        "kept",
        "-o",
        "report.json",
        "-o",
        "report.txt",
    ];
    let said = watch(desk.path(), &leaking(), &options);
    said.ended(1);
    assert_eq!(said.out, "");
    said.says("note: the snapshots are in kept");
    assert_eq!(heaps(&desk.path().join("kept")).len(), 10);
    let report = fs::read(desk.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["verdict"], "leak");
    let table = fs::read_to_string(desk.path().join("report.txt")).unwrap();
    assert!(table.contains("LEAK"), "{table}");
    // A later look at the files says the same.
    let kept = fs::read_dir(desk.path().join("kept"))
        .unwrap()
        .next()
        .unwrap();
    let kept = kept.unwrap().path().display().to_string();
    let again = run(desk.path(), &["diagnose", &kept, "-f", "json"])
        .ended(1)
        .json();
    for part in ["verdict", "totals", "findings"] {
        assert_eq!(again[part], report[part], "{part}");
    }
}

#[test]
fn two_directories_are_one_too_many() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let said = watch(
        desk.path(),
        &server,
        &["-o", "a", "-o", "b", "--count", "1"],
    );
    said.refused(2, &["-o b", "one directory"], "-o FILE");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_watch() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let said = watch(
        desk.path(),
        &server,
        &["-o", "none/report.json", "--count", "1"],
    );
    said.refused(2, &["none/report.json"], "-o");
    assert_eq!(server.requests().len(), 0, "after hours of watching");
}

#[test]
fn a_first_failure_ends_it() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking_but(|_, _| Some(Reply::status(401, "who are you")));
    let said = watch(desk.path(), &server, &[]);
    said.refused(3, &["HTTP 401: who are you"], "--bearer-token-file");
}

#[test]
fn later_failures_are_gaps() {
    let desk = tempfile::tempdir().unwrap();
    // Half of all snapshots from the third on, and the last one.
    let server = leaking_but(|number, _| {
        (number > 1 && number % 2 == 1).then(|| Reply::status(403, "not now"))
    });
    let said = watch(desk.path(), &server, &["--count", "20"]);
    said.ended(1);
    assert_eq!(said.count("warning: no snapshot: ", "HTTP 403: not now"), 9);
    assert!(said.out.contains("LEAK"), "{}", said.out);
}

#[test]
fn a_process_that_begins_anew_is_told_and_watched_on() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking_but(|number, process| {
        if number == 4 {
            process.restart();
        }
        None
    });
    let options = ["--count", "14", "-f", "json", "--exit-zero"];
    let said = watch(desk.path(), &server, &options);
    let lines = said.ended(0).json_lines();
    let told: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "restarted")
        .collect();
    assert_eq!(told.len(), 1, "{lines:#?}");
    // The report says it too, and goes by the newest process.
    let report = &lines.last().unwrap()["report"];
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("restart") || warnings.contains("process"),
        "{report:#}"
    );
}

#[test]
fn several_processes_side_by_side() {
    let desk = tempfile::tempdir().unwrap();
    let (one, steady) = (leaking(), Process::steady());
    let two = Server::http(move |request| steady.reply(request));
    let said = watch(
        desk.path(),
        &one,
        &[&two.url(), "--count", "12", "-f", "json"],
    );
    let lines = said.ended(1).json_lines();
    for server in [&one, &two] {
        let target = server.url();
        let of = |line: &&Value| line["target"] == *target.as_str() && line["event"] == "snapshot";
        let last = lines.iter().rfind(of).unwrap();
        let expected = if server.address == one.address {
            "leak"
        } else {
            "steady"
        };
        assert_eq!(last["verdict"], expected, "{last}");
    }
    assert_eq!(lines.last().unwrap()["event"], "report");
}
