//! The configuration file: `heapdrift.toml` in the current directory or the nearest one above
//! it, or the file that the environment variable names.
//!
//! It is small and strict: a key that does not exist is an error, because one that is
//! mistyped would be ignored else. Paths in it are relative to its own directory.

use super::exit::Exit;
use super::failure::Failure;
use crate::diagnosis::Allow;
use crate::pattern::{closest, position};
use regex::RegexBuilder;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Its name, where it is looked for.
const FILE: &str = "heapdrift.toml";
/// Names another file; an empty value means none at all.
const VARIABLE: &str = "HEAPDRIFT_CONFIG";
/// No configuration needs more.
const MAX_BYTES: u64 = 64 * 1024;
/// Largest compiled expression of an entry.
const MAX_REGEX: usize = 1 << 20;
/// The keys that there are.
const KEYS: [&str; 2] = ["allow", "patterns"];
/// Those of an `[[allow]]` entry.
const ALLOW_KEYS: [&str; 3] = ["expires", "reason", "site"];

/// What the configuration says.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    /// Directories of pattern files, beside the built-in patterns.
    pub(super) patterns: Vec<PathBuf>,
    /// Growth that `check` lets pass.
    pub(super) allow: Vec<Allow>,
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
                "allow" => config.allow = read_allow(value)?,
                unknown => return Err(Problem::unknown(key.span(), unknown, &KEYS)),
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

/// Reads the `[[allow]]` entries.
fn read_allow(value: &Spanned<DeValue>) -> Result<Vec<Allow>, Problem> {
    const HINT: &str = "write [[allow]] with site = 'expression', reason = \"why\" and perhaps expires = \"2027-01-31\"";
    let not_a_list = || {
        Problem::at(
            value.span(),
            "`allow` is not a list of tables".to_owned(),
            HINT,
        )
    };
    let mut entries = Vec::new();
    for item in value.get_ref().as_array().ok_or_else(not_a_list)?.iter() {
        let table = item.get_ref().as_table().ok_or_else(not_a_list)?;
        let (mut site, mut reason, mut expires) = (None, None, None);
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            if !ALLOW_KEYS.contains(&name) {
                return Err(Problem::unknown(key.span(), name, &ALLOW_KEYS));
            }
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Datetime(day) => day.to_string(),
                _ => {
                    let message = format!("`{name}` is not a text");
                    return Err(Problem::at(value.span(), message, HINT));
                }
            };
            match name {
                "site" => {
                    site = Some(
                        RegexBuilder::new(&text)
                            .size_limit(MAX_REGEX)
                            .build()
                            .map_err(|error| {
                                Problem::at(
                                    value.span(),
                                    error.to_string(),
                                    "site is a regular expression",
                                )
                            })?,
                    );
                }
                "reason" => reason = Some(text),
                _ if text.parse::<jiff::civil::Date>().is_ok() => expires = Some(text),
                _ => {
                    let message = format!("`{text}` is not a day");
                    return Err(Problem::at(
                        value.span(),
                        message,
                        "write expires = \"2027-01-31\"",
                    ));
                }
            }
        }
        let (Some(site), Some(reason)) = (site, reason.filter(|r| !r.trim().is_empty())) else {
            let message = "an `[[allow]]` entry needs a site and a reason".to_owned();
            return Err(Problem::at(item.span(), message, HINT));
        };
        entries.push(Allow {
            site,
            reason,
            expires,
        });
    }
    Ok(entries)
}

impl Problem {
    fn unknown(span: Range<usize>, key: &str, known: &[&str]) -> Self {
        let hint = match closest(key, known.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("there are: {}", known.join(", ")),
        };
        Self::at(span, format!("there is no key `{key}`"), &hint)
    }

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
        assert!(empty.patterns.is_empty() && empty.allow.is_empty());
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
            "there are: allow, patterns",
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
        let allow = |rest: &str| format!("[[allow]]\n{rest}\n");
        check(&allow("sites = 'x'"), (2, 1), "no key `sites`", "`site`?");
        check(
            &allow("site = '('\nreason = 'x'"),
            (2, 8),
            "",
            "regular expression",
        );
        check(
            &allow("site = 'a'"),
            (1, 1),
            "a site and a reason",
            "[[allow]]",
        );
        check(&allow("site = 'a'\nreason = ' '"), (1, 1), "a reason", "");
        check(&allow("site = 3"), (2, 8), "not a text", "");
        check(
            &allow("expires = 'soon'"),
            (2, 11),
            "not a day",
            "2027-01-31",
        );
        check("allow = 1\n", (1, 9), "not a list", "[[allow]]");
        check("[patterns]\nx = 1\n", (1, 1), "not a list", "");
    }
}
