//! What may stand as a target, and everything that fetches one.

use crate::support::netrun::{files, finish, heaps, program, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Reply, Server};
use crate::support::profiles::Pprof;
use std::fs;

const SECRET: &str = "open-sesame-9";

fn leaking() -> Server {
    let process = Process::leaking();
    Server::http(move |request| process.reply(request))
}

#[test]
fn parameters_of_the_user_go_along_and_are_shown_to_nobody() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let url = format!("{}/?seconds=30&key={SECRET}", server.url());
    let said = run(desk.path(), &["capture", &url]);
    said.ended(0).says_not(SECRET);
    assert_eq!(said.count("warning: ", "`seconds=` is left out"), 1);
    assert_eq!(said.lines("warning: ").len(), 1, "{}", said.err);
    let requests = server.requests();
    assert!(requests.len() >= 4, "{requests:#?}");
    for request in &requests {
        assert!(!request.query.contains("seconds"), "{request:#?}");
        assert!(request.query.ends_with(&format!("key={SECRET}")));
    }
    assert_eq!(heaps(desk.path()).len(), 1);
    let written = files(desk.path());
    let description = written.iter().find(|path| path.ends_with("target.json"));
    let description = fs::read_to_string(description.unwrap()).unwrap();
    assert!(description.contains("?key=***"), "{description}");
    for path in written {
        let bytes = fs::read(&path).unwrap();
        assert!(
            !String::from_utf8_lossy(&bytes).contains(SECRET),
            "{path:?}"
        );
        assert!(!path.to_string_lossy().contains(SECRET), "{path:?}");
    }
}

#[test]
fn any_address_of_the_endpoint_will_do() {
    let desk = tempfile::tempdir().unwrap();
    for path in ["", "/", "/admin/prof/", "/admin/prof/heap?debug=1"] {
        let server = leaking();
        run(
            desk.path(),
            &["capture", &format!("{}{path}", server.url())],
        )
        .ended(0);
        let base = if path.len() > 1 {
            "/admin/prof/"
        } else {
            "/debug/pprof/"
        };
        let first = server.requests()[0].clone();
        assert_eq!(first.path, format!("{base}heap"));
        assert_eq!(first.query, "gc=1");
        assert_eq!(first.method, "GET");
        let agent = first.header("user-agent").unwrap();
        assert!(agent.starts_with("heapdrift/"), "{agent}");
    }
}

#[test]
fn addresses_that_cannot_be_meant() {
    let desk = tempfile::tempdir().unwrap();
    for (target, part) in [
        ("http://127.0.0.1:1/debug/pprof/profile", "a CPU profile"),
        ("http://127.0.0.1:1/debug/pprof/trace", "an execution trace"),
        ("http://me:open-sesame-9@127.0.0.1:99999/", "port"),
        ("http://me:open-sesame-9/x@127.0.0.1/", "127.0.0.1"),
        ("htp://me:open-sesame-9@127.0.0.1/", "not a target"),
        ("me:open-sesame-9@127.0.0.1:6060", "not a target"),
        ("unix:app.sock", "not an absolute path"),
        ("captures/", "not a target"),
    ] {
        let said = run(desk.path(), &["capture", target]);
        said.ended(2).says_not(SECRET);
        assert_eq!(said.lines("error: ").len(), 1, "{}", said.err);
        assert_eq!(said.lines("hint: ").len(), 1, "{}", said.err);
        said.says(part);
    }
    assert_eq!(files(desk.path()).len(), 0);
}

#[cfg(unix)]
#[test]
fn a_unix_socket() {
    let desk = tempfile::tempdir().unwrap();
    let socket = desk.path().join("app.sock");
    let target = format!("unix:{}", socket.display());
    let said = run(desk.path(), &["capture", &target, "--retries", "0"]);
    said.refused(3, &[&target, "no such socket"], "");
    let process = Process::steady();
    let server = Server::unix(&socket, move |request| process.reply(request));
    // A proxy has no business on the way to a socket.
    let mut command = program(desk.path());
    command
        .args(["capture", &target])
        .env("HTTP_PROXY", "http://127.0.0.1:1");
    finish(command).ended(0).says("1 snapshot captured");
    assert_eq!(heaps(desk.path()).len(), 1);
    assert_eq!(server.profiles()[0], "heap?gc=1");
    // Nobody listens behind the file.
    let dead = desk.path().join("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    let target = format!("unix:{}", dead.display());
    let said = run(desk.path(), &["capture", &target, "--retries", "0"]);
    said.refused(3, &[&target, "connection refused"], "pprof");
}

#[test]
fn top_takes_a_running_process() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let said = run(desk.path(), &["top", &server.url(), "-f", "json"]);
    let top = said.ended(0).json();
    let rows = top["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["function"] == "main.keep"));
    assert_eq!(said.err, "");
    assert_eq!(files(desk.path()).len(), 0);
}

#[test]
fn diff_takes_a_file_and_a_running_process() {
    let desk = tempfile::tempdir().unwrap();
    let before = desk.path().join("before.heap.pb.gz");
    let heap = Pprof::heap(-600)
        .sampled("main.keep < main.handle < main.main", 4096, 4, 4)
        .sampled("main.table < main.main", 65_536, 20, 20)
        .sampled("main.scratch < main.handle < main.main", 1024, 60, 50);
    fs::write(&before, heap.gzip()).unwrap();
    let server = leaking();
    let before = before.display().to_string();
    let said = run(desk.path(), &["diff", &before, &server.url(), "-f", "json"]);
    let diff = said.ended(0).json();
    let rows = diff["rows"].as_array().unwrap();
    let keep = rows.iter().find(|row| row["function"] == "main.keep");
    let delta = keep.unwrap()["delta_bytes"].as_i64().unwrap();
    assert!(delta > 1 << 20, "{diff:#}");
    // Two snapshots of the same process, one after the other.
    let said = run(desk.path(), &["diff", &server.url(), &server.url()]);
    said.ended(0);
    assert!(said.out.contains("main.keep"), "{}", said.out);
}

#[test]
fn diagnose_takes_a_running_process() {
    let desk = tempfile::tempdir().unwrap();
    let server = leaking();
    let said = run(desk.path(), &["diagnose", &server.url(), "-f", "json"]);
    let diagnosis = said.ended(0).json();
    assert_eq!(diagnosis["series"]["snapshots"], 1);
    assert_eq!(diagnosis["verdict"], "undecided");
    // With what was captured before, it is one series.
    run(
        desk.path(),
        &["capture", &server.url(), "--every", "100ms", "--count", "9"],
    )
    .ended(0);
    let said = run(
        desk.path(),
        &["diagnose", "captures", &server.url(), "-f", "json"],
    );
    let diagnosis = said.ended(1).json();
    assert_eq!(diagnosis["series"]["snapshots"], 10);
    assert_eq!(diagnosis["verdict"], "leak");
}

#[test]
fn half_a_snapshot_is_judged_and_said() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let server = Server::http(move |request| match request.path.ends_with("/goroutine") {
        true => Reply::status(500, "no goroutines today"),
        false => process.reply(request),
    });
    let said = run(desk.path(), &["diagnose", &server.url(), "-f", "json"]);
    said.ended(0);
    assert_eq!(
        said.count("warning: ", "no goroutines today"),
        1,
        "{}",
        said.err
    );
}
