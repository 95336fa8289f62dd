//! Names that attack whoever reads them: in profiles, and of files.

use crate::harness::*;
use crate::support::profiles::{goroutine_dump, gzip, leaking_process};
use pprof::protos::Message;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

// What must not be written raw, `harness::run` looks for in every run.

#[test]
fn names_in_profiles_are_shown_escaped() {
    let desk = Desk::new();
    let mut files = Vec::new();
    for (index, heap) in leaking_process(0, 6).into_iter().enumerate() {
        let mut heap = heap
            .label(HOSTILE, HOSTILE)
            .with(|p| p.build_id = HOSTILE.into());
        for name in heap.rows.iter_mut().flat_map(|row| &mut row.stack) {
            *name = name.replace("main.keep", HOSTILE);
        }
        // The source file and the mapping too.
        let mut message = heap.message();
        let name = message.string_table.len() as i64;
        message.string_table.push(format!("/app/{HOSTILE}.go"));
        message
            .function
            .iter_mut()
            .for_each(|function| function.filename = name);
        message.mapping[0].filename = name;
        let bytes = gzip(&message.encode_to_vec());
        files.push(desk.put(format!("{index}.heap.pb.gz"), bytes));
        let one_line = HOSTILE.replace(['\r', '\n'], "");
        let dump = goroutine_dump(&one_line, 10 + 30 * index);
        let dump = dump.replace("chan send", "chan \x1b[2J\u{202e}send");
        desk.put(format!("{index}.goroutine.txt"), dump);
    }
    for width in ["60", "80", "160", "1000"] {
        for option in [["--color", "never"], ["--rows", "0"], ["--width", width]] {
            let options = ["--width", width, "-v", option[0], option[1]];
            let options = &options[if option[0] == "--width" { 2 } else { 0 }..];
            let said = run("diagnose", &desk.all(), options);
            assert!(said.answered(1).out.contains(r"\u{202e}"), "{}", said.out);
            run("diff", &[&files[0], &files[5]], options).answered(0);
            run("top", &files[5..], options).answered(0);
        }
    }
    // JSON gives the names back as they are.
    let has_name = |rows: &Value, name: &str| {
        let is_it = |row: &Value| row.pointer(name).and_then(Value::as_str) == Some(HOSTILE);
        assert!(list(rows).iter().any(is_it), "{rows:#}");
    };
    let top = run_json("top", &files[5..], &[]).json();
    has_name(&top["rows"], "/function");
    let diff = run_json("diff", &[&files[0], &files[5]], &[]).json();
    has_name(&diff["rows"], "/function");
    let diagnosis = run_json("diagnose", &desk.all(), &[]).json();
    has_name(&diagnosis["findings"], "/culprit/function");
    has_name(&diagnosis["inputs"], "/build_id");
}

#[test]
fn names_of_files_are_shown_escaped() {
    let long = "x".repeat(200) + ".heap.pb.gz";
    let hostile = HOSTILE.to_owned() + ".heap.pb.gz";
    for name in [&hostile, &long, "-f.heap", "--force", " "] {
        files_of_any_name(OsStr::new(name));
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    files_of_any_name(OsStr::from_bytes(b"\xff\xfe broken \x1b[2J\n.heap.pb.gz"));
}

/// A file that is used, left out, refused, and a directory, all of that name.
fn files_of_any_name(name: &OsStr) {
    let desk = Desk::new();
    let good = desk.put(Path::new("good").join(name), sound().gzip());
    let bad = desk.put(Path::new("bad").join(name), b"Dear diary");
    let folder = desk.path(Path::new("folder").join(name));
    desk.put(folder.join("1.heap.pb.gz"), sound().gzip());
    for command in ["top", "diagnose"] {
        for form in ["table", "json"] {
            for source in [&good, &folder, &desk.path("good")] {
                run(command, &[source], &["-v", "-f", form]).answered(0);
            }
            run(command, &[&bad], &["-f", form]).refused(2, "a text file");
        }
    }
    run("diagnose", &[&good, &bad], &[]).answered(0);
    run("diff", &[&good, &good], &[]).answered(0);
    run("diff", &[&good, &bad], &[]).refused(2, "a text file");
    let missing = desk.path(Path::new("missing").join(name));
    run("diagnose", &[missing], &[]).refused(2, "no such file");
}
