//! Errors as the user sees them: `error: …`, `hint: …`, and an exit code.

use super::exit::Exit;
use crate::diagnosis::NotComparable;
use crate::report::sanitize;
use crate::source::SourceError;
use crate::source::remote::{FetchError, StoreError};
use std::io::Write;

/// Why a command printed no result.
#[derive(Debug)]
pub(super) struct Failure {
    exit: Exit,
    problems: Vec<Problem>,
}

#[derive(Debug)]
struct Problem {
    message: String,
    hint: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::none(exit).and(message, hint)
    }

    /// A failure whose problems are yet to be added.
    pub(super) fn none(exit: Exit) -> Self {
        Self {
            exit,
            problems: Vec::new(),
        }
    }

    /// Adds a problem.
    pub(super) fn and(mut self, message: impl Into<String>, hint: impl Into<String>) -> Self {
        self.problems.push(Problem {
            message: message.into(),
            hint: hint.into(),
        });
        self
    }

    /// What went wrong, without hints; untrusted text.
    pub(super) fn message(&self) -> String {
        let messages: Vec<&str> = self
            .problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        messages.join("; ")
    }

    /// Prints all problems on standard error; a hint that follows again is printed once.
    pub(super) fn report(self) -> Exit {
        let mut text = String::new();
        for (number, problem) in self.problems.iter().enumerate() {
            let is_repeated = self
                .problems
                .get(number + 1)
                .is_some_and(|next| next.hint == problem.hint);
            text.push_str(&format!("error: {}\n", sanitize(&problem.message)));
            if !problem.hint.is_empty() && !is_repeated {
                text.push_str(&format!("hint: {}\n", sanitize(&problem.hint)));
            }
        }
        // Where standard error is closed there is nobody to tell.
        let _ = std::io::stderr().write_all(text.as_bytes());
        self.exit
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let exit = match error.is_not_comparable() {
            true => Exit::NotComparable,
            false => Exit::Usage,
        };
        Self::new(exit, error.to_string(), error.hint())
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::new(Exit::NotComparable, error.to_string(), error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(Exit::NotComparable, error.to_string(), error.hint())
    }
}

/// Says something on standard error that does not end the run.
pub(super) fn warn(message: &str) {
    say("warning", message);
}

/// Says on standard error how far things are.
pub(super) fn note(message: &str) {
    say("note", message);
}

fn say(mark: &str, message: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{mark}: {}", sanitize(message));
}

impl From<NotComparable> for Failure {
    fn from(error: NotComparable) -> Self {
        let exit = match error {
            NotComparable::TooFew { .. } => Exit::Usage,
            _ => Exit::NotComparable,
        };
        Self::new(exit, error.to_string(), error.hint())
    }
}
