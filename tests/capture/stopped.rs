//! Ctrl-C, and the system's request to end.
#![cfg(unix)]

use crate::support::netrun::{Running, Said, heaps, program};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Ending, Reply, Server};
use std::path::Path;

/// A capture that gets a signal after so many requests.
fn stopped(desk: &Path, server: &Server, options: &[&str], signal: &str, after: usize) -> Said {
    let mut command = program(desk);
    command
        .args(["capture", &server.url(), "--every", "100ms"])
        .args(options);
    let running = Running::start(command);
    server.wait_for(after);
    running.signal(signal);
    running.wait()
}

fn leaking() -> Server {
    let process = Process::leaking();
    Server::http(move |request| process.reply(request))
}

#[test]
fn an_open_capture_ends_well() {
    for signal in ["INT", "TERM"] {
        let desk = tempfile::tempdir().unwrap();
        let server = leaking();
        let said = stopped(desk.path(), &server, &[], signal, 12);
        said.ended(0)
            .says("captured")
            .says("next: heapdrift diagnose");
        let taken = heaps(desk.path()).len();
        assert!(taken >= 2, "{said:?}");
        let plural = format!("{taken} snapshots captured");
        said.says(&plural).says_not("missed");
    }
}

#[test]
fn one_that_was_to_take_more_says_so_by_its_exit_code() {
    for plan in [["--count", "1000"], ["--for", "1h"]] {
        let desk = tempfile::tempdir().unwrap();
        let server = leaking();
        let said = stopped(desk.path(), &server, &plan, "INT", 12);
        said.ended(130).says("snapshots captured");
        assert!(heaps(desk.path()).len() >= 2, "{said:?}");
    }
}

#[test]
fn before_the_first_snapshot_there_is_nothing_to_say_next() {
    let desk = tempfile::tempdir().unwrap();
    let server = Server::http(|_| Reply::ok("").ending(Ending::Silence));
    let said = stopped(desk.path(), &server, &[], "INT", 1);
    said.ended(130).says_not("next: heapdrift diagnose");
    assert_eq!(heaps(desk.path()).len(), 0);
}
