//! The command line: the only place that knows arguments, environment, terminal and exit codes.
//!
//! `args` is what was typed; each command turns it into calls of the library and prints the
//! result: data on standard output, everything else on standard error.

mod args;
mod capture;
mod check;
mod config;
mod diagnose;
mod diff;
mod duration;
mod exit;
mod explain;
mod failure;
mod fetching;
mod inputs;
mod invocation;
mod judgement;
mod output;
mod packaging;
mod recording;
mod schedule;
mod screen;
mod size;
mod top;
mod verify;
mod watch;
mod watch_view;

pub use exit::Exit;

use args::{Args, Command};
use clap::FromArgMatches;
use failure::Failure;
use invocation::{Invocation, completions};
use std::ffi::OsString;

/// Runs the program with its arguments, its own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let invocation = Invocation::of(arguments.first());
    if invocation == Invocation::Completion {
        return match output::write_stdout(completions(arguments).as_bytes()) {
            Ok(()) => Exit::Clean,
            Err(failure) => failure.report(),
        };
    }
    let parsed = invocation
        .command()
        .try_get_matches_from(arguments)
        .and_then(|matches| Args::from_arg_matches(&matches));
    let args = match parsed {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no errors: they go to standard output. A closed pipe is
            // none either.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Clean
            };
        }
    };
    let outcome = match &args.command {
        Command::Diagnose(command) => diagnose::run(command, &args.general),
        Command::Diff(command) => diff::run(command, &args.general),
        Command::Top(command) => top::run(command, &args.general),
        Command::Capture(command) => capture::run(command, &args.general),
        Command::Watch(command) => watch::run(command, &args.general),
        Command::Check(command) => check::run(command, &args.general),
        Command::Verify(command) => verify::run(command, &args.general),
        Command::Completions(command) => packaging::completions(command),
        Command::Man(command) => packaging::man(command),
        Command::Explain(command) => explain::run(command, &args.general),
    };
    outcome.unwrap_or_else(|failure: Failure| failure.report())
}
