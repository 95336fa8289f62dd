//! An HTTP answer → the bytes of a profile, or the reason why it holds none.
//!
//! Knows statuses, limits and what a body that was cut looks like. Must not know how the
//! request was sent.

use super::error::FetchProblem;
use super::web::root_cause;
use crate::profile::{Limits, ProfileFile, RawProfile, SymbolTable};
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use reqwest::header::RETRY_AFTER;
use std::error::Error;
use std::time::Duration;

/// An answer whose body is still to be read.
pub(super) type Answer = http::Response<UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>>;

/// Bytes of an error's body that may be quoted.
const MAX_QUOTED: usize = 4096;
/// Characters of it that are.
const MAX_SHOWN: usize = 200;
/// Longest wait that a server may ask for: a snapshot later than that is another moment.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// How much of a body is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// All of it.
    All,
    /// The last so many bytes: figures that follow a profile that is not wanted.
    Tail(usize),
}

/// Reads an answer to its end. `received` counts the bytes of the body as they come.
pub(super) async fn read(
    answer: Answer,
    keep: Keep,
    max_bytes: u64,
    received: &mut u64,
) -> Result<Vec<u8>, FetchProblem> {
    let status = answer.status();
    if status != http::StatusCode::OK {
        let retry_after = retry_after(&answer);
        let message = quote(answer, received).await;
        return Err(FetchProblem::Status {
            status: status.as_u16(),
            message,
            retry_after,
        });
    }
    let mut body = answer.into_body();
    let mut kept = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| FetchProblem::Cut {
            received: *received,
            reason: root_cause(&*error),
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        *received += data.len() as u64;
        if *received > max_bytes {
            return Err(FetchProblem::TooLarge { limit: max_bytes });
        }
        kept.extend_from_slice(&data);
        if let Keep::Tail(bytes) = keep
            && kept.len() > 2 * bytes
        {
            kept.drain(..kept.len() - bytes);
        }
    }
    Ok(kept)
}

fn retry_after(answer: &Answer) -> Option<Duration> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds = value.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// What the body of an error says: the message of a Kubernetes status, or the first line of a
/// plain text. A page of HTML says nothing.
async fn quote(answer: Answer, received: &mut u64) -> String {
    let mut body = answer.into_body();
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        *received += data.len() as u64;
        text.extend_from_slice(&data[..data.len().min(MAX_QUOTED - text.len())]);
        if text.len() == MAX_QUOTED {
            break;
        }
    }
    let status: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    if let Some(message) = status
        .as_ref()
        .and_then(|status| status["message"].as_str())
    {
        return message.chars().take(MAX_SHOWN).collect();
    }
    let text = String::from_utf8_lossy(&text);
    let line = text.trim().lines().next().unwrap_or_default();
    match line.starts_with('<') {
        true => String::new(),
        false => line.chars().take(MAX_SHOWN).collect(),
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A heap profile.
    Heap,
    /// A goroutine profile in any form.
    Goroutines,
    /// Memory figures.
    Memory,
}

/// Decodes a body to see whether it is what was asked for; the result is thrown away, since
/// ids belong to the series that is read later.
pub(super) fn check(bytes: Vec<u8>, wanted: Wanted, max_bytes: u64) -> Result<(), FetchProblem> {
    let limits = Limits {
        max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX - 1),
    };
    let file = RawProfile::open(bytes, &limits)?.decode(&mut SymbolTable::default())?;
    let (found, is_it) = match file {
        ProfileFile::Heap { .. } => ("a heap profile", wanted != Wanted::Goroutines),
        ProfileFile::Goroutines(_) => ("a goroutine profile", wanted == Wanted::Goroutines),
        ProfileFile::Memory(_) => ("memory figures", wanted == Wanted::Memory),
        ProfileFile::Several(_) => ("a text of several profiles", false),
    };
    let wanted = match wanted {
        Wanted::Heap => "heap",
        Wanted::Goroutines => "goroutine",
        Wanted::Memory => "memory",
    };
    match is_it {
        true => Ok(()),
        false => Err(FetchProblem::OtherAnswer { found, wanted }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut builder = http::Response::builder().status(status);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        builder
            .body(body.map_err(|never| match never {}).boxed_unsync())
            .unwrap()
    }

    fn read_now(answer: Answer, keep: Keep, max_bytes: u64) -> Result<Vec<u8>, FetchProblem> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(read(answer, keep, max_bytes, &mut 0))
    }

    #[test]
    fn a_status_is_told_in_the_servers_words() {
        let message = |body: &str| match read_now(answer(403, &[], body), Keep::All, 10) {
            Err(FetchProblem::Status { message, .. }) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(message("forbidden: no\nmore"), "forbidden: no");
        assert_eq!(message("<html><body>x"), "");
        assert_eq!(
            message(r#"{"kind":"Status","message":"pods is"}"#),
            "pods is"
        );
        assert_eq!(message(&"x".repeat(9999)).len(), MAX_SHOWN);
    }

    #[test]
    fn a_server_may_ask_for_a_minute() {
        for (value, seconds) in [("7", Some(7)), ("99999", Some(60)), ("soon", None)] {
            match read_now(answer(429, &[("retry-after", value)], ""), Keep::All, 10) {
                Err(problem) => assert_eq!(
                    problem.retry_after(),
                    seconds.map(Duration::from_secs),
                    "{value}"
                ),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_body_has_a_limit() {
        let whole = |max| read_now(answer(200, &[], "0123456789"), Keep::All, max);
        assert_eq!(whole(10).unwrap(), b"0123456789");
        assert_eq!(whole(9), Err(FetchProblem::TooLarge { limit: 9 }));
        let tail = read_now(answer(200, &[], "0123456789"), Keep::Tail(3), 10).unwrap();
        assert!(tail.ends_with(b"789"));
    }

    #[test]
    fn what_came_is_what_was_asked_for() {
        let heap = b"heap profile: 1: 1024 [1: 1024] @ heap/1048576\n1: 1024 [1: 1024] @ 0x1 0x2\n";
        let goroutines = b"goroutine profile: total 1\n1 @ 0x1\n";
        assert_eq!(check(heap.to_vec(), Wanted::Heap, 1000), Ok(()));
        assert_eq!(check(goroutines.to_vec(), Wanted::Goroutines, 1000), Ok(()));
        assert!(matches!(
            check(goroutines.to_vec(), Wanted::Heap, 1000),
            Err(FetchProblem::OtherAnswer { wanted: "heap", .. })
        ));
        assert!(matches!(
            check(b"<html>".to_vec(), Wanted::Heap, 1000),
            Err(FetchProblem::Content(_))
        ));
    }
}
