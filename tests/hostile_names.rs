//! A profile whose names are HTML, terminal sequences, bidi marks, Markdown and commands of CI
//! runners, through every command and every form: nothing of it comes out as what it wants to be.

mod support;

use pprof::protos::Message;
use pulldown_cmark::{Event, Options, Parser, Tag};
use std::path::{Path, PathBuf};
use std::process::Output;
use support::heapdrift;
use support::profiles::{Pprof, goroutine_dump, gzip};

/// Names that want to be something else.
const NAMES: &[&str] = &[
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg/onload=alert(1)>",
    "</script><script>alert(2)</script>",
    "]]><script>alert(3)</script>",
    "--><b>x</b>",
    "{{ 7 }} {% raw %}",
    "\u{1b}[2J\u{1b}]52;c;cm0gLXJmIC8=\u{7}main.cleared",
    "main.\u{202e}txet\u{2066}",
    "main.zero\u{200b}width\u{feff}",
    "::error file=app.go,line=1::forged",
    "x ::set-output name=a::b",
    "##[error]forged",
    "##vso[task.complete result=Failed]x",
    "[click](https://evil.example/)",
    "![x](https://evil.example/x.png)",
    "`code` **bold** | cell",
    "main.line\n# Heading\n- item",
    "main.tab\tand\r\nreturn",
    "@everyone #12 <!channel>",
    "a;b 123 456",
    "main.\0nul\u{fffe}",
];

const RUNNER_COMMANDS: &[&str] = &["##[", "##vso["];

/// A series of eight snapshots in which every name grows, with goroutines.
fn write_series(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for point in 0..8 {
        let mut heap = Pprof::heap(point * 300);
        for (number, name) in NAMES.iter().enumerate() {
            let size = 64 * (number as i64 + 1);
            let grown = 2000 + 900 * point;
            // `Pprof::row` splits at " < " and " + ", which these names do not hold.
            heap = heap.sampled(
                &format!("{} < main.main", name.replace('@', "＠")),
                size,
                grown,
                grown,
            );
        }
        let path = dir.join(format!("{point}.heap.pb.gz"));
        // The writer takes what follows an `@` for a line.
        let mut message = heap.message();
        for text in &mut message.string_table {
            *text = text.replace('＠', "@");
        }
        std::fs::write(&path, gzip(&message.encode_to_vec())).unwrap();
        let dump = goroutine_dump("main.<b>wait</b>", 5 + 20 * point as usize);
        std::fs::write(dir.join(format!("{point}.goroutine.txt")), dump).unwrap();
        files.push(path);
    }
    files
}

fn run(arguments: &[&str], files: &[PathBuf]) -> String {
    let Output { status, stdout, .. } = heapdrift().args(arguments).args(files).output().unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}");
    String::from_utf8(stdout).unwrap()
}

/// What each command prints in one form.
fn of_every_command(format: &str) -> Vec<(String, String)> {
    let dir = tempfile::tempdir().unwrap();
    let files = write_series(dir.path());
    let directory = [dir.path().to_owned()];
    [
        ("diagnose", &directory[..]),
        ("diff", &[files[0].clone(), files[7].clone()]),
        ("top", &files[7..]),
    ]
    .map(|(command, files)| {
        let rows: &[&str] = &[
            command,
            "-f",
            format,
            "--rows",
            "0",
            "--verbose",
            "--width",
            "160",
        ];
        (command.to_owned(), run(rows, files))
    })
    .to_vec()
}

fn is_hidden(c: char) -> bool {
    c != '\n'
        && (c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
}

/// What holds of every text that may be printed or logged.
fn check_text(what: &str, text: &str) {
    for (number, line) in text.lines().enumerate() {
        let place = format!("{what}, line {}: {line:?}", number + 1);
        assert!(!line.chars().any(is_hidden), "hidden characters: {place}");
        assert!(!line.trim_start().starts_with("::"), "a command: {place}");
        for command in RUNNER_COMMANDS {
            assert!(!line.contains(command), "a command: {place}");
        }
    }
}

#[test]
fn on_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path());
    let directory = [dir.path().to_owned()];
    for width in ["60", "61", "67", "80", "100", "160"] {
        let text = run(
            &["diagnose", "--rows", "0", "--verbose", "--width", width],
            &directory,
        );
        check_text(&format!("diagnose at {width}"), &text);
        assert!(text.contains("<script>alert(1)"), "shown as it is");
    }
    for (command, text) in of_every_command("table") {
        check_text(&command, &text);
        assert!(
            text.contains("\\x1b[2J") || text.contains("\\x07main.cleared"),
            "{text}"
        );
    }
}

#[test]
fn in_json() {
    for (command, text) in of_every_command("json") {
        check_text(&command, &text);
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        // What programs read is what the profile holds, to the letter.
        let all = told.to_string();
        for name in NAMES {
            let quoted = serde_json::to_string(name).unwrap();
            assert!(
                all.contains(quoted.trim_matches('"')),
                "{command}: {name:?}"
            );
        }
    }
}

#[test]
fn in_markdown() {
    for (command, text) in of_every_command("markdown") {
        check_text(&command, &text);
        for event in Parser::new_ext(&text, Options::all()) {
            match event {
                Event::Html(html) | Event::InlineHtml(html) => {
                    let own = ["<details><summary>", "</details>"];
                    let html = html.trim();
                    assert!(
                        html.is_empty() || own.iter().any(|tag| html.starts_with(tag)),
                        "{command}: {html}"
                    );
                    assert!(!html.contains("alert"), "{command}: {html}");
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    assert!(!dest_url.contains("evil.example"), "{command}: {dest_url}");
                }
                Event::Text(text) => {
                    // A heading of its own would be an event of its own; a mention is only one
                    // outside of code.
                    assert!(
                        !text.contains("@everyone") || is_fenced(&text),
                        "{command}: {text}"
                    );
                }
                Event::Start(Tag::Heading { .. }) => {}
                _ => {}
            }
        }
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("# ")).collect();
        assert!(headings.is_empty(), "{command}: {headings:?}");
    }
}

/// Text of a fenced block comes as whole lines.
fn is_fenced(text: &str) -> bool {
    text.ends_with('\n')
}

#[test]
fn in_html() {
    for (command, text) in of_every_command("html") {
        check_text(&command, &text.replace('\t', " "));
        // The data of the flame graph and the page's own script.
        assert_eq!(text.matches("<script").count(), 2, "{command}");
        assert_eq!(text.matches("</script").count(), 2, "{command}");
        for markup in ["<img", "<b>", "<svg/", "onerror=alert(1)>"] {
            assert!(!text.contains(markup), "{command}: {markup}");
        }
        assert!(text.contains("&#60;script&#62;alert(1)"), "{command}");
    }
}

#[test]
fn in_a_flame_graph() {
    for (command, text) in of_every_command("svg") {
        // inferno's own script is the only one.
        assert_eq!(text.matches("<script").count(), 1, "{command}");
        for markup in ["<img", "<b>", "<svg/", "onerror=alert(1)>"] {
            assert!(!text.contains(markup), "{command}: {markup}");
        }
        assert!(text.contains("&lt;script&gt;alert(1)"), "{command}");
        assert!(
            !text.chars().any(|c| c != '\t' && c != '\r' && is_hidden(c)),
            "{command}"
        );
        for line in text.lines() {
            assert!(
                !line.trim_start().starts_with("::") && !line.contains("##["),
                "{line}"
            );
        }
    }
}

#[test]
fn in_folded_stacks() {
    for (command, text) in of_every_command("folded") {
        check_text(&command, &text);
        assert_eq!(
            text.lines().count(),
            NAMES.len(),
            "{command}: one stack a name"
        );
        for line in text.lines() {
            let figures = if command == "top" { 1 } else { 2 };
            let words: Vec<&str> = line.rsplitn(figures + 1, ' ').collect();
            assert!(
                words[..figures]
                    .iter()
                    .all(|word| word.parse::<i64>().is_ok()),
                "{line}"
            );
            assert_eq!(
                words[figures].split(';').count(),
                2,
                "main.main and one more: {line}"
            );
        }
    }
}

#[test]
fn in_a_profile_they_come_back_to_the_letter() {
    let dir = tempfile::tempdir().unwrap();
    let files = write_series(dir.path());
    let output = heapdrift()
        .args(["top", "-f", "pprof"])
        .arg(&files[7])
        .output()
        .unwrap();
    let copy = dir.path().join("copy.pb.gz");
    std::fs::write(&copy, output.stdout).unwrap();
    let read = |file: &PathBuf| {
        let text = run(&["top", "-f", "json"], std::slice::from_ref(file));
        let top: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rows = top["rows"].as_array().unwrap().clone();
        let told = [
            "function",
            "file",
            "flat_bytes",
            "flat_objects",
            "cum_bytes",
        ];
        rows.into_iter()
            .map(|row| told.map(|key| row[key].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(read(&copy), read(&files[7]));
}

/// What the commands of a pipeline print in a form for machines.
fn of_a_pipeline(format: &str) -> Vec<(String, String)> {
    let dir = tempfile::tempdir().unwrap();
    let files = write_series(dir.path());
    let directory = [dir.path().to_owned()];
    [
        ("diagnose", &directory[..]),
        ("check", &[files[0].clone(), files[7].clone()]),
    ]
    .map(|(command, files)| (command.to_owned(), run(&[command, "-f", format], files)))
    .to_vec()
}

#[test]
fn in_annotations_of_a_workflow() {
    let ours = regex::Regex::new(
        r"^(::(error|warning|notice) (file=[^,:]*,(line=\d+,)?)?title=[^,:]*::|heapdrift: )",
    )
    .unwrap();
    for (command, text) in of_a_pipeline("github") {
        assert!(text.lines().count() >= 2, "{command}: {text}");
        for line in text.lines() {
            assert!(ours.is_match(line), "{command}: {line:?}");
            assert!(!line.chars().any(is_hidden), "{command}: {line:?}");
            for legacy in RUNNER_COMMANDS {
                assert!(!line.contains(legacy), "{command}: {line:?}");
            }
        }
    }
}

#[test]
fn in_sarif() {
    for (command, text) in of_a_pipeline("sarif") {
        check_text(&command, &text);
        let log: serde_json::Value = serde_json::from_str(&text).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert!(!results.is_empty(), "{command}: {text}");
    }
}

#[test]
fn in_junit() {
    use quick_xml::events::Event;
    const ELEMENTS: &[&[u8]] = &[
        b"testsuites",
        b"testsuite",
        b"testcase",
        b"failure",
        b"system-out",
    ];
    for (command, text) in of_a_pipeline("junit") {
        check_text(&command, &text);
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut cases = 0;
        loop {
            match reader.read_event().unwrap() {
                Event::Start(element) | Event::Empty(element) => {
                    assert!(
                        ELEMENTS.contains(&element.name().as_ref()),
                        "{command}: {element:?}"
                    );
                    cases += usize::from(element.name().as_ref() == b"testcase");
                    for attribute in element.attributes() {
                        attribute.unwrap();
                    }
                }
                Event::CData(data) => panic!("{command}: {data:?}"),
                Event::Eof => break,
                _ => {}
            }
        }
        assert!(cases >= 2, "{command}: {text}");
    }
}
