//! `heapdrift completions SHELL` and `heapdrift man DIR`: what packagers install beside the
//! program. Both are made from the definition of the command line.

use super::args::{Args, CompletionsArgs, ManArgs};
use super::exit::Exit;
use super::failure::Failure;
use super::output::write_stdout;
use clap::CommandFactory;

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "heapdrift", &mut script);
    write_stdout(&script)?;
    Ok(Exit::Clean)
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    clap_mangen::generate_to(Args::command(), &args.directory).map_err(|error| {
        let message = format!("{}: {error}", args.directory.display());
        Failure::new(
            Exit::Usage,
            message,
            "name a directory that is there and may be written to",
        )
    })?;
    Ok(Exit::Clean)
}
