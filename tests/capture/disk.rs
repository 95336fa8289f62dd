//! Disks that are full or not ours, and a program that is killed at any moment.
#![cfg(unix)]

use crate::support::netrun::{Running, files, files_named, finish, heaps, program, run};
use crate::support::pprof_process::Process;
use crate::support::pprof_server::{Reply, Server};
use crate::support::profiles::{Pprof, gunzip};
use crate::support::random::Random;
use heapdrift::profile::{Limits, ProfileFile, RawProfile, SymbolTable};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Half-written files, which are hidden.
fn parts(directory: &Path) -> usize {
    let is_part = |path: &&std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with('.')
    };
    files(directory).iter().filter(is_part).count()
}

/// Every file with the name of a heap profile is one.
fn all_are_whole(directory: &Path) -> usize {
    let all = heaps(directory);
    for path in &all {
        let bytes = fs::read(path).unwrap();
        let raw = RawProfile::open(bytes, &Limits::default());
        let file = raw.and_then(|raw| raw.decode(&mut SymbolTable::default()));
        assert!(
            matches!(file, Ok(ProfileFile::Heap { .. })),
            "{path:?}: {file:?}"
        );
    }
    all.len()
}

/// A server whose third heap profile is larger than the disk.
fn growing_server() -> Server {
    let process = Process::leaking();
    let heaps_asked = AtomicUsize::new(0);
    Server::http(move |request| {
        if request.profile() == "heap?gc=1" && heaps_asked.fetch_add(1, Ordering::SeqCst) >= 2 {
            let mut random = Random::new(7);
            // Names that do not compress: about 300 kB.
            let heap = (0..10_000).fold(Pprof::heap(600), |heap, _| {
                let name = format!("main.f{:x} < main.main", random.uniform().to_bits());
                heap.sampled(&name, 4096, 40, 40)
            });
            return Reply::ok(heap.gzip());
        }
        process.reply(request)
    })
}

/// The binary where no file may grow beyond 64 KiB or so; the signal that comes with that is
/// ignored, so that writing fails as it does on a full disk.
fn on_a_small_disk(desk: &Path, arguments: &[&str]) -> Command {
    let binary = program(desk);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"])
        .arg(binary.get_program())
        .args(arguments)
        .current_dir(desk)
        .env("NO_COLOR", "1");
    command
}

#[test]
fn a_full_disk_ends_a_capture_with_what_was_saved() {
    let desk = tempfile::tempdir().unwrap();
    let server = growing_server();
    let url = server.url();
    let options = ["capture", &url, "--every", "100ms", "--count", "9"];
    let said = finish(on_a_small_disk(desk.path(), &options));
    said.refused(3, &[".heap.pb.gz", "File too large"], "make room");
    said.says("note: 2 snapshots captured");
    assert_eq!(all_are_whole(desk.path()), 2);
    assert_eq!(parts(desk.path()), 0);
}

#[test]
fn a_full_disk_ends_a_watch_with_its_report() {
    let desk = tempfile::tempdir().unwrap();
    let server = growing_server();
    let url = server.url();
    let options = [
        "watch", &url, "--every", "100ms", "--count", "9", "-o", "kept",
    ];
    let said = finish(on_a_small_disk(desk.path(), &options));
    said.ended(3).says("File too large");
    assert_eq!(said.lines("error: ").len(), 1, "{}", said.err);
    assert_eq!(said.lines("hint: ").len(), 1, "{}", said.err);
    // What was seen until then is worth a report.
    assert!(said.out.contains("2 snapshots over"), "{said:#?}");
    assert_eq!(all_are_whole(desk.path()), 2);
    assert_eq!(parts(desk.path()), 0);
}

#[test]
fn a_directory_that_cannot_be_made() {
    let desk = tempfile::tempdir().unwrap();
    let server = growing_server();
    fs::write(desk.path().join("captures"), "a file in its place").unwrap();
    let said = run(desk.path(), &["capture", &server.url()]);
    said.refused(3, &["captures/127.0.0.1-"], "-o");
    let said = run(desk.path(), &["watch", &server.url(), "-o", "captures"]);
    said.refused(3, &["captures/127.0.0.1-"], "-o");
    // That is known before anything is asked.
    assert_eq!(server.requests().len(), 0);
    let text = fs::read_to_string(desk.path().join("captures")).unwrap();
    assert_eq!(text, "a file in its place");
}

#[test]
fn a_directory_that_goes_away() {
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let directory = desk.path().join("captures");
    let heaps_asked = AtomicUsize::new(0);
    let gone = directory.clone();
    let server = Server::http(move |request| {
        if request.profile() == "heap?gc=1" && heaps_asked.fetch_add(1, Ordering::SeqCst) == 2 {
            fs::remove_dir_all(&gone).unwrap();
        }
        process.reply(request)
    });
    let options = ["--every", "100ms", "--count", "9"];
    let said = run(
        desk.path(),
        &[&["capture", &server.url()], &options[..]].concat(),
    );
    said.refused(3, &["captures/127.0.0.1-"], "-o");
}

#[test]
fn killed_at_any_moment_only_whole_files_are_there() {
    const KILLS: usize = 100;
    let desk = tempfile::tempdir().unwrap();
    let process = Process::leaking();
    let server = Server::http(move |request| process.reply(request));
    let url = server.url();
    let mut random = Random::new(42);
    for _ in 0..KILLS {
        let before = server.requests().len();
        let mut command = program(desk.path());
        command.args(["capture", &url, "--every", "100ms"]);
        let running = Running::start(command);
        // From its first request to well beyond its last file.
        server.wait_for(before + 1);
        std::thread::sleep(Duration::from_micros((random.uniform() * 40_000.0) as u64));
        running.signal("KILL");
        running.wait().ended(-1);
    }
    let whole = all_are_whole(desk.path());
    assert!(whole >= 5, "{whole} snapshots in {KILLS} runs test nothing");
    for path in files_named(desk.path(), "goroutine.txt.gz") {
        let dump = gunzip(&fs::read(&path).unwrap());
        assert!(dump.starts_with(b"goroutine 1 ["), "{path:?}");
    }
    for path in files_named(desk.path(), ".json") {
        let text = fs::read(&path).unwrap();
        assert!(
            serde_json::from_slice::<serde_json::Value>(&text).is_ok(),
            "{path:?}"
        );
    }
    // Names are whole too: nothing else lies there but hidden parts.
    for path in files(desk.path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let known = [
            "heap.pb.gz",
            "goroutine.txt.gz",
            "memory.json",
            "target.json",
        ];
        let is_known = known.iter().any(|end| name.ends_with(end));
        assert!(is_known, "{path:?}");
    }
    // A part that is left is no input. One more, in case no kill has left any.
    let directory = heaps(desk.path())[0].parent().unwrap().to_owned();
    let part = directory.join(".part-20990101T000000.000Z.heap.pb.gz");
    fs::write(&part, [0x1f, 0x8b, 8, 0]).unwrap();
    let directory = directory.display().to_string();
    let said = run(
        desk.path(),
        &["diagnose", &directory, "-f", "json", "--exit-zero"],
    );
    let diagnosis = said.ended(0).json();
    assert_eq!(said.err, "");
    let inputs = diagnosis["inputs"].to_string();
    assert!(!inputs.contains(".part-"), "{inputs}");
    assert_eq!(
        diagnosis["series"]["snapshots"].as_u64(),
        Some(whole as u64)
    );
    run(desk.path(), &["top", &directory]).ended(0);
}
