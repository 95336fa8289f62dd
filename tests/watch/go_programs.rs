//! Real Go programs that leak, and one that was repaired: a watch ends by itself with the named
//! pattern, or with STEADY and the limit of what it could have missed.
//!
//! Needs Go; says so where it is skipped.
#![cfg(unix)]

use crate::support::netrun::{Running, Said, program};
use crate::support::{project, skipped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Until a program serves; builds take what they take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program of the corpus, built; None, and why, where that cannot be done.
fn build(name: &str) -> Option<PathBuf> {
    let has_go = Command::new("go").arg("version").output();
    if !has_go.is_ok_and(|output| output.status.success()) {
        skipped("Go is not installed, so no real program was watched");
        return None;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    fs::create_dir_all(&directory).unwrap();
    let binary = directory.join(name);
    let source = project().join("fixtures/programs").join(name);
    if !source.is_dir() {
        skipped("the Go programs are not in this package, so none was watched");
        return None;
    }
    let built = Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(source)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "go build of {name}: {told}");
    Some(binary)
}

/// A program that runs until it is dropped.
struct Program {
    child: Child,
    directory: tempfile::TempDir,
}

impl Program {
    fn start(binary: &Path, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // A clean environment, as in the corpus: no GOGC or GODEBUG from outside.
        let child = Command::new(binary)
            .args(flags)
            .args(["-debug-addr", "127.0.0.1:0", "-debug-addr-file"])
            .arg(directory.path().join("debug"))
            .args(match binary.ends_with("apiserver") {
                true => vec!["-addr-file".into(), directory.path().join("api")],
                false => vec![],
            })
            .env_clear()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, directory }
    }

    /// The address that it has written to a file.
    fn address(&self, file: &str) -> String {
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(self.directory.path().join(file)).unwrap_or_default();
            if !text.trim().is_empty() {
                return format!("http://{}", text.trim());
            }
            assert!(start.elapsed() < PATIENCE, "it does not serve");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a watch that ends by itself.
fn watch(desk: &Path, program_of: &Program) -> Running {
    let url = program_of.address("debug");
    let mut command = program(desk);
    command.args(["watch", &url, "--every", "2s", "--until-verdict"]);
    // It ends by itself long before, or the test fails on what it says then.
    command.args(["--for", "100s"]);
    Running::start(command)
}

#[track_caller]
fn names(said: &Said, pattern: &str, culprit: &str) {
    said.ended(1);
    assert!(said.out.contains("LEAK"), "{said:#?}");
    assert!(said.out.contains(pattern), "{said:#?}");
    assert!(said.out.contains(culprit), "{said:#?}");
    let taken = said.count("note: ", " snapshot ");
    assert!(taken < 50, "it did not end by itself: {}", said.err);
}

#[test]
fn real_programs_are_judged_without_help() {
    let desk = tempfile::tempdir().unwrap();
    let programs = ["generic", "apiserver", "logger-promise-chain"].map(build);
    let [Some(generic), Some(apiserver), Some(operator)] = programs else {
        return;
    };
    // All at once: each watch takes as long as its verdict needs.
    let subscriptions = Program::start(&generic, &["-case", "slice-append", "-warmup", "1s"]);
    let servers = [(); 2].map(|()| Program::start(&apiserver, &["-pods", "300", "-rate", "30"]));
    let apis = servers.each_ref().map(|server| server.address("api"));
    let leaking = Program::start(&operator, &["-server", &apis[0]]);
    let repaired = Program::start(&operator, &["-server", &apis[1], "-fixed"]);
    // Whatever begins does not look like what goes on.
    std::thread::sleep(Duration::from_secs(10));
    let watches = [&subscriptions, &leaking, &repaired].map(|one| watch(desk.path(), one));
    let [subscriptions, leaking, repaired] =
        watches.map(|one| one.wait_for(Duration::from_secs(130)));
    names(
        &subscriptions,
        "subscriptions-never-removed",
        "events.(*Bus).Subscribe",
    );
    names(&leaking, "logger-promise-chain", "reconcileHandler");
    repaired.ended(0);
    assert!(repaired.out.contains("STEADY"), "{repaired:#?}");
    assert!(
        repaired.in_one_line().contains("can have gone unseen"),
        "{repaired:#?}"
    );
    let taken = repaired.count("note: ", " snapshot ");
    assert!(taken < 50, "it did not end by itself: {}", repaired.err);
}
