//! Where a report goes: standard output or files, in which form, how wide, in colour or not.

use super::args::{Color, Format, General};
use super::exit::Exit;
use super::failure::Failure;
use crate::diagnosis::{NotComparable, Stacks};
use crate::report::{
    Layout, Notices, SourceLinks, folded, github, junit, pprof, pprof_gz, sarif, svg,
};
use anstream::{AutoStream, ColorChoice};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

const DEFAULT_WIDTH: usize = 80;
const LEAST_WIDTH: usize = 60;
const MOST_WIDTH: usize = 160;

/// Rows of a table when the user does not say.
const DEFAULT_ROWS: usize = 10;

/// Names the file of the job summary.
const SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// A result in any form.
pub(super) trait Report: Clone {
    /// For people.
    fn table(self, layout: &Layout, rows: usize) -> String;

    /// For programs.
    fn json(self, rows: usize) -> serde_json::Result<String>;

    /// For wikis and tickets, where the report has that form.
    fn markdown(self) -> Option<String> {
        None
    }

    /// The same with what is known of the sources, and as many rows as asked for.
    fn markdown_with(self, _paper: &Paper) -> Option<String> {
        self.markdown()
    }

    /// For a browser, where the report has that form.
    fn html(self, _paper: &Paper, _stacks: Option<&Stacks>) -> Option<String> {
        None
    }

    /// For CI servers, where the report has something to say of places in the code.
    fn notices(&self) -> Option<Notices> {
        None
    }

    /// Source files that the report names.
    fn source_files(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// What a report for people is made with, beside the result.
pub(super) struct Paper {
    /// Rows of a table as the user wants them; 0 for all.
    pub(super) rows: Option<usize>,
    /// Where sources are.
    pub(super) links: SourceLinks,
    /// What was typed.
    pub(super) command: String,
}

impl Paper {
    /// The rows to keep of a table.
    pub(super) fn rows_or(&self, default: usize) -> usize {
        all_for_zero(self.rows.unwrap_or(default))
    }
}

fn all_for_zero(rows: usize) -> usize {
    if rows == 0 { usize::MAX } else { rows }
}

/// Works stacks out; asked only for the forms that show them.
pub(super) type GatherStacks<'a> = &'a dyn Fn() -> Result<Stacks, NotComparable>;

/// Prints a report wherever the user wants it.
pub(super) fn print(
    report: impl Report,
    rows: Option<usize>,
    general: &General,
) -> Result<(), Failure> {
    print_all(report, None, rows, general)
}

/// Prints a report that has stacks behind it.
pub(super) fn print_with_stacks(
    report: impl Report,
    stacks: GatherStacks,
    rows: Option<usize>,
    general: &General,
) -> Result<(), Failure> {
    print_all(report, Some(stacks), rows, general)
}

fn print_all(
    report: impl Report,
    stacks: Option<GatherStacks>,
    rows: Option<usize>,
    general: &General,
) -> Result<(), Failure> {
    let printing = Printing {
        stacks,
        paper: Paper {
            rows,
            links: find_sources(&report, general.source_root.as_deref()),
            command: typed_command(),
        },
    };
    for path in &general.output {
        let format = format_of(path).or(general.format).unwrap_or(Format::Table);
        let is_raw = path.extension().is_some_and(|end| end == "pb");
        let bytes = printing.render(report.clone(), format, &file_layout(general), is_raw)?;
        std::fs::write(path, bytes).map_err(|error| {
            Failure::new(
                Exit::Usage,
                format!("{}: {error}", path.display()),
                "check the path of -o and its permissions",
            )
        })?;
    }
    if general.format == Some(Format::Github) {
        append_summary(&printing, &report)?;
    }
    if general.quiet || !general.output.is_empty() {
        return Ok(());
    }
    let format = general.format.unwrap_or(Format::Table);
    if format == Format::Pprof && std::io::stdout().is_terminal() {
        return Err(Failure::new(
            Exit::Usage,
            "a pprof profile is no text for a terminal",
            "use -o FILE.pb.gz",
        ));
    }
    write_stdout(&printing.render(report, format, &terminal_layout(general), false)?)
}

/// Appends the report to the job summary of GitHub Actions, where it runs there. A page is at
/// most 64 kB, the runner's limit 1 MiB a step.
fn append_summary(printing: &Printing, report: &impl Report) -> Result<(), Failure> {
    let Some(path) = std::env::var_os(SUMMARY_VARIABLE).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let Some(page) = report.clone().markdown_with(&printing.paper) else {
        return Ok(());
    };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    file.and_then(|mut file| writeln!(file, "{page}"))
        .map_err(|error| {
            Failure::new(
                Exit::Usage,
                format!("{SUMMARY_VARIABLE}: {error}"),
                "the variable names the file of the job summary",
            )
        })
}

struct Printing<'a> {
    stacks: Option<GatherStacks<'a>>,
    paper: Paper,
}

impl Printing<'_> {
    fn render(
        &self,
        report: impl Report,
        format: Format,
        layout: &Layout,
        is_raw: bool,
    ) -> Result<Vec<u8>, Failure> {
        let paper = &self.paper;
        let text = match format {
            Format::Table => report.table(layout, paper.rows_or(DEFAULT_ROWS)),
            Format::Json => report.json(paper.rows_or(0)).map_err(|error| {
                let message = format!("the result cannot be written as JSON: {error}");
                Failure::new(Exit::Usage, message, "")
            })?,
            Format::Markdown => report
                .markdown_with(paper)
                .ok_or_else(|| missing("Markdown"))?,
            Format::Html => report
                // A diagnosis of goroutines alone has no heap to draw.
                .html(paper, self.stacks("HTML").ok().as_ref())
                .ok_or_else(|| missing("HTML"))?,
            Format::Folded => folded(&self.stacks("stacks")?),
            Format::Svg => svg(&self.stacks("flame graph")?).map_err(|error| {
                let message = format!("the flame graph cannot be drawn: {error}");
                Failure::new(Exit::Usage, message, "use -f folded and another tool")
            })?,
            Format::Github => github(&report.notices().ok_or_else(|| missing("annotations"))?),
            Format::Junit => junit(&report.notices().ok_or_else(|| missing("JUnit"))?),
            Format::Sarif => {
                let notices = report.notices().ok_or_else(|| missing("SARIF"))?;
                sarif(&notices, env!("CARGO_PKG_VERSION")).map_err(|error| {
                    let message = format!("the result cannot be written as SARIF: {error}");
                    Failure::new(Exit::Usage, message, "")
                })?
            }
            Format::Pprof => {
                let stacks = self.stacks("stacks")?;
                return Ok(match is_raw {
                    true => pprof(&stacks),
                    false => pprof_gz(&stacks),
                });
            }
        };
        Ok(text.into_bytes())
    }

    fn stacks(&self, form: &str) -> Result<Stacks, Failure> {
        let gather = self.stacks.ok_or_else(|| missing(form))?;
        Ok(gather()?)
    }
}

fn missing(form: &str) -> Failure {
    let message = format!("there is no {form} of this");
    let hint =
        "use -f table, json or markdown; several processes have a page and a flame graph each";
    Failure::new(Exit::Usage, message, hint)
}

/// Looks for the report's source files below the repository's root.
fn find_sources(report: &impl Report, root: Option<&Path>) -> SourceLinks {
    let Some(root) = root else {
        return SourceLinks::default();
    };
    SourceLinks::find(report.source_files().into_iter(), |end| {
        root.join(end).is_file()
    })
}

/// The command as it was typed, without the path of the program.
fn typed_command() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    let quoted = words.map(
        |word| match !word.is_empty() && word.chars().all(is_plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', r"'\''")),
        },
    );
    let all: Vec<String> = ["heapdrift".to_owned()].into_iter().chain(quoted).collect();
    all.join(" ")
}

/// The format that a file name asks for.
pub(super) fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    const ENDINGS: &[(&str, Format)] = &[
        (".json", Format::Json),
        (".md", Format::Markdown),
        (".txt", Format::Table),
        (".html", Format::Html),
        (".htm", Format::Html),
        (".sarif", Format::Sarif),
        (".xml", Format::Junit),
        (".svg", Format::Svg),
        (".folded", Format::Folded),
        (".pb.gz", Format::Pprof),
        (".pb", Format::Pprof),
    ];
    let mut endings = ENDINGS.iter();
    endings
        .find(|(ending, _)| name.ends_with(ending))
        .map(|(_, format)| *format)
}

pub(super) fn terminal_layout(general: &General) -> Layout {
    let color = match general.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
    };
    let terminal = terminal_size::terminal_size_of(std::io::stdout())
        .map(|(width, _)| usize::from(width.0).clamp(LEAST_WIDTH, MOST_WIDTH));
    let width = general
        .width
        .map(usize::from)
        .or(terminal)
        .unwrap_or(DEFAULT_WIDTH);
    Layout {
        width,
        color,
        verbose: general.verbose,
    }
}

/// A file looks the same wherever it is written.
fn file_layout(general: &General) -> Layout {
    Layout {
        width: general.width.map_or(DEFAULT_WIDTH, usize::from),
        color: general.color == Color::Always,
        verbose: general.verbose,
    }
}

/// Writes data; a reader that went away is not an error.
pub(super) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    // The report has decided on colours; the stream only translates them for old consoles.
    let mut stdout = AutoStream::new(std::io::stdout().lock(), ColorChoice::Always);
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(
            Exit::Usage,
            format!("standard output: {error}"),
            "check where the output is sent",
        )),
    }
}
