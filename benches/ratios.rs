//! The speeds that heapdrift promises, each as a ratio against something in the same run.
//!
//! `cargo bench` prints the table. Go, where it is installed, adds `go tool pprof` on the
//! same files (`HEAPDRIFT_BENCH_PPROF=1` for the large pair, which takes it minutes).

mod support;

use flate2::read::MultiGzDecoder;
use heapdrift::profile::{Limits, ProfileFile, RawProfile, SymbolTable};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Synthetic, goroutine_dump, gzip, median};

const BINARY: &str = env!("CARGO_BIN_EXE_heapdrift");

struct Pair {
    before: PathBuf,
    after: PathBuf,
    raw_bytes: usize,
}

impl Pair {
    fn write(dir: &Path, name: &str, shape: &Synthetic) -> Self {
        let mut raw_bytes = 0;
        let mut write = |step: u64| {
            let raw = shape.raw(step);
            raw_bytes += raw.len();
            let path = dir.join(format!("{name}{step}.pb.gz"));
            fs::write(&path, gzip(&raw)).unwrap();
            path
        };
        Self {
            before: write(0),
            after: write(1),
            raw_bytes,
        }
    }

    fn files(&self) -> [&Path; 2] {
        [&self.before, &self.after]
    }

    fn compressed_bytes(&self) -> u64 {
        self.files()
            .iter()
            .map(|file| fs::metadata(file).unwrap().len())
            .sum()
    }

    /// Inflates both files, one after the other, with the flate2 backend that heapdrift uses.
    fn inflate(&self) {
        for file in self.files() {
            let bytes = fs::read(file).unwrap();
            let mut out = Vec::with_capacity(self.raw_bytes);
            MultiGzDecoder::new(bytes.as_slice())
                .read_to_end(&mut out)
                .unwrap();
            std::hint::black_box(&out);
        }
    }

    fn diff_command(&self) -> Command {
        let mut command = Command::new(BINARY);
        command.arg("diff").args(self.files()).stdout(Stdio::null());
        command
    }

    fn pprof_command(&self) -> Command {
        let mut command = Command::new("go");
        command.args(["tool", "pprof", "-top", "-symbolize=none", "-diff_base"]);
        command
            .args(self.files())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.env("PPROF_TMPDIR", std::env::temp_dir());
        command
    }
}

fn time_command(mut command: Command) -> Duration {
    let start = Instant::now();
    assert!(command.status().unwrap().success(), "{command:?}");
    start.elapsed()
}

fn median_command(runs: usize, command: impl Fn() -> Command) -> Duration {
    median(runs, || {
        time_command(command());
    })
}

/// Peak resident memory of a command in bytes, by GNU time; None where it is not installed.
fn peak_memory(command: Command) -> Option<usize> {
    let mut timed = Command::new("/usr/bin/time");
    timed
        .args(["-f", "%M"])
        .arg(command.get_program())
        .args(command.get_args());
    let output = timed
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines()
        .last()?
        .trim()
        .parse::<usize>()
        .ok()
        .map(|kib| kib * 1024)
}

/// A little more than a million goroutines take, bytes.
const MAX_TEXT: usize = 1 << 30;

/// A dump of a million goroutines: how fast it is read, and how much memory that takes.
fn measure_goroutine_text(dir: &Path) {
    let text = goroutine_dump(1_000_000);
    let megabytes = text.len() as f64 / 1e6;
    let scan = median(3, || {
        std::hint::black_box(memchr::memchr_iter(b'\n', &text).count());
    });
    let mut times: Vec<Duration> = (0..3).map(|_| time_reading(text.clone())).collect();
    times.sort();
    let read = times[1];
    row(
        "goroutine text (debug=2, a million goroutines), read",
        format!(
            "{megabytes:.0} MB / {:.2} s = {:.0} MB/s",
            read.as_secs_f64(),
            megabytes / read.as_secs_f64()
        ),
        ">= 200 MB/s",
    );
    row(
        "reading that text / counting its lines (memchr)",
        format!(
            "{:.0} ms / {:.0} ms = {:.1}",
            1e3 * read.as_secs_f64(),
            1e3 * scan.as_secs_f64(),
            read.as_secs_f64() / scan.as_secs_f64()
        ),
        "",
    );
    let path = dir.join("goroutine.txt");
    fs::write(&path, &text).unwrap();
    let mut command = Command::new(BINARY);
    command
        .args(["diagnose", "--max-size", "1GiB"])
        .arg(&path)
        .stdout(Stdio::null());
    if let Some(peak) = peak_memory(command) {
        row(
            "peak memory of diagnosing that text / its size",
            format!(
                "{:.0} MiB / {:.0} MiB = {:.2}",
                mib(peak),
                mib(text.len()),
                peak as f64 / text.len() as f64
            ),
            "<= 1.1",
        );
    }
    fs::remove_file(&path).unwrap();
}

/// Time from bytes to groups. A million goroutines must come out.
fn time_reading(text: Vec<u8>) -> Duration {
    let start = Instant::now();
    let mut symbols = SymbolTable::new();
    let raw = RawProfile::open(
        text,
        &Limits {
            max_bytes: MAX_TEXT,
        },
    )
    .unwrap();
    let ProfileFile::Goroutines(profile) = raw.decode(&mut symbols).unwrap() else {
        panic!("not goroutines");
    };
    let time = start.elapsed();
    assert_eq!(profile.total(), 1_000_000);
    time
}

fn has_go() -> bool {
    Command::new("go")
        .arg("version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / 1_048_576.0
}

fn row(what: &str, figure: String, promised: &str) {
    println!("{what:<58} {figure:>34}   {promised}");
}

fn main() {
    // `cargo test --benches` runs this file with --test: nothing to test here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let large = Pair::write(dir.path(), "large", &Synthetic::LARGE);
    let small = Pair::write(dir.path(), "small", &Synthetic::SMALL);
    println!(
        "large pair: {:.1} MiB raw, {:.1} MiB compressed; small pair: {:.0} KiB compressed\n",
        mib(large.raw_bytes),
        mib(large.compressed_bytes() as usize),
        small.compressed_bytes() as f64 / 1024.0,
    );
    row("", "measured".to_owned(), "promised");

    let inflate = median(9, || large.inflate());
    let diff = median_command(9, || large.diff_command());
    let ratio = diff.as_secs_f64() / inflate.as_secs_f64();
    row(
        "diff of the large pair / inflating its two files",
        format!(
            "{:.0} ms / {:.0} ms = {ratio:.2}",
            1e3 * diff.as_secs_f64(),
            1e3 * inflate.as_secs_f64()
        ),
        "<= 2.5",
    );
    match peak_memory(large.diff_command()) {
        Some(peak) => row(
            "peak memory of that diff / raw size of both files",
            format!(
                "{:.0} MiB / {:.0} MiB = {:.2}",
                mib(peak),
                mib(large.raw_bytes),
                peak as f64 / large.raw_bytes as f64
            ),
            "<= 3",
        ),
        None => row(
            "peak memory",
            "skipped: no /usr/bin/time".to_owned(),
            "<= 3",
        ),
    }
    let small_diff = median_command(21, || small.diff_command());
    row(
        "diff of the small pair, process start included",
        format!("{:.1} ms", 1e3 * small_diff.as_secs_f64()),
        "<= 20 ms",
    );
    let start = median_command(21, || {
        let mut command = Command::new(BINARY);
        command.arg("--version").stdout(Stdio::null());
        command
    });
    let nothing = median_command(21, || Command::new("true"));
    row(
        "process start above `true`",
        format!(
            "{:.1} ms",
            1e3 * (start.as_secs_f64() - nothing.as_secs_f64())
        ),
        "<= 5 ms",
    );

    measure_goroutine_text(dir.path());

    if !has_go() {
        row(
            "go tool pprof",
            "skipped: Go is not installed".to_owned(),
            "",
        );
        return;
    }
    let theirs = median_command(3, || small.pprof_command());
    row(
        "go tool pprof -diff_base on the small pair / heapdrift",
        format!(
            "{:.0} ms / {:.1} ms = {:.0}",
            1e3 * theirs.as_secs_f64(),
            1e3 * small_diff.as_secs_f64(),
            theirs.as_secs_f64() / small_diff.as_secs_f64()
        ),
        ">= 20",
    );
    if std::env::var_os("HEAPDRIFT_BENCH_PPROF").is_some() {
        let theirs = time_command(large.pprof_command());
        row(
            "go tool pprof -diff_base on the large pair / heapdrift",
            format!(
                "{:.1} s / {:.2} s = {:.0}",
                theirs.as_secs_f64(),
                diff.as_secs_f64(),
                theirs.as_secs_f64() / diff.as_secs_f64()
            ),
            ">= 100",
        );
    } else {
        row(
            "go tool pprof -diff_base on the large pair / heapdrift",
            "skipped: set HEAPDRIFT_BENCH_PPROF=1".to_owned(),
            ">= 100",
        );
    }
}
