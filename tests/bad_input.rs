//! What heapdrift says of input that is damaged, of another kind, hostile, or not comparable:
//! one clear error or warning with a hint, the right exit code, and nothing good is lost.

mod support;

use heapdrift::diagnosis::{DiagnoseOptions, Diff, diagnose, diff, top};
use heapdrift::pattern::Catalogue;
use heapdrift::profile::{Limits, ProfileError, ProfileFile, RawProfile, SymbolTable};
use heapdrift::report::{Layout, diagnosis_table, diff_table, to_json, top_table};
use heapdrift::snapshot::{LoadedFile, Series};
use heapdrift::source::{LoadOptions, Source, load_pair};
use pprof::protos::{Message, Profile};
use proptest::prelude::*;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use support::profiles::{
    HEAP_TYPES, Pprof, RATE, goroutine_dump, gunzip, gzip, heap_text, leaking_process, memory_text,
    wire, zstd,
};
use support::{Case, cases, heapdrift};

/// `--force`, or not.
const FORCE: &str = "--force";
/// A name that would clear the screen, write to the clipboard, reorder text and forge a verdict.
const HOSTILE: &str =
    "main.\x1b[2J\x1b]52;c;cm0gLXJm\x07\u{9b}31m\u{202e}gnp\u{2066}.\u{200b}x\r\nLEAK  forged";

// ---------------------------------------------------------------------------------------------
// One run of the binary, and the rules that hold for every run.

/// What a run of the binary said.
struct Said {
    what: String,
    code: i32,
    out: String,
    err: String,
}

/// Runs the binary. Whatever the input: it ends by itself with one of its own exit codes, and
/// writes text without anything that a terminal would obey.
fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Said {
    let mut command = heapdrift();
    command.args(args);
    let what = format!("{command:?}");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    let code = output.status.code().unwrap_or(-1);
    assert!((0..=3).contains(&code), "{what} ended with {code}: {err}");
    for text in [&out, &err] {
        let raw = text.chars().find(|c| *c != '\n' && is_obeyed(*c));
        assert_eq!(raw, None, "{what} wrote it raw: {text:?}");
        assert!(
            !text.lines().any(|line| line.starts_with("LEAK  forged")),
            "{what}: {text}"
        );
    }
    Said {
        what,
        code,
        out,
        err,
    }
}

/// Whether a terminal acts on the character instead of showing it.
fn is_obeyed(c: char) -> bool {
    let direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}')
}

impl Said {
    /// Exactly one error that says `part`, exactly one hint, no result.
    #[track_caller]
    fn refused(&self, code: i32, part: &str) {
        let Self { what, err, .. } = self;
        assert_eq!(self.code, code, "{what}: {err}");
        assert_eq!(self.out, "", "{what}");
        let lines: Vec<&str> = err.lines().collect();
        let [error, hint] = lines.as_slice() else {
            panic!("{what}: not one error and one hint:\n{err}");
        };
        assert!(
            error.starts_with("error: ") && error.contains(part),
            "{what}: {error}"
        );
        assert!(
            hint.starts_with("hint: ") && hint.len() > 12,
            "{what}: {hint}"
        );
    }

    /// A result and nothing else.
    #[track_caller]
    fn answered(&self, code: i32) -> &Self {
        let Self { what, err, .. } = self;
        assert_eq!(self.code, code, "{what}: {err}");
        assert_eq!(err, "", "{what}");
        assert!(!self.out.is_empty(), "{what}");
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{}: {e}", self.what))
    }

    /// The warnings of a JSON result.
    #[track_caller]
    fn warnings(&self) -> Vec<String> {
        let json = self.json();
        let warnings = json["warnings"].as_array().unwrap();
        warnings
            .iter()
            .map(|w| w.as_str().unwrap().to_owned())
            .collect()
    }

    /// The only warning of a JSON result.
    #[track_caller]
    fn warning(&self) -> String {
        match self.warnings().as_slice() {
            [only] => only.clone(),
            other => panic!("{}: not one warning: {other:#?}", self.what),
        }
    }
}

/// A command in JSON.
fn run_json<S: AsRef<OsStr>>(command: &str, files: &[S], options: &[&str]) -> Said {
    let args = [command, "-f", "json"].map(OsStr::new).into_iter();
    run(args
        .chain(files.iter().map(AsRef::as_ref))
        .chain(options.iter().map(OsStr::new)))
}

/// A directory that goes away with the test.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// One file a profile: `0.heap.pb.gz`, `1.heap.pb.gz`, …
    fn put_series(&self, folder: &str, series: &[Pprof]) -> Vec<PathBuf> {
        let name = |index: usize| format!("{folder}/{index}.heap.pb.gz");
        (0..)
            .zip(series)
            .map(|(index, heap)| self.put(name(index), heap.gzip()))
            .collect()
    }
}

/// A sound profile of a small process.
fn sound() -> Pprof {
    leaking_process(0, 1).remove(0)
}

fn case(name: &str) -> Case {
    cases()
        .into_iter()
        .find(|case| case.name == name)
        .expect("a case of the corpus")
}

impl Case {
    fn heaps(&self) -> Vec<PathBuf> {
        let path = |stem: String| self.dir.join(format!("{stem}.heap.pb.gz"));
        self.stems().into_iter().map(path).collect()
    }

    /// All its captures in a directory of their own.
    fn copy(&self) -> Desk {
        let desk = Desk::new();
        for file in self.part(&self.stems()) {
            desk.put(file.file_name().unwrap(), std::fs::read(&file).unwrap());
        }
        desk
    }
}

/// A real capture as a message.
fn message_of(path: &Path) -> Profile {
    Profile::decode(gunzip(&std::fs::read(path).unwrap()).as_slice()).unwrap()
}

/// A real capture with its clock moved.
fn moved(path: &Path, seconds: i64) -> Vec<u8> {
    let mut profile = message_of(path);
    profile.time_nanos += seconds * 1_000_000_000;
    gzip(&profile.encode_to_vec())
}

fn seconds_of(path: &Path) -> i64 {
    message_of(path).time_nanos / 1_000_000_000
}

/// Decodes as the program does.
fn decode(bytes: Vec<u8>, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    RawProfile::open(bytes, &Limits::default())?.decode(symbols)
}

// ---------------------------------------------------------------------------------------------
// Files that cannot be used.

/// A file that cannot be used, and what must be said of it.
struct Bad {
    what: &'static str,
    bytes: Vec<u8>,
    code: i32,
    says: &'static str,
}

/// Every kind of file that gives exit code 2 (unreadable) or 3 (not comparable) when alone.
fn bad_files() -> Vec<Bad> {
    let mut bad = Vec::new();
    let mut add = |code, what, bytes: Vec<u8>, says| {
        bad.push(Bad {
            what,
            bytes,
            code,
            says,
        })
    };
    let heap = sound();
    let (raw, packed) = (heap.raw(), heap.gzip());
    let cut = |bytes: &[u8], part: f64| bytes[..(bytes.len() as f64 * part) as usize].to_vec();

    add(2, "no bytes", Vec::new(), "empty");
    add(2, "gzip of nothing", gzip(b""), "empty");
    add(2, "blanks", b" \r\n\n".to_vec(), "empty");
    add(
        2,
        "gzip header only",
        packed[..10].to_vec(),
        "gzip stream is damaged or cut short",
    );
    add(
        2,
        "half a gzip",
        cut(&packed, 0.5),
        "gzip stream is damaged or cut short",
    );
    add(
        2,
        "gzip less a byte",
        cut(&packed, 0.999),
        "gzip stream is damaged or cut short",
    );
    add(
        2,
        "half a zstd",
        cut(&zstd(&raw), 0.5),
        "zstd stream is damaged or cut short",
    );
    let mut flipped = packed.clone();
    flipped[packed.len() / 2] ^= 0x55;
    add(
        2,
        "a gzip with a wrong byte",
        flipped,
        "gzip stream is damaged",
    );
    add(
        2,
        "a gzip with a tail",
        [&packed[..], b"tail"].concat(),
        "gzip stream is damaged",
    );
    add(
        2,
        "half a protobuf",
        cut(&raw, 0.5),
        "pprof data is damaged or cut short",
    );
    add(
        2,
        "half a protobuf, packed",
        gzip(&cut(&raw, 0.5)),
        "pprof data is damaged or cut short",
    );
    let mut nameless = heap.message();
    nameless.string_table.truncate(6);
    let nameless = gzip(&nameless.encode_to_vec());
    add(
        2,
        "a protobuf cut between two names",
        nameless,
        "its string table ends after 6",
    );

    let of = |types: &[(&str, &str)], clock: &str| {
        Pprof::of_types(types, (clock, types[0].1), 1)
            .with(|p| p.duration_nanos = 30_000_000_000)
            .row("main.spin < main.main", None, &vec![7; types.len()])
            .gzip()
    };
    let cpu = of(&[("samples", "count"), ("cpu", "nanoseconds")], "cpu");
    add(2, "a CPU profile", cpu, "a CPU profile");
    let contention = of(
        &[("contentions", "count"), ("delay", "nanoseconds")],
        "contentions",
    );
    add(2, "a mutex profile", contention, "a mutex or block profile");
    let threads = of(&[("threadcreate", "count")], "threadcreate");
    add(
        2,
        "a threadcreate profile",
        threads,
        "a threadcreate profile",
    );
    add(
        2,
        "a profile without types",
        of(&[("", "")], ""),
        "not a heap or goroutine profile",
    );
    add(
        2,
        "a mutex text",
        b"--- mutex:\ncycles/second=1\n".to_vec(),
        "a mutex profile",
    );
    add(
        2,
        "a block text",
        b"--- contention:\ncycles/second=1\n".to_vec(),
        "a block profile",
    );
    let threads = b"threadcreate profile: total 6\n6 @ 0x1\n".to_vec();
    add(2, "a threadcreate text", threads, "a threadcreate profile");
    add(
        2,
        "a Go trace",
        b"go 1.26 trace\0\0\0".to_vec(),
        "execution trace",
    );

    let page = b"<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n";
    add(2, "an HTML page", page.to_vec(), "an HTML or XML page");
    add(2, "a packed HTML page", gzip(page), "an HTML or XML page");
    add(
        2,
        "a 404",
        b"404 page not found\n".to_vec(),
        "error message, not a profile: 404",
    );
    add(
        2,
        "a text",
        b"Dear diary, memory grew again.\n".to_vec(),
        "a text file",
    );
    add(
        2,
        "a JSON text",
        b"{\"memstats\": 1}".to_vec(),
        "a JSON text",
    );
    let pasted = b"Showing nodes accounting for 1MB, 9% of 2MB total\n flat  flat%   sum%\n";
    add(2, "a pasted top", pasted.to_vec(), "`pprof top`");
    add(
        2,
        "a program",
        b"\x7fELF\x02\x01\x01\0\0\0".to_vec(),
        "an ELF program",
    );
    add(
        2,
        "random bytes",
        b"\x00\x01\x02\x03\xff".repeat(40),
        "binary file",
    );
    add(2, "a gzip in a gzip", gzip(&packed), "gzip file inside");
    let hostile = "error: \x1b[2J\x1b]52;c;cm0\u{202e}gnp\u{9b}31m";
    add(
        2,
        "a hostile error message",
        hostile.into(),
        "error message",
    );
    let hostile = of(&[(HOSTILE, HOSTILE)], HOSTILE);
    add(
        2,
        "a profile of a hostile kind",
        hostile,
        "not a heap or goroutine profile",
    );
    let huge = heap.clone().row("main.f", Some(16), &[i64::MAX; 4]);
    add(
        2,
        "sums beyond any memory",
        huge.gzip(),
        "more than any process can have",
    );
    let crowd = b"goroutine profile: total 1\n18446744073709551615 @ 0x1\n2 @ 0x2\n";
    add(
        2,
        "goroutines beyond any memory",
        crowd.to_vec(),
        "more than any process can have",
    );
    for (what, bytes) in claims() {
        add(2, what, bytes, "");
    }

    let delta = heap.clone().with(|p| p.duration_nanos = 30_000_000_000);
    add(
        3,
        "a delta profile",
        delta.gzip(),
        "delta profile over 30 s",
    );
    let negative = heap.clone().row("main.freed", Some(16), &[0, 0, -1, -16]);
    add(
        3,
        "a delta without duration",
        negative.gzip(),
        "a delta profile",
    );
    let saved = heap.clone().label("pprof::base", "true");
    add(3, "a saved diff", saved.gzip(), "a saved diff");
    let merged = Pprof::of_types(&HEAP_TYPES[3..], ("space", "bytes"), RATE)
        .with(|p| p.duration_nanos = 600_000_000_000)
        .row("main.f", None, &[1 << 20]);
    add(
        3,
        "a merged window",
        merged.gzip(),
        "a window of 600 s merged",
    );
    let off = Pprof::heap(0).with(|p| p.period = 0);
    add(3, "profiling off", off.gzip(), "switched off");
    let only_alloc = Pprof::of_types(&HEAP_TYPES[..2], ("space", "bytes"), RATE);
    let only_alloc = only_alloc.row("main.f", Some(16), &[100, 1600]);
    add(
        3,
        "allocations only",
        only_alloc.gzip(),
        "ever allocated (alloc_objects, alloc_space)",
    );
    bad
}

/// Protobufs that claim far more than they hold, or whose integers do not end.
fn claims() -> Vec<(&'static str, Vec<u8>)> {
    let claim = |field, content: &[u8]| wire::claim(field, 1_000_000_000, content);
    let endless = [0xff; 11];
    // The rest of a sound profile goes before and after, as a careful liar would have it.
    let around = |lie: Vec<u8>| [sound().raw(), lie, sound().raw()].concat();
    let sample = |lie: &[u8]| around(wire::bytes(2, &[&wire::bytes(2, &[1; 4]), lie].concat()));
    vec![
        ("a sample of a billion bytes", around(claim(2, b"\x08\x01"))),
        ("a billion packed locations", sample(&claim(1, &[1; 64]))),
        (
            "a billion packed values",
            around(wire::bytes(2, &claim(2, &[1; 64]))),
        ),
        ("a label of a billion bytes", sample(&claim(3, b"\x08\x01"))),
        ("a name of a billion bytes", around(claim(6, b"main.f"))),
        (
            "a name of 2^64 bytes",
            around(wire::claim(6, u64::MAX, b"main.f")),
        ),
        (
            "a location of a billion bytes",
            around(claim(4, b"\x08\x01")),
        ),
        (
            "a line of a billion bytes",
            around(wire::bytes(4, &claim(4, b"\x08\x01"))),
        ),
        (
            "a mapping of a billion bytes",
            around(claim(3, b"\x08\x01")),
        ),
        (
            "a function of a billion bytes",
            around(claim(5, b"\x08\x01")),
        ),
        (
            "an unknown field of a billion bytes",
            around(claim(100, b"\x08\x01")),
        ),
        ("a billion names at once", claim(6, b"x")),
        ("an endless tag", around(endless.to_vec())),
        (
            "an endless length",
            around([&b"\x12"[..], &endless].concat()),
        ),
        ("an endless location id", sample(&wire::bytes(1, &endless))),
        (
            "an endless value",
            around(wire::bytes(2, &wire::bytes(2, &endless))),
        ),
        ("an endless time", around([&b"\x48"[..], &endless].concat())),
        (
            "an endless label",
            sample(&wire::bytes(3, &[&b"\x18"[..], &endless].concat())),
        ),
        ("a group", around(vec![2 << 3 | 3, 2 << 3 | 4])),
        (
            "a cut fixed field",
            [sound().raw(), vec![100 << 3 | 1, 0]].concat(),
        ),
        ("field number 0", around(vec![0, 0])),
        ("samples of frames without end", frame_bomb()),
    ]
}

/// Two kilobytes, packed, whose stacks would take ten gigabytes.
fn frame_bomb() -> Vec<u8> {
    let mut profile = sound().message();
    let location = &mut profile.location[0];
    location.line = vec![location.line[0].clone(); 100_000];
    profile.sample[0].location_id = vec![location.id; 100_000];
    gzip(&profile.encode_to_vec())
}

#[test]
fn a_bad_file_alone_is_one_error_with_a_hint() {
    let desk = Desk::new();
    let good = desk.put("good.heap.pb.gz", sound().gzip());
    for bad in bad_files() {
        let file = desk.put("bad.heap.pb.gz", &bad.bytes);
        let whole = format!("error: {}: ", file.display());
        for files in [
            &[OsStr::new("top"), file.as_os_str()][..],
            &[OsStr::new("diagnose"), file.as_os_str()],
            &[OsStr::new("diff"), file.as_os_str(), good.as_os_str()],
            &[OsStr::new("diff"), good.as_os_str(), file.as_os_str()],
        ] {
            let said = run(files);
            said.refused(bad.code, bad.says);
            assert!(said.err.starts_with(&whole), "{}: {}", bad.what, said.err);
            let line = said
                .err
                .lines()
                .map(|line| line.chars().count())
                .max()
                .unwrap_or(0);
            assert!(
                line < 400 + whole.len(),
                "{}: a line of {line} characters",
                bad.what
            );
        }
        // Among the files of a directory it is no other.
        let said = run([OsStr::new("diagnose"), file.as_os_str(), OsStr::new("-q")]);
        said.refused(bad.code, bad.says);
    }
}

#[test]
fn one_bad_file_among_good_ones_changes_nothing() {
    let case = case("logger-promise-chain");
    let desk = case.copy();
    let sound = run_json("diagnose", &[desk.path()], &[]);
    assert_eq!(sound.code, 1, "{}", sound.err);
    let expected = sound.json();
    assert_eq!(expected["verdict"], "leak");
    for bad in bad_files() {
        let file = desk.put("0-broken.heap.pb.gz", &bad.bytes);
        let said = run_json("diagnose", &[desk.path()], &[]);
        said.answered(1);
        let diagnosis = said.json();
        for part in [
            "verdict",
            "findings",
            "series",
            "totals",
            "memory",
            "next_steps",
        ] {
            assert_eq!(diagnosis[part], expected[part], "{}: {part}", bad.what);
        }
        let new: Vec<String> = said
            .warnings()
            .into_iter()
            .filter(|warning| !sound.warnings().contains(warning))
            .collect();
        let [warning] = new.as_slice() else {
            panic!("{}: {new:#?}", bad.what);
        };
        assert!(
            warning.contains("0-broken.heap.pb.gz"),
            "{}: {warning}",
            bad.what
        );
        assert!(warning.contains(bad.says), "{}: {warning}", bad.what);
        assert!(warning.contains("; "), "{}: no hint in {warning}", bad.what);
        let inputs = diagnosis["inputs"].as_array().unwrap();
        let left_out = inputs
            .iter()
            .find(|input| input["source"] == file.to_str().unwrap());
        assert_eq!(
            left_out.expect("it is listed")["used"],
            false,
            "{}",
            bad.what
        );
    }
    // For people, in a table.
    let said = run([OsStr::new("diagnose"), desk.path().as_os_str()]);
    said.answered(1);
    assert!(said.out.contains("0-broken.heap.pb.gz"), "{}", said.out);
    // The last one that is sound counts.
    let said = run_json("top", &[desk.path()], &[]);
    let last = case.heaps().pop().unwrap();
    assert_eq!(
        said.json()["source"],
        desk.path()
            .join(last.file_name().unwrap())
            .to_str()
            .unwrap()
    );
}

#[test]
fn several_bad_files_are_all_named_and_a_hint_is_said_once() {
    let desk = Desk::new();
    let names = ["1.heap.pb.gz", "2.heap.pb.gz", "3.heap.pb.gz"];
    for name in names {
        desk.put(name, &sound().gzip()[..40]);
    }
    for command in ["diagnose", "top"] {
        let said = run([OsStr::new(command), desk.path().as_os_str()]);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
        assert!(
            names.iter().all(|name| said.err.contains(name)),
            "{}",
            said.err
        );
        assert_eq!(said.err.matches("hint: ").count(), 1, "{}", said.err);
    }
}

#[test]
fn a_real_profile_cut_anywhere_is_never_a_shorter_profile() {
    // Not at the lengths where prost's last fields end: nothing tells that a clock is missing.
    let real = std::fs::read(&case("logger-promise-chain").heaps()[0]).unwrap();
    let raw = gunzip(&real);
    for (what, whole) in [("gzip", &real), ("protobuf", &raw)] {
        for end in (1..whole.len()).step_by(97) {
            let outcome = decode(whole[..end].to_vec(), &mut SymbolTable::new());
            assert!(outcome.is_err(), "{what} cut at {end} of {}", whole.len());
        }
    }
    for end in (1..raw.len()).step_by(97) {
        let outcome = decode(gzip(&raw[..end]), &mut SymbolTable::new());
        assert!(
            outcome.is_err(),
            "packed protobuf cut at {end} of {}",
            raw.len()
        );
    }
    let desk = Desk::new();
    for tenth in 1..10 {
        let cut = |bytes: &[u8]| bytes[..bytes.len() * tenth / 10].to_vec();
        for bytes in [cut(&real), cut(&raw), gzip(&cut(&raw))] {
            let file = desk.put("cut.heap.pb.gz", bytes);
            run([OsStr::new("diagnose"), file.as_os_str()]).refused(2, "cut short");
        }
    }
}

#[test]
fn what_is_not_there_is_one_error_with_a_hint() {
    let desk = Desk::new();
    let good = desk.put("good/1.heap.pb.gz", sound().gzip());
    let empty = desk.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    desk.put("papers/README.md", "# Captures");
    desk.put("papers/case.toml", "label = 1");
    desk.put("papers/src/main.go", "package main");
    let papers = desk.path().join("papers");
    let missing = desk.path().join("missing.heap.pb.gz");
    for (source, says) in [
        (&empty, "no profile in this directory"),
        (&papers, "no profile in this directory"),
        (&missing, "no such file or directory"),
    ] {
        for files in [
            &[OsStr::new("top"), source.as_os_str()][..],
            &[OsStr::new("diagnose"), source.as_os_str()],
            &[OsStr::new("diagnose"), good.as_os_str(), source.as_os_str()],
            &[OsStr::new("diff"), source.as_os_str(), good.as_os_str()],
            &[OsStr::new("diff"), good.as_os_str(), source.as_os_str()],
        ] {
            run(files).refused(2, says);
        }
    }
    run(["diagnose", "-", "-"]).refused(2, "only once");
}

#[test]
fn a_file_beyond_max_size_is_refused() {
    let desk = Desk::new();
    let (small, large) = (
        desk.put("1.heap.pb", sound().raw()),
        desk.put("2.heap.pb.gz", gzip(&vec![b'x'; 1 << 20])),
    );
    for command in ["top", "diagnose"] {
        run([command, "--max-size", "100", small.to_str().unwrap()])
            .refused(2, "more than 100 bytes");
        run([command, "--max-size", "64KiB", large.to_str().unwrap()])
            .refused(2, "more than 65536 bytes");
        run([command, "--max-size", "64KiB", small.to_str().unwrap()]).answered(0);
    }
    let files = [&small, &small].map(|file| file.to_str().unwrap());
    run(["diff", "--max-size", "100", files[0], files[1]]).refused(2, "more than 100 bytes");
    assert_eq!(run(["top", "--max-size", "much", files[0]]).code, 2);
}

// ---------------------------------------------------------------------------------------------
// Files that do not belong together.

#[test]
fn two_unrelated_processes_are_not_compared() {
    let [a, b] =
        ["logger-promise-chain", "stale-watchers"].map(|name| case(name).heaps().remove(0));
    // The older one first: the clock must not be what refuses.
    let mut files = [a, b];
    files.sort_by_key(|file| seconds_of(file));
    let said = run_json("diff", &files, &[]);
    said.refused(3, "are not of one process");
    let message = said.err.split("one process: ").nth(1).unwrap();
    let [back, all]: [usize; 2] =
        [0, 2].map(|word| message.split(' ').nth(word).unwrap().parse().unwrap());
    assert!(0 < back && back <= all, "{message}");
    run_json("diagnose", &files, &[]).refused(3, "are not of one process");
    for command in ["diff", "diagnose"] {
        let said = run_json(command, &files, &[FORCE]);
        said.answered(0);
        let warnings = said.warnings();
        let is_said = warnings
            .iter()
            .any(|w| w.contains("2 different processes") && w.contains(FORCE));
        assert!(is_said, "{command}: {warnings:#?}");
    }
}

#[test]
fn a_restart_splits_the_series() {
    let desk = Desk::new();
    let (before, after) = (leaking_process(0, 8), leaking_process(2400, 5));
    desk.put_series("built", &[before.clone(), after].concat());
    let alone = Desk::new();
    alone.put_series("built", &before);
    // Twice in real captures: another process afterwards, and the same one set back.
    let (first, second) = (case("logger-promise-chain"), case("stale-watchers"));
    let heaps = first.heaps();
    let apart = seconds_of(heaps.last().unwrap()) - seconds_of(&heaps[0]) + 3600;
    let shift = apart + seconds_of(&heaps[0]) - seconds_of(&second.heaps()[0]);
    for (index, heap) in second.heaps().iter().take(4).enumerate() {
        desk.put(format!("other/b{index}.heap.pb.gz"), moved(heap, shift));
    }
    for (index, heap) in heaps.iter().enumerate() {
        let bytes = std::fs::read(heap).unwrap();
        desk.put(format!("other/a{index}.heap.pb.gz"), &bytes);
        let set_back = if index < 5 { moved(heap, apart) } else { bytes };
        desk.put(format!("back/{index}.heap.pb.gz"), set_back);
    }
    for (folder, snapshots, begins) in [
        ("built", 8, "8.heap.pb.gz"),
        ("other", 10, "b0.heap.pb.gz"),
        ("back", 5, "0.heap.pb.gz"),
    ] {
        let said = run_json("diagnose", &[desk.path().join(folder)], &[]);
        assert!(said.code < 2, "{folder}: {}", said.err);
        let warning = said
            .warnings()
            .into_iter()
            .find(|w| w.contains("restarted once"));
        let warning = warning.unwrap_or_else(|| panic!("{folder}: {:#?}", said.warnings()));
        assert!(warning.contains(begins), "{folder}: {warning}");
        assert_eq!(said.json()["series"]["restarts"], 1, "{folder}");
        assert_eq!(said.json()["series"]["snapshots"], snapshots, "{folder}");
        let unlike_one = said
            .warnings()
            .iter()
            .filter(|w| w.contains("different"))
            .count();
        assert_eq!(unlike_one, 0, "{folder}: {:#?}", said.warnings());
    }
    // What is judged is judged as if the other run were not there.
    let said = run_json("diagnose", &[desk.path().join("built")], &[]).json();
    let expected = run_json("diagnose", &[alone.path().join("built")], &[]).json();
    for part in ["verdict", "totals"] {
        assert_eq!(said[part], expected[part], "{part}");
    }
    assert_eq!(
        said["findings"][0]["growth"],
        expected["findings"][0]["growth"]
    );
}

#[test]
fn snapshots_of_two_processes_in_one_directory_are_told_apart() {
    let (first, second) = (case("logger-promise-chain"), case("stale-watchers"));
    let desk = Desk::new();
    let shift = seconds_of(&first.heaps()[0]) - seconds_of(&second.heaps()[0]) + 5;
    for (index, heap) in first.heaps().iter().enumerate() {
        desk.put(format!("a{index}.heap.pb.gz"), std::fs::read(heap).unwrap());
    }
    for (index, heap) in second.heaps().iter().take(6).enumerate() {
        desk.put(format!("b{index}.heap.pb.gz"), moved(heap, shift));
    }
    let said = run_json("diagnose", &[desk.path()], &[]);
    let warning = said
        .warnings()
        .into_iter()
        .find(|w| w.contains("2 different processes"));
    let warning = warning.unwrap_or_else(|| panic!("{:#?}", said.warnings()));
    assert!(warning.contains("a directory of its own"), "{warning}");
    let expected = run_json("diagnose", &first.heaps(), &[]).json();
    for part in ["verdict", "totals"] {
        assert_eq!(said.json()[part], expected[part], "{part}");
    }
    assert_eq!(
        said.json()["findings"][0]["pattern"],
        expected["findings"][0]["pattern"]
    );
}

#[test]
fn ten_copies_of_one_snapshot_are_a_repeated_cycle() {
    let desk = Desk::new();
    let heap = &case("logger-promise-chain").heaps()[9];
    for index in 0..10 {
        desk.put(
            format!("same/{index}.heap.pb.gz"),
            std::fs::read(heap).unwrap(),
        );
        desk.put(format!("later/{index}.heap.pb.gz"), moved(heap, index * 30));
    }
    for folder in ["same", "later"] {
        let said = run_json(
            "diagnose",
            &[desk.path().join(folder)],
            &["--fail-on", "growing"],
        );
        said.answered(0);
        assert!(
            said.warning().contains("9 of 9 intervals"),
            "{}",
            said.warning()
        );
        assert!(said.warning().contains("gc=1"), "{}", said.warning());
        let diagnosis = said.json();
        assert_ne!(diagnosis["verdict"], "leak");
        assert_ne!(diagnosis["verdict"], "growing");
        assert_eq!(diagnosis["series"]["gc_points"], 1);
        assert_eq!(diagnosis["series"]["repeats"], 9);
    }
}

#[test]
fn another_build_or_rate_in_the_middle_is_another_process() {
    let series = leaking_process(0, 8);
    let desk = Desk::new();
    let change = |change: fn(&mut Pprof)| {
        let changed = |(index, heap): (usize, Pprof)| match index {
            0..4 => heap,
            _ => heap.with(change),
        };
        series
            .iter()
            .cloned()
            .enumerate()
            .map(changed)
            .collect::<Vec<_>>()
    };
    let builds = desk.put_series("build", &change(|heap| heap.build_id = "b1".into()));
    let rates = desk.put_series("rate", &change(|heap| heap.period = RATE / 8));
    for (folder, says) in [
        ("build", "another build"),
        ("rate", "samples at another rate"),
    ] {
        let said = run_json("diagnose", &[desk.path().join(folder)], &[]);
        assert!(said.warning().contains(says), "{}", said.warning());
        assert_eq!(said.json()["series"]["snapshots"], 4, "{folder}");
    }
    for (files, says) in [
        (&builds, "sites are matched by name"),
        (&rates, "no error estimate"),
    ] {
        let pair = [&files[3], &files[4]];
        run_json("diff", &pair, &[]).refused(3, "are not of one process");
        let said = run_json("diff", &pair, &[FORCE]);
        said.answered(0);
        assert!(
            said.warnings().iter().any(|w| w.contains(says)),
            "{:#?}",
            said.warnings()
        );
        let rows = said.json()["rows"].as_array().unwrap().clone();
        let keep = rows
            .iter()
            .find(|row| row["function"] == "main.keep")
            .unwrap();
        assert!(keep["delta_bytes"].as_i64().unwrap() > 20 << 20, "{keep}");
    }
}

#[test]
fn a_diff_in_the_wrong_order_is_refused() {
    let heaps = case("logger-promise-chain").heaps();
    let files = [&heaps[9], &heaps[0]];
    let said = run_json("diff", &files, &[]);
    said.refused(3, "wrong order");
    assert!(
        said.err.contains("swap") && said.err.contains(FORCE),
        "{}",
        said.err
    );
    let backward = run_json("diff", &files, &[FORCE]);
    let forward = run_json("diff", &[&heaps[0], &heaps[9]], &[]);
    let delta = |said: &Said| {
        said.answered(0).json()["total"]["delta_bytes"]
            .as_i64()
            .unwrap()
    };
    assert_eq!(delta(&backward), -delta(&forward));
    // Clocks at the ends of time.
    let desk = Desk::new();
    let ends = [i64::MAX, i64::MIN].map(|time| {
        desk.put(
            format!("{time}.heap.pb.gz"),
            sound().with(|p| p.time_nanos = time).gzip(),
        )
    });
    run_json("diff", &ends, &[]).refused(3, "wrong order");
    run_json("diagnose", &ends, &[]).answered(0);
}

#[test]
fn the_same_file_twice_is_a_repeated_cycle() {
    let heap = &case("logger-promise-chain").heaps()[0];
    let said = run_json("diff", &[heap, heap], &["--fail-on", "growing"]);
    said.answered(0);
    assert!(
        said.warning().contains("the same collector cycle"),
        "{}",
        said.warning()
    );
    let diff = said.json();
    assert_eq!(diff["total"]["delta_bytes"], 0);
    assert!(
        diff["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["delta_bytes"] == 0)
    );
    // A file given twice to diagnose is one file.
    let said = run_json("diagnose", &[heap, heap], &[]);
    assert_eq!(said.answered(0).json()["series"]["snapshots"], 1);
}

// ---------------------------------------------------------------------------------------------
// Profiles that lack something, and are used as far as they go.

#[test]
fn without_object_sizes_there_is_no_error_estimate() {
    let strip = |heap: Pprof| heap.with(|p| p.rows.iter_mut().for_each(|row| row.size = None));
    let desk = Desk::new();
    let series: Vec<Pprof> = leaking_process(0, 8).into_iter().map(strip).collect();
    let files = desk.put_series("bare", &series);

    let said = run_json("top", &files[..1], &[]);
    assert!(
        said.warning().contains("no error estimate"),
        "{}",
        said.warning()
    );
    let top = said.answered(0).json();
    assert!(top["total_se"].is_null());
    for row in top["rows"].as_array().unwrap() {
        assert!(row["flat_se"].is_null() && row["cum_se"].is_null(), "{row}");
    }
    let said = run_json("diff", &[&files[0], &files[7]], &["--fail-on", "growing"]);
    assert!(
        said.warning().contains("no error estimate"),
        "{}",
        said.warning()
    );
    let diff = said.answered(0).json();
    assert!(
        diff["total"]["sd_bytes"].is_null() && diff["total"]["detection_limit_bytes"].is_null()
    );
    for row in diff["rows"].as_array().unwrap() {
        assert!(
            row["sd_bytes"].is_null() && row["p_value"].is_null(),
            "{row}"
        );
        assert_eq!(row["verdict"], "unknown", "{row}");
    }
    // However it grows: without counts it is no leak.
    let said = run_json("diagnose", &[desk.path().join("bare")], &[]);
    assert!(
        said.warning()
            .contains("and 7 more have lost the object sizes"),
        "{}",
        said.warning()
    );
    let diagnosis = said.answered(0).json();
    assert_eq!(diagnosis["verdict"], "growing");
    assert!(diagnosis["totals"]["ci95"].is_null() && diagnosis["totals"]["last_sd"].is_null());
    assert!(diagnosis["series"]["detection_limit_bytes"].is_null());
    for finding in diagnosis["findings"].as_array().unwrap() {
        assert_ne!(finding["verdict"], "leak");
        for figure in ["sd_bytes", "p_value", "ci95"] {
            assert!(
                finding["growth"][figure].is_null(),
                "{figure}: {}",
                finding["growth"]
            );
        }
    }
    // A table must not show what the JSON does not hold.
    for command in ["top", "diagnose"] {
        let table = run([OsStr::new(command), desk.path().join("bare").as_os_str()]).out;
        assert!(!table.contains('±') && !table.contains("p <"), "{table}");
    }
}

#[test]
fn truncated_stacks_are_said_once() {
    let deepen = |depth: usize| {
        let deep = move |heap: Pprof| {
            heap.with(|p| {
                for row in &mut p.rows {
                    let frames = row.stack.len()..depth;
                    row.stack
                        .extend(frames.map(|level| format!("main.walk{level}")));
                }
            })
        };
        leaking_process(0, 6)
            .into_iter()
            .map(deep)
            .collect::<Vec<_>>()
    };
    let desk = Desk::new();
    for (depth, advises) in [(31, false), (32, true), (128, false)] {
        let folder = depth.to_string();
        desk.put_series(&folder, &deepen(depth));
        let said = run_json("diagnose", &[desk.path().join(&folder)], &[]);
        said.answered(1);
        if depth == 31 {
            assert_eq!(said.warnings(), [""; 0]);
            continue;
        }
        assert!(
            said.warning().contains(&format!("cut at {depth} frames")),
            "{}",
            said.warning()
        );
        assert_eq!(
            said.warning().contains("Go 1.23"),
            advises,
            "{}",
            said.warning()
        );
        let culprit = &said.json()["findings"][0]["culprit"]["function"];
        assert_eq!(culprit, "main.keep", "{depth}");
    }
}

#[test]
fn without_a_clock_files_are_ordered_by_name() {
    let series: Vec<Pprof> = leaking_process(0, 12)
        .into_iter()
        .map(|heap| heap.with(|p| p.time_nanos = 0))
        .collect();
    let desk = Desk::new();
    desk.put_series("clockless", &series);
    let said = run_json("diagnose", &[desk.path().join("clockless")], &[]);
    assert!(
        said.warning().contains("12 snapshot(s) hold no time"),
        "{}",
        said.warning()
    );
    let totals = said.json()["totals"].clone();
    let bytes: Vec<i64> = totals["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_i64().unwrap())
        .collect();
    assert!(bytes.is_sorted(), "10 stands behind 9: {bytes:?}");
    assert!(totals["bytes_per_hour"].is_null());
}

#[test]
fn goroutines_or_memory_figures_alone_are_used() {
    let desk = Desk::new();
    for index in 0..5 {
        let count = 10 + 40 * index;
        desk.put(
            format!("crowd/{index}.goroutine.txt"),
            goroutine_dump("main.stuck", count),
        );
        desk.put(
            format!("figures/{index}.memory.txt"),
            memory_text(index as i64 * 60, 1 << 24),
        );
    }
    for folder in ["crowd", "figures"] {
        let path = desk.path().join(folder);
        run_json("diagnose", &[&path], &[]).answered(i32::from(folder == "crowd"));
        // The others need a heap.
        run_json("top", &[&path], &[]).refused(2, "heap profile");
        run_json("diff", &[&path, &path], &[]).refused(2, "holds 0 heap profiles");
    }
    let said = run_json("diagnose", &[desk.path().join("crowd")], &[]).json();
    assert_eq!(said["verdict"], "leak");
    assert_eq!(
        said["findings"][0]["goroutines"][0]["function"],
        "main.stuck"
    );
    let said = run_json("diagnose", &[desk.path().join("figures")], &[]).json();
    assert_eq!(said["memory"]["heap_alloc"], 1 << 24);
    assert_eq!(said["findings"], Value::Array(Vec::new()));
}

#[test]
fn heap_texts_alone_make_a_series() {
    let desk = Desk::new();
    let texts: Vec<PathBuf> = (0..5)
        .map(|index| {
            desk.put(
                format!("{index}.txt"),
                heap_text(index * 300, 40 + 40 * index),
            )
        })
        .collect();
    let said = run_json("diagnose", &[desk.path()], &[]);
    assert_eq!(said.warnings(), [""; 0]);
    let diagnosis = said.answered(1).json();
    assert_eq!(diagnosis["findings"][0]["culprit"]["function"], "main.keep");
    assert_eq!(diagnosis["series"]["gc_points"], 5);
    assert!(diagnosis["memory"].is_object());
    let said = run_json("diff", &[&texts[0], &texts[4]], &[]);
    assert_eq!(said.answered(0).json()["rows"][0]["verdict"], "grew");
    run_json("top", &texts[..1], &[]).answered(0);
    // Cut in the middle of a row.
    let whole = heap_text(1500, 240);
    let cut = desk.put("5.txt", &whole[..whole.find("main.main").unwrap()]);
    let said = run_json("diagnose", &[desk.path()], &[]);
    assert!(
        said.warnings().iter().any(|w| w.contains("cut short")),
        "{:#?}",
        said.warnings()
    );
    std::fs::remove_file(cut).unwrap();
}

#[test]
fn the_content_counts_and_not_the_name() {
    let endings = ["txt", "zip", "html", "json", "log", "x"];
    let desk = Desk::new();
    for (heap, ending) in leaking_process(0, 6).iter().zip(endings) {
        let bytes = match ending {
            "zip" | "x" => heap.raw(),
            "log" => zstd(&heap.raw()),
            _ => heap.gzip(),
        };
        desk.put(format!("{}.{ending}", heap.time_nanos), bytes);
    }
    let said = run_json("diagnose", &[desk.path()], &[]);
    assert_eq!(said.warnings(), [""; 0]);
    assert_eq!(said.answered(1).json()["series"]["gc_points"], 6);
}

#[test]
fn what_lies_beside_the_captures_is_passed_over() {
    let case = case("logger-promise-chain");
    let desk = case.copy();
    let expected = run_json("diagnose", &[desk.path()], &[]);
    desk.put(
        "case.toml",
        std::fs::read(case.dir.join("case.toml")).unwrap(),
    );
    desk.put(
        "README.md",
        "# How this was captured: heap, goroutines, memory",
    );
    desk.put("target.json", "{\"url\": \"http://localhost:6060\"}");
    desk.put("run.log", "started\n");
    desk.put("empty", "");
    desk.put(".1.heap.pb.gz.part", "half");
    desk.put("old/1.heap.pb.gz", sound().gzip());
    assert_eq!(run_json("diagnose", &[desk.path()], &[]).out, expected.out);
    run_json("top", &[desk.path()], &[]).answered(0);
}

#[test]
fn order_and_repetition_of_files_do_not_matter() {
    let case = case("stale-watchers");
    let mut files = case.part(&case.stems());
    let expected = run_json("diagnose", &files, &[]);
    files.reverse();
    files.rotate_left(7);
    let twice = [files.clone(), files].concat();
    assert_eq!(run_json("diagnose", &twice, &[]).out, expected.out);
    assert_eq!(
        run_json(
            "diagnose",
            &[&twice[..], std::slice::from_ref(&case.dir)].concat(),
            &[]
        )
        .json()["findings"],
        expected.json()["findings"]
    );
    // Copies under other names are repeats: said, and no new evidence.
    let desk = case.copy();
    for heap in case.heaps() {
        let name = heap.file_name().unwrap().to_str().unwrap();
        desk.put(format!("copy-{name}"), std::fs::read(&heap).unwrap());
    }
    let said = run_json("diagnose", &[desk.path()], &[]);
    let (copied, expected) = (said.json(), expected.json());
    assert_eq!(copied["verdict"], expected["verdict"]);
    assert_eq!(
        copied["series"]["gc_points"],
        expected["series"]["gc_points"]
    );
    assert_eq!(
        copied["findings"][0]["pattern"],
        expected["findings"][0]["pattern"]
    );
    assert_eq!(
        copied["findings"][0]["growth"],
        expected["findings"][0]["growth"]
    );
    assert!(
        said.warnings()
            .iter()
            .any(|w| w.contains("10 of 19 intervals")),
        "{:#?}",
        said.warnings()
    );
}

// ---------------------------------------------------------------------------------------------
// Odd and hostile content of profiles that are used.

#[test]
fn odd_but_sound_content_is_read() {
    let expected = run_json("top", &[Desk::new().put("x", b"")], &[]);
    assert_eq!(expected.code, 2);
    let desk = Desk::new();
    let base = Pprof::heap(0)
        .sampled("main.a < main.main", 1024, 9, 5)
        .sampled("main.b < main.main", 64, 7, 3);
    let total = |profile: &Profile| {
        let file = desk.put("odd.heap.pb.gz", gzip(&profile.encode_to_vec()));
        run_json("diagnose", &[&file], &[]).answered(0);
        run_json("diff", &[&file, &file], &[]).answered(0);
        let said = run_json("top", &[&file], &[]);
        (said.answered(0).json(), said.warnings())
    };
    let (plain, warnings) = total(&base.message());
    assert_eq!(warnings, [""; 0]);
    let same = |what: &str, profile: &Profile| {
        let (top, warnings) = total(profile);
        assert_eq!(top["total_bytes"], plain["total_bytes"], "{what}");
        assert_eq!(top["total_se"], plain["total_se"], "{what}");
        assert_eq!(warnings, [""; 0], "{what}");
        top
    };
    let in_use = base.rows.iter().map(|row| row.values[3]).sum::<i64>();
    assert_eq!(plain["total_bytes"], in_use);

    // Rows without a value, as the runtime keeps them; the label is missing there.
    let zeroes = base
        .clone()
        .row("main.gone < main.main", None, &[0; 4])
        .row("", None, &[]);
    assert_eq!(
        same("all-zero rows", &zeroes.message())["rows"],
        plain["rows"]
    );
    // Allocated only: not in use, so not on the list.
    let freed = base.clone().sampled("main.freed < main.main", 512, 8, 0);
    assert_eq!(same("freed rows", &freed.message())["rows"], plain["rows"]);
    // One row in two halves.
    let mut halves = base.message();
    let mut half = halves.sample[0].clone();
    half.value
        .iter_mut()
        .zip(&mut halves.sample[0].value)
        .for_each(|(half, whole)| {
            *half = *whole / 2;
            *whole -= *half;
        });
    halves.sample.push(half);
    assert_eq!(same("a key twice", &halves)["rows"], plain["rows"]);
    // Ids anywhere.
    let mut far = base.message();
    let ids = [u64::MAX, u64::MAX - 1, 1 << 63];
    for (location, id) in far.location.iter_mut().zip(ids) {
        let old = std::mem::replace(&mut location.id, id);
        let all = far
            .sample
            .iter_mut()
            .flat_map(|sample| &mut sample.location_id);
        all.filter(|known| **known == old)
            .for_each(|known| *known = id);
    }
    assert_eq!(same("ids near 2^64", &far)["rows"], plain["rows"]);
    // More sample types, before and between the known ones.
    let more = base.clone().with(|p| {
        p.sample_types
            .insert(0, ("lifetime".into(), "nanoseconds".into()));
        p.sample_types.insert(3, ("pages".into(), "count".into()));
        for row in &mut p.rows {
            row.values.insert(0, 1 << 50);
            row.values.insert(3, 17);
        }
    });
    assert_eq!(
        same("more sample types", &more.message())["rows"],
        plain["rows"]
    );
    // Unknown fields, of a format to come.
    let unknown = [
        wire::integer(100, 7),
        wire::bytes(101, b"\xff\xff"),
        wire::bytes(13, &[1, 2]),
    ]
    .concat();
    let file = desk.put(
        "unknown.heap.pb.gz",
        [&unknown[..0], &base.raw(), &unknown].concat(),
    );
    assert_eq!(
        run_json("top", &[&file], &[]).answered(0).json()["rows"],
        plain["rows"]
    );

    // No stack at all: the bytes are in use all the same.
    let rootless = base.clone().sampled("", 2048, 3, 2);
    let (top, warnings) = total(&rootless.message());
    assert_eq!(top["total_bytes"], in_use + rootless.rows[2].values[3]);
    assert_eq!(warnings, [""; 0]);
    // No functions: addresses. No mappings: no matter.
    let mut bare = base.message();
    bare.function.clear();
    bare.mapping.clear();
    let top = same("addresses only", &bare);
    assert!(
        top["rows"][0]["function"]
            .as_str()
            .unwrap()
            .starts_with("0x"),
        "{top}"
    );
    // The same id twice: one of the two; never both, never a crash.
    let mut twice = base.message();
    twice.location.extend(twice.location.clone());
    twice.function.extend(twice.function.clone());
    assert_eq!(same("ids defined twice", &twice)["rows"], plain["rows"]);
    // A stack that runs through itself.
    let cyclic = Pprof::heap(0).sampled(&["main.a", "main.b"].repeat(40).join(" < "), 1024, 9, 5);
    let (top, _) = total(&cyclic.message());
    assert_eq!(
        top["rows"].as_array().unwrap().len(),
        2,
        "a function counts once: {top}"
    );
    // Locations that are not there.
    let mut dangling = base.message();
    dangling.location.remove(0);
    let (top, warnings) = total(&dangling);
    assert_eq!(top["total_bytes"], plain["total_bytes"]);
    assert!(
        warnings.len() == 1 && warnings[0].contains("does not define"),
        "{warnings:#?}"
    );
    // No rows at all.
    let (top, _) = total(&Pprof::heap(0).message());
    assert_eq!(top["total_bytes"], 0);
}

#[test]
fn figures_at_the_ends_of_their_range_are_borne() {
    let desk = Desk::new();
    let max = 1 << 59;
    for (index, size) in [1, 16, 1 << 20, 1 << 59, i64::MAX].into_iter().enumerate() {
        let heap = |seconds: i64, value: i64| {
            Pprof::heap(seconds).row("main.f < main.main", Some(size), &[max, max, value, value])
        };
        let files: Vec<PathBuf> = (0..5)
            .map(|step| {
                let name = format!("{index}/{step}.heap.pb.gz");
                desk.put(name, heap(step * 300, max / 5 * step).gzip())
            })
            .collect();
        assert!(run_json("diagnose", &files, &[]).code < 2);
        run([
            OsStr::new("diagnose"),
            desk.path().join(index.to_string()).as_os_str(),
        ]);
        run_json("diff", &[&files[0], &files[4]], &[]).answered(0);
        run_json("top", &files[4..], &[]).answered(0);
    }
    let rates = [i64::MIN, -1, 0, 1, 2, i64::MAX].map(|period| {
        desk.put(
            "rate.heap.pb.gz",
            sound().with(|p| p.period = period).gzip(),
        );
        run_json("top", &[desk.path().join("rate.heap.pb.gz")], &[]).code
    });
    assert_eq!(rates, [0; 6]);
    // Figures of the runtime that do not fit, goroutines that nobody can have.
    let many = "99999999999999999999999";
    for index in 0..5 {
        let text = memory_text(index * 60, 1 << 20);
        let odd = match index {
            0 => text.replace("NumForcedGC = 1", "NumForcedGC = 0"),
            _ => text
                .replace("NumForcedGC = 1", &format!("NumForcedGC = {many}"))
                .replace("Sys = 2097152", &format!("Sys = {many}"))
                .replace("Stack = 65536 / 65536", &format!("Stack = {many} / {many}")),
        };
        desk.put(format!("figures/{index}.memory.txt"), odd);
        desk.put(
            format!("figures/{index}.heap.pb.gz"),
            leaking_process(index * 60, 1)[0].gzip(),
        );
    }
    assert!(
        run_json(
            "diagnose",
            &[desk.path().join("figures")],
            &["--limit", "1GiB"]
        )
        .code
            < 2
    );
    let mut crowd = Pprof::of_types(&[("goroutine", "count")], ("goroutine", "count"), 1);
    for name in ["main.a", "main.b < main.main", "main.b < main.main"] {
        crowd = crowd.row(name, None, &[1 << 38]);
    }
    let crowd = desk.put("1.goroutine.pb.gz", crowd.row("main.c", None, &[-5]).gzip());
    let said = run_json("diagnose", &[crowd], &[]);
    assert_eq!(
        said.answered(0).json()["totals"]["goroutines"][0],
        3_i64 << 38
    );
}

#[test]
fn a_million_frames_are_only_a_deep_stack() {
    let mut deep = sound().message();
    deep.sample[0].location_id = vec![deep.location[0].id; 1_000_000];
    let desk = Desk::new();
    let file = desk.put("deep.heap.pb.gz", gzip(&deep.encode_to_vec()));
    run_json("top", &[&file], &[]).answered(0);
    run_json("diagnose", &[&file], &[]).answered(0);
    run_json("diff", &[&file, &file], &[]).answered(0);
}

#[test]
fn claims_are_refused_by_the_library_too() {
    for (what, bytes) in claims() {
        for bytes in [gzip(&bytes), bytes] {
            let outcome = decode(bytes, &mut SymbolTable::new());
            assert!(outcome.is_err(), "{what}: {outcome:?}");
        }
    }
    // A pattern of frames to drop that no regular expression engine should see.
    for pattern in [
        "a".repeat(1 << 20),
        r"(\w{1,200}\W{1,200}){1,60}".into(),
        "(".repeat(9000),
    ] {
        let heap = sound().with(|p| p.drop_frames = pattern).gzip();
        assert!(
            decode(heap, &mut SymbolTable::new()).is_ok(),
            "it drops nothing"
        );
    }
}

#[test]
fn hostile_names_are_shown_escaped() {
    let desk = Desk::new();
    let hostile = |heap: Pprof| {
        let rename = |name: &mut String| *name = name.replace("main.keep", HOSTILE);
        heap.with(|p| {
            p.rows
                .iter_mut()
                .flat_map(|row| &mut row.stack)
                .for_each(rename);
            p.build_id = HOSTILE.into();
        })
        .label(HOSTILE, HOSTILE)
    };
    let series: Vec<Pprof> = leaking_process(0, 6).into_iter().map(hostile).collect();
    let mut files = Vec::new();
    for (index, heap) in series.iter().enumerate() {
        let mut message = heap.message();
        // The source file and the mapping too.
        let name = message.string_table.len() as i64;
        message.string_table.push(format!("/app/{HOSTILE}.go"));
        message
            .function
            .iter_mut()
            .for_each(|function| function.filename = name);
        message.mapping[0].filename = name;
        let file = desk.put(
            format!("s/{index}.heap.pb.gz"),
            gzip(&message.encode_to_vec()),
        );
        files.push(file);
        let dump = goroutine_dump(&HOSTILE.replace(['\r', '\n'], ""), 10 + 30 * index);
        let dump = dump.replace("chan send", "chan \x1b[2J\u{202e}send");
        desk.put(format!("s/{index}.goroutine.txt"), dump);
    }
    let folder = desk.path().join("s");
    // `run` has looked at every character that is written.
    for width in ["60", "80", "160", "1000"] {
        for rest in [&["--color", "never"][..], &["-v"], &["--rows", "0"]] {
            let wide = |command: &str, files: &[&Path]| {
                let args = [command, "--width", width].map(OsStr::new).into_iter();
                let files = files.iter().map(|file| file.as_os_str());
                run(args.chain(files).chain(rest.iter().map(OsStr::new)))
            };
            let said = wide("diagnose", &[&folder]);
            assert!(said.out.contains(r"\u{202e}"), "{}", said.out);
            wide("diff", &[&files[0], &files[5]]).answered(0);
            wide("top", &[&files[5]]).answered(0);
        }
    }
    // JSON gives the names back as they are.
    let names = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["function"].as_str().unwrap().to_owned())
            .collect()
    };
    let top = run_json("top", &files[5..], &[]).json();
    assert!(names(&top["rows"]).contains(&HOSTILE.to_owned()), "{top}");
    let diff = run_json("diff", &[&files[0], &files[5]], &[]).json();
    assert_eq!(names(&diff["rows"])[0], HOSTILE);
    let diagnosis = run_json("diagnose", &[&folder], &[]).json();
    let culprits: Vec<String> = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["culprit"]["function"].as_str().unwrap_or("").to_owned())
        .collect();
    assert!(culprits.contains(&HOSTILE.to_owned()), "{culprits:?}");
}

#[cfg(unix)]
#[test]
fn hostile_file_names_are_shown_escaped() {
    use std::os::unix::ffi::OsStrExt;
    let broken = OsStr::from_bytes(b"\xff\xfe broken \x1b[2J\n.heap.pb.gz");
    let long = "x".repeat(200) + ".heap.pb.gz";
    let hostile = HOSTILE.to_owned() + ".heap.pb.gz";
    for name in [
        OsStr::new(&hostile),
        broken,
        OsStr::new(&long),
        OsStr::new("-f.heap"),
        OsStr::new(" "),
    ] {
        let desk = Desk::new();
        // As a file that is used, left out, refused, and as a directory.
        let good = desk.put(Path::new("good").join(name), sound().gzip());
        let bad = desk.put(Path::new("bad").join(name), b"Dear diary");
        desk.put(
            Path::new("dir").join(name).join("1.heap.pb.gz"),
            sound().gzip(),
        );
        let folder = desk.path().join("dir").join(name);
        for command in ["top", "diagnose"] {
            for form in ["table", "json"] {
                for source in [good.as_path(), &folder, &desk.path().join("good")] {
                    let args = [
                        OsStr::new(command),
                        OsStr::new("-v"),
                        OsStr::new("-f"),
                        OsStr::new(form),
                    ];
                    run(args.into_iter().chain([source.as_os_str()])).answered(0);
                }
            }
            run([OsStr::new(command), bad.as_os_str()]).refused(2, "a text file");
            run([
                OsStr::new(command),
                bad.as_os_str(),
                OsStr::new("-f"),
                OsStr::new("json"),
            ])
            .refused(2, "a text file");
        }
        run([OsStr::new("diagnose"), good.as_os_str(), bad.as_os_str()]).answered(0);
        run([OsStr::new("diff"), good.as_os_str(), good.as_os_str()]).answered(0);
        run([OsStr::new("diff"), good.as_os_str(), bad.as_os_str()]).refused(2, "a text file");
        run([
            OsStr::new("diagnose"),
            desk.path().join("no").join(name).as_os_str(),
        ])
        .refused(2, "no such file");
    }
}

#[test]
fn force_goes_on_and_says_so() {
    let desk = Desk::new();
    let good = desk.put(
        "good.heap.pb.gz",
        sound().with(|p| p.time_nanos -= 1_000_000_000).gzip(),
    );
    for bad in bad_files().iter().filter(|bad| bad.code == 3) {
        let file = desk.put("forced.heap.pb.gz", &bad.bytes);
        for files in [&[&file][..], &[&good, &file]] {
            let command = if files.len() == 1 { "top" } else { "diff" };
            let said = run_json(command, files, &[FORCE]);
            said.answered(0);
            let is_said =
                |w: &String| w.contains("taken as it stands (--force)") && w.contains(bad.says);
            assert!(
                said.warnings().iter().any(is_said),
                "{}: {:#?}",
                bad.what,
                said.warnings()
            );
        }
        assert!(
            run_json("diagnose", &[&good, &file], &[FORCE]).code < 2,
            "{}",
            bad.what
        );
    }
}

// ---------------------------------------------------------------------------------------------
// Properties.

/// So many cases, or as many as `PROPTEST_CASES` says.
fn few(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(cases, |_| default.cases),
        failure_persistence: None,
        ..default
    }
}

/// A heap of up to thirty rows over a few functions, sizes and depths.
fn any_heap() -> impl Strategy<Value = Pprof> {
    let stack = prop::collection::vec("main\\.[a-f]", 0..5);
    let size = prop::sample::select(vec![8_i64, 64, 1024, 65_536, 4 << 20]);
    let row = (stack, size, 0..60_i64, 0..60_i64);
    (
        prop::collection::vec(row, 0..30),
        prop::sample::select(vec![1, 4096, RATE]),
    )
        .prop_map(|(rows, period)| {
            let empty = Pprof::heap(0).with(|p| p.period = period);
            rows.into_iter()
                .fold(empty, |heap, (stack, size, in_use, freed)| {
                    heap.sampled(&stack.join(" < "), size, in_use + freed, in_use)
                })
        })
}

/// The diff of two files, as the command makes it.
fn diff_of(before: &[u8], after: &[u8], force: bool) -> Diff {
    let desk = Desk::new();
    let files = [
        desk.put("1.heap.pb.gz", before),
        desk.put("2.heap.pb.gz", after),
    ];
    let [before, after] = files.map(|file| Source::parse(file.as_os_str()).unwrap());
    let options = LoadOptions {
        force,
        ..LoadOptions::default()
    };
    let mut diff = diff(&load_pair(&before, &after, &options).unwrap()).unwrap();
    // The directory is another each time.
    (diff.before.source, diff.after.source) = ("1".into(), "2".into());
    diff.warnings.clear();
    diff
}

/// Whether two results are the same but for the rounding of sums.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && agree(a.1, b.1))
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let [x, y] = [x, y].map(|number| number.as_f64().unwrap_or(f64::NAN));
            (x - y).abs() <= 1e-9 * x.abs()
        }
        _ => a == b,
    }
}

/// Rows as (place, bytes of change), sorted.
fn changes(diff: &Diff, sign: i64) -> Vec<(String, Option<u32>, i64)> {
    let rows = diff.rows.iter();
    let mut all: Vec<_> = rows
        .map(|row| (row.function.clone(), row.line, sign * row.delta_bytes))
        .collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(few(48))]

    #[test]
    fn nothing_changes_from_a_profile_to_itself(heap in any_heap()) {
        let diff = diff_of(&heap.gzip(), &heap.gzip(), false);
        prop_assert_eq!(diff.total.delta_bytes, 0);
        for row in &diff.rows {
            prop_assert_eq!((row.delta_bytes, row.delta_objects), (0, 0));
            prop_assert_eq!(row.before_bytes, row.after_bytes);
        }
    }

    #[test]
    fn a_diff_and_its_reverse_are_opposite(a in any_heap(), b in any_heap()) {
        let b = b.with(|b| b.period = a.period);
        let forward = diff_of(&a.gzip(), &b.gzip(), true);
        let backward = diff_of(&b.gzip(), &a.gzip(), true);
        // Lines depend on the order in which a profile names its functions, equal ones cancel.
        prop_assert_eq!(forward.total.delta_bytes, -backward.total.delta_bytes);
        prop_assert_eq!(changes(&forward, 1), changes(&backward, -1));
    }

    #[test]
    fn the_order_of_samples_does_not_matter(heap in any_heap(), later in any_heap(), turn in any::<prop::sample::Index>()) {
        let message = heap.message();
        let mut turned = message.clone();
        if !turned.sample.is_empty() {
            let by = turn.index(turned.sample.len());
            turned.sample.rotate_left(by);
            turned.sample.reverse();
        }
        turned.location.reverse();
        turned.function.reverse();
        let later = later.with(|later| later.period = heap.period).gzip();
        let diffs = [message, turned].map(|message| diff_of(&message.encode_to_vec(), &later, true));
        let [a, b] = diffs.map(|diff| serde_json::to_value(diff).unwrap());
        prop_assert!(agree(&a, &b), "{a:#} {b:#}");
    }

    #[test]
    fn the_packing_does_not_matter(heap in any_heap()) {
        let raw = heap.raw();
        let (front, back) = raw.split_at(raw.len() / 2);
        let diffs = [gzip(&raw), zstd(&raw), [gzip(front), gzip(back)].concat(), raw.clone()]
            .map(|bytes| to_json(&diff_of(&bytes, &raw, false)).unwrap());
        prop_assert!(diffs.iter().all(|diff| *diff == diffs[0]));
    }
}

/// A change to bytes at a place.
#[derive(Debug, Clone)]
enum Edit {
    Set(u8),
    Flip(u8),
    Cut(usize),
    Repeat(usize),
    Insert(Vec<u8>),
    /// An integer of ten bytes: as large as can be written.
    Swell,
}

fn any_edits() -> impl Strategy<Value = Vec<(prop::sample::Index, Edit)>> {
    let edit = prop_oneof![
        any::<u8>().prop_map(Edit::Set),
        (0..8_u32).prop_map(|bit| Edit::Flip(1 << bit)),
        (1..64_usize).prop_map(Edit::Cut),
        (1..64_usize).prop_map(Edit::Repeat),
        prop::collection::vec(any::<u8>(), 1..8).prop_map(Edit::Insert),
        Just(Edit::Swell),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), edit), 1..6)
}

fn edited(bytes: &[u8], edits: &[(prop::sample::Index, Edit)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, edit) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        match edit {
            Edit::Set(byte) => bytes[at] = *byte,
            Edit::Flip(mask) => bytes[at] ^= mask,
            Edit::Cut(len) => drop(bytes.drain(at..(at + len).min(bytes.len()))),
            Edit::Repeat(len) => {
                let piece = bytes[at..(at + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            Edit::Insert(piece) => drop(bytes.splice(at..at, piece.iter().copied())),
            Edit::Swell => {
                bytes.splice(at..=at, [0xff; 9].into_iter().chain([1]));
            }
        }
    }
    bytes
}

/// Small sound files of every form.
fn seeds() -> Vec<Vec<u8>> {
    let crowd = Pprof::of_types(&[("goroutine", "count")], ("goroutine", "count"), 1);
    let grouped = "goroutine profile: total 3\n2 @ 0x47dc8e 0x4158ee\n#\t0x47dc8d\tmain.wait+0x17\t/m.go:17\n\n1 @ 0x47dc8e\n";
    vec![
        sound().raw(),
        sound().gzip(),
        zstd(&sound().raw()),
        crowd.row("main.wait < main.main", None, &[7]).raw(),
        heap_text(0, 50).into_bytes(),
        memory_text(0, 1 << 20).into_bytes(),
        goroutine_dump("main.wait", 3).into_bytes(),
        grouped.into(),
        b"heap_v2/524288\n  t*: 1: 2 [0: 0]\n@ 0x1 0x2\n  t*: 1: 2 [0: 0]\n".to_vec(),
    ]
}

/// Everything that the program does with files, for people and for programs.
fn use_all(files: Vec<Vec<u8>>, force: bool) {
    let mut symbols = SymbolTable::new();
    let load = |(index, bytes)| LoadedFile {
        source: format!("{index}"),
        moment: format!("{index}"),
        content: decode(bytes, &mut symbols).map_err(Into::into),
    };
    let files = files.into_iter().enumerate().map(load).collect();
    let series = Series::assemble(symbols, files, force);
    let layout = Layout::default();
    if let Ok(diagnosis) = diagnose(&series, &Catalogue::builtin(), &DiagnoseOptions::default()) {
        diagnosis_table(&diagnosis, &layout);
        to_json(&diagnosis).unwrap();
    }
    if let Ok(diff) = diff(&series) {
        diff_table(&diff, &layout);
        to_json(&diff).unwrap();
    }
    if let Ok(top) = top(&series) {
        top_table(&top, &layout);
        to_json(&top).unwrap();
    }
}

proptest! {
    #![proptest_config(few(2000))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        // As they are, behind the magic of each packing, and behind the front of a profile.
        for front in [&b""[..], b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\x28\xb5\x2f\xfd", b"\x0a\x04\x08\x01\x10\x02"] {
            let _ = decode([front, &bytes].concat(), &mut SymbolTable::new());
        }
    }

    #[test]
    fn damaged_files_never_panic(seed in prop::sample::select(seeds()), edits in any_edits()) {
        let _ = decode(edited(&seed, &edits), &mut SymbolTable::new());
    }
}

proptest! {
    #![proptest_config(few(250))]

    #[test]
    fn damaged_files_never_panic_further_on(
        seed in prop::sample::select(vec![0_usize, 0, 0, 3, 4, 5, 6, 7]),
        edits in any_edits(),
        force in any::<bool>(),
    ) {
        let damaged = edited(&seeds()[seed], &edits);
        let mut series: Vec<Vec<u8>> = leaking_process(300, 4).iter().map(Pprof::raw).collect();
        series.push(damaged.clone());
        use_all(series, force);
        use_all(vec![damaged], force);
    }
}

/// Figures that no runtime writes, in a file that is whole.
fn any_odd_heap() -> impl Strategy<Value = Pprof> {
    let figure = || {
        prop::sample::select(vec![
            i64::MIN,
            i64::MIN + 1,
            -(1 << 40),
            -1,
            0,
            1,
            2,
            16,
            4096,
            1 << 20,
            1 << 40,
            (1 << 57) + 3,
            1 << 60,
            i64::MAX,
        ])
    };
    let small = || prop::sample::select(vec![-1_i64, 0, 1, 3, 16, 4096, 1 << 30, 1 << 57]);
    let stack = prop::collection::vec("main\\.[a-c]", 0..4);
    let size = prop::option::weighted(0.8, figure());
    let row = (stack, size, prop::collection::vec(small(), 0..6));
    let rows = prop::collection::vec(row, 0..8);
    let kinds = prop::sample::subsequence(HEAP_TYPES.to_vec(), 1..=4).prop_shuffle();
    let duration = prop_oneof![4 => Just(0), 1 => figure()];
    (rows, kinds, figure(), figure(), duration).prop_map(|(rows, kinds, period, time, duration)| {
        let empty = Pprof::of_types(&kinds, ("space", "bytes"), period).with(|p| {
            p.time_nanos = time;
            p.duration_nanos = duration;
        });
        rows.into_iter().fold(empty, |heap, (stack, size, values)| {
            heap.row(&stack.join(" < "), size, &values)
        })
    })
}

proptest! {
    #![proptest_config(few(250))]

    #[test]
    fn odd_figures_never_panic(heaps in prop::collection::vec(any_odd_heap(), 1..5), force in any::<bool>()) {
        // The same file again, too: then it is surely of one process.
        let mut files: Vec<Vec<u8>> = heaps.iter().map(Pprof::raw).collect();
        use_all(files.clone(), force);
        files.truncate(1);
        use_all(vec![files[0].clone(); 2], force);
    }
}

proptest! {
    #![proptest_config(few(40))]

    #[test]
    fn a_real_profile_with_damage_never_panics(edits in any_edits()) {
        let small = case("logger-promise-chain").heaps().remove(0);
        let raw = gunzip(&std::fs::read(small).unwrap());
        let damaged = edited(&raw, &edits);
        let _ = decode(damaged.clone(), &mut SymbolTable::new());
        let file = Desk::new();
        let path = file.put("1.heap.pb", damaged);
        for command in ["top", "diagnose"] {
            run([OsStr::new(command), path.as_os_str()]);
        }
    }
}
