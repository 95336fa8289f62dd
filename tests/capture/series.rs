//! Series: as many as asked for, gaps that are said, and processes that begin anew.

use crate::support::netrun::{files_named, heaps, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Reply, Server};
use crate::support::profiles::gunzip;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn leaking() -> Server {
    let process = Process::leaking();
    Server::http(move |request| process.reply(request))
}

fn capture(desk: &Path, server: &Server, options: &[&str]) -> crate::support::netrun::Said {
    let url = server.url();
    let common = ["capture", &url, "--every", "100ms"];
    run(desk, &[&common, options].concat())
}

fn only_directory(desk: &Path) -> PathBuf {
    let mut entries = fs::read_dir(desk.join("captures")).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    path
}

#[test]
fn as_many_as_asked_for() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let said = capture(desk.path(), &server, &["--count", "3"]);
    said.ended(0).says("note: 3 snapshots captured\n");
    assert_eq!(said.out, "");
    assert_eq!(said.lines("warning: ").len(), 0, "{}", said.err);
    let directory = only_directory(desk.path());
    let name = format!("127.0.0.1-{}", server.port());
    assert!(directory.ends_with(&name), "{directory:?}");
    let last = said.err.lines().last().unwrap();
    assert_eq!(
        last,
        format!("note: next: heapdrift diagnose captures/{name}")
    );
    for suffix in ["heap.pb.gz", "goroutine.txt.gz", "memory.json"] {
        assert_eq!(files_named(&directory, suffix).len(), 3, "{suffix}");
    }
    // The profile is kept as it came, and the dump names each goroutine.
    let dump = gunzip(&fs::read(&files_named(&directory, "goroutine.txt.gz")[0]).unwrap());
    assert!(dump.starts_with(b"goroutine 1 ["));
    let memory = fs::read(&files_named(&directory, "memory.json")[0]).unwrap();
    let memory: Value = serde_json::from_slice(&memory).unwrap();
    assert!(memory["memstats"]["HeapAlloc"].is_string(), "{memory:#}");
    // What is said to come next works.
    let said = run(
        desk.path(),
        &["diagnose", &format!("captures/{name}"), "-f", "json"],
    );
    assert_eq!(said.ended(0).json()["series"]["snapshots"], 3);
}

#[test]
fn as_long_as_asked_for() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let url = server.url();
    let options = ["capture", &url, "--every", "200ms", "--for", "900ms"];
    let said = run(desk.path(), &options);
    said.ended(0).says("captured");
    // At 0, 200, 400, 600 and 800 ms; fewer where the machine is busy.
    let taken = heaps(desk.path()).len();
    assert!((1..=5).contains(&taken), "{taken}: {}", said.err);
}

#[test]
fn one_unless_more_are_asked_for() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let said = run(desk.path(), &["capture", &server.url(), "-o", "there"]);
    said.ended(0).says("1 snapshot captured");
    assert_eq!(heaps(&desk.path().join("there")).len(), 1);
    // Quiet is quiet.
    let said = run(desk.path(), &["capture", &server.url(), "-q"]);
    assert_eq!((said.ended(0).err.as_str(), said.out.as_str()), ("", ""));
}

#[test]
fn a_profile_that_most_runtimes_do_not_have_is_asked_for_once() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    capture(desk.path(), &server, &["--count", "3"]).ended(0);
    let profiles = server.profiles();
    let asked = |profile: &str| profiles.iter().filter(|p| *p == profile).count();
    assert_eq!(asked("heap?gc=1"), 3);
    assert_eq!(asked("goroutineleak"), 1);
    assert_eq!(files_named(desk.path(), "goroutineleak.pb.gz").len(), 0);
}

#[test]
fn many_goroutines_are_not_stopped_for_a_dump() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::steady();
    process.set_goroutines(20_000);
    let server = Server::http(move |request| process.reply(request));
    capture(desk.path(), &server, &["--count", "1"]).ended(0);
    let profiles = server.profiles();
    assert!(profiles.contains(&"goroutine?debug=1".to_owned()));
    assert!(
        !profiles.contains(&"goroutine?debug=2".to_owned()),
        "{profiles:?}"
    );
    let groups = &files_named(desk.path(), "goroutine.txt.gz")[0];
    let text = gunzip(&fs::read(groups).unwrap());
    assert!(text.starts_with(b"goroutine profile: total 20000"));
}

#[test]
fn a_failed_snapshot_is_a_gap() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    // The second snapshot is refused at its first request.
    let heaps_asked = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::http(move |request| {
        if request.profile() == "heap?gc=1" {
            let number = heaps_asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if number == 1 {
                return Reply::status(403, "not now");
            }
        }
        process.reply(request)
    });
    let said = capture(desk.path(), &server, &["--count", "4"]);
    said.ended(0)
        .says("3 snapshots captured, 1 snapshot missed");
    let missed = said.lines("warning: ");
    assert_eq!(missed.len(), 1, "{}", said.err);
    assert!(
        missed[0].starts_with("warning: no snapshot: "),
        "{}",
        missed[0]
    );
    assert!(missed[0].contains("HTTP 403: not now"), "{}", missed[0]);
    assert_eq!(heaps(desk.path()).len(), 3);
}

#[test]
fn half_a_snapshot_is_kept_and_said() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let server = Server::http(move |request| match request.path.ends_with("/goroutine") {
        true => Reply::status(500, "too many to count"),
        false => process.reply(request),
    });
    let said = capture(desk.path(), &server, &["--count", "2"]);
    said.ended(0).says("2 snapshots captured");
    let missing = said.count("warning: no goroutines: ", "HTTP 500: too many to count");
    assert_eq!(missing, 2, "{}", said.err);
    assert_eq!(heaps(desk.path()).len(), 2);
    assert_eq!(files_named(desk.path(), "memory.json").len(), 2);
    assert_eq!(files_named(desk.path(), "goroutine.txt.gz").len(), 0);

    // The other half: the heap is missing.
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let server = Server::http(move |request| match request.path.ends_with("/heap") {
        true => Reply::status(500, "no heap"),
        false => process.reply(request),
    });
    let said = capture(desk.path(), &server, &["--count", "1"]);
    said.ended(0).says("warning: no heap: ");
    assert_eq!(heaps(desk.path()).len(), 0);
    assert_eq!(files_named(desk.path(), "goroutine.txt.gz").len(), 1);
}

#[test]
fn a_dump_that_fails_leaves_the_groups() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let server = Server::http(move |request| match request.profile().as_str() {
        "goroutine?debug=2" => Reply::status(500, "no"),
        _ => process.reply(request),
    });
    capture(desk.path(), &server, &["--count", "1"]).ended(0);
    let groups = &files_named(desk.path(), "goroutine.txt.gz")[0];
    let text = gunzip(&fs::read(groups).unwrap());
    assert!(text.starts_with(b"goroutine profile: total 3"));
}

#[test]
fn a_process_that_begins_anew_is_noticed() {
    let desk = tempfile::tempdir().unwrap();
    let process = Arc::new(Process::leaking());
    let (served, heaps_asked) = (process.clone(), std::sync::atomic::AtomicUsize::new(0));
    let server = Server::http(move |request| {
        if request.profile() == "heap?gc=1" {
            let number = heaps_asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if number == 3 {
                served.restart();
            }
        }
        served.reply(request)
    });
    let said = capture(desk.path(), &server, &["--count", "6"]);
    said.ended(0).says("6 snapshots captured");
    assert_eq!(
        said.count("warning: ", "the process began anew"),
        1,
        "{}",
        said.err
    );
    assert_eq!(said.lines("warning: ").len(), 1, "{}", said.err);
    assert_eq!(heaps(desk.path()).len(), 6);
}

#[test]
fn running_it_again_appends() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    capture(desk.path(), &server, &["--count", "2"]).ended(0);
    let before = heaps(desk.path());
    let description = only_directory(desk.path()).join("target.json");
    let first = fs::read(&description).unwrap();
    capture(desk.path(), &server, &["--count", "2"]).ended(0);
    let after = heaps(desk.path());
    assert_eq!(after.len(), 4);
    assert_eq!(after[..2], before[..]);
    assert_eq!(fs::read(&description).unwrap(), first);
    // Another target has its own place.
    let other = leaking();
    capture(desk.path(), &other, &["--count", "1"]).ended(0);
    assert_eq!(
        fs::read_dir(desk.path().join("captures")).unwrap().count(),
        2
    );
}

#[test]
fn figures_of_a_metrics_page_are_kept() {
    let page = "# HELP x\nprocess_resident_memory_bytes 5e+07\nhttp_requests_total 7\n";
    let process = Process::leaking();
    let server = Server::http(move |request| match request.path.as_str() {
        "/metrics" => Reply::ok(page),
        _ => process.reply(request),
    });
    let desk = tempfile::tempdir().unwrap();
    let options = ["--count", "1", "--metrics", "/metrics"];
    capture(desk.path(), &server, &options).ended(0);
    let memory = fs::read(&files_named(desk.path(), "memory.json")[0]).unwrap();
    let memory: Value = serde_json::from_slice(&memory).unwrap();
    assert_eq!(memory["metrics"]["process_resident_memory_bytes"], "5e+07");
    assert!(memory["metrics"]["http_requests_total"].is_null());

    // On another server, which is not told who we are to the first.
    let elsewhere = Server::http(move |_| Reply::ok(page));
    let url = format!("{}/stats?of=api", elsewhere.url());
    let header = "Authorization: Token open-sesame-3";
    let options = ["--count", "1", "--metrics", &url, "--header", header];
    capture(desk.path(), &server, &options).ended(0);
    let asked = elsewhere.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].path.as_str(), asked[0].query.as_str()),
        ("/stats", "of=api")
    );
    assert!(!asked[0].text().contains("sesame"), "{asked:#?}");
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .any(|request| request.text().contains("sesame"))
    );
}
