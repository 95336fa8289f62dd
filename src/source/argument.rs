//! What a SOURCE argument means.

use super::directory::list_directory;
use super::error::SourceError;
use super::load::{Content, Listed};
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
}

/// Kinds of Kubernetes objects that name a process, in all of kubectl's spellings.
const KUBERNETES_KINDS: &[&str] = &[
    "pod",
    "pods",
    "po",
    "deploy",
    "deployment",
    "deployments",
    "sts",
    "statefulset",
    "statefulsets",
    "ds",
    "daemonset",
    "daemonsets",
    "rs",
    "replicaset",
    "job",
    "svc",
    "service",
];

impl Source {
    /// Understands one argument. A path that exists is a path, whatever it looks like.
    ///
    /// # Errors
    /// A source that is not supported yet, or a path that is not there.
    pub fn parse(argument: &OsStr) -> Result<Self, SourceError> {
        if argument == "-" {
            return Ok(Self::Stdin);
        }
        let path = PathBuf::from(argument);
        let text = argument.to_string_lossy();
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => Ok(Self::Directory(path)),
            Ok(_) => Ok(Self::File(path)),
            Err(error) => Err(refusal(path, &text, &error)),
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

/// Why an argument that is no path cannot be used.
fn refusal(path: PathBuf, text: &str, error: &std::io::Error) -> SourceError {
    if text.starts_with("http://") || text.starts_with("https://") {
        return SourceError::UrlNotSupported {
            url: without_credentials(text),
        };
    }
    if let Some(socket) = text.strip_prefix("unix:") {
        return SourceError::SocketNotSupported {
            socket: socket.to_owned(),
        };
    }
    if is_kubernetes_target(text) {
        return SourceError::KubernetesNotSupported {
            target: text.to_owned(),
        };
    }
    SourceError::NotReadable {
        path,
        kind: error.kind(),
        reason: error.to_string(),
    }
}

fn is_kubernetes_target(text: &str) -> bool {
    matches!(text.split_once('/'), Some((kind, name))
        if KUBERNETES_KINDS.contains(&kind.split('.').next().unwrap_or_default())
            && !name.is_empty() && !name.contains('/'))
}

/// A URL may carry a password, which no message may repeat.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_sources_are_recognised_and_refused() {
        let refusal = |text: &str| Source::parse(OsStr::new(text)).unwrap_err();
        for (text, url) in [
            ("http://api:6060", "http://api:6060"),
            (
                "https://user:secret@api/debug?x=a@b",
                "https://api/debug?x=a@b",
            ),
        ] {
            assert!(
                matches!(refusal(text), SourceError::UrlNotSupported { url: told } if told == url),
            );
        }
        for text in [
            "pod/api-0:6060",
            "deploy/api",
            "deployment.apps/api",
            "sts/db",
        ] {
            assert!(
                matches!(refusal(text), SourceError::KubernetesNotSupported { .. }),
                "{text}"
            );
        }
        assert!(matches!(
            refusal("unix:/run/x"),
            SourceError::SocketNotSupported { .. }
        ));
        for text in ["pod/a/b", "pods/", "nothing/here", "nothing.pb.gz"] {
            assert!(
                matches!(refusal(text), SourceError::NotReadable { .. }),
                "{text}"
            );
        }
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
