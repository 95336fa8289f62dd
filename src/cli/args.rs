//! What was typed.

use super::check::parse_budget;
use super::duration::parse_duration;
use super::fetching::{Cluster, Fetching};
use super::size::parse_size;
use crate::diagnosis::{Budget, FindingVerdict};
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Finds out why a Go process's memory grows, and where in the code.
#[derive(Debug, Parser)]
#[command(
    name = "heapdrift",
    version,
    styles = STYLES,
    max_term_width = 100,
    after_help = "\
Examples:
  heapdrift watch -n prod pod/api-0:6060            why does this pod's memory grow?
  heapdrift watch http://localhost:6060             the same for a process that serves pprof
  heapdrift capture http://localhost:6060 --for 1h  keep snapshots in captures/
  heapdrift diagnose captures/                      why did it grow?
  heapdrift diff 1.heap.pb.gz 2.heap.pb.gz          what changed between two?
  heapdrift explain                                 which leaks does it know?

Exit codes:
  0  nothing found at or above --fail-on
  1  found
  2  wrong usage, or input that cannot be read
  3  inputs that cannot be compared, or could not be fetched"
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) general: General,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Say why memory grows: verdict, pattern, culprit, rate.
    Diagnose(DiagnoseArgs),
    /// Show what changed between two snapshots, site by site, with error bars.
    Diff(DiffArgs),
    /// Show the functions that hold memory in one snapshot.
    Top(TopArgs),
    /// Fetch snapshots of a running process, or of all pods of a workload, into a directory.
    Capture(CaptureArgs),
    /// Watch a running process until it is clear why its memory grows, or that it does not.
    Watch(WatchArgs),
    /// The CI gate: does a build hold more memory than another, by more than a budget and noise?
    Check(CheckArgs),
    /// Say whether a fix stopped the growth: the rates of two series, before and after.
    Verify(VerifyArgs),
    /// Describe known leak patterns, and what is not a leak.
    Explain(ExplainArgs),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
    /// Write manual pages, one a command.
    Man(ManArgs),
}

/// Options of every command.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(super) struct General {
    /// Form of the output [default: table].
    #[arg(short, long, global = true, value_enum)]
    pub(super) format: Option<Format>,
    /// Write to FILE instead of standard output. May be repeated.
    ///
    /// The ending chooses the format: .txt, .json, .md, .html, .svg,
    /// .folded, .pb.gz, .pb, .sarif or .xml (JUnit). Of
    /// capture and watch: the directory of the snapshots.
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(super) output: Vec<PathBuf>,
    /// When to use colours; NO_COLOR is respected.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub(super) color: Color,
    /// The repository's root: files that are found there are linked in Markdown and HTML.
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) source_root: Option<PathBuf>,
    /// Columns to fill [default: those of the terminal, at most 160; else 80].
    #[arg(long, global = true, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(60..=1000))]
    pub(super) width: Option<u16>,
    /// List every input file, whole paths, and public reports of a pattern.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(super) verbose: bool,
    /// Print no report: the exit code tells.
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
}

/// How profiles are read.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Input")]
pub(super) struct Reading {
    /// Compare what cannot be compared: other processes, deltas, the wrong order.
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) bounds: Bounds,
}

/// How large an input may be.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Input")]
pub(super) struct Bounds {
    /// Largest profile, compressed and expanded.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size)]
    pub(super) max_size: u64,
}

/// Long tables.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(super) struct Rows {
    /// Rows of a table, 0 for all [default: 10; in JSON all].
    #[arg(long, visible_alias = "limit-rows", value_name = "N")]
    pub(super) rows: Option<usize>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift diagnose captures/
  heapdrift diagnose captures/ --limit 512MiB --app-module example.com/shop
  heapdrift diagnose 1.heap.pb.gz 2.heap.pb.gz 3.heap.pb.gz 4.heap.pb.gz -f json
  heapdrift diagnose http://localhost:6060
  curl -s 'http://localhost:6060/debug/pprof/heap?gc=1' | heapdrift diagnose -

Exit codes:
  0  nothing found at or above --fail-on
  1  found
  2  wrong usage, or input that cannot be read
  3  inputs that cannot be compared, or could not be fetched")]
pub(super) struct DiagnoseArgs {
    /// Files, a directory of captures, - for standard input, a URL, unix:/path, pod/NAME.
    ///
    /// Heap, goroutine and memory files, and what was pasted from go tool pprof, are told by their
    /// content, ordered by their own clock, and joined when the rest of their names is the same.
    #[arg(required_unless_present = "selector", value_name = "SOURCE")]
    pub(super) sources: Vec<OsString>,
    #[command(flatten)]
    pub(super) judging: Judging,
    #[command(flatten)]
    pub(super) failing: Failing,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) rows: Rows,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

/// What a judgement needs to know besides the profiles.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Judgement")]
pub(super) struct Judging {
    /// A module that is the application (else told by source paths). May be repeated.
    #[arg(long, value_name = "MODULE")]
    pub(super) app_module: Vec<String>,
    /// Memory limit of the process [default: that of its container, when captured]: says when it is reached.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) limit: Option<u64>,
    /// Directory of pattern files of your own, beside the built-in ones.
    #[arg(long, value_name = "DIR")]
    pub(super) patterns: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift capture http://localhost:6060
  heapdrift capture http://localhost:6060 --every 30s --for 1h -o captures
  heapdrift capture -n prod deploy/api --every 1m --count 20
  heapdrift capture unix:/run/app.sock

Exit codes:
  0    captured
  2    wrong usage
  3    nothing could be fetched, or what was fetched could not be kept
  130  interrupted before --count or --for was reached")]
pub(super) struct CaptureArgs {
    /// A URL of net/http/pprof, unix:/path, pod/NAME[:PORT], deploy/NAME, sts/NAME, ds/NAME.
    #[arg(required_unless_present = "selector", value_name = "TARGET")]
    pub(super) targets: Vec<OsString>,
    #[command(flatten)]
    pub(super) timing: Timing,
    #[command(flatten)]
    pub(super) bounds: Bounds,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift watch http://localhost:6060
  heapdrift watch http://localhost:6060 --every 10s --until-verdict -o captures
  heapdrift watch -n prod pod/api-0:6060
  heapdrift watch -n prod -l app=api --for 1h -o report.md

Ctrl-C ends the watch and prints the report of what was captured.

Exit codes:
  0    nothing found at or above --fail-on
  1    found
  2    wrong usage
  3    nothing could be fetched, or what was fetched could not be kept
  130  interrupted before the first snapshot")]
pub(super) struct WatchArgs {
    /// A URL of net/http/pprof, unix:/path, pod/NAME[:PORT], deploy/NAME, sts/NAME, ds/NAME.
    #[arg(required_unless_present = "selector", value_name = "TARGET")]
    pub(super) targets: Vec<OsString>,
    #[command(flatten)]
    pub(super) timing: Timing,
    /// End when the verdict is settled: the same from three snapshots in a row.
    #[arg(long, help_heading = "When")]
    pub(super) until_verdict: bool,
    /// With --until-verdict: go on until a leak of this size per hour would have been seen.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "until_verdict", help_heading = "When")]
    pub(super) smallest: Option<u64>,
    #[command(flatten)]
    pub(super) judging: Judging,
    #[command(flatten)]
    pub(super) failing: Failing,
    #[command(flatten)]
    pub(super) rows: Rows,
    #[command(flatten)]
    pub(super) bounds: Bounds,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

/// When snapshots are taken.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "When")]
pub(super) struct Timing {
    /// Time between snapshots [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(super) every: Option<Duration>,
    /// Snapshots to take.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) count: Option<u32>,
    /// How long to go on.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(super) duration: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift diff 1.heap.pb.gz 2.heap.pb.gz
  heapdrift diff 1.heap.pb.gz 2.heap.pb.gz --rows 0 -f json
  heapdrift diff before/ after/ --fail-on growing
  heapdrift diff 1.heap.pb.gz http://localhost:6060")]
pub(super) struct DiffArgs {
    /// The older heap profile: a file, a directory with one, - for standard input, or a target.
    #[arg(value_name = "BEFORE")]
    pub(super) before: OsString,
    /// The newer one, of the same process or of another build of the program.
    #[arg(value_name = "AFTER")]
    pub(super) after: OsString,
    #[command(flatten)]
    pub(super) failing: Failing,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) rows: Rows,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift check base.pb.gz head.pb.gz
  heapdrift check base/ head/ --max-growth 5%,1MiB
  heapdrift check --base base/*.pb.gz --head head/*.pb.gz -o summary.md
  heapdrift check head/ --write-baseline baseline.json
  heapdrift check --baseline baseline.json base/ head/

A row fails when the lower limit of its growth exceeds its budget, and its growth is beyond noise:
of pairs of one build at most 1 % fail. A budget of 0 fails on any growth beyond noise.

Exit codes:
  0  nothing exceeds its budget
  1  something does
  2  wrong usage, or input that cannot be read
  3  inputs that cannot be compared, have no error estimate, or could not be fetched")]
pub(super) struct CheckArgs {
    /// The base and the head: a heap profile each, or a directory with one a run.
    #[arg(value_name = "BASE HEAD", num_args = 0..=2)]
    pub(super) sources: Vec<OsString>,
    /// Runs of the base, instead of BASE.
    #[arg(long, value_name = "SOURCE", num_args = 1..)]
    pub(super) base: Vec<OsString>,
    /// Runs of the head, instead of HEAD.
    #[arg(long, value_name = "SOURCE", num_args = 1..)]
    pub(super) head: Vec<OsString>,
    /// Growth of the whole heap that passes: a share, a size, or both (both must be exceeded).
    #[arg(long, value_name = "BUDGET", allow_hyphen_values = true, default_value = "5%,1MiB", value_parser = parse_budget, help_heading = "Budgets")]
    pub(super) max_growth: Budget,
    /// The same of what a package orders; a share is of the whole heap [default: --max-growth].
    #[arg(long, value_name = "BUDGET", allow_hyphen_values = true, value_parser = parse_budget, help_heading = "Budgets")]
    pub(super) max_package_growth: Option<Budget>,
    /// The same of one site; a share is of the whole heap [default: --max-growth].
    #[arg(long, value_name = "BUDGET", allow_hyphen_values = true, value_parser = parse_budget, help_heading = "Budgets")]
    pub(super) max_site_growth: Option<Budget>,
    /// Compare with the figures in FILE too, so that slow drift over many merges is seen.
    #[arg(long, value_name = "FILE", help_heading = "Budgets")]
    pub(super) baseline: Option<PathBuf>,
    /// Write the head's figures as a baseline.
    #[arg(long, value_name = "FILE", help_heading = "Budgets")]
    pub(super) write_baseline: Option<PathBuf>,
    /// A module that is the application (else told by source paths). May be repeated.
    #[arg(long, value_name = "MODULE")]
    pub(super) app_module: Vec<String>,
    /// End with exit code 0 whatever is found.
    #[arg(long, help_heading = "Exit code")]
    pub(super) exit_zero: bool,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) rows: Rows,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift verify before/ after/
  heapdrift verify before/ after/ -f json
  heapdrift verify captures/old-build captures/new-build -o verdict.md

Exit codes:
  0  fixed, or reduced
  1  unchanged, or worse
  2  wrong usage, or input that cannot be read
  3  too short to tell, or inputs that cannot be compared or fetched")]
pub(super) struct VerifyArgs {
    /// Captures of the process that grew: a directory of snapshots.
    #[arg(value_name = "BEFORE")]
    pub(super) before: OsString,
    /// Captures of the repaired one, under the same load and for about as long.
    #[arg(value_name = "AFTER")]
    pub(super) after: OsString,
    #[command(flatten)]
    pub(super) judging: Judging,
    /// End with exit code 0 whatever the verdict is.
    #[arg(long, help_heading = "Exit code")]
    pub(super) exit_zero: bool,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift top heap.pb.gz
  heapdrift top http://localhost:6060 --rows 30
  curl -s 'http://localhost:6060/debug/pprof/heap?gc=1' | heapdrift top -")]
pub(super) struct TopArgs {
    /// A heap profile, a directory (its last one counts), - for standard input, or a target.
    #[arg(value_name = "SOURCE")]
    pub(super) source: OsString,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) rows: Rows,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) cluster: Cluster,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift explain
  heapdrift explain logger-promise-chain
  heapdrift explain --search Unmarshal
  heapdrift explain gc-headroom -f markdown
  heapdrift explain --check mine/session-table.toml

Exit codes:
  0  printed, or the files are sound
  2  no such page, or a file that is no pattern")]
pub(super) struct ExplainArgs {
    /// A leak pattern, or a verdict that is not a leak; without one all are listed.
    #[arg(value_name = "NAME")]
    pub(super) name: Option<String>,
    /// List the pages that mention WORD, and where.
    #[arg(long, value_name = "WORD", conflicts_with = "name")]
    pub(super) search: Option<String>,
    /// Check a pattern file of your own. May be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "search", "patterns"])]
    pub(super) check: Vec<PathBuf>,
    /// Directory of pattern files of your own, beside the built-in ones.
    #[arg(long, value_name = "DIR")]
    pub(super) patterns: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift completions bash > /etc/bash_completion.d/heapdrift
  heapdrift completions zsh > \"${fpath[1]}/_heapdrift\"")]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  heapdrift man /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// Directory for the pages; it must be there.
    #[arg(value_name = "DIR")]
    pub(super) directory: PathBuf,
}

/// When to end with exit code 1.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Exit code")]
pub(super) struct Failing {
    /// End with exit code 1 on a finding of this kind or worse.
    #[arg(long, value_enum, default_value = "leak", value_name = "VERDICT")]
    pub(super) fail_on: FailOn,
    /// End with exit code 0 whatever is found.
    #[arg(long)]
    pub(super) exit_zero: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// For programs; a JSON Schema is in the repository.
    Json,
    /// For comments, tickets and wikis: at most 64 kB.
    Markdown,
    /// One page for a browser, all in one file.
    Html,
    /// A flame graph.
    Svg,
    /// Stacks as lines, for flame graph tools.
    Folded,
    /// A profile for go tool pprof: what grew, or what is in use.
    Pprof,
    /// Annotations of GitHub Actions, and its job summary. Of check, diagnose and verify.
    Github,
    /// Results for code scanning (SARIF 2.1.0). Of the same.
    Sarif,
    /// Test results for CI servers (JUnit XML). Of the same.
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Growth in every third of the window.
    Leak,
    /// Real growth that may yet end.
    Growing,
    /// Anything that is found.
    Suspect,
}

impl FailOn {
    /// The mildest verdict that counts.
    pub(super) fn threshold(self) -> FindingVerdict {
        match self {
            Self::Leak => FindingVerdict::Leak,
            Self::Growing => FindingVerdict::Growing,
            Self::Suspect => FindingVerdict::Suspect,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }
}
