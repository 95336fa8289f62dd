//! Where reports go and in which form: endings, colours, links into a repository, sizes.

mod support;

use std::path::{Path, PathBuf};
use support::heapdrift;
use support::profiles::{Pprof, leaking_process};

fn write_leak(dir: &Path) -> PathBuf {
    let source = dir.join("leak");
    std::fs::create_dir(&source).unwrap();
    for (number, profile) in leaking_process(0, 6).iter().enumerate() {
        std::fs::write(source.join(format!("{number}.heap.pb.gz")), profile.gzip()).unwrap();
    }
    source
}

#[test]
fn every_ending_gives_its_form_in_one_go() {
    let dir = tempfile::tempdir().unwrap();
    let source = write_leak(dir.path());
    let forms: [(&str, &[u8]); 9] = [
        ("a.txt", b"verdict "),
        ("a.json", b"{\n  \"schema_version\": 1"),
        ("a.md", b"## heapdrift: LEAK"),
        ("a.html", b"<!doctype html>"),
        ("A.HTML", b"<!doctype html>"),
        ("a.svg", b"<?xml"),
        ("a.folded", b"main.main;main.handle;main.keep "),
        ("a.pb.gz", b"\x1f\x8b"),
        // The first field of a raw profile.
        ("a.pb", b"\x0a"),
    ];
    let mut command = heapdrift();
    command.arg("diagnose").arg(&source);
    for (name, _) in forms {
        command.arg("-o").arg(dir.path().join(name));
    }
    let output = command.output().unwrap();
    assert!(
        output.stdout.is_empty() && output.status.code() == Some(1),
        "{output:?}"
    );
    for (name, begin) in forms {
        let bytes = std::fs::read(dir.path().join(name)).unwrap();
        assert!(
            bytes.starts_with(begin),
            "{name}: {:?}",
            String::from_utf8_lossy(&bytes[..40])
        );
    }
}

#[test]
fn colours_are_forced_and_forbidden() {
    let dir = tempfile::tempdir().unwrap();
    let source = write_leak(dir.path());
    let is_colored = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = heapdrift();
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        let output = command
            .arg("diagnose")
            .arg(&source)
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("LEAK"),
            "the word is there whatever the colour"
        );
        text.contains("\x1b[")
    };
    assert!(!is_colored(&[], &[]), "into a pipe");
    assert!(is_colored(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!is_colored(
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        &[]
    ));
    assert!(!is_colored(
        &[("CLICOLOR_FORCE", "1")],
        &["--color", "never"]
    ));
    assert!(is_colored(&[("NO_COLOR", "1")], &["--color", "always"]));
}

#[test]
fn files_of_the_repository_are_linked() {
    let dir = tempfile::tempdir().unwrap();
    let source = write_leak(dir.path());
    let root = dir.path().join("repository");
    std::fs::create_dir(&root).unwrap();
    // The profiles name /app/main.go.
    std::fs::write(root.join("main.go"), "package main\n").unwrap();
    let run = |format: &str, root: Option<&Path>| {
        let mut command = heapdrift();
        command.arg("diagnose").arg(&source).args(["-f", format]);
        if let Some(root) = root {
            command.arg("--source-root").arg(root);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let linked = run("markdown", Some(&root));
    assert!(linked.contains("[`main.go:"), "{linked}");
    assert!(linked.contains("](main.go#L"), "{linked}");
    assert!(run("html", Some(&root)).contains("<a href=\"main.go#L"));
    let unlinked = run("markdown", None);
    assert!(unlinked.contains("`/app/main.go:") && !unlinked.contains("](main.go"));
    let elsewhere = run("markdown", Some(dir.path()));
    assert!(!elsewhere.contains("](main.go"), "no such file there");
    let json = run("json", Some(&root));
    assert_eq!(
        json,
        run("json", None),
        "programs get what the profile says"
    );
}

#[test]
fn a_page_of_thirty_thousand_samples_is_below_a_megabyte() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for point in 0..3i64 {
        let mut heap = Pprof::heap(point * 600);
        for number in 0..30_000i64 {
            let (package, handler) = (number % 300, number % 7000);
            let stack = format!(
                "example.com/platform/internal/service{package}.(*Repository).LoadEverything{number} < \
                 example.com/platform/internal/service{package}.(*Handler).Serve{handler} < \
                 example.com/platform/internal/router.(*Router).Dispatch{} < net/http.(*conn).serve",
                number % 40
            );
            let count = 1 + (number * 7919) % 5 + point * i64::from(number % 3 == 0);
            heap = heap.sampled(&stack, 512 + 64 * (number % 100), count, count);
        }
        let path = dir.path().join(format!("{point}.heap.pb.gz"));
        std::fs::write(&path, heap.gzip()).unwrap();
        files.push(path);
    }
    let page = dir.path().join("page.html");
    let status = heapdrift()
        .arg("diagnose")
        .args(&files)
        .arg("-o")
        .arg(&page)
        .output()
        .unwrap();
    assert!(matches!(status.status.code(), Some(0 | 1)), "{status:?}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert!(
        html.contains("are not in the picture"),
        "what is cut is told"
    );
    assert!(html.contains("more sites, "), "and counted");
}
