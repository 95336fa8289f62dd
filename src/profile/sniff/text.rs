//! Text that is not a profile: what is it?

use crate::profile::ProfileError;
use crate::profile::legacy::text::{Lines, find};

/// Error answers are short; a longer text is a text.
const LONGEST_MESSAGE: usize = 1024;

/// Words of Go's pprof handlers and of the proxies in front of them, in lower case.
const ERROR_WORDS: [&[u8]; 18] = [
    b"404 page not found",
    b"unknown profile",
    b"not found",
    b"unauthorized",
    b"forbidden",
    b"method not allowed",
    b"bad request",
    b"bad gateway",
    b"gateway timeout",
    b"service unavailable",
    b"internal server error",
    b"connection refused",
    b"connection reset",
    b"could not ",
    b"too many requests",
    b"upstream connect error",
    b"timed out",
    b"error",
];

pub(super) fn explain(text: &[u8]) -> ProfileError {
    let trimmed = text.trim_ascii();
    if trimmed.starts_with(b"HTTP/") {
        return ProfileError::NotAProfile {
            what: "an HTTP answer with its headers (`curl -i`)",
        };
    }
    if trimmed.len() <= LONGEST_MESSAGE {
        let lower = trimmed.to_ascii_lowercase();
        if ERROR_WORDS
            .iter()
            .any(|words| find(&lower, words).is_some())
        {
            return ProfileError::ErrorMessage {
                message: first_line(trimmed),
            };
        }
    }
    let what = match trimmed.first() {
        Some(b'{' | b'[') => "a JSON text",
        _ => "a text file",
    };
    ProfileError::NotAProfile { what }
}

/// The first line, without control characters, at most eighty characters.
fn first_line(text: &[u8]) -> String {
    const LONGEST: usize = 80;
    let line = Lines::new(text).next().map_or(text, |line| line.bytes);
    String::from_utf8_lossy(line)
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST)
        .collect()
}
