//! Bytes of many files → decoded profiles: read and inflated side by side, decoded in turn.

use super::LoadOptions;
use super::error::{SourceError, in_words};
use super::file_name::looks_like_profile;
use crate::profile::{Limits, ProfileError, ProfileFile, RawProfile, SymbolTable};
use crate::snapshot::{LoadedFile, Skipped};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// A file that is to be read.
#[derive(Debug)]
pub(super) struct Listed {
    /// What the user calls it.
    pub(super) name: String,
    /// Key of the moment it belongs to.
    pub(super) moment: String,
    pub(super) content: Content,
    /// The directory argument it was found in, if it was not named itself.
    pub(super) directory: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) enum Content {
    Stdin,
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// A file that was read.
pub(super) struct Loaded {
    file: LoadedFile,
    directory: Option<PathBuf>,
}

impl Listed {
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.content {
            Content::Stdin | Content::Bytes(_) => None,
            Content::File(path) => Some(path),
        }
    }
}

impl Loaded {
    pub(super) fn is_of_directory(&self, path: &Path) -> bool {
        self.directory.as_deref() == Some(path)
    }

    pub(super) fn into_file(self) -> LoadedFile {
        self.file
    }
}

/// Takes each file once, though it may be named again or lie in a directory that is named too.
/// Returns the directories of what was dropped.
pub(super) fn drop_repeated_files(files: &mut Vec<Listed>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let mut dropped = Vec::new();
    files.retain(|file| {
        let is_new = match file.path().map(std::fs::canonicalize) {
            Some(Ok(path)) => seen.insert(path),
            // What is not there is told when it is read.
            Some(Err(_)) | None => true,
        };
        if !is_new {
            dropped.extend(file.directory.clone());
        }
        is_new
    });
    dropped
}

/// A profile typed at a keyboard is a mistake.
pub(super) fn refuse_terminal(files: &[Listed]) -> Result<(), SourceError> {
    let has_stdin = files
        .iter()
        .any(|file| matches!(file.content, Content::Stdin));
    match has_stdin && std::io::stdin().is_terminal() {
        true => Err(SourceError::StdinIsTerminal),
        false => Ok(()),
    }
}

/// Most expanded files that wait for decoding: memory stays bounded over a long series.
const MAX_FILES_AT_ONCE: usize = 16;

/// Reads and decodes the files, in their order. A file that cannot be used keeps its reason;
/// one of a directory that neither is a profile nor is named like one is passed over.
pub(super) fn load_files(
    files: Vec<Listed>,
    options: &LoadOptions,
    symbols: &mut SymbolTable,
) -> Vec<Loaded> {
    let limits = &options.limits;
    let at_once = rayon::current_num_threads().clamp(2, MAX_FILES_AT_ONCE);
    let mut loaded = Vec::with_capacity(files.len());
    let mut chunks = chunked(files, at_once).into_iter();
    let mut opened = chunks
        .next()
        .map(|chunk| open_chunk(chunk, limits))
        .unwrap_or_default();
    while !opened.is_empty() {
        let next = chunks.next();
        // The next files are inflated while these are decoded.
        let (following, decoded) = rayon::join(
            || {
                next.map(|chunk| open_chunk(chunk, limits))
                    .unwrap_or_default()
            },
            || decode_chunk(opened, symbols),
        );
        loaded.extend(decoded);
        opened = following;
    }
    loaded
}

fn chunked(files: Vec<Listed>, size: usize) -> Vec<Vec<Listed>> {
    let mut files = files.into_iter();
    std::iter::from_fn(|| {
        let chunk: Vec<Listed> = files.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
    .collect()
}

type Opened = (Listed, Result<RawProfile, Skipped>);

fn open_chunk(chunk: Vec<Listed>, limits: &Limits) -> Vec<Opened> {
    chunk
        .into_par_iter()
        .map(|file| {
            let raw =
                read(&file.content, limits).and_then(|bytes| Ok(RawProfile::open(bytes, limits)?));
            (file, raw)
        })
        .collect()
}

/// Decodes a chunk: what needs the shared table in turn, the rest side by side.
fn decode_chunk(opened: Vec<Opened>, symbols: &mut SymbolTable) -> Vec<Loaded> {
    let named: Vec<_> = opened
        .into_iter()
        .map(|(listed, raw)| (listed, raw.and_then(|raw| Ok(raw.intern_names(symbols)?))))
        .collect();
    let walked: Vec<_> = named
        .into_par_iter()
        .map(|(listed, named)| (listed, named.and_then(|named| Ok(named.walk()?))))
        .collect();
    walked
        .into_iter()
        .filter_map(|(listed, walked)| {
            keep(
                listed,
                walked.and_then(|walked| Ok(walked.intern_stacks(symbols)?)),
            )
        })
        .collect()
}

/// What becomes of a file: loaded, left out with its reason, or passed over.
fn keep(listed: Listed, content: Result<ProfileFile, Skipped>) -> Option<Loaded> {
    let is_bystander = listed.directory.is_some()
        && listed.path().is_some_and(|path| !looks_like_profile(path))
        && !matches!(
            content,
            Ok(_) | Err(Skipped::Unreadable(ProfileError::OtherKind { .. }))
        );
    (!is_bystander).then_some(Loaded {
        file: LoadedFile {
            source: listed.name,
            moment: listed.moment,
            content,
        },
        directory: listed.directory,
    })
}

/// Reads to the end, or to one byte beyond the limit: then `RawProfile::open` refuses it.
fn read(content: &Content, limits: &Limits) -> Result<Vec<u8>, Skipped> {
    let limit = limits.max_bytes as u64 + 1;
    let mut bytes = Vec::new();
    let outcome = match content {
        Content::Stdin => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        Content::Bytes(fetched) => fetched.as_slice().take(limit).read_to_end(&mut bytes),
        Content::File(path) => File::open(path).and_then(|file| {
            let meta = file.metadata()?;
            if meta.is_dir() {
                return Err(ErrorKind::IsADirectory.into());
            }
            bytes.reserve_exact(meta.len().min(limit) as usize + 1);
            file.take(limit).read_to_end(&mut bytes)
        }),
    };
    match outcome {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Skipped::Io(in_words(error.kind(), &error.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "heap profile: 1: 1024 [1: 1024] @ heap/1048576\n1: 1024 [1: 1024] @ 0x1 0x2\n";

    fn load(names: &[(&str, &str)], max_bytes: usize) -> Vec<LoadedFile> {
        let root = tempfile::tempdir().unwrap();
        let mut listed = Vec::new();
        for (name, text) in names {
            let path = root.path().join(name);
            std::fs::write(&path, text).unwrap();
            listed.push(Listed::file(&path, Some(root.path())));
        }
        let options = LoadOptions {
            limits: Limits { max_bytes },
            force: false,
        };
        load_files(listed, &options, &mut SymbolTable::default())
            .into_iter()
            .map(Loaded::into_file)
            .collect()
    }

    #[test]
    fn order_is_kept_over_many_chunks() {
        let names: Vec<String> = (0..50).map(|i| format!("{i:02}.heap")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), TEXT)).collect();
        let loaded = load(&files, 1 << 20);
        assert_eq!(loaded.len(), 50);
        for (file, name) in loaded.iter().zip(&names) {
            assert!(
                file.source.ends_with(name) && file.content.is_ok(),
                "{:?}",
                file.content
            );
        }
    }

    #[test]
    fn bystanders_are_passed_over_and_broken_profiles_told() {
        let loaded = load(
            &[
                ("a.heap", TEXT),
                ("case.toml", "x = 1"),
                ("b.heap", "hello"),
                ("odd", TEXT),
            ],
            1 << 20,
        );
        let told: Vec<(bool, bool)> = loaded
            .iter()
            .map(|f| (f.source.ends_with(".heap"), f.content.is_ok()))
            .collect();
        assert_eq!(told, [(true, true), (true, false), (false, true)]);
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let loaded = load(&[("a.heap", TEXT)], TEXT.len() - 1);
        let expected = ProfileError::TooLarge {
            limit: TEXT.len() - 1,
        };
        assert_eq!(
            loaded[0].content.as_ref().unwrap_err(),
            &Skipped::Unreadable(expected)
        );
        assert!(load(&[("a.heap", TEXT)], TEXT.len())[0].content.is_ok());
    }
}
