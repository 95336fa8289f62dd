//! Redirects: followed where nobody else learns who we are, and refused elsewhere.

use crate::support::certificates::Authority;
use crate::support::netrun::{heaps, program, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Reply, Request, Server};
use std::path::Path;
use std::sync::Arc;

const SECRET: &str = "open-sesame-7";

/// Redirects everything to the same path on another server.
fn redirecting_to(url: String) -> impl Fn(&Request) -> Reply + Send + Sync {
    move |request| Reply::redirect(format!("{url}{}?{}", request.path, request.query))
}

fn server_of_a_process() -> Server {
    let process = Process::steady();
    Server::http(move |request| process.reply(request))
}

#[test]
fn on_the_same_host_credentials_go_along() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::steady();
    let server = Server::http(move |request| match request.path.starts_with("/new/") {
        true => process.reply(request),
        false => {
            let name = request.path.rsplit('/').next().unwrap();
            Reply::redirect(format!("/new/{name}?{}", request.query))
        }
    });
    let header = format!("Authorization: Token {SECRET}");
    let said = run(
        desk.path(),
        &["capture", &server.url(), "--header", &header],
    );
    said.ended(0).says_not("warning");
    assert_eq!(heaps(desk.path()).len(), 1);
    let requests = server.requests();
    let reached = requests.iter().filter(|r| r.path.starts_with("/new/"));
    assert!(reached.count() >= 4, "{requests:#?}");
    let token = format!("Token {SECRET}");
    for request in &requests {
        assert_eq!(request.header("authorization"), Some(token.as_str()));
    }
}

#[test]
fn without_credentials_any_redirect_is_followed() {
    let desk = tempfile::tempdir().unwrap();
    let other = server_of_a_process();
    let server = Server::http(redirecting_to(other.url()));
    let said = run(desk.path(), &["capture", &server.url()]);
    said.ended(0).says("1 snapshot captured");
    assert_eq!(heaps(desk.path()).len(), 1);
    assert!(other.requests().len() >= 4);
}

/// Every way to say who we are.
fn ways(directory: &Path) -> Vec<(&'static str, Vec<String>)> {
    let file = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let header = format!("X-Api-Key: {SECRET}");
    let headers = format!("@{}", file("headers", format!("{header}\n")));
    vec![
        ("header", vec!["--header".into(), header]),
        ("header file", vec!["--header".into(), headers]),
        (
            "token",
            vec!["--bearer-token-file".into(), file("token", SECRET.into())],
        ),
        (
            "basic",
            vec![
                "--basic-auth-file".into(),
                file("basic", format!("me:{SECRET}")),
            ],
        ),
    ]
}

#[test]
fn credentials_go_to_no_other_port() {
    let desk = tempfile::tempdir().unwrap();
    let other = server_of_a_process();
    let server = Server::http(redirecting_to(other.url()));
    let refused = |arguments: Vec<String>, variable: Option<&str>| {
        let mut command = program(desk.path());
        command.arg("capture").args(&arguments);
        if let Some(value) = variable {
            command.env("HEAPDRIFT_BASIC_AUTH", value);
        }
        let said = crate::support::netrun::finish(command);
        let to = format!("the server sends us to {}", other.url());
        said.refused(3, &["heap?gc=1", &to, "do not follow"], "that address");
        said.says_not(SECRET);
    };
    for (_, options) in ways(desk.path()) {
        refused([vec![server.url()], options].concat(), None);
    }
    refused(vec![server.url()], Some(&format!("me:{SECRET}")));
    let with_user = server.url().replace("://", &format!("://me:{SECRET}@"));
    refused(vec![with_user], None);
    // The first server was told, or nothing was tested.
    let requests = server.requests();
    let told = requests.iter().filter(|request| {
        request.header("authorization").is_some() || request.header("x-api-key").is_some()
    });
    assert_eq!(told.count(), 6, "{requests:#?}");
    assert_eq!(other.requests().len(), 0, "{:#?}", other.requests());
}

#[test]
fn a_token_in_the_address_goes_to_nobody_else() {
    let desk = tempfile::tempdir().unwrap();
    let other = server_of_a_process();
    // This server keeps its own parameters only.
    let target = other.url();
    let server = Server::http(move |request| {
        let query = request
            .query
            .split('&')
            .find(|pair| !pair.starts_with("token"));
        let query = query.unwrap_or_default();
        Reply::redirect(format!("{target}{}?{query}", request.path))
    });
    let url = format!("{}/?token={SECRET}", server.url());
    run(desk.path(), &["capture", &url]).says_not(SECRET);
    assert!(server.requests()[0].query.contains(SECRET));
    for request in other.requests() {
        assert!(!request.text().contains(SECRET), "{request:#?}");
    }
}

#[test]
fn credentials_never_leave_tls() {
    let desk = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let client = authority.client();
    let (ca, cert) = (desk.path().join("ca.pem"), desk.path().join("client.pem"));
    std::fs::write(&ca, &authority.pem).unwrap();
    std::fs::write(&cert, format!("{}{}", client.cert, client.key)).unwrap();
    let plain = server_of_a_process();
    let config = authority.config(&authority.server(), true);
    let server = Server::https(config, redirecting_to(plain.url()));
    let (url, ca, cert) = (
        server.url(),
        ca.display().to_string(),
        cert.display().to_string(),
    );
    let options = ["capture", &url, "--cacert", &ca, "--cert", &cert];
    // The certificate alone counts as a credential.
    let said = run(desk.path(), &options);
    let to = format!("sends us to {}", plain.url());
    said.refused(3, &[&to], "that address");
    assert!(server.requests()[0].has_certificate);
    assert_eq!(plain.requests().len(), 0);
}

#[test]
fn redirects_that_lead_nowhere() {
    let desk = tempfile::tempdir().unwrap();
    let server = Server::http(|request| Reply::redirect(request.path.clone()));
    let said = run(desk.path(), &["capture", &server.url()]);
    said.refused(
        3,
        &["redirects that lead nowhere", "more than 5"],
        "address",
    );
    for location in ["", "ftp://127.0.0.1/x", "http://"] {
        let location = Arc::new(location.to_owned());
        let server = Server::http(move |_| match location.is_empty() {
            true => Reply::status(302, ""),
            false => Reply::redirect(location.as_str()),
        });
        let said = run(desk.path(), &["capture", &server.url()]);
        said.refused(3, &["no usable Location"], "address");
    }
}
