//! Proxies of the environment.

use crate::support::certificates::Authority;
use crate::support::netrun::{Said, finish, heaps, program};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Proxy, Server, free_port};
use std::path::Path;

fn server_of_a_process() -> Server {
    let process = Process::steady();
    Server::http(move |request| process.reply(request))
}

fn capture(desk: &Path, url: &str, options: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = program(desk);
    command
        .args(["capture", url, "--retries", "0"])
        .args(options);
    command.envs(variables.iter().copied());
    finish(command)
}

#[test]
fn plain_requests_go_through_it() {
    let desk = tempfile::tempdir().unwrap();
    let (server, proxy) = (server_of_a_process(), Proxy::start());
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let before = proxy.heads().len();
        capture(desk.path(), &server.url(), &[], &[(variable, &proxy.url())]).ended(0);
        let heads = proxy.heads();
        assert!(heads.len() >= before + 4, "{variable}: {heads:#?}");
        let first = format!("GET {}/debug/pprof/heap?gc=1 ", server.url());
        assert!(heads[before].starts_with(&first), "{heads:#?}");
    }
    assert_eq!(heaps(desk.path()).len(), 3);
}

#[test]
fn a_tunnel_hides_what_goes_through_it() {
    let desk = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let process = Process::steady();
    let config = authority.config(&authority.server(), false);
    let server = Server::https(config, move |request| process.reply(request));
    let proxy = Proxy::start();
    let ca = desk.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    let ca = ca.display().to_string();
    let options = ["--cacert", &ca, "--header", "X-Key: open-sesame-1"];
    let variables = [("HTTPS_PROXY", proxy.url())];
    let variables = [(variables[0].0, variables[0].1.as_str())];
    capture(desk.path(), &server.url(), &options, &variables).ended(0);
    assert_eq!(heaps(desk.path()).len(), 1);
    let heads = proxy.heads();
    assert!(heads.len() >= 4, "{heads:#?}");
    for head in heads {
        assert!(head.starts_with(&format!("CONNECT {} ", server.address)));
        assert!(!head.contains("sesame"), "{head}");
    }
    assert_eq!(server.requests()[0].header("x-key"), Some("open-sesame-1"));
}

#[test]
fn exceptions_are_kept() {
    let desk = tempfile::tempdir().unwrap();
    let (server, proxy) = (server_of_a_process(), Proxy::start());
    let variables = [("HTTP_PROXY", &*proxy.url()), ("NO_PROXY", "127.0.0.1")];
    capture(desk.path(), &server.url(), &[], &variables).ended(0);
    assert_eq!(proxy.heads().len(), 0);
    assert_eq!(heaps(desk.path()).len(), 1);
}

#[test]
fn a_proxy_that_is_not_there_is_blamed() {
    let desk = tempfile::tempdir().unwrap();
    let server = server_of_a_process();
    let gone = format!("http://me:open-sesame-1@127.0.0.1:{}", free_port());
    let said = capture(desk.path(), &server.url(), &[], &[("HTTP_PROXY", &gone)]);
    said.refused(3, &["the proxy: connection refused"], "NO_PROXY");
    said.says_not("sesame");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_proxy_that_is_not_used_is_not_blamed() {
    let desk = tempfile::tempdir().unwrap();
    let proxy = Proxy::start();
    let url = format!("http://127.0.0.1:{}", free_port());
    let variables = [("HTTP_PROXY", &*proxy.url()), ("NO_PROXY", "127.0.0.1")];
    let said = capture(desk.path(), &url, &[], &variables);
    said.refused(
        3,
        &["connection refused: nothing listens"],
        "net/http/pprof",
    );
}
