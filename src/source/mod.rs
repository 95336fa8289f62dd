//! Where snapshots come from: SOURCE arguments → bytes → a [`Series`].
//!
//! A source is a file, standard input (`-`), a directory of captures, or a process that runs
//! ([`remote`]); several may be given.
//! Files are read and inflated side by side, and decoded one after the other into the one
//! symbol table of the series.
//!
//! This module does all the I/O of a diagnosis. It knows paths and limits; it must not know
//! what growth means, nor how anything is shown.

mod argument;
mod directory;
mod error;
mod file_name;
mod load;
mod pair;
pub mod remote;
mod sides;

pub use argument::{Fetched, Source};
pub use directory::list_targets;
pub use error::SourceError;
pub use pair::load_pair;
pub use sides::load_sides;

use crate::profile::{Limits, SymbolTable};
use crate::snapshot::Series;

/// How sources are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    /// Bounds on one file.
    pub limits: Limits,
    /// Take profiles that cannot be compared as if they could.
    pub force: bool,
}

/// Reads all sources into one series.
///
/// A file that cannot be read as a profile is left out with its reason
/// ([`Series::left_out`]); the rest goes on.
///
/// # Errors
/// A source that is not there, a directory without profiles, or one that holds several
/// directories of captures.
pub fn load_series(sources: &[Source], options: &LoadOptions) -> Result<Series, SourceError> {
    let mut files = Vec::new();
    for source in sources {
        files.extend(argument::list_files(source)?);
    }
    load::refuse_terminal(&files)?;
    let repeated = load::drop_repeated_files(&mut files);
    // Ids are given in order of decoding: in the order of names, so that a result does not
    // depend on the order of the arguments.
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let mut symbols = SymbolTable::default();
    let loaded = load::load_files(files, options, &mut symbols);
    for source in sources {
        if let Source::Directory(path) = source
            && !repeated.contains(path)
            && !loaded.iter().any(|file| file.is_of_directory(path))
        {
            return Err(SourceError::NoProfiles { path: path.clone() });
        }
    }
    let files = loaded.into_iter().map(load::Loaded::into_file).collect();
    Ok(Series::assemble(symbols, files, options.force))
}
