//! What a SOURCE argument means.

use super::directory::list_directory;
use super::error::SourceError;
use super::load::{Content, Listed};
use super::remote::Target;
use crate::snapshot::stem_of;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// A SOURCE argument, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `-`.
    Stdin,
    /// A single file, or anything else that can be read to its end.
    File(PathBuf),
    /// A directory of captures.
    Directory(PathBuf),
    /// The directory of one target in a capture store that goes on.
    Stored {
        /// Where it is.
        directory: PathBuf,
        /// What stands in its place in names of files.
        shown_as: String,
    },
    /// A process that runs: it is fetched first, and then is [`Source::Fetched`].
    Remote(Target),
    /// A snapshot that was just fetched.
    Fetched(Fetched),
}

/// A snapshot in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Of which process; untrusted text.
    pub name: String,
    /// What was fetched: the end of its name, as in `heap.pb.gz`, and its bytes.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

impl Source {
    /// Understands one argument. A path that exists is a path, whatever it looks like.
    ///
    /// # Errors
    /// A target that is written wrongly, or a path that is not there.
    pub fn parse(argument: &OsStr) -> Result<Self, SourceError> {
        if argument == "-" {
            return Ok(Self::Stdin);
        }
        let path = PathBuf::from(argument);
        let text = argument.to_string_lossy();
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => Ok(Self::Directory(path)),
            Ok(_) => Ok(Self::File(path)),
            Err(error) => match Target::parse(&text) {
                Some(target) => Ok(Self::Remote(target?)),
                None => Err(SourceError::NotReadable {
                    path,
                    kind: error.kind(),
                    reason: error.to_string(),
                }),
            },
        }
    }

    /// Understands all arguments; standard input may be among them once.
    ///
    /// # Errors
    /// As [`Source::parse`], and standard input given twice.
    pub fn parse_all<S: AsRef<OsStr>>(arguments: &[S]) -> Result<Vec<Self>, SourceError> {
        let sources: Vec<Self> = arguments
            .iter()
            .map(|argument| Self::parse(argument.as_ref()))
            .collect::<Result<_, _>>()?;
        match sources
            .iter()
            .filter(|source| **source == Self::Stdin)
            .count()
        {
            0 | 1 => Ok(sources),
            _ => Err(SourceError::StdinTwice),
        }
    }
}

impl std::fmt::Display for Source {
    /// As the user knows it; untrusted text.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::File(path) | Self::Directory(path) => write!(f, "{}", path.display()),
            Self::Stored { shown_as, .. } => f.write_str(shown_as),
            Self::Remote(target) => target.fmt(f),
            Self::Fetched(fetched) => f.write_str(&fetched.name),
        }
    }
}

/// The files of one source.
pub(super) fn list_files(source: &Source) -> Result<Vec<Listed>, SourceError> {
    match source {
        Source::Stdin => Ok(vec![Listed {
            name: "stdin".to_owned(),
            moment: "stdin".to_owned(),
            content: Content::Stdin,
            directory: None,
        }]),
        Source::File(path) => Ok(vec![Listed::file(path, None)]),
        Source::Directory(path) => list_directory(path),
        Source::Stored {
            directory,
            shown_as,
        } => {
            let mut files = list_directory(directory)?;
            for file in &mut files {
                if let Some(name) = file.path().and_then(Path::file_name) {
                    file.name = format!("{shown_as}/{}", name.display());
                }
            }
            Ok(files)
        }
        Source::Remote(target) => Err(SourceError::NotFetched {
            target: target.to_string(),
        }),
        Source::Fetched(fetched) => Ok(fetched
            .files
            .iter()
            .map(|file| fetched.list(file))
            .collect()),
    }
}

impl Fetched {
    fn list(&self, (suffix, bytes): &(&str, Vec<u8>)) -> Listed {
        Listed {
            name: format!("{} {suffix}", self.name),
            moment: self.name.clone(),
            content: Content::Bytes(bytes.clone()),
            directory: None,
        }
    }
}

impl Listed {
    /// A file whose moment is told by its directory and the stem of its name.
    pub(super) fn file(path: &Path, directory: Option<&Path>) -> Self {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let parent = path.parent().map(plain_path).unwrap_or_default();
        Self {
            name: path.display().to_string(),
            moment: format!("{}/{}", parent.display(), stem_of(&file_name)),
            content: Content::File(path.to_owned()),
            directory: directory.map(Path::to_owned),
        }
    }
}

/// The path without `.` components, so that `./a/b` and `a/b` are the same.
fn plain_path(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_path_may_be_a_target() {
        let parse = |text: &str| Source::parse(OsStr::new(text));
        for text in ["http://api:6060", "unix:/run/x", "pod/api-0:6060"] {
            assert!(matches!(parse(text), Ok(Source::Remote(_))), "{text}");
        }
        for text in ["pod/a/b", "pods/", "nothing/here", "nothing.pb.gz"] {
            assert!(
                matches!(parse(text), Err(SourceError::NotReadable { .. })),
                "{text}"
            );
        }
        assert!(matches!(parse("unix:x"), Err(SourceError::Target(_))));
    }

    #[test]
    fn the_files_of_one_moment_share_a_key() {
        let key = |path: &str| Listed::file(Path::new(path), None).moment;
        assert_eq!(key("./a/1.heap.pb.gz"), key("a/./1.goroutine.txt"));
        assert_eq!(key("heap.pb.gz"), key("./goroutine.txt"));
        assert_ne!(key("a/heap.pb.gz"), key("b/heap.pb.gz"));
        assert_ne!(key("a/1.heap.pb.gz"), key("a/2.heap.pb.gz"));
    }

    #[test]
    fn standard_input_is_given_once() {
        assert_eq!(Source::parse_all(&["-"]).unwrap(), [Source::Stdin]);
        assert!(matches!(
            Source::parse_all(&["-", "-"]),
            Err(SourceError::StdinTwice)
        ));
    }
}
