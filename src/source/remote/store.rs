//! Snapshots on disk: `DIR/<target>/<UTC time>.heap.pb.gz` and what belongs to it.
//!
//! Names sort by time. Each file is written under a hidden name, flushed to the disk and renamed:
//! whenever the program is killed, only whole files are there. Must not know how snapshots are
//! fetched.

use super::facts::PodFacts;
use super::moment::Captured;
use jiff::Timestamp;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Begins the names of half-written files. Hidden: no reader takes one for a capture.
const PART_PREFIX: &str = ".part-";
/// Longest name of a directory that is made from a target's.
const MAX_SLUG: usize = 100;

/// The directory of one target.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
}

/// A snapshot that could not be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {reason}", path.display())]
pub struct StoreError {
    /// What was to be written.
    pub path: PathBuf,
    /// The system's words.
    pub reason: String,
    /// Whether there is no more room.
    pub is_full: bool,
}

impl StoreError {
    fn new(path: &Path, error: &io::Error) -> Self {
        Self {
            path: path.to_owned(),
            reason: error.to_string(),
            is_full: matches!(
                error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
            ),
        }
    }

    /// One sentence on what to do next.
    pub fn hint(&self) -> &'static str {
        match self.is_full {
            true => {
                "make room, or capture to another place with -o; what was captured before is whole"
            }
            false => "check the path of -o and its permissions",
        }
    }
}

/// What `target.json` says.
#[derive(Serialize)]
struct Description<'a> {
    schema_version: u32,
    /// As the user wrote it, without anything secret.
    target: &'a str,
    /// First snapshot of this target in this directory.
    since: Timestamp,
    /// The tool that wrote it.
    writer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<&'a PodFacts>,
}

impl Store {
    /// Opens the directory of a target below `root`, and makes it where it is not there.
    ///
    /// # Errors
    /// It cannot be made or written to.
    pub fn open(root: &Path, name: &str, pod: Option<&PodFacts>) -> Result<Self, StoreError> {
        let slug = slug(name);
        // Two targets may come to the same name: http://a and https://a.
        let names = (1..).map(|number| match number {
            1 => slug.clone(),
            number => format!("{slug}-{number}"),
        });
        let mut free = names
            .map(|name| root.join(name))
            .filter(|directory| target_of(directory).is_none_or(|target| target == name));
        let directory = free.next().unwrap_or_else(|| root.join(&slug));
        fs::create_dir_all(&directory).map_err(|error| StoreError::new(&directory, &error))?;
        let store = Self { directory };
        let description = store.directory.join("target.json");
        if !description.exists() {
            let text = serde_json::to_string_pretty(&Description {
                schema_version: 1,
                target: name,
                since: Timestamp::now(),
                writer: concat!("heapdrift ", env!("CARGO_PKG_VERSION")),
                pod,
            });
            let text = text.map_err(|error| StoreError::new(&description, &error.into()))?;
            store.write("target.json", text.as_bytes())?;
        }
        Ok(store)
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a snapshot. The heap profile comes first: if the program is killed in between, the
    /// most valuable part is there.
    ///
    /// # Errors
    /// A file that cannot be written; those before it are whole and stay.
    pub fn keep(&self, captured: &Captured) -> Result<(), StoreError> {
        let stem = captured.taken_at.strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
        for file in &captured.files {
            let name = format!("{stem}.{}", file.kind.suffix());
            self.write(&name, &file.bytes)?;
        }
        // The directory itself holds the names: without this they may be lost with the power.
        #[cfg(unix)]
        File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| StoreError::new(&self.directory, &error))?;
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        let part = self.directory.join(format!("{PART_PREFIX}{name}"));
        let written = File::create(&part)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&part, &path));
        written.map_err(|error| {
            // Room for the next try; if this fails too, the first reason is the one to tell.
            let _ = fs::remove_file(&part);
            StoreError::new(&path, &error)
        })
    }
}

/// Whose directory it is; `None`: nobody's.
pub(in crate::source) fn target_of(directory: &Path) -> Option<String> {
    let text = fs::read(directory.join("target.json")).ok()?;
    let description: serde_json::Value = serde_json::from_slice(&text).ok()?;
    description["target"].as_str().map(str::to_owned)
}

/// A name of a directory, from that of a target: `http://api:6060/debug/pprof/` → `api-6060`,
/// `pod/api-0:6060` → `pod-api-0-6060`. Never empty, never hidden, the same on every system.
fn slug(name: &str) -> String {
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    let name = name.strip_suffix("/debug/pprof/").unwrap_or(name);
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .collect();
    let slug: String = words.join("-").chars().take(MAX_SLUG).collect();
    match slug.is_empty() {
        true => "target".to_owned(),
        false => slug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::remote::moment::{CapturedFile, Kind};

    fn captured(bytes: &[u8]) -> Captured {
        Captured {
            taken_at: "2026-11-30T09:30:00.5Z".parse().unwrap(),
            files: vec![CapturedFile {
                kind: Kind::Heap,
                bytes: bytes.to_vec(),
            }],
            missing: Vec::new(),
            retried: Vec::new(),
        }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_snapshot_is_kept_under_its_time() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path(), "http://api:6060/debug/pprof/", None).unwrap();
        store.keep(&captured(b"x")).unwrap();
        assert_eq!(store.directory(), root.path().join("api-6060"));
        assert_eq!(
            names(store.directory()),
            ["20261130T093000.500Z.heap.pb.gz", "target.json"]
        );
    }

    #[test]
    fn what_is_there_stays() {
        let root = tempfile::tempdir().unwrap();
        let before = Store::open(root.path(), "pod/a", None).unwrap();
        let description = fs::read(before.directory().join("target.json")).unwrap();
        let again = Store::open(root.path(), "pod/a", None).unwrap();
        assert_eq!(
            fs::read(again.directory().join("target.json")).unwrap(),
            description
        );
    }

    #[test]
    fn targets_of_one_name_have_two_directories() {
        let root = tempfile::tempdir().unwrap();
        let open = |name| Store::open(root.path(), name, None).unwrap().directory;
        let (first, second) = (open("http://a/x/"), open("https://a/x/"));
        assert_ne!(first, second);
        assert_eq!(open("http://a/x/"), first);
        assert_eq!(open("https://a/x/"), second);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_said() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::open(&file, "pod/a", None).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
        assert!(!error.is_full);
    }

    #[test]
    fn names_of_targets_become_names_of_directories() {
        for (name, expected) in [
            ("http://api:6060/debug/pprof/", "api-6060"),
            ("https://api/p/", "api-p"),
            ("unix:/run/app.sock", "unix-run-app.sock"),
            ("pod/api-0:6060", "pod-api-0-6060"),
            ("prod/api-0/app", "prod-api-0-app"),
            ("http://[::1]:6060/debug/pprof/", "1-6060"),
            ("../..", "target"),
            ("http://../x", "x"),
            ("", "target"),
        ] {
            assert_eq!(slug(name), expected, "{name}");
        }
        assert_eq!(slug(&"a".repeat(500)).len(), MAX_SLUG);
    }
}
