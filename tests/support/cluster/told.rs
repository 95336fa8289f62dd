//! What a user is told, and the usual tricks.

use super::Trick;
use heapdrift::source::remote::{FetchError, FetchProblem, Via};

/// The ways to a pod.
pub const BOTH: [Via; 2] = [Via::PortForward, Via::ApiProxy];

pub const FORBIDDEN: Trick = Trick::Status(403, "Forbidden", "User \"u\" cannot do that");

/// The message and the hint, as a user sees them.
pub fn told(error: &FetchError) -> String {
    format!("{error}. {}", error.hint())
}

/// All of the parts are told.
#[track_caller]
pub fn tells(error: &FetchError, parts: &[&str]) {
    let told = told(error);
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in: {told}");
    }
}

pub fn status_of(error: &FetchError) -> Option<u16> {
    match error.problem {
        FetchProblem::Status { status, .. } => Some(status),
        _ => None,
    }
}

pub fn base64_of(text: &str) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(text)
}
