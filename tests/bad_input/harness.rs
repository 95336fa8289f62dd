//! One run of the binary, the rules that hold for every run, and files to run it on.

use crate::support::profiles::{Pprof, gunzip, gzip, leaking_process};
use crate::support::{Case, cases, heapdrift};
use heapdrift::profile::{Limits, ProfileError, ProfileFile, RawProfile, SymbolTable};
use pprof::protos::{Message, Profile};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub const FORCE: &str = "--force";
/// A name that would clear the screen, write to the clipboard, reorder text and forge a verdict.
pub const HOSTILE: &str =
    "main.\x1b[2J\x1b]52;c;cm0gLXJm\x07\u{9b}31m\u{202e}gnp\u{2066}.\u{200b}x\r\nLEAK  forged";

/// What a run of the binary said.
pub struct Said {
    what: String,
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs a command on files.
pub fn run<S: AsRef<OsStr>>(command: &str, files: &[S], options: &[&str]) -> Said {
    run_with(command, files, options, &[])
}

/// Runs a command on files, for programs.
pub fn run_json<S: AsRef<OsStr>>(command: &str, files: &[S], options: &[&str]) -> Said {
    run(command, files, &[options, &["-f", "json"]].concat())
}

/// Runs a command with something on standard input, and looks at what no input may cause.
pub fn run_with<S: AsRef<OsStr>>(
    command: &str,
    files: &[S],
    options: &[&str],
    stdin: &[u8],
) -> Said {
    let mut program = heapdrift();
    program.arg(command).args(options).arg("--").args(files);
    let what = format!("{program:?}");
    let output = program.write_stdin(stdin).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    let code = output.status.code().unwrap_or(-1);
    assert!((0..=3).contains(&code), "{what} ended with {code}: {err}");
    for text in [&out, &err] {
        let raw = text.chars().find(|c| *c != '\n' && is_obeyed(*c));
        assert_eq!(raw, None, "{what} wrote it raw: {text:?}");
        let is_forged = text.lines().any(|line| line.starts_with("LEAK  forged"));
        assert!(!is_forged, "{what}: {text}");
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
    pub fn refused(&self, code: i32, part: &str) {
        let Self { what, err, .. } = self;
        assert_eq!(self.code, code, "{what}: {err}");
        assert_eq!(self.out, "", "{what}");
        let lines: Vec<&str> = err.lines().collect();
        let [error, hint] = lines.as_slice() else {
            panic!("{what}: not one error and one hint:\n{err}");
        };
        let is_said = error.starts_with("error: ") && error.contains(part);
        assert!(is_said, "{what}: {error}");
        assert!(error.chars().count() < 700, "{what}: too long: {error}");
        let is_hint = hint.starts_with("hint: ") && hint.len() > 12;
        assert!(is_hint, "{what}: {hint}");
    }

    /// A result and nothing else.
    #[track_caller]
    pub fn answered(&self, code: i32) -> &Self {
        let Self { what, err, .. } = self;
        assert_eq!(self.code, code, "{what}: {err}");
        assert_eq!(err, "", "{what}");
        assert!(!self.out.is_empty(), "{what}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        let error = |error| panic!("{}: {error}: {}", self.what, self.err);
        serde_json::from_str(&self.out).unwrap_or_else(error)
    }

    /// The warnings of a JSON result.
    #[track_caller]
    pub fn warnings(&self) -> Vec<String> {
        let text = |warning: &Value| warning.as_str().unwrap().to_owned();
        list(&self.json()["warnings"]).iter().map(text).collect()
    }

    /// There is no warning.
    #[track_caller]
    pub fn is_content(&self) -> &Self {
        assert_eq!(self.warnings(), [""; 0], "{}", self.what);
        self
    }

    /// One of the warnings says `part`: that one.
    #[track_caller]
    pub fn warns(&self, part: &str) -> String {
        let all = self.warnings();
        let found = all.iter().find(|warning| warning.contains(part)).cloned();
        found.unwrap_or_else(|| panic!("{}: no {part:?} in {all:#?}", self.what))
    }

    /// There is one warning, and it says all `parts`.
    #[track_caller]
    pub fn warns_once(&self, parts: &[&str]) {
        let all = self.warnings();
        let says = |warning: &String| parts.iter().all(|part| warning.contains(part));
        let is_so = all.len() == 1 && all.iter().all(says);
        assert!(is_so, "{}: not once {parts:?}: {all:#?}", self.what);
    }
}

/// The items of a JSON array.
#[track_caller]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// The parts of two results that are named are the same.
#[track_caller]
pub fn same(one: &Value, other: &Value, parts: &[&str], what: &str) {
    for part in parts {
        assert_eq!(one.pointer(part), other.pointer(part), "{what}: {part}");
    }
}

/// A directory that goes away with the test.
pub struct Desk(tempfile::TempDir);

impl Desk {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.0.path().join(name);
        assert!(path.starts_with(self.0.path()), "{}", path.display());
        path
    }

    /// All that lies on it, as a source.
    pub fn all(&self) -> [PathBuf; 1] {
        [self.0.path().to_owned()]
    }

    pub fn put(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// One file a profile in a directory: `0.heap.pb.gz`, `1.heap.pb.gz`, …
    pub fn put_series(&self, folder: &str, series: &[Pprof]) -> Vec<PathBuf> {
        let name = |index: usize| format!("{folder}/{index}.heap.pb.gz");
        let files = (0..).zip(series);
        files
            .map(|(index, heap)| self.put(name(index), heap.gzip()))
            .collect()
    }
}

/// A sound profile of a small process.
pub fn sound() -> Pprof {
    leaking_process(0, 1).remove(0)
}

/// A leaking case of the corpus.
pub fn first_case() -> Case {
    case("logger-promise-chain")
}

/// Another one, of another program.
pub fn second_case() -> Case {
    case("stale-watchers")
}

pub fn case(name: &str) -> Case {
    let mut all = cases().into_iter();
    all.find(|case| case.name == name)
        .expect("a case of the corpus")
}

impl Case {
    /// Its heap profiles in time order.
    pub fn heaps(&self) -> Vec<PathBuf> {
        let path = |stem: String| self.dir.join(format!("{stem}.heap.pb.gz"));
        self.stems().into_iter().map(path).collect()
    }

    /// All its captures in a directory of their own.
    pub fn copy(&self) -> Desk {
        let desk = Desk::new();
        for file in self.part(&self.stems()) {
            desk.put(file.file_name().unwrap(), read(&file));
        }
        desk
    }
}

pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// A real capture as a message.
fn message_of(path: &Path) -> Profile {
    Profile::decode(gunzip(&read(path)).as_slice()).unwrap()
}

/// A real capture with its clock moved.
pub fn moved(path: &Path, seconds: i64) -> Vec<u8> {
    let mut profile = message_of(path);
    profile.time_nanos += seconds * 1_000_000_000;
    gzip(&profile.encode_to_vec())
}

/// The clock of a real capture.
pub fn seconds_of(path: &Path) -> i64 {
    message_of(path).time_nanos / 1_000_000_000
}

/// Decodes as the program does.
pub fn decode(bytes: Vec<u8>, symbols: &mut SymbolTable) -> Result<ProfileFile, ProfileError> {
    RawProfile::open(bytes, &Limits::default())?.decode(symbols)
}
