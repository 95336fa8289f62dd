//! What can be wrong with a SOURCE, and what to do about it.

use super::remote::TargetError;
use crate::snapshot::Skipped;
use std::io::ErrorKind;
use std::path::PathBuf;
use thiserror::Error;

/// A source that cannot be used at all. [`SourceError::hint`] says what to do.
///
/// Paths and names in the messages are untrusted text: escape them before they are shown.
#[derive(Debug, Error)]
pub enum SourceError {
    /// Not there, or no permission.
    #[error("{}: {}", path.display(), in_words(*kind, reason))]
    NotReadable {
        /// The path.
        path: PathBuf,
        /// What went wrong.
        kind: ErrorKind,
        /// The system's words.
        reason: String,
    },
    /// A directory in which no file is a profile.
    #[error("{}: no profile in this directory", path.display())]
    NoProfiles {
        /// The directory.
        path: PathBuf,
    },
    /// A directory of directories of captures.
    #[error("{}: holds {count} directories of captures, not one", path.display())]
    SeveralDirectories {
        /// The directory.
        path: PathBuf,
        /// How many of its directories hold captures.
        count: usize,
        /// The first of them.
        first: PathBuf,
    },
    /// `-` given twice.
    #[error("standard input can be read only once")]
    StdinTwice,
    /// `-` given at a keyboard.
    #[error("standard input is a terminal")]
    StdinIsTerminal,
    /// A target that is written wrongly.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A target where files are needed.
    #[error("{target}: a process that runs, where files are needed")]
    NotFetched {
        /// Without credentials.
        target: String,
    },
    /// Where one snapshot is needed, a source holds another number.
    #[error("{source_name}: holds {count} heap profiles where one is needed")]
    NotOneHeap {
        /// The source.
        source_name: String,
        /// How many; 0 with goroutines or memory figures only.
        count: usize,
    },
    /// The only file of a source is left out.
    #[error("{source_name}: {reason}")]
    LeftOut {
        /// The file.
        source_name: String,
        /// Why.
        reason: Skipped,
    },
    /// The second of two snapshots is older than the first.
    #[error("{after} was taken {seconds} s before {before}: they are in the wrong order")]
    WrongOrder {
        /// Given first.
        before: String,
        /// Given second.
        after: String,
        /// By how much, whole seconds.
        seconds: i64,
    },
}

impl SourceError {
    /// One sentence on what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::NotReadable { kind, .. } => match kind {
                ErrorKind::NotFound => "check the path; a SOURCE is a file, a directory of captures, - for standard input, a URL, unix:/path, or pod/NAME".to_owned(),
                _ => "check the path and its permissions".to_owned(),
            },
            Self::NoProfiles { .. } => "`heapdrift capture http://HOST:PORT --every 30s --count 10` fills one; files are told by their content, sub-directories are not searched".to_owned(),
            Self::SeveralDirectories { first, .. } => {
                format!("each directory is a series of its own: name one, such as {}", first.display())
            }
            Self::StdinTwice => "give the other profiles as files".to_owned(),
            Self::StdinIsTerminal => "pipe a profile in: `curl -s 'http://HOST:PORT/debug/pprof/heap?gc=1' | heapdrift top -`".to_owned(),
            Self::Target(error) => error.hint().to_owned(),
            Self::NotFetched { .. } => "save snapshots first with `heapdrift capture`".to_owned(),
            Self::NotOneHeap { count: 0, .. } => "fetch /debug/pprof/heap?gc=1".to_owned(),
            Self::NotOneHeap { .. } => "name one file; `heapdrift diagnose` takes a whole series".to_owned(),
            Self::LeftOut { reason, .. } => reason.hint().to_owned(),
            Self::WrongOrder { .. } => "swap the two, or use --force to subtract them as given".to_owned(),
        }
    }

    /// Whether the input was read but cannot be compared (another exit code than unreadable).
    pub fn is_not_comparable(&self) -> bool {
        matches!(
            self,
            Self::WrongOrder { .. }
                | Self::LeftOut {
                    reason: Skipped::Unsuitable(_),
                    ..
                }
        )
    }
}

/// The system's message without its "(os error 2)".
pub(super) fn in_words(kind: ErrorKind, reason: &str) -> String {
    match kind {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => reason
            .split(" (os error")
            .next()
            .unwrap_or(reason)
            .to_owned(),
    }
}
