//! What the input options mean, and what to say when no input is left.

use super::args::Reading;
use super::exit::Exit;
use super::failure::Failure;
use crate::pattern::Catalogue;
use crate::profile::Limits;
use crate::snapshot::{Series, Skipped};
use crate::source::LoadOptions;
use std::path::Path;

/// Most left-out files that an error names one by one.
const MAX_NAMED: usize = 10;
/// Largest pattern file that is read; the catalogue's own limit is lower.
const MAX_PATTERN_BYTES: u64 = 1 << 20;

impl Reading {
    pub(super) fn options(&self) -> LoadOptions {
        LoadOptions {
            limits: Limits {
                max_bytes: usize::try_from(self.max_size).unwrap_or(usize::MAX - 1),
            },
            force: self.force,
        }
    }
}

/// Refuses a series in which no file is left, with the reason of each.
///
/// Input that cannot be compared and input that cannot be read have different exit codes.
pub(super) fn refuse_nothing(series: &Series) -> Result<(), Failure> {
    if !series.snapshots.is_empty() || series.left_out.is_empty() {
        return Ok(());
    }
    let is_unsuitable = |reason: &Skipped| matches!(reason, Skipped::Unsuitable(_));
    let exit = match series
        .left_out
        .iter()
        .all(|(_, reason)| is_unsuitable(reason))
    {
        true => Exit::NotComparable,
        false => Exit::Usage,
    };
    let mut left_out = series.left_out.iter();
    let mut failure = Failure::none(exit);
    for (source, reason) in left_out.by_ref().take(MAX_NAMED) {
        failure = failure.and(format!("{source}: {reason}"), reason.hint());
    }
    match left_out.count() {
        0 => Err(failure),
        more => Err(failure.and(format!("{more} more files cannot be used either"), "")),
    }
}

/// The built-in patterns and those of a directory.
pub(super) fn read_catalogue(directory: Option<&Path>) -> Result<Catalogue, Failure> {
    let builtin = Catalogue::builtin();
    let Some(directory) = directory else {
        return Ok(builtin);
    };
    let mut files = Vec::new();
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::new(
            Exit::Usage,
            format!("{}: {error}", path.display()),
            "--patterns takes a directory of .toml files, one pattern each",
        )
    };
    for entry in std::fs::read_dir(directory).map_err(|error| unreadable(directory, error))? {
        let path = entry.map_err(|error| unreadable(directory, error))?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
            && !is_hidden
        {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            format!("{}: no .toml file in this directory", directory.display()),
            "--patterns takes a directory of .toml files, one pattern each",
        ));
    }
    files.sort();
    let mut texts = Vec::new();
    for path in files {
        let text = read_text(&path).map_err(|error| unreadable(&path, error))?;
        texts.push((path.display().to_string(), text));
    }
    builtin
        .with_files(texts.into_iter())
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))
}

fn read_text(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_PATTERN_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}
