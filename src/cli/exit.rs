//! What the exit code says.

use std::process::{ExitCode, Termination};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Nothing found at or above `--fail-on`.
    Clean = 0,
    /// Something found.
    Found = 1,
    /// Wrong usage, wrong configuration, or input that cannot be read.
    Usage = 2,
    /// Inputs that cannot be compared, or could not be fetched.
    NotComparable = 3,
    /// Ended by the user.
    Interrupted = 130,
}

impl Exit {
    /// `Found` if something was found and the user did not ask for advice only.
    pub(super) fn from_found(is_found: bool, exit_zero: bool) -> Self {
        match is_found && !exit_zero {
            true => Self::Found,
            false => Self::Clean,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}
