//! Two series under one symbol table: for comparisons of builds and of long captures.

use super::LoadOptions;
use super::argument::{Source, list_files};
use super::error::SourceError;
use super::load::{Listed, Loaded, drop_repeated_files, load_files, refuse_terminal};
use crate::profile::SymbolTable;
use crate::snapshot::{LoadedFile, Series};
use std::path::PathBuf;

/// Reads the sources of two sides, each into a series of its own; names and stacks have the same
/// ids in both.
///
/// # Errors
/// As [`super::load_series`], for either side.
pub fn load_sides(
    before: &[Source],
    after: &[Source],
    options: &LoadOptions,
) -> Result<[Series; 2], SourceError> {
    let (mut listed, mut repeated) = list_side(before)?;
    let of_before = listed.len();
    let (of_after, again) = list_side(after)?;
    listed.extend(of_after);
    repeated.extend(again);
    refuse_terminal(&listed)?;
    // What is passed over leaves a gap: the mark says on which side a file is.
    for (index, file) in listed.iter_mut().enumerate() {
        let mark = if index < of_before { BEFORE } else { AFTER };
        file.moment = format!("{mark}{}", file.moment);
    }
    let mut symbols = SymbolTable::default();
    let loaded = load_files(listed, options, &mut symbols);
    for source in before.iter().chain(after) {
        if let Source::Directory(path) = source
            && !repeated.contains(path)
            && !loaded.iter().any(|file| file.is_of_directory(path))
        {
            return Err(SourceError::NoProfiles { path: path.clone() });
        }
    }
    let files = loaded.into_iter().map(Loaded::into_file);
    let (first, second): (Vec<LoadedFile>, Vec<LoadedFile>) =
        files.partition(|file| file.moment.starts_with(BEFORE));
    Ok([
        Series::assemble(symbols.clone(), first, options.force),
        Series::assemble(symbols, second, options.force),
    ])
}

const BEFORE: char = 'b';
const AFTER: char = 'a';

/// The files of a side, each once, in order of their names; and the directories of those that
/// were named before.
fn list_side(sources: &[Source]) -> Result<(Vec<Listed>, Vec<PathBuf>), SourceError> {
    let mut files = Vec::new();
    for source in sources {
        files.extend(list_files(source)?);
    }
    let repeated = drop_repeated_files(&mut files);
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((files, repeated))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "heap profile: 1: 1024 [1: 1024] @ heap/1048576\n1: 1024 [1: 1024] @ 0x1 0x2\n";

    #[test]
    fn the_same_file_may_be_on_both_sides_and_counts_once_on_each() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("1.heap");
        std::fs::write(&path, TEXT).unwrap();
        let (file, directory) = (
            Source::File(path),
            Source::Directory(root.path().to_owned()),
        );
        let sides = load_sides(&[file.clone(), directory], &[file], &LoadOptions::default());
        let [before, after] = sides.unwrap();
        assert_eq!((before.snapshots.len(), after.snapshots.len()), (1, 1));
        assert_eq!(before.symbols.frame_count(), after.symbols.frame_count());
    }

    #[test]
    fn a_side_without_profiles_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let empty = Source::Directory(root.path().to_owned());
        let path = root.path().join("../none");
        let missing = Source::File(path);
        for (before, after) in [(&empty, &missing), (&missing, &empty)] {
            let sides = load_sides(
                std::slice::from_ref(before),
                std::slice::from_ref(after),
                &LoadOptions::default(),
            );
            assert!(matches!(sides, Err(SourceError::NoProfiles { .. })));
        }
    }
}
