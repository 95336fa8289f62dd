//! The capture files of a directory.
//!
//! Its own files count; if it has none, its one sub-directory of captures does (a capture
//! store with one target), or all its sub-directories when each holds a single moment.

use super::error::SourceError;
use super::file_name::{is_hidden, looks_like_profile};
use super::load::Listed;
use super::remote::target_of;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files of `directory` that may be profiles, in order of their names.
///
/// # Errors
/// The directory cannot be read, or holds several directories of captures.
pub(super) fn list_directory(directory: &Path) -> Result<Vec<Listed>, SourceError> {
    let entries = read_directory(directory)?;
    let listed: Vec<Listed> = entries
        .files
        .iter()
        .map(|path| Listed::file(path, Some(directory)))
        .collect();
    if entries.files.iter().any(|path| looks_like_profile(path)) {
        return Ok(listed);
    }
    let mut captures: Vec<(PathBuf, Vec<Listed>)> = Vec::new();
    for path in entries.directories {
        // A sub-directory that cannot be opened is not of this series.
        let Ok(inner) = read_directory(&path) else {
            continue;
        };
        if inner.files.iter().any(|path| looks_like_profile(path)) {
            let files = inner
                .files
                .iter()
                .map(|path| Listed::file(path, Some(directory)));
            captures.push((path, files.collect()));
        }
    }
    let is_one_moment = |files: &[Listed]| {
        let moments: BTreeSet<&str> = files
            .iter()
            .filter(|file| file.path().is_some_and(looks_like_profile))
            .map(|file| file.moment.as_str())
            .collect();
        moments.len() == 1
    };
    match captures.as_slice() {
        [] => Ok(listed),
        [_] => Ok(captures.remove(0).1),
        several if several.iter().all(|(_, files)| is_one_moment(files)) => {
            Ok(captures.into_iter().flat_map(|(_, files)| files).collect())
        }
        [(first, _), ..] => Err(SourceError::SeveralDirectories {
            path: directory.to_owned(),
            count: captures.len(),
            first: first.clone(),
        }),
    }
}

/// The targets of a capture store that holds several: their names and directories, sorted by
/// name. Empty for every other directory.
pub fn list_targets(directory: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = read_directory(directory) else {
        return Vec::new();
    };
    if entries.files.iter().any(|path| looks_like_profile(path)) {
        return Vec::new();
    }
    let named = entries.directories.into_iter();
    let mut targets: Vec<(String, PathBuf)> = named
        .filter_map(|path| Some((target_of(&path)?, path)))
        .collect();
    targets.sort();
    match targets.len() {
        0 | 1 => Vec::new(),
        _ => targets,
    }
}

#[derive(Default)]
struct Entries {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

/// What is not hidden: regular files and directories (links followed), sorted by name.
fn read_directory(directory: &Path) -> Result<Entries, SourceError> {
    let not_readable = |error: std::io::Error| SourceError::NotReadable {
        path: directory.to_owned(),
        kind: error.kind(),
        reason: error.to_string(),
    };
    let mut entries = Entries::default();
    for entry in std::fs::read_dir(directory).map_err(not_readable)? {
        let path = entry.map_err(not_readable)?.path();
        if is_hidden(&path) {
            continue;
        }
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => entries.directories.push(path),
            // A pipe or a device in a directory could block for ever.
            Ok(meta) if !meta.is_file() => {}
            // A broken link is told like any unreadable file.
            Ok(_) | Err(_) => entries.files.push(path),
        }
    }
    entries.files.sort();
    entries.directories.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        root
    }

    fn names(root: &tempfile::TempDir) -> Vec<String> {
        let relative = |file: Listed| {
            let path = file
                .path()
                .unwrap()
                .strip_prefix(root.path())
                .unwrap()
                .to_owned();
            path.display().to_string()
        };
        list_directory(root.path())
            .unwrap()
            .into_iter()
            .map(relative)
            .collect()
    }

    #[test]
    fn its_own_files_come_first() {
        let root = tree(&[
            "2.heap.pb.gz",
            "1.heap.pb.gz",
            "case.toml",
            ".tmp",
            "old/1.heap.pb.gz",
        ]);
        assert_eq!(names(&root), ["1.heap.pb.gz", "2.heap.pb.gz", "case.toml"]);
    }

    #[test]
    fn one_directory_of_captures_is_entered() {
        let root = tree(&[
            "target.json",
            "api/1.heap.pb.gz",
            "api/2.heap.pb.gz",
            "src/main.go",
        ]);
        assert_eq!(names(&root), ["api/1.heap.pb.gz", "api/2.heap.pb.gz"]);
    }

    #[test]
    fn a_directory_a_moment_is_a_series() {
        let root = tree(&["t1/heap.pb.gz", "t1/goroutine.txt", "t2/heap.pb.gz"]);
        assert_eq!(
            names(&root),
            ["t1/goroutine.txt", "t1/heap.pb.gz", "t2/heap.pb.gz"]
        );
    }

    #[test]
    fn several_series_are_an_error_that_names_one() {
        let root = tree(&["b/1.heap.gz", "b/2.heap.gz", "a/1.heap.gz", "a/2.heap.gz"]);
        match list_directory(root.path()) {
            Err(SourceError::SeveralDirectories { count, first, .. }) => {
                assert_eq!((count, first), (2, root.path().join("a")));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_store_of_several_targets_names_them() {
        let root = tree(&["b/1.heap.gz", "a/1.heap.gz", "c/1.heap.gz"]);
        assert!(list_targets(root.path()).is_empty());
        for (name, target) in [("a", "pod/z"), ("b", "pod/y")] {
            let text = format!("{{\"target\": \"{target}\"}}");
            fs::write(root.path().join(name).join("target.json"), text).unwrap();
        }
        let expected = [("pod/y", "b"), ("pod/z", "a")]
            .map(|(target, name)| (target.to_owned(), root.path().join(name)));
        assert_eq!(list_targets(root.path()), expected);
    }

    #[test]
    fn no_profile_gives_nothing_that_counts() {
        assert_eq!(names(&tree(&[])), [""; 0]);
        assert_eq!(names(&tree(&["README.md", "src/main.go"])), ["README.md"]);
    }
}
