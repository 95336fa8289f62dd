//! The README's examples are true: every block marked as output is what the command prints.
//!
//! `HEAPDRIFT_UPDATE=1 cargo test --test readme` writes them anew.

mod support;

use std::fs;
use support::{heapdrift, project};

const MARK: &str = "<!-- output -->\n```console\n$ heapdrift ";

/// The README with every marked block as the binary prints it today.
fn renewed(readme: &str) -> String {
    let mut out = String::new();
    let mut rest = readme;
    while let Some(at) = rest.find(MARK) {
        let (before, block) = rest.split_at(at + MARK.len());
        out.push_str(before);
        let (command, body) = block.split_once('\n').unwrap();
        let end = body.find("```").unwrap();
        let output = heapdrift()
            .args(command.split(' '))
            .args(["--width", "80"])
            .current_dir(project())
            .output()
            .unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        out.push_str(command);
        out.push('\n');
        out.push_str(&String::from_utf8(output.stdout).unwrap());
        rest = &body[end..];
    }
    out.push_str(rest);
    out
}

#[test]
fn the_examples_are_true() {
    let path = project().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let renewed = renewed(&readme);
    if std::env::var_os("HEAPDRIFT_UPDATE").is_some() {
        fs::write(&path, &renewed).unwrap();
        return;
    }
    assert!(readme.matches(MARK).count() >= 3);
    for (line, (theirs, ours)) in readme.lines().zip(renewed.lines()).enumerate() {
        assert_eq!(theirs, ours, "README.md:{}", line + 1);
    }
    assert_eq!(readme, renewed);
}

#[test]
fn it_says_every_command_and_exit_code() {
    let readme = fs::read_to_string(project().join("README.md")).unwrap();
    for word in [
        "heapdrift diagnose",
        "heapdrift diff",
        "heapdrift top",
        "heapdrift explain",
    ] {
        assert!(readme.contains(word), "{word}");
    }
    for code in ["| 0 |", "| 1 |", "| 2 |", "| 3 |"] {
        assert!(readme.contains(code), "{code}");
    }
}

#[test]
fn the_corpus_is_as_large_as_it_says() {
    let readme = fs::read_to_string(project().join("README.md")).unwrap();
    let cases = support::cases();
    let leaks = cases.iter().filter(|case| case.label == "leak").count();
    let said = format!(
        "{} captured series, {leaks} of leaks and {} of",
        cases.len(),
        cases.len() - leaks
    );
    assert!(readme.contains(&said), "the README should say: {said}");
}
