//! A server that fails from the first request on.

use crate::support::netrun::{Said, heaps, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Ending, Reply, Server, free_port};
use crate::support::profiles::Pprof;
use std::time::{Duration, Instant};

/// A capture of a server that answers every request the same way; nothing may be kept of it.
fn fails(reply: Reply, options: &[&str]) -> (Said, Server) {
    let desk = tempfile::tempdir().unwrap();
    let server = Server::http(move |_| reply.clone());
    let url = server.url();
    let said = run(desk.path(), &[&["capture", &url], options].concat());
    assert_eq!(heaps(desk.path()).len(), 0, "{said:?}");
    assert!(!server.requests().is_empty(), "{said:?}");
    (said, server)
}

const ONCE: &[&str] = &["--retries", "0"];

fn heap() -> Vec<u8> {
    let heap = Pprof::heap(0).sampled("main.keep < main.main", 4096, 40, 40);
    heap.gzip()
}

/// A heap profile of which most is missing when it is cut.
fn large_heap() -> Vec<u8> {
    let rows = (0..500).fold(Pprof::heap(0), |heap, row| {
        heap.sampled(&format!("main.f{row} < main.main"), 4096, 40, 40)
    });
    rows.gzip()
}

#[test]
fn nothing_listens() {
    let desk = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}", free_port());
    for command in ["capture", "watch", "top", "diagnose"] {
        let said = run(desk.path(), &[command, &url, "--retries", "0"]);
        said.refused(3, &[&url, "connection refused"], "net/http/pprof");
    }
    let said = run(desk.path(), &["diff", &url, &url, "--retries", "0"]);
    said.refused(3, &[&url, "connection refused"], "net/http/pprof");
}

#[test]
fn every_status_has_its_hint() {
    for (status, hint) in [
        (401, "--bearer-token-file"),
        (403, "which right"),
        (404, "mux.Handle"),
        (410, "gone for good"),
        (429, "a longer --every"),
        (500, "the log of the server"),
        (502, "the log of the server"),
        (503, "the log of the server"),
    ] {
        let (said, server) = fails(Reply::status(status, "as it is\nmore"), ONCE);
        let code = format!("HTTP {status}: as it is");
        said.refused(3, &[&server.url(), "heap?gc=1", &code], hint);
    }
}

#[test]
fn what_may_pass_is_tried_again_and_nothing_else() {
    let asked = |status: u16| {
        let (said, server) = fails(Reply::status(status, ""), &["--retries", "1"]);
        said.ended(3);
        let profiles = server.profiles();
        profiles.iter().filter(|p| *p == "heap?gc=1").count()
    };
    for (status, tries) in [
        (401, 1),
        (403, 1),
        (404, 1),
        (410, 1),
        (429, 2),
        (500, 1),
        (502, 2),
        (503, 2),
        (504, 2),
    ] {
        assert_eq!(asked(status), tries, "{status}");
    }
}

#[test]
fn a_server_says_when_to_come_back() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::steady();
    let server = Server::http(move |request| match request.number {
        0 => Reply::status(429, "slow down").header("Retry-After", "2"),
        _ => process.reply(request),
    });
    let start = Instant::now();
    let said = run(desk.path(), &["capture", &server.url()]);
    said.ended(0)
        .says("HTTP 429: slow down; tried again after 2.0 s");
    assert!(start.elapsed() >= Duration::from_secs(2));
    assert_eq!(heaps(desk.path()).len(), 1);
    assert_eq!(server.profiles()[..2], ["heap?gc=1", "heap?gc=1"]);
}

#[test]
fn an_unavailable_server_that_recovers_costs_nothing() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::steady();
    let server = Server::http(move |request| match request.number {
        0 => Reply::status(503, ""),
        1 => Reply::ok(large_heap()).ending(Ending::CutAfter(50)),
        _ => process.reply(request),
    });
    let said = run(desk.path(), &["capture", &server.url()]);
    said.ended(0).says("1 snapshot captured");
    assert_eq!(said.count("warning: ", "tried again"), 2, "{}", said.err);
    assert_eq!(heaps(desk.path()).len(), 1);
}

#[test]
fn a_body_that_is_cut() {
    for ending in [Ending::CutAfter(100), Ending::ChunksCut] {
        let (said, _) = fails(Reply::ok(large_heap()).ending(ending), ONCE);
        said.refused(3, &["heap?gc=1", "was cut after", "bytes"], "restarted");
        said.says_not("after 0 bytes");
    }
    let (said, _) = fails(
        Reply::ok(large_heap()).ending(Ending::ResetAfter(100)),
        ONCE,
    );
    said.refused(3, &["was cut after", "reset"], "restarted");
    // Before any byte of an answer.
    let (said, _) = fails(Reply::ok(heap()).ending(Ending::ResetAfter(0)), ONCE);
    said.refused(3, &["heap?gc=1", "was cut after 0 bytes"], "restarted");
}

#[test]
fn a_gzip_stream_that_ends_early_though_http_saw_nothing_wrong() {
    let half = large_heap()[..100].to_vec();
    let (said, server) = fails(Reply::ok(half), &["--retries", "1"]);
    said.refused(3, &["gzip stream is damaged or cut short"], "fetch");
    assert_eq!(server.profiles()[..2], ["heap?gc=1", "heap?gc=1"]);
}

#[test]
fn a_body_that_never_ends() {
    let endless = Reply::ok(vec![b'x'; 64 << 10]).ending(Ending::Endless);
    let options = ["--retries", "0", "--max-size", "1MiB"];
    let (said, _) = fails(endless, &options);
    said.refused(3, &["larger than 1048576 bytes"], "--max-size");

    let endless = Reply::ok(vec![b'x'; 1000]).ending(Ending::Endless);
    let (said, _) = fails(endless, &["--retries", "0", "--timeout", "1s"]);
    said.refused(3, &["no complete answer within 1 s"], "--timeout");
    said.says_not("(0 bytes");
}

#[test]
fn a_bomb_is_as_large_as_what_it_expands_to() {
    let bomb = crate::support::profiles::gzip(&vec![0; 4 << 20]);
    assert!(bomb.len() < 1 << 20);
    let (said, _) = fails(Reply::ok(bomb), &["--retries", "0", "--max-size", "1MiB"]);
    said.refused(3, &["expands to more than 1048576 bytes"], "--max-size");
}

#[test]
fn silence_ends_with_the_time_limit() {
    let silent = Reply::ok("").ending(Ending::Silence);
    let (said, server) = fails(silent, &["--retries", "0", "--timeout", "1s"]);
    said.refused(3, &["no complete answer within 1 s (0 bytes"], "--timeout");
    // Who does not answer one request will not answer the next either.
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn another_kind_of_answer() {
    let page = "<!DOCTYPE html><html><body>Sign in</body></html>";
    let (said, _) = fails(Reply::ok(page), ONCE);
    said.refused(3, &["heap?gc=1", "HTML"], "pprof");

    let types = [("samples", "count"), ("cpu", "nanoseconds")];
    let cpu = Pprof::of_types(&types, ("cpu", "nanoseconds"), 10_000_000).row(
        "main.work < main.main",
        None,
        &[3, 30_000_000],
    );
    let (said, _) = fails(Reply::ok(cpu.gzip()), ONCE);
    said.refused(3, &["this is a CPU profile"], "/debug/pprof/heap");

    let (said, _) = fails(Reply::ok(""), ONCE);
    said.refused(3, &["empty"], "fetch");

    let (said, _) = fails(Reply::ok("not ready yet\n"), ONCE);
    said.refused(3, &["heap?gc=1", "cannot be used"], "pprof");

    // All paths give the same profile: a server that ignores the path.
    let (said, _) = fails(Reply::status(204, ""), ONCE);
    said.refused(3, &["HTTP 204"], "check the address");
}

#[test]
fn tls_against_a_server_without_it() {
    let desk = tempfile::tempdir().unwrap();
    let server = Server::http(|_| Reply::ok("never"));
    let url = format!("https://{}", server.address);
    let options = ["capture", &url, "--retries", "0", "--timeout", "2s"];
    let said = run(desk.path(), &options);
    said.ended(3);
    assert_eq!(said.lines("error: ").len(), 1, "{}", said.err);
}

#[test]
fn an_unknown_host() {
    let desk = tempfile::tempdir().unwrap();
    // RFC 2606 keeps `.invalid` for names that nobody has.
    let said = run(
        desk.path(),
        &["capture", "http://nobody.invalid:6060", "--retries", "0"],
    );
    said.refused(3, &["nobody.invalid", "the host cannot be found"], "name");
}
