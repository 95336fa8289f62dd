//! The command line from outside: usage, sources, errors with their hints, exit codes.

#[path = "support/profiles.rs"]
#[allow(dead_code)]
mod profiles;

use assert_cmd::Command;
use profiles::{Pprof, goroutine_dump, leaking_process};
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

/// What a run left behind.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn heapdrift(dir: &Path, arguments: &[&str], stdin: &[u8]) -> Run {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("heapdrift"))
        .current_dir(dir)
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("HEAPDRIFT_CONFIG")
        .write_stdin(stdin)
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A directory with these files.
fn files(contents: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in contents {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    dir
}

/// Eight snapshots of a leak below `leak/`, three of the same process's end below `late/`, one
/// of another process as `other.heap.pb.gz`.
fn captures() -> TempDir {
    let dir = files(&[
        ("leak/README.md", b"How these were taken.\n"),
        ("leak/.hidden.heap.pb.gz", b"half"),
        (
            "other.heap.pb.gz",
            &Pprof::heap(900)
                .sampled("main.other < main.main", 64, 9, 9)
                .gzip(),
        ),
    ]);
    for (number, profile) in leaking_process(0, 8).iter().enumerate() {
        let path = dir.path().join(format!("leak/{number}.heap.pb.gz"));
        std::fs::write(path, profile.gzip()).unwrap();
        let dump = goroutine_dump("main.wait", 3);
        std::fs::write(
            dir.path().join(format!("leak/{number}.goroutine.txt")),
            dump,
        )
        .unwrap();
    }
    dir
}

/// Runs in an empty directory and expects a failure that says all of `words` on standard error.
fn refuses(dir: &Path, arguments: &[&str], code: i32, words: &[&str]) {
    let run = heapdrift(dir, arguments, b"");
    assert_eq!(
        run.code,
        Some(code),
        "{arguments:?}: {}{}",
        run.stdout,
        run.stderr
    );
    assert_eq!(run.stdout, "", "{arguments:?}");
    for word in words {
        assert!(
            run.stderr.contains(word),
            "{arguments:?}: no {word:?} in {}",
            run.stderr
        );
    }
}

#[test]
fn help_of_every_command_shows_an_example() {
    let dir = files(&[]);
    for command in [
        "diagnose", "diff", "top", "check", "verify", "capture", "watch", "explain",
    ] {
        for help in [vec![command, "--help"], vec![command, "-h"]] {
            let run = heapdrift(dir.path(), &help, b"");
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
            let example = format!("  heapdrift {command} ");
            assert!(run.stdout.contains("Examples:\n"), "{}", run.stdout);
            assert!(run.stdout.contains(&example), "{}", run.stdout);
        }
    }
    let run = heapdrift(dir.path(), &["--help"], b"");
    assert!(
        run.stdout.contains("heapdrift diagnose captures/"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("Exit codes:"), "{}", run.stdout);
}

#[test]
fn packagers_get_completions_and_manual_pages() {
    let dir = files(&[("man/x", b"")]);
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef heapdrift"),
        ("fish", "complete -c heapdrift"),
    ] {
        let run = heapdrift(dir.path(), &["completions", shell], b"");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        assert!(run.stdout.contains(word), "{shell}");
        assert!(run.stdout.contains("until-verdict"), "{shell}");
    }
    let run = heapdrift(dir.path(), &["man", "man"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let page = std::fs::read_to_string(dir.path().join("man/heapdrift-watch.1")).unwrap();
    assert!(page.contains("until\\-verdict"), "{page}");
    refuses(
        dir.path(),
        &["man", "nowhere"],
        2,
        &["nowhere", "hint: name a directory"],
    );
}

#[test]
fn wrong_usage_ends_with_2() {
    let dir = captures();
    for arguments in [
        vec![],
        vec!["diagnose"],
        vec!["diff", "leak"],
        vec!["nonsense"],
        vec!["top", "leak", "--nonsense"],
        vec!["top", "leak", "-f", "xml"],
        vec!["top", "leak", "--width", "10"],
        vec!["top", "leak", "-q", "-v"],
        vec!["diagnose", "leak", "--fail-on", "doom"],
        vec!["diagnose", "leak", "--limit", "much"],
        vec!["diagnose", "leak", "--max-size", "0"],
    ] {
        refuses(dir.path(), &arguments, 2, &["Usage", ""][1..]);
    }
    refuses(
        dir.path(),
        &["diagnose", "leak", "--limit", "much"],
        2,
        &["512MiB"],
    );
}

#[test]
fn input_that_is_not_there_or_no_profile_is_refused_with_a_hint() {
    let whole = leaking_process(0, 1)[0].gzip();
    let dir = files(&[
        ("page.html", b"<!DOCTYPE html><html><body>404</body></html>"),
        ("notes.txt", b"hello there\n"),
        ("cut.heap.pb.gz", &whole[..whole.len() / 2]),
        ("empty.heap", b""),
        ("docs/README.md", b"nothing here"),
        ("broken/1.heap.pb.gz", &whole[..20]),
        ("broken/2.heap.pb.gz", b""),
        ("store/a/1.heap", b"x"),
        ("store/a/2.heap", b"x"),
        ("store/b/1.heap", b"x"),
        ("store/b/2.heap", b"x"),
    ]);
    std::fs::create_dir(dir.path().join("nothing")).unwrap();
    for command in [&["diagnose"][..], &["top"], &["diff", "page.html"]] {
        let refuses = |source: &str, words: &[&str]| {
            let arguments: Vec<&str> = [command, &[source]].concat();
            refuses(dir.path(), &arguments, 2, &["error: ", "hint: "]);
            if command.len() == 1 {
                refuses_with(dir.path(), &arguments, words);
            }
        };
        refuses(
            "missing.pb.gz",
            &["missing.pb.gz: no such file", "check the path"],
        );
        refuses(
            "nothing",
            &["nothing: no profile in this directory", "heapdrift capture"],
        );
        refuses("docs", &["docs: no profile in this directory"]);
        refuses(
            "page.html",
            &["page.html: this is an HTML", "pprof heap profiles"],
        );
        refuses("notes.txt", &["notes.txt: this is", "not a profile"]);
        refuses(
            "cut.heap.pb.gz",
            &["cut.heap.pb.gz: the gzip stream is damaged or cut short"],
        );
        refuses("empty.heap", &["empty.heap: the file is empty"]);
        refuses(
            "broken",
            &[
                "1.heap.pb.gz: the gzip stream",
                "2.heap.pb.gz: the file is empty",
            ],
        );
        refuses(
            "store",
            &[
                "holds 2 directories of captures",
                "name one, such as store/a",
            ],
        );
    }
}

fn refuses_with(dir: &Path, arguments: &[&str], words: &[&str]) {
    refuses(dir, arguments, 2, words);
}

#[test]
fn a_leak_ends_with_1_unless_the_user_wants_otherwise() {
    let dir = captures();
    let run = heapdrift(dir.path(), &["diagnose", "leak"], b"");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(1), ""),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.starts_with("verdict     LEAK: "),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("main.keep"), "{}", run.stdout);
    assert!(
        !run.stdout.contains("README") && !run.stdout.contains("hidden"),
        "{}",
        run.stdout
    );
    for (arguments, code) in [
        (&["--exit-zero"][..], 0),
        (&["--fail-on", "growing"], 1),
        (&["--fail-on", "suspect", "-q"], 1),
    ] {
        let run = heapdrift(
            dir.path(),
            &[&["diagnose", "leak"], arguments].concat(),
            b"",
        );
        assert_eq!(run.code, Some(code), "{arguments:?}");
        assert_eq!(run.stdout.is_empty(), arguments.contains(&"-q"));
    }
}

#[test]
fn a_file_that_is_named_twice_counts_once() {
    let dir = captures();
    for sources in [
        &["leak", "leak/0.heap.pb.gz", "./leak/"][..],
        &["leak/0.heap.pb.gz", "leak"],
    ] {
        let run = heapdrift(
            dir.path(),
            &[&["diagnose", "-f", "json"], sources].concat(),
            b"",
        );
        let printed: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(printed["series"]["snapshots"], 8, "{}", printed["warnings"]);
    }
    let one = files(&[("d/1.heap.pb.gz", &leaking_process(0, 1)[0].gzip())]);
    let run = heapdrift(one.path(), &["diagnose", "d/1.heap.pb.gz", "d"], b"");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn two_snapshots_are_never_a_leak() {
    let dir = captures();
    let pair = ["leak/0.heap.pb.gz", "leak/7.heap.pb.gz"];
    let run = heapdrift(dir.path(), &[&["diagnose"], &pair[..]].concat(), b"");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.starts_with("verdict     GROWING"),
        "{}",
        run.stdout
    );
    for (flags, code) in [
        (&[][..], 0),
        (&["--fail-on", "growing"], 1),
        (&["--fail-on", "growing", "--exit-zero"], 0),
    ] {
        let run = heapdrift(dir.path(), &[&["diff"], &pair[..], flags].concat(), b"");
        assert_eq!(run.code, Some(code), "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("grew"), "{}", run.stdout);
    }
}

#[test]
fn standard_input_is_a_source_once() {
    let dir = captures();
    let profile = leaking_process(0, 1)[0].gzip();
    let run = heapdrift(dir.path(), &["top", "-"], &profile);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(
        run.stdout.contains("stdin") && run.stdout.contains("main.keep"),
        "{}",
        run.stdout
    );
    let run = heapdrift(dir.path(), &["diff", "-", "leak/7.heap.pb.gz"], &profile);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    refuses(
        dir.path(),
        &["diff", "-", "-"],
        2,
        &["standard input can be read only once"],
    );
    refuses(dir.path(), &["top", "-"], 2, &["stdin: the file is empty"]);
}

#[test]
fn the_order_of_a_diff_is_the_users() {
    let dir = captures();
    let backwards = ["diff", "leak/7.heap.pb.gz", "leak/0.heap.pb.gz"];
    refuses(
        dir.path(),
        &backwards,
        3,
        &["2100 s before", "swap the two", "--force"],
    );
    let run = heapdrift(
        dir.path(),
        &[&backwards[..], &["--force", "-f", "json"]].concat(),
        b"",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let diff: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(diff["before"]["source"], "leak/7.heap.pb.gz");
    assert!(
        diff["total"]["delta_bytes"].as_i64().unwrap() < 0,
        "{}",
        diff["total"]
    );
    refuses(
        dir.path(),
        &["diff", "leak", "other.heap.pb.gz"],
        2,
        &["holds 8 heap profiles"],
    );
    refuses(
        dir.path(),
        &["diff", "leak/0.goroutine.txt", "other.heap.pb.gz"],
        2,
        &["holds 0 heap"],
    );
}

#[test]
fn what_cannot_be_compared_ends_with_3() {
    let saved_diff = Pprof::heap(0)
        .sampled("main.f < main.main", 64, 5, 5)
        .label("pprof::base", "true");
    let delta = Pprof::heap(0)
        .sampled("main.f < main.main", 64, 5, 5)
        .with(|profile| profile.duration_nanos = 30_000_000_000);
    let dir = captures();
    std::fs::write(dir.path().join("diff.pb.gz"), saved_diff.gzip()).unwrap();
    std::fs::write(dir.path().join("delta.pb.gz"), delta.gzip()).unwrap();
    for command in ["diagnose", "top"] {
        refuses(
            dir.path(),
            &[command, "diff.pb.gz"],
            3,
            &["diff.pb.gz: it is a saved diff"],
        );
        refuses(
            dir.path(),
            &[command, "delta.pb.gz"],
            3,
            &["delta profile over 30 s", "hint: "],
        );
    }
    refuses(
        dir.path(),
        &["diagnose", "diff.pb.gz", "delta.pb.gz"],
        3,
        &["saved diff", "delta"],
    );
    refuses(
        dir.path(),
        &["diff", "leak/0.heap.pb.gz", "delta.pb.gz"],
        3,
        &["delta profile"],
    );
    let strangers = ["leak/0.heap.pb.gz", "other.heap.pb.gz"];
    for (command, says) in [
        ("diagnose", "not of one process"),
        ("diff", "not of one program"),
    ] {
        let arguments = [&[command], &strangers[..]].concat();
        refuses(dir.path(), &arguments, 3, &[says, "--force"]);
        let run = heapdrift(dir.path(), &[&arguments[..], &["--force"]].concat(), b"");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
}

#[test]
fn a_broken_file_among_good_ones_is_left_out_and_told() {
    let dir = captures();
    std::fs::write(dir.path().join("leak/5.heap.pb.gz"), b"\x1f\x8b\x08cut").unwrap();
    let run = heapdrift(dir.path(), &["diagnose", "leak"], b"");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("leak/5.heap.pb.gz is left out"),
        "{}",
        run.stdout
    );
}

#[test]
fn json_goes_to_standard_output_and_files() {
    let dir = captures();
    let run = heapdrift(dir.path(), &["diagnose", "leak", "-f", "json"], b"");
    let printed: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(printed["verdict"], "leak");
    let arguments = [
        "diagnose", "leak", "-o", "out.json", "-o", "out.txt", "-o", "out", "-f", "json",
    ];
    let run = heapdrift(dir.path(), &arguments, b"");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(1), ""),
        "{}",
        run.stderr
    );
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&read("out.json")).unwrap(),
        printed
    );
    assert_eq!(read("out"), read("out.json"));
    assert!(read("out.txt").starts_with("verdict"));
    refuses(
        dir.path(),
        &["top", "leak", "-o", "no/such/dir.json"],
        2,
        &["no/such/dir.json", "hint: "],
    );
}

#[test]
fn rows_are_cut_in_tables_and_on_request() {
    let mut profile = Pprof::heap(0);
    for number in 0..30 {
        profile = profile.sampled(&format!("main.f{number} < main.main"), 4096, 40, 40);
    }
    let dir = files(&[("a.heap.pb.gz", &profile.gzip())]);
    let rows = |arguments: &[&str]| {
        let run = heapdrift(
            dir.path(),
            &[&["top", "a.heap.pb.gz"], arguments].concat(),
            b"",
        );
        run.stdout
            .lines()
            .filter(|line| line.contains("  main."))
            .count()
    };
    assert_eq!(
        (rows(&[]), rows(&["--rows", "3"]), rows(&["--rows", "0"])),
        (10, 3, 31)
    );
    let json_rows = |arguments: &[&str]| {
        let arguments = [&["top", "a.heap.pb.gz", "-f", "json"], arguments].concat();
        let run = heapdrift(dir.path(), &arguments, b"");
        let top: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        (
            top["rows"].as_array().unwrap().len(),
            top["unshown"]["rows"].as_u64().unwrap(),
        )
    };
    assert_eq!(
        (json_rows(&[]), json_rows(&["--rows", "4"])),
        ((31, 0), (4, 27))
    );
}

#[test]
fn patterns_are_explained_and_guessed() {
    let dir = files(&[("none/x.md", b""), ("bad/broken.toml", b"name = 3")]);
    let list = heapdrift(dir.path(), &["explain"], b"");
    assert_eq!(list.code, Some(0));
    assert!(
        list.stdout.contains("logger-promise-chain"),
        "{}",
        list.stdout
    );
    let page = heapdrift(dir.path(), &["explain", "logger-promise-chain"], b"");
    assert!(page.stdout.contains("HOW TO FIX IT"), "{}", page.stdout);
    let json = heapdrift(
        dir.path(),
        &["explain", "stale-watchers", "-f", "json"],
        b"",
    );
    let pages: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(pages["pages"][0]["name"], "stale-watchers");
    let other = heapdrift(dir.path(), &["explain", "plateauing"], b"");
    assert!(other.stdout.starts_with("plateau\n"), "{}", other.stdout);
    assert!(other.stdout.contains("\nWHAT TO DO\n"), "{}", other.stdout);
    let guess = "hint: did you mean logger-promise-chain?";
    refuses(
        dir.path(),
        &["explain", "logger-promise-chian"],
        2,
        &["error: there is no pattern", guess],
    );
    refuses(
        dir.path(),
        &["explain", "zzzzzzzz"],
        2,
        &["lists all pages"],
    );
    refuses(
        dir.path(),
        &["explain", "--patterns", "none"],
        2,
        &["no .toml file", "hint: "],
    );
    refuses(
        dir.path(),
        &["explain", "--patterns", "gone"],
        2,
        &["gone: "],
    );
    refuses(
        dir.path(),
        &["explain", "--patterns", "bad"],
        2,
        &["bad/broken.toml:1:", "hint: "],
    );
}

#[test]
fn the_list_has_patterns_first_and_then_what_is_no_leak() {
    let dir = files(&[]);
    let list = heapdrift(dir.path(), &["explain", "--width", "80"], b"").stdout;
    let (leaks, others) = list.split_once("\nNOT A LEAK OF THE HEAP\n").unwrap();
    assert!(leaks.starts_with("LEAK PATTERNS\n"), "{leaks}");
    let names = |text: &str| -> Vec<String> {
        let first = |line: &str| line.split_once("  ").map(|(name, _)| name.to_owned());
        let names = text.lines().filter_map(first);
        names.filter(|name| !name.is_empty()).collect()
    };
    let (leaks, others) = (names(leaks), names(others));
    assert!(
        leaks.contains(&"sql-rows-not-closed".to_owned()),
        "{leaks:?}"
    );
    assert!(others.len() >= 20, "{others:?}");
    assert!(leaks.is_sorted() && others.is_sorted());
    // Each has a page that fits.
    for name in leaks.iter().chain(&others) {
        let page = heapdrift(dir.path(), &["explain", name, "--width", "80"], b"");
        assert_eq!(page.code, Some(0), "{name}");
        for line in page.stdout.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn a_search_says_where_it_found_the_word() {
    let dir = files(&[]);
    let run = heapdrift(
        dir.path(),
        &["explain", "--search", "CONNECTIONOPENER"],
        b"",
    );
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout.contains("sql-open-per-query\n"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("Why memory grows: "), "{}", run.stdout);
    assert!(run.stdout.contains("pages mention"), "{}", run.stdout);
    let json = heapdrift(
        dir.path(),
        &["explain", "--search", "gogc", "-f", "json"],
        b"",
    );
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(found["search"], "gogc");
    let pages = found["pages"].as_array().unwrap();
    assert!(pages.iter().any(|page| page["name"] == "gc-headroom"));
    assert!(
        pages
            .iter()
            .all(|page| page["found"][0]["place"].is_string())
    );
    let none = heapdrift(dir.path(), &["explain", "--search", "no such words"], b"");
    assert_eq!(none.code, Some(0));
    assert!(
        none.stdout.starts_with("No page mentions"),
        "{}",
        none.stdout
    );
    refuses(dir.path(), &["explain", "--search", " "], 2, &["no word"]);
    refuses(
        dir.path(),
        &["explain", "x", "--search", "y"],
        2,
        &["cannot be used with"],
    );
}

#[test]
fn pages_are_written_as_markdown() {
    let dir = files(&[]);
    let one = heapdrift(dir.path(), &["explain", "peak", "-f", "markdown"], b"");
    assert!(one.stdout.starts_with("# peak\n"), "{}", one.stdout);
    let run = heapdrift(dir.path(), &["explain", "-o", "all.md"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    let all = std::fs::read_to_string(dir.path().join("all.md")).unwrap();
    for heading in [
        "\n# stale-watchers\n",
        "\n# gc-headroom\n",
        "\n## How to fix it\n",
    ] {
        assert!(all.contains(heading), "{heading}");
    }
}

#[test]
fn a_page_of_the_catalogue_has_no_stacks() {
    let dir = files(&[]);
    for (format, form) in [
        ("svg", "flame graph"),
        ("folded", "stacks"),
        ("html", "HTML"),
    ] {
        let form = format!("no {form}");
        refuses(dir.path(), &["explain", "peak", "-f", format], 2, &[&form]);
    }
}

#[test]
fn pattern_files_are_checked() {
    let example: &[u8] = include_bytes!("data/patterns/example.toml");
    let broken: &[u8] = b"name = \"broken\"\ntitle = \"x\"\nnonsense = 1\n";
    let expression = String::from_utf8(example.to_vec())
        .unwrap()
        .replace("name = \"example\"", "name = \"dear\"")
        .replace("'session\\.restore$'", "'(a{1000}){1000}'");
    let unclosed = String::from_utf8(example.to_vec())
        .unwrap()
        .replace("name = \"example\"", "name = \"open\"")
        .replace("'session\\.restore$'", "'session(restore'");
    let taken = String::from_utf8(example.to_vec())
        .unwrap()
        .replace("name = \"example\"", "name = \"stale-watchers\"");
    let dir = files(&[
        ("example.toml", example),
        ("again/example.toml", example),
        ("broken.toml", broken),
        ("dear.toml", expression.as_bytes()),
        ("open.toml", unclosed.as_bytes()),
        ("stale-watchers.toml", taken.as_bytes()),
        ("bytes.toml", b"\xff\xfe"),
    ]);
    let run = heapdrift(dir.path(), &["explain", "--check", "example.toml"], b"");
    let expect = "example.toml: a sound pattern file\n";
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), expect),
        "{}",
        run.stderr
    );
    let line = |text: &str, word: &str| {
        let at = text.lines().position(|line| line.contains(word)).unwrap();
        at + 1
    };
    let dear = format!("dear.toml:{}:", line(&expression, "{1000}"));
    let open = format!("open.toml:{}:", line(&unclosed, "(restore"));
    let stale = format!(
        "stale-watchers.toml:{}:8: there is a pattern",
        line(&taken, "name = ")
    );
    let again = format!(
        "again/example.toml:{}:8: there is a pattern",
        line(&taken, "name = ")
    );
    for (arguments, words) in [
        (
            &["broken.toml"][..],
            &["broken.toml:3:1: unknown field `nonsense`", "hint: "][..],
        ),
        (
            &["dear.toml"],
            &[&dear, "compiled it takes more than", "hint: "],
        ),
        (
            &["open.toml"],
            &[&open, "not a usable regular expression", "hint: "],
        ),
        (
            &["stale-watchers.toml"],
            &[&stale, "the built-in catalogue"],
        ),
        (&["gone.toml"], &["gone.toml: "]),
        (&["bytes.toml"], &["bytes.toml: "]),
    ] {
        let checks = arguments.iter().flat_map(|file| ["--check", file]);
        let arguments: Vec<&str> = ["explain"].into_iter().chain(checks).collect();
        refuses(dir.path(), &arguments, 2, words);
    }
    // Each file is looked at, and what is sound is said.
    let run = heapdrift(
        dir.path(),
        &[
            "explain",
            "--check",
            "broken.toml",
            "--check",
            "example.toml",
            "--check",
            "again/example.toml",
        ],
        b"",
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), expect));
    assert!(run.stderr.contains("broken.toml:3:1"), "{}", run.stderr);
    assert!(run.stderr.contains(&again), "{}", run.stderr);
    refuses(
        dir.path(),
        &["explain", "--check", "example.toml", "-f", "json"],
        2,
        &["one form only"],
    );
}

#[test]
fn the_configuration_names_directories_of_patterns() {
    let example: &[u8] = include_bytes!("data/patterns/example.toml");
    let dir = files(&[
        ("heapdrift.toml", b"patterns = [\"mine\"]\n"),
        ("mine/example.toml", example),
        ("deep/er/notes.txt", b""),
        ("typo/heapdrift.toml", b"# mine\npattern = [\"mine\"]\n"),
        ("gone/heapdrift.toml", b"patterns = [\"nowhere\"]\n"),
        ("other.toml", b"patterns = []\n"),
    ]);
    let explain = |below: &str, variable: Option<&str>| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("heapdrift"));
        command
            .current_dir(dir.path().join(below))
            .args(["explain", "example"]);
        match variable {
            Some(value) => command.env("HEAPDRIFT_CONFIG", value),
            None => command.env_remove("HEAPDRIFT_CONFIG"),
        };
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    // Found in the directory and in those above it, and relative to where it is.
    for below in [".", "deep/er"] {
        let (code, text) = explain(below, None);
        assert_eq!(code, Some(0), "{below}: {text}");
        assert!(text.contains("Sessions are kept"), "{text}");
    }
    let refused = |below: &str, variable: Option<&str>, words: &[&str]| {
        let (code, text) = explain(below, variable);
        assert_eq!(code, Some(2), "{text}");
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
    };
    let typo = "heapdrift.toml:2:1: there is no key `pattern`";
    refused("typo", None, &[typo, "hint: did you mean `patterns`?"]);
    refused("gone", None, &["nowhere: ", "hint: "]);
    // The variable comes first; an empty one means none.
    refused(".", Some("other.toml"), &["there is no pattern or verdict"]);
    refused(".", Some(""), &["there is no pattern or verdict"]);
    refused(
        ".",
        Some("missing.toml"),
        &["missing.toml: ", "HEAPDRIFT_CONFIG"],
    );
    assert_eq!(explain("deep", Some("../heapdrift.toml")).0, Some(0));
    // `diagnose` reads it, too.
    let typo = heapdrift(&dir.path().join("typo"), &["diagnose", "."], b"");
    assert_eq!(typo.code, Some(2));
    assert!(typo.stderr.contains("no key `pattern`"), "{}", typo.stderr);
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let dir = captures();
    let has_color = |arguments: &[&str]| {
        let run = heapdrift(
            dir.path(),
            &[&["diagnose", "leak"], arguments].concat(),
            b"",
        );
        run.stdout.contains('\x1b')
    };
    assert!(!has_color(&[]) && !has_color(&["--color", "never"]));
    assert!(has_color(&["--color", "always"]));
    assert!(!has_color(&["--color", "always", "-f", "json"]));
}

#[test]
fn hostile_names_never_reach_the_terminal_raw() {
    let name = "main.\x1b[2J\u{202e}f\nLEAK";
    let profile = Pprof::heap(0).sampled(&format!("{name} < main.main"), 4096, 40, 40);
    let hostile_file = "\x1b]0;x\x07.heap.pb.gz";
    let dir = files(&[
        ("a.heap.pb.gz", &profile.gzip()),
        (hostile_file, b"no profile"),
    ]);
    let is_clean = |text: &str| !text.contains(['\x1b', '\x07', '\u{202e}']);
    for arguments in [
        &["top", "a.heap.pb.gz"][..],
        &["top", "a.heap.pb.gz", "-f", "json"],
        &["diagnose", "."],
        &["diagnose", ".", "-f", "json"],
        &["diff", "a.heap.pb.gz", "a.heap.pb.gz"],
        &["diagnose", hostile_file],
        &["diagnose", "missing\x1b[2J"],
        &["explain", "x\x1b[2J"],
    ] {
        let run = heapdrift(dir.path(), arguments, b"");
        assert!(
            is_clean(&run.stdout) && is_clean(&run.stderr),
            "{}{}",
            run.stdout,
            run.stderr
        );
        assert!(!run.stdout.is_empty() || !run.stderr.is_empty());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = captures();
    for arguments in [
        &["diagnose", "leak", "--exit-zero"][..],
        &["explain"],
        &["--help"],
    ] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("heapdrift"))
            .current_dir(dir.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn what_is_printed_is_what_the_schemas_say() {
    use heapdrift::report::{DIAGNOSIS_SCHEMA, DIFF_SCHEMA, EXPLAIN_SCHEMA, TOP_SCHEMA};
    let dir = captures();
    let pair = ["leak/0.heap.pb.gz", "leak/7.heap.pb.gz"];
    for (schema, arguments) in [
        (
            DIAGNOSIS_SCHEMA,
            &["diagnose", "leak", "--limit", "1GiB"][..],
        ),
        (DIAGNOSIS_SCHEMA, &["diagnose", pair[0], pair[1]]),
        (DIAGNOSIS_SCHEMA, &["diagnose", pair[0]]),
        (DIAGNOSIS_SCHEMA, &["diagnose", "leak/0.goroutine.txt"]),
        (DIFF_SCHEMA, &["diff", pair[0], pair[1]]),
        (DIFF_SCHEMA, &["diff", pair[0], pair[1], "--rows", "1"]),
        (TOP_SCHEMA, &["top", "leak"]),
        (EXPLAIN_SCHEMA, &["explain"]),
        (EXPLAIN_SCHEMA, &["explain", "gc-headroom"]),
        (EXPLAIN_SCHEMA, &["explain", "stale-watchers"]),
        (EXPLAIN_SCHEMA, &["explain", "--search", "goroutine"]),
        (EXPLAIN_SCHEMA, &["explain", "--search", "no such words"]),
    ] {
        let run = heapdrift(dir.path(), &[arguments, &["-f", "json"]].concat(), b"");
        let printed: serde_json::Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", run.stderr));
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&printed)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{arguments:?}: {errors:#?}");
    }
}
