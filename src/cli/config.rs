//! The configuration file: `heapdrift.toml` in the current directory or the nearest one above
//! it, or the file that the environment variable names.
//!
//! It is small and strict: a key that does not exist is an error, because one that is
//! mistyped would be ignored else. Paths in it are relative to its own directory.

use super::exit::Exit;
use super::failure::Failure;
use crate::pattern::{closest, position};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Its name, where it is looked for.
const FILE: &str = "heapdrift.toml";
/// Names another file; an empty value means none at all.
const VARIABLE: &str = "HEAPDRIFT_CONFIG";
/// No configuration needs more.
const MAX_BYTES: u64 = 64 * 1024;
/// The keys that there are.
const KEYS: [&str; 1] = ["patterns"];

/// What the configuration says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Config {
    /// Directories of pattern files, beside the built-in patterns.
    pub(super) patterns: Vec<PathBuf>,
}

impl Config {
    /// The configuration that applies here; none is an empty one.
    pub(super) fn find() -> Result<Self, Failure> {
        let path = match std::env::var_os(VARIABLE) {
            Some(name) if name.is_empty() => return Ok(Self::default()),
            Some(name) => Some(PathBuf::from(name)),
            None => nearest(),
        };
        path.map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_text(path).map_err(|error| {
            Failure::new(
                Exit::Usage,
                format!("{}: {error}", path.display()),
                format!("{FILE} or the file that {VARIABLE} names must be readable text"),
            )
        })?;
        Self::parse(&text, path.parent().unwrap_or(Path::new(""))).map_err(|problem| {
            let (line, column) = position(&text, problem.at);
            let message = format!("{}:{line}:{column}: {}", path.display(), problem.message);
            Failure::new(Exit::Usage, message, problem.hint)
        })
    }

    /// Reads a text whose paths are relative to `base`.
    fn parse(text: &str, base: &Path) -> Result<Self, Problem> {
        let table = DeTable::parse(text).map_err(|error| Problem {
            at: error.span().map_or(0, |span| span.start),
            message: error.message().trim().to_owned(),
            hint: "the file is TOML".to_owned(),
        })?;
        let mut config = Self::default();
        for (key, value) in table.get_ref().iter() {
            match key.get_ref().as_ref() {
                "patterns" => {
                    let paths = texts(value.get_ref()).ok_or_else(|| {
                        Problem::at(
                            value.span(),
                            "`patterns` is not a list of texts".to_owned(),
                            "write patterns = [\"directory\"]",
                        )
                    })?;
                    config.patterns = paths.iter().map(|path| base.join(path)).collect();
                }
                unknown => {
                    let hint = match closest(unknown, KEYS.into_iter()) {
                        Some(known) => format!("did you mean `{known}`?"),
                        None => format!("there are: {}", KEYS.join(", ")),
                    };
                    let message = format!("there is no key `{unknown}`");
                    return Err(Problem::at(key.span(), message, &hint));
                }
            }
        }
        Ok(config)
    }
}

/// What is wrong with a configuration, and where.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    /// Byte offset in the text.
    at: usize,
    message: String,
    hint: String,
}

impl Problem {
    fn at(span: Range<usize>, message: String, hint: &str) -> Self {
        Self {
            at: span.start,
            message,
            hint: hint.to_owned(),
        }
    }
}

fn texts(value: &DeValue) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    let texts = items.map(|item| item.get_ref().as_str().map(str::to_owned));
    texts.collect()
}

/// The file in the current directory or the nearest one above it.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|dir| dir.join(FILE))
        .find(|path| path.is_file())
}

fn read_text(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    let mut text = String::new();
    let read = std::fs::File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        let message = format!("larger than {MAX_BYTES} bytes");
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_relative_to_the_file() {
        let text = "patterns = [\"mine\", \"/abs\"]\n";
        let config = Config::parse(text, Path::new("conf")).expect("sound");
        let expect = [PathBuf::from("conf/mine"), PathBuf::from("/abs")];
        assert_eq!(config.patterns, expect);
        let empty = Config::parse("# nothing\n", Path::new("")).expect("sound");
        assert_eq!(empty, Config::default());
    }

    #[test]
    fn what_is_wrong_has_a_place_and_a_hint() {
        let check = |text: &str, expect: (usize, usize), words: &str, hint: &str| {
            let problem = Config::parse(text, Path::new("")).expect_err(text);
            assert_eq!(position(text, problem.at), expect, "{text}");
            assert!(problem.message.contains(words), "{problem:?}");
            assert!(problem.hint.contains(hint), "{problem:?}");
        };
        check(
            "\npaterns = []\n",
            (2, 1),
            "no key `paterns`",
            "`patterns`?",
        );
        check(
            "limit = 3\n",
            (1, 1),
            "no key `limit`",
            "there are: patterns",
        );
        check(
            "patterns = \"x\"\n",
            (1, 12),
            "not a list",
            "[\"directory\"]",
        );
        check("patterns = [1]\n", (1, 12), "not a list", "[\"directory\"]");
        check("patterns = [\n", (1, 13), "", "TOML");
        check(
            "patterns = []\npatterns = []\n",
            (2, 1),
            "duplicate",
            "TOML",
        );
        check("[patterns]\nx = 1\n", (1, 1), "not a list", "");
    }
}
