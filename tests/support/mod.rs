//! What the tests of the binary share.
#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod case;
pub mod certificates;
pub mod netrun;
pub mod pprof_process;
pub mod pprof_server;
pub mod profiles;
pub mod random;
pub mod series;
pub mod thinning;

pub use case::{Case, cases};

use assert_cmd::Command;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The binary, with nothing of the environment that changes its output.
pub fn heapdrift() -> Command {
    let mut command = Command::cargo_bin("heapdrift").unwrap();
    command.env_remove("HEAPDRIFT_CONFIG").env("NO_COLOR", "1");
    command
}

/// Standard output as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// What `diagnose -f json` prints of some sources, and its exit code.
pub fn diagnose(sources: &[impl AsRef<OsStr>]) -> (Value, Option<i32>) {
    let output = heapdrift()
        .arg("diagnose")
        .args(sources)
        .args(["-f", "json"])
        .output()
        .unwrap();
    (json(&output), output.status.code())
}

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Says that a check was skipped. Written past the test harness, which would keep it to itself.
pub fn skipped(why: &str) {
    // A test must not fail because nobody listens.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The public profiles beside the project, where they are there. Tests say when they are not.
pub fn public_profiles() -> Option<PathBuf> {
    let dir = project().parent()?.join("shared/profiles");
    if dir.is_dir() {
        return Some(dir);
    }
    skipped("the public profiles are not beside the project");
    None
}
