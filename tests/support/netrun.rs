//! Runs of the binary against servers of the test: to their end, or in the background until a
//! signal. Whatever happens, what it says is fit for a terminal and it ends by itself.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than any run here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a run said.
#[derive(Debug)]
pub struct Said {
    pub what: String,
    /// -1: ended by a signal.
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The binary in a directory of the test, with nothing of the environment that leads elsewhere.
pub fn program(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapdrift"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let lower = name.to_ascii_lowercase();
        if lower.ends_with("_proxy") || lower.starts_with("heapdrift_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn run<S: AsRef<OsStr>>(directory: &Path, arguments: &[S]) -> Said {
    let mut command = program(directory);
    command.args(arguments);
    finish(command)
}

/// Runs a command to its end.
pub fn finish(command: Command) -> Said {
    Running::start(command).wait()
}

/// A run that goes on.
pub struct Running {
    what: String,
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let what = format!("{command:?}");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = read(child.stdout.take().unwrap());
        let err = read(child.stderr.take().unwrap());
        Self {
            what,
            child,
            out: Some(out),
            err: Some(err),
        }
    }

    /// Sends a signal such as `INT`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(pid)
            .status();
        assert!(status.unwrap().success(), "{}: no {name}", self.what);
    }

    /// Waits for its end, and looks at what no run may say.
    #[track_caller]
    pub fn wait(self) -> Said {
        self.wait_for(PATIENCE)
    }

    /// The same, for as long as it may take.
    #[track_caller]
    pub fn wait_for(mut self, patience: Duration) -> Said {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > patience {
                let _ = self.child.kill();
                panic!("{} did not end", self.what);
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text = |reader: Option<JoinHandle<String>>| reader.unwrap().join().unwrap();
        let said = Said {
            what: self.what.clone(),
            code: status.code().unwrap_or(-1),
            out: text(self.out.take()),
            err: text(self.err.take()),
        };
        for text in [&said.out, &said.err] {
            let raw = text.chars().find(|c| *c != '\n' && c.is_control());
            assert_eq!(raw, None, "{} wrote it raw: {text:?}", said.what);
        }
        assert!(!said.err.contains("panicked"), "{}", said.err);
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed before it waited must leave nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before a failure is what there is.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("output is UTF-8")
    })
}

impl Said {
    /// The code and, in case it is another, all that was said.
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Exactly one error, which says all `parts`, and one hint, which says `hint`; no result.
    #[track_caller]
    pub fn refused(&self, code: i32, parts: &[&str], hint: &str) -> &Self {
        self.ended(code);
        assert_eq!(self.out, "", "{}", self.what);
        let errors = self.lines("error: ");
        let hints = self.lines("hint: ");
        assert_eq!((errors.len(), hints.len()), (1, 1), "{}", self.err);
        for part in parts {
            assert!(errors[0].contains(part), "no {part:?} in: {}", self.err);
        }
        assert!(hints[0].contains(hint), "no {hint:?} in: {}", self.err);
        // Two snapshots may well be alike.
        let lines = self.err.lines().filter(|line| !line.starts_with("note: "));
        let lines: Vec<&str> = lines.collect();
        let mut once = lines.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(lines.len(), once.len(), "said twice: {}", self.err);
        self
    }

    /// Lines of standard error with this mark.
    pub fn lines(&self, mark: &str) -> Vec<&str> {
        self.err
            .lines()
            .filter(|line| line.starts_with(mark))
            .collect()
    }

    #[track_caller]
    pub fn says(&self, part: &str) -> &Self {
        assert!(self.err.contains(part), "no {part:?} in: {}", self.err);
        self
    }

    #[track_caller]
    pub fn says_not(&self, part: &str) -> &Self {
        assert!(!self.err.contains(part), "{part:?} in: {}", self.err);
        self
    }

    /// Some line of standard error with this mark says `part`; how many do.
    pub fn count(&self, mark: &str, part: &str) -> usize {
        self.lines(mark)
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        let error = |error| panic!("{}: {error}: {}", self.what, self.err);
        serde_json::from_str(&self.out).unwrap_or_else(error)
    }

    /// Standard output as if it were infinitely wide.
    pub fn in_one_line(&self) -> String {
        let words: Vec<&str> = self.out.split_whitespace().collect();
        words.join(" ")
    }

    /// Standard output as one JSON object a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| -> Value {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.out.lines().map(parse).collect()
    }
}

/// All files below a directory, sorted; hidden ones too.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

/// Those with this end of their names, and not hidden.
pub fn files_named(directory: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = files(directory);
    found.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(suffix) && !name.starts_with('.')
    });
    found
}

pub fn heaps(directory: &Path) -> Vec<PathBuf> {
    files_named(directory, ".heap.pb.gz")
}
