//! TLS: whom we trust, with which certificate we come, and what is said when that fails.

use crate::support::certificates::{Authority, Pair};
use crate::support::netrun::{Said, heaps, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::Server;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A server that shows a certificate, and the files of a client.
struct Scene {
    desk: TempDir,
    server: Server,
}

impl Scene {
    fn new(authority: &Authority, pair: &Pair, asks: bool) -> Self {
        let process = Process::steady();
        let config = authority.config(pair, asks);
        let server = Server::https(config, move |request| process.reply(request));
        Self {
            desk: tempfile::tempdir().unwrap(),
            server,
        }
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.desk.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn capture(&self, options: &[&str]) -> Said {
        let url = self.server.url();
        let common = ["capture", &url, "--retries", "0"];
        run(self.desk.path(), &[&common, options].concat())
    }

    fn is_captured(&self) -> bool {
        heaps(self.desk.path()).len() == 1
    }
}

#[test]
fn an_authority_of_ones_own() {
    let authority = Authority::new();
    let scene = Scene::new(&authority, &authority.server(), false);
    let ca = scene.put("ca.pem", &authority.pem).display().to_string();
    scene.capture(&["--cacert", &ca]).ended(0);
    assert!(scene.is_captured());
}

#[test]
fn another_authority_is_not_trusted() {
    let authority = Authority::new();
    let scene = Scene::new(&authority, &authority.server(), false);
    let other = scene.put("other.pem", &Authority::new().pem);
    let other = other.display().to_string();
    let url = scene.server.url();
    scene
        .capture(&["--cacert", &other])
        .refused(3, &[&url, "TLS: ", "certificate"], "--cacert");
    // The system's authorities do not know it either.
    scene.capture(&[]).refused(3, &[&url, "TLS: "], "--cacert");
    assert!(!scene.is_captured());
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn a_failed_handshake_is_not_tried_again() {
    let authority = Authority::new();
    let scene = Scene::new(&authority, &authority.server(), false);
    let other = scene.put("other.pem", &Authority::new().pem);
    let other = other.display().to_string();
    let url = scene.server.url();
    let said = run(
        scene.desk.path(),
        &["capture", &url, "--cacert", &other, "--retries", "3"],
    );
    said.ended(3);
    assert_eq!(scene.server.connections(), 1);
}

#[test]
fn an_expired_certificate() {
    let authority = Authority::new();
    let scene = Scene::new(&authority, &authority.expired(), false);
    let ca = scene.put("ca.pem", &authority.pem).display().to_string();
    scene
        .capture(&["--cacert", &ca])
        .refused(3, &["TLS: ", "expired"], "--insecure");
    assert_eq!(scene.server.requests().len(), 0);

    let said = scene.capture(&["--insecure"]);
    said.ended(0);
    assert_eq!(said.count("warning: ", "--insecure"), 1, "{}", said.err);
    assert!(scene.is_captured());
}

#[test]
fn a_client_certificate() {
    let authority = Authority::new();
    let scene = Scene::new(&authority, &authority.server(), true);
    let client = authority.client();
    let ca = scene.put("ca.pem", &authority.pem).display().to_string();
    let cert = scene.put("client.pem", &client.cert).display().to_string();
    let key = scene.put("client.key", &client.key).display().to_string();
    let said = scene.capture(&["--cacert", &ca]);
    said.refused(3, &["TLS: ", "ertificate"], "--cert");
    assert!(!scene.is_captured());
    scene
        .capture(&["--cacert", &ca, "--cert", &cert, "--key", &key])
        .ended(0);
    assert!(scene.is_captured());
    assert!(scene.server.requests().iter().all(|r| r.has_certificate));

    // One file may hold both.
    let both = scene.put("both.pem", &format!("{}{}", client.key, client.cert));
    let both = both.display().to_string();
    scene.capture(&["--cacert", &ca, "--cert", &both]).ended(0);
}

#[test]
fn files_that_are_none() {
    let authority = Authority::new();
    let scene = Scene::new(&authority, &authority.server(), false);
    let client = authority.client();
    let cert = scene.put("client.pem", &client.cert).display().to_string();
    let key = scene.put("client.key", &client.key).display().to_string();
    let text = scene.put("notes.txt", "nothing").display().to_string();
    let none = scene.desk.path().join("none.pem").display().to_string();
    for (options, file) in [
        (vec!["--cacert", &none], &none),
        (vec!["--cacert", &text], &text),
        (vec!["--cert", &text, "--key", &key], &text),
        (vec!["--cert", &cert, "--key", &none], &none),
        (vec!["--cert", &cert], &cert),
        // A key that belongs to another certificate.
        (vec!["--cert", &cert, "--key", &text], &text),
    ] {
        let said = scene.capture(&options);
        said.refused(3, &[file], "permissions");
    }
    scene.capture(&["--key", &key]).ended(2).says("--cert");
    assert_eq!(scene.server.requests().len(), 0);
}
