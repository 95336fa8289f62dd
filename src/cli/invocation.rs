//! Under which name the program was called: by itself, or by kubectl as its plugin.
//!
//! kubectl runs `kubectl-heapdrift` for `kubectl heapdrift`, and asks `kubectl_complete-heapdrift`
//! for completions. Both are links to the one program.

use super::args::Args;
use clap::{Command, CommandFactory};
use clap_complete::engine::complete;
use std::ffi::OsString;
use std::path::Path;

/// What the user types before the command.
const PLUGIN: &str = "kubectl heapdrift";

/// Names that the program answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Invocation {
    /// `heapdrift`, or whatever else the file was named.
    Program,
    /// `kubectl heapdrift`.
    Plugin,
    /// kubectl asks how a line may go on.
    Completion,
}

impl Invocation {
    /// Tells it by the program's own name.
    pub(super) fn of(program: Option<&OsString>) -> Self {
        let name = program.and_then(|path| Path::new(path).file_stem());
        match name.and_then(|name| name.to_str()) {
            Some("kubectl-heapdrift") => Self::Plugin,
            Some("kubectl_complete-heapdrift") => Self::Completion,
            _ => Self::Program,
        }
    }

    /// The command line's definition, whose usage and examples say what the user types.
    pub(super) fn command(self) -> Command {
        let command = Args::command();
        match self {
            Self::Program => command,
            Self::Plugin | Self::Completion => as_plugin(command, PLUGIN),
        }
    }
}

fn as_plugin(command: Command, name: &str) -> Command {
    let examples = |command: Command| {
        let Some(text) = command.get_after_help().map(ToString::to_string) else {
            return command;
        };
        let text = text
            .replace("\n  heapdrift ", &format!("\n  {PLUGIN} "))
            .replace("| heapdrift ", &format!("| {PLUGIN} "));
        command.after_help(text)
    };
    examples(command).bin_name(name).mut_subcommands(|command| {
        let name = format!("{name} {}", command.get_name());
        examples(command).bin_name(name)
    })
}

/// How the line may go on: a candidate a line with its help behind a tab, then a directive, as
/// kubectl's completion expects it (that of the cobra library: 4 = no file names besides).
pub(super) fn completions(mut words: Vec<OsString>) -> String {
    let mut command = Invocation::Completion.command();
    if words.len() < 2 {
        words.push(OsString::new());
    }
    let last = words.len() - 1;
    // What cannot be completed has no candidates.
    let candidates = complete(&mut command, words, last, None).unwrap_or_default();
    let mut text = String::new();
    for candidate in candidates
        .iter()
        .filter(|candidate| !candidate.is_hide_set())
    {
        text.push_str(&candidate.get_value().to_string_lossy());
        if let Some(help) = candidate.get_help() {
            let help = help.to_string();
            text.push('\t');
            text.push_str(help.lines().next().unwrap_or_default());
        }
        text.push('\n');
    }
    text.push_str(if candidates.is_empty() {
        ":0\n"
    } else {
        ":4\n"
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: &[&str]) -> String {
        let program = ["kubectl_complete-heapdrift"];
        let words = program.iter().chain(words).map(OsString::from);
        completions(words.collect())
    }

    #[test]
    fn the_name_of_the_program_tells() {
        for (name, expected) in [
            ("heapdrift", Invocation::Program),
            ("/usr/local/bin/kubectl-heapdrift", Invocation::Plugin),
            ("kubectl-heapdrift.exe", Invocation::Plugin),
            ("kubectl_complete-heapdrift", Invocation::Completion),
        ] {
            assert_eq!(Invocation::of(Some(&name.into())), expected, "{name}");
        }
        assert_eq!(Invocation::of(None), Invocation::Program);
    }

    #[test]
    fn a_plugin_says_kubectl() {
        let mut command = Invocation::Plugin.command();
        let help = command.render_help().to_string();
        assert!(help.contains("Usage: kubectl heapdrift"), "{help}");
        assert!(help.contains("\n  kubectl heapdrift watch "), "{help}");
        command.build();
        let watch = command.find_subcommand_mut("watch").unwrap();
        let help = watch.render_help().to_string();
        assert!(help.contains("Usage: kubectl heapdrift watch"), "{help}");
        assert!(
            help.contains("\n  kubectl heapdrift watch -n prod"),
            "{help}"
        );
    }

    #[test]
    fn commands_and_options_are_completed() {
        let commands = completed(&["wa"]);
        assert!(commands.starts_with("watch\t"), "{commands}");
        assert!(commands.ends_with("\n:4\n"), "{commands}");
        let options = completed(&["watch", "--until"]);
        assert!(options.contains("--until-verdict\t"), "{options}");
        let values = completed(&["watch", "--via", "api"]);
        assert!(values.contains("api-proxy"), "{values}");
        assert!(completed(&["nonsense", "x"]).ends_with(":0\n"));
    }
}
