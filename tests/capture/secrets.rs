//! A secret, given in every possible way, with every kind of failure: it appears in no output and
//! in no file that is written.

use crate::support::certificates::{Authority, Pair};
use crate::support::netrun::{Said, files, finish, program};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Ending, Reply, Request, Server, free_port};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fs;
use std::path::{Path, PathBuf};

/// Letters alone, so that no encoding of an address hides it.
const SECRET: &str = "opensesamequick";

/// How a secret is given: what is put in front of the host, behind it, options, a variable.
#[derive(Default)]
struct Way {
    name: &'static str,
    user: String,
    query: String,
    options: Vec<String>,
    variable: Option<(&'static str, String)>,
}

/// Where the secrets of the user are: the only files that may hold them.
struct Given {
    directory: tempfile::TempDir,
    client: Pair,
}

impl Given {
    fn new(authority: &Authority) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            client: authority.client(),
        }
    }

    fn put(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn ways(&self) -> Vec<Way> {
        let strings = |options: &[&str]| options.iter().map(|o| (*o).to_owned()).collect();
        let header = format!("X-Api-Key: {SECRET}");
        let headers = format!("@{}", self.put("headers", &format!("{header}\n")));
        let token = self.put("token", &format!("{SECRET}\n"));
        let basic = self.put("basic", &format!("me:{SECRET}\n"));
        let (cert, key) = (
            self.put("client.pem", &self.client.cert),
            self.put("client.key", &self.client.key),
        );
        let option = |name, options: &[&str]| Way {
            name,
            options: strings(options),
            ..Way::default()
        };
        let variable = |name, variable, value: String| Way {
            name,
            variable: Some((variable, value)),
            ..Way::default()
        };
        vec![
            option("header", &["--header", &header]),
            option("header file", &["--header", &headers]),
            option("token file", &["--bearer-token-file", &token]),
            variable(
                "token variable",
                "HEAPDRIFT_BEARER_TOKEN_FILE",
                token.clone(),
            ),
            option("basic file", &["--basic-auth-file", &basic]),
            variable(
                "basic variable",
                "HEAPDRIFT_BASIC_AUTH",
                format!("me:{SECRET}"),
            ),
            Way {
                name: "user of the address",
                user: format!("me:{SECRET}@"),
                ..Way::default()
            },
            Way {
                name: "parameter of the address",
                query: format!("?token={SECRET}"),
                ..Way::default()
            },
            option("client key", &["--cert", &cert, "--key", &key]),
        ]
    }

    /// What must appear nowhere: the secret, as it stands or encoded, and the key.
    fn secrets(&self) -> Vec<String> {
        let lines = self.client.key.lines();
        let key = lines.filter(|line| !line.starts_with('-'));
        let pair = BASE64_STANDARD.encode(format!("me:{SECRET}"));
        let mut secrets = vec![SECRET.to_owned(), pair];
        secrets.extend(key.map(str::to_owned));
        secrets
    }
}

/// A server that repeats all that it was told, as some do.
fn echo(request: &Request) -> String {
    format!(
        "Cannot GET {}?{} {:?}",
        request.path, request.query, request.headers
    )
}

/// What may go wrong: a name, and a server for it.
fn failures() -> Vec<(&'static str, Option<Server>)> {
    let server = |script: fn(&Request) -> Reply| Some(Server::http(script));
    let process = Process::leaking();
    let half = Process::leaking();
    vec![
        ("nothing", Some(Server::http(move |r| process.reply(r)))),
        ("refused", None),
        ("401", server(|r| Reply::status(401, echo(r)))),
        ("404", server(|r| Reply::status(404, echo(r)))),
        (
            "kubernetes status",
            server(|r| {
                let message = serde_json::json!({"kind": "Status", "message": echo(r)});
                Reply::status(403, message.to_string())
            }),
        ),
        (
            "an error with 200",
            server(|r| Reply::ok(format!("error: {}\n", echo(r)))),
        ),
        (
            "html",
            server(|r| Reply::ok(format!("<html>{}</html>", echo(r)))),
        ),
        (
            "redirect elsewhere",
            server(|r| Reply::redirect(format!("http://127.0.0.2:1/{SECRET}?{}", r.query))),
        ),
        (
            "redirect to nowhere",
            server(|r| Reply::redirect(format!("ftp://{}", r.query))),
        ),
        (
            "cut",
            server(|_| Reply::ok(vec![b'x'; 1000]).ending(Ending::CutAfter(500))),
        ),
        (
            "half",
            Some(Server::http(move |r| match r.path.ends_with("/heap") {
                true => half.reply(r),
                false => Reply::status(500, echo(r)),
            })),
        ),
    ]
}

fn holds(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len()).any(|w| w == secret.as_bytes())
}

fn run_one(command: &str, address: &str, way: &Way, desk: &Path) -> Said {
    let mut program = program(desk);
    let url = format!("http://{}{address}/{}", way.user, way.query);
    program
        .args(
            [command, &url, "--retries", "0", "--exit-zero"]
                .iter()
                .take(
                    // `capture` judges nothing, and so has no such option.
                    if command == "capture" { 4 } else { 5 },
                ),
        )
        .args(&way.options);
    if let Some((name, value)) = &way.variable {
        program.env(name, value);
    }
    if command == "watch" {
        program.args(["--count", "2", "--every", "100ms", "-o", "kept"]);
        program.args(["-o", "report.json", "-o", "report.txt"]);
    }
    finish(program)
}

#[test]
fn a_secret_is_shown_nowhere() {
    let authority = Authority::new();
    let given = Given::new(&authority);
    let secrets = given.secrets();
    let (mut told, mut written) = (0, 0);
    for way in given.ways() {
        for (failure, server) in failures() {
            let desk = tempfile::tempdir().unwrap();
            let address = match &server {
                Some(server) => server.address.clone(),
                None => format!("127.0.0.1:{}", free_port()),
            };
            // Each command with some failures, and each failure with every way.
            let command = ["capture", "watch", "diagnose"][failure.len() % 3];
            let mut said = run_one(command, &address, &way, desk.path());
            let what = format!("{} when {failure}", way.name);
            let is_fine = matches!(failure, "nothing" | "half");
            assert_eq!(said.code == 0, is_fine, "{what}: {said:#?}");
            // The command line is the user's own.
            said.what.clear();
            let mut places: Vec<(PathBuf, Vec<u8>)> = vec![
                ("stdout".into(), said.out.into_bytes()),
                ("stderr".into(), said.err.into_bytes()),
            ];
            for path in files(desk.path()) {
                let bytes = fs::read(&path).unwrap();
                places.push((path, bytes));
                written += 1;
            }
            for (place, bytes) in places {
                for secret in &secrets {
                    let name = place.to_string_lossy();
                    let is_shown = holds(&bytes, secret) || name.contains(secret.as_str());
                    let text = String::from_utf8_lossy(&bytes);
                    assert!(!is_shown, "{what}, in {}: {text}", place.display());
                }
            }
            let requests = server.iter().flat_map(Server::requests);
            told += requests.filter(|r| r.text().contains(SECRET)).count();
        }
    }
    // Servers saw the secrets, and files were written: else nothing was tested.
    assert!(told > 50, "{told}");
    assert!(written > 20, "{written}");
}

#[test]
fn mistakes_in_options_repeat_no_secret() {
    let desk = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = desk.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let headers = format!("@{}", put("headers", &format!("X-Key {SECRET}\n")));
    let basic = put("basic", SECRET);
    let token = put("token", &format!("a\u{1}{SECRET}\nb"));
    let key = put("key", &format!("-----BEGIN PRIVATE KEY-----\n{SECRET}"));
    let bad = format!("X-Key {SECRET}");
    let control = format!("X-Key: {SECRET}\u{1}");
    let url = "http://127.0.0.1:1";
    for (options, code) in [
        (vec!["--header", &bad], 2),
        (vec!["--header", &control], 2),
        (vec!["--header", &headers], 2),
        (vec!["--basic-auth-file", &basic], 2),
        (vec!["--bearer-token-file", &token], 3),
        (vec!["--cert", &key], 3),
        (vec!["--metrics", "metrics of opensesamequick"], 3),
        (vec!["--metrics", "http://me:opensesamequick@:x/"], 3),
    ] {
        let mut command = program(desk.path());
        command
            .args(["capture", url, "--retries", "0"])
            .args(&options);
        let said = finish(command);
        said.refused(code, &[], "");
        // What is no address at all cannot be told from one, and is shown.
        if !options[1].starts_with("metrics") {
            said.says_not(SECRET);
        }
    }
    let mut command = program(desk.path());
    command
        .args(["capture", url])
        .env("HEAPDRIFT_BASIC_AUTH", SECRET);
    finish(command).refused(2, &["HEAPDRIFT_BASIC_AUTH"], "user:password");
}
