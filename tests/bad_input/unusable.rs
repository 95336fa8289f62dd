//! Files that cannot be used: alone, and among good ones.

use crate::harness::*;
use crate::support::profiles::{gunzip, gzip};
use crate::zoo::{bad_files, claims};
use heapdrift::profile::SymbolTable;
use serde_json::Value;

#[test]
fn a_bad_file_alone_is_one_error_with_a_hint() {
    let desk = Desk::new();
    let good = desk.put("good.heap.pb.gz", sound().gzip());
    for bad in bad_files() {
        let file = desk.put("bad.heap.pb.gz", &bad.bytes);
        let told = format!("error: {}: ", file.display());
        for said in [
            run("top", &[&file], &[]),
            run("diagnose", &[&file], &[]),
            run_json("diagnose", &[&file], &["-q"]),
            run("diff", &[&file, &good], &[]),
            run("diff", &[&good, &file], &[]),
        ] {
            said.refused(bad.code, bad.says);
            assert!(said.err.starts_with(&told), "{}: {}", bad.what, said.err);
        }
        let said = run_with("diagnose", &["-"], &[], &bad.bytes);
        said.refused(bad.code, bad.says);
        assert!(said.err.starts_with("error: stdin: "), "{}", said.err);
    }
}

#[test]
fn one_bad_file_among_good_ones_changes_nothing() {
    const NAME: &str = "0-broken.heap.pb.gz";
    let case = first_case();
    let desk = case.copy();
    let before = run_json("diagnose", &desk.all(), &[]);
    let expected = before.answered(1).json();
    assert_eq!(expected["verdict"], "leak");
    for bad in bad_files() {
        let file = desk.put(NAME, &bad.bytes);
        let said = run_json("diagnose", &desk.all(), &[]);
        let diagnosis = said.answered(1).json();
        let parts = [
            "/verdict",
            "/findings",
            "/series",
            "/totals",
            "/memory",
            "/next_steps",
        ];
        same(&diagnosis, &expected, &parts, bad.what);
        let mut warnings = said.warnings();
        warnings.retain(|warning| !before.warnings().contains(warning));
        assert_eq!(warnings.len(), 1, "{}: {warnings:#?}", bad.what);
        let [reason, _hint] = warnings[0].split_once("; ").expect("a hint").into();
        assert!(
            reason.contains(NAME) && reason.contains(bad.says),
            "{}: {reason}",
            bad.what
        );
        let of_file = |input: &&Value| input["source"] == file.to_str().unwrap();
        let input = list(&diagnosis["inputs"]).iter().find(of_file);
        assert_eq!(input.expect("it is listed")["used"], false, "{}", bad.what);
    }
    // For people too.
    let said = run("diagnose", &desk.all(), &[]);
    assert!(said.answered(1).out.contains(NAME), "{}", said.out);
    // The last one that is sound counts.
    let last = case.heaps().pop().unwrap();
    let last = desk.path(last.file_name().unwrap());
    let said = run_json("top", &desk.all(), &[]);
    assert_eq!(said.answered(0).json()["source"], last.to_str().unwrap());
}

#[test]
fn several_bad_files_are_all_named_and_a_hint_is_said_once() {
    let desk = Desk::new();
    let names = ["1.heap.pb.gz", "2.heap.pb.gz", "3.heap.pb.gz"];
    for name in names {
        desk.put(name, &sound().gzip()[..40]);
    }
    for command in ["diagnose", "top"] {
        let said = run(command, &desk.all(), &[]);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
        for name in names {
            assert!(said.err.contains(name), "{}", said.err);
        }
        assert_eq!(said.err.matches("hint: ").count(), 1, "{}", said.err);
    }
}

#[test]
fn a_real_profile_cut_anywhere_is_never_a_shorter_profile() {
    let real = read(&first_case().heaps()[0]);
    let raw = gunzip(&real);
    let is_refused = |bytes: Vec<u8>| decode(bytes, &mut SymbolTable::new()).is_err();
    for end in (1..real.len()).step_by(97) {
        assert!(is_refused(real[..end].to_vec()), "gzip cut at {end}");
    }
    for end in (1..raw.len()).step_by(97) {
        assert!(is_refused(raw[..end].to_vec()), "protobuf cut at {end}");
        assert!(
            is_refused(gzip(&raw[..end])),
            "packed protobuf cut at {end}"
        );
    }
    let desk = Desk::new();
    for tenth in 1..10 {
        let cut = |bytes: &[u8]| bytes[..bytes.len() * tenth / 10].to_vec();
        for bytes in [cut(&real), cut(&raw), gzip(&cut(&raw))] {
            let file = desk.put("cut.heap.pb.gz", bytes);
            run("diagnose", &[file], &[]).refused(2, "cut short");
        }
    }
}

#[test]
fn claims_are_refused_in_any_packing() {
    for (what, bytes) in claims() {
        for bytes in [gzip(&bytes), bytes] {
            let outcome = decode(bytes, &mut SymbolTable::new());
            assert!(outcome.is_err(), "{what}");
        }
    }
    // A pattern of frames to drop that no engine for such patterns should see.
    let patterns = [
        "a".repeat(1 << 20),
        r"(\w{1,200}\W{1,200}){1,60}".into(),
        "(".repeat(9000),
    ];
    for pattern in patterns {
        let heap = sound().with(|p| p.drop_frames = pattern).gzip();
        let outcome = decode(heap, &mut SymbolTable::new());
        assert!(outcome.is_ok(), "it drops nothing");
    }
}

#[test]
fn what_is_not_there_is_one_error_with_a_hint() {
    let desk = Desk::new();
    let good = desk.put("good/1.heap.pb.gz", sound().gzip());
    let empty = desk.path("empty");
    std::fs::create_dir(&empty).unwrap();
    desk.put("papers/README.md", "# Captures");
    desk.put("papers/case.toml", "label = 1");
    desk.put("papers/src/main.go", "package main");
    for (source, says) in [
        (empty, "no profile in this directory"),
        (desk.path("papers"), "no profile in this directory"),
        (desk.path("missing.heap.pb.gz"), "no such file or directory"),
    ] {
        run("top", &[&source], &[]).refused(2, says);
        run("diagnose", &[&source], &[]).refused(2, says);
        run("diagnose", &[&good, &source], &[]).refused(2, says);
        run("diff", &[&source, &good], &[]).refused(2, says);
        run("diff", &[&good, &source], &[]).refused(2, says);
    }
    run("diagnose", &["-", "-"], &[]).refused(2, "only once");
}

#[test]
fn a_file_beyond_max_size_is_refused() {
    let desk = Desk::new();
    let small = desk.put("1.heap.pb", sound().raw());
    let large = desk.put("2.heap.pb.gz", gzip(&vec![b'x'; 1 << 20]));
    let [tight, wide] = [["--max-size", "100"], ["--max-size", "64KiB"]];
    for command in ["top", "diagnose"] {
        run(command, &[&small], &tight).refused(2, "more than 100 bytes");
        run(command, &[&large], &wide).refused(2, "more than 65536 bytes");
        run(command, &[&small], &wide).answered(0);
    }
    run("diff", &[&small, &small], &tight).refused(2, "more than 100 bytes");
    assert_eq!(run("top", &[&small], &["--max-size", "much"]).code, 2);
}
