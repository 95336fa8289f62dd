//! How a watch ends: by itself when the verdict is settled, or with Ctrl-C, and always with the
//! report of what it saw.

use crate::support::netrun::{Running, Said, heaps, program, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Ending, Reply, Server};
use std::path::Path;

fn server_of(process: Process) -> Server {
    Server::http(move |request| process.reply(request))
}

/// What a watch with no other end says when the verdict is settled.
fn until_verdict(desk: &Path, process: Process, options: &[&str]) -> Said {
    let server = server_of(process);
    let url = server.url();
    let common = ["watch", &url, "--every", "100ms", "--until-verdict"];
    run(desk, &[&common, options].concat())
}

#[test]
fn a_leak_ends_it() {
    let desk = tempfile::tempdir().unwrap();
    let said = until_verdict(desk.path(), Process::leaking(), &[]);
    said.ended(1);
    assert!(said.out.contains("LEAK"), "{}", said.out);
    assert!(said.out.contains("main.keep"), "{}", said.out);
    // One look is not enough: the verdict is the same from several in a row.
    let leaks = said.lines("note: ");
    let leaks = leaks.iter().filter(|line| line.contains(": leak"));
    assert!(leaks.count() >= 3, "{}", said.err);
    let taken = said.count("note: ", " snapshot ");
    assert!((8..=20).contains(&taken), "{}", said.err);
}

#[test]
fn quiet_memory_ends_it_with_the_limit_of_what_was_seen() {
    let desk = tempfile::tempdir().unwrap();
    let said = until_verdict(desk.path(), Process::steady(), &[]);
    said.ended(0);
    assert!(said.out.contains("STEADY"), "{}", said.out);
    assert!(!said.out.contains("LEAK"), "{}", said.out);
    let text = said.in_one_line();
    let limit = text.split("a leak of up to about ").nth(1);
    let limit = limit.unwrap_or_else(|| panic!("no limit: {}", said.out));
    let (size, _) = limit.split_once(" can have gone unseen").unwrap();
    assert!(size.contains("iB/h)"), "{size}");
    assert!(said.count("note: ", " snapshot ") >= 12, "{}", said.err);
}

#[test]
fn a_plan_may_end_it_earlier() {
    let desk = tempfile::tempdir().unwrap();
    let said = until_verdict(desk.path(), Process::leaking(), &["--count", "3"]);
    said.ended(0);
    assert_eq!(said.count("note: ", " snapshot "), 3, "{}", said.err);
    assert!(said.out.contains("3 snapshots over"), "{}", said.out);
}

/// A watch that gets a signal after so many requests.
#[cfg(unix)]
fn stopped(server: &Server, desk: &Path, options: &[&str], signal: &str, after: usize) -> Said {
    let mut command = program(desk);
    command
        .args(["watch", &server.url(), "--every", "100ms"])
        .args(options);
    let running = Running::start(command);
    server.wait_for(after);
    running.signal(signal);
    running.wait()
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_with_the_report() {
    // Fifteen snapshots of four requests each are enough for a verdict.
    for signal in ["INT", "TERM"] {
        let desk = tempfile::tempdir().unwrap();
        let server = server_of(Process::leaking());
        let said = stopped(&server, desk.path(), &["-o", "kept"], signal, 60);
        said.ended(1);
        assert!(said.out.contains("LEAK"), "{}", said.out);
        assert!(heaps(&desk.path().join("kept")).len() >= 10);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_a_server_is_silent_does_not_wait_for_it() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let server = Server::http(move |request| match request.number {
        0..20 => process.reply(request),
        _ => Reply::ok("").ending(Ending::Silence),
    });
    let said = stopped(&server, desk.path(), &["-f", "json"], "INT", 21);
    let lines = said.ended(1).json_lines();
    assert_eq!(lines.last().unwrap()["event"], "report");
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_the_first_snapshot() {
    let desk = tempfile::tempdir().unwrap();
    let server = Server::http(|_| Reply::ok("").ending(Ending::Silence));
    let said = stopped(&server, desk.path(), &[], "INT", 1);
    said.ended(130);
    assert_eq!(said.out, "");
}
