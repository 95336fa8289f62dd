//! What the input options mean, and what to say when no input is left.

use super::args::{Bounds, Reading};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use crate::pattern::Catalogue;
use crate::profile::Limits;
use crate::snapshot::{Series, Skipped};
use crate::source::LoadOptions;
use std::path::{Path, PathBuf};

/// Most left-out files that an error names one by one.
const MAX_NAMED: usize = 10;
/// Largest pattern file that is read; the catalogue's own limit is lower.
const MAX_PATTERN_BYTES: u64 = 1 << 20;

impl Reading {
    pub(super) fn options(&self) -> LoadOptions {
        LoadOptions {
            force: self.force,
            ..self.bounds.options()
        }
    }
}

impl Bounds {
    pub(super) fn options(&self) -> LoadOptions {
        LoadOptions {
            limits: Limits {
                max_bytes: usize::try_from(self.max_size).unwrap_or(usize::MAX - 1),
            },
            force: false,
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

/// The built-in patterns, those of the configuration's directories, and those of one more.
pub(super) fn read_catalogue(
    directory: Option<&Path>,
    config: &Config,
) -> Result<Catalogue, Failure> {
    let configured = config.patterns.iter().map(PathBuf::as_path);
    let mut texts = Vec::new();
    for directory in configured.chain(directory) {
        texts.extend(read_patterns(directory)?);
    }
    Catalogue::builtin()
        .with_files(texts.into_iter())
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))
}

/// The pattern files of a directory with their paths, by name.
fn read_patterns(directory: &Path) -> Result<Vec<(String, String)>, Failure> {
    let hint = "--patterns and `patterns` in heapdrift.toml take directories of .toml files, one pattern each";
    let mut files = Vec::new();
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::new(Exit::Usage, format!("{}: {error}", path.display()), hint)
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
            hint,
        ));
    }
    files.sort();
    let mut texts = Vec::new();
    for path in files {
        let text = read_pattern_text(&path).map_err(|error| unreadable(&path, error))?;
        texts.push((path.display().to_string(), text));
    }
    Ok(texts)
}

/// The text of a pattern file, as far as it can be one.
pub(super) fn read_pattern_text(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_PATTERN_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}
