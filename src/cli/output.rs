//! Where a report goes: standard output or files, in which form, how wide, in colour or not.

use super::args::{Color, Format, General};
use super::exit::Exit;
use super::failure::Failure;
use crate::report::Layout;
use anstream::{AutoStream, ColorChoice};
use std::io::{ErrorKind, Write};
use std::path::Path;

const DEFAULT_WIDTH: usize = 80;
const LEAST_WIDTH: usize = 60;
const MOST_WIDTH: usize = 160;

/// Rows of a table when the user does not say.
const DEFAULT_ROWS: usize = 10;

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
}

/// Prints a report wherever the user wants it.
pub(super) fn print(
    report: impl Report,
    rows: Option<usize>,
    general: &General,
) -> Result<(), Failure> {
    for path in &general.output {
        let format = format_of(path).or(general.format).unwrap_or(Format::Table);
        let text = render(report.clone(), format, rows, &file_layout(general))?;
        std::fs::write(path, text).map_err(|error| {
            Failure::new(
                Exit::Usage,
                format!("{}: {error}", path.display()),
                "check the path of -o and its permissions",
            )
        })?;
    }
    if general.quiet || !general.output.is_empty() {
        return Ok(());
    }
    let format = general.format.unwrap_or(Format::Table);
    write_stdout(&render(report, format, rows, &terminal_layout(general))?)
}

fn render(
    report: impl Report,
    format: Format,
    rows: Option<usize>,
    layout: &Layout,
) -> Result<String, Failure> {
    let all_for_zero = |rows: usize| if rows == 0 { usize::MAX } else { rows };
    match format {
        Format::Table => Ok(report.table(layout, all_for_zero(rows.unwrap_or(DEFAULT_ROWS)))),
        Format::Json => report
            .json(all_for_zero(rows.unwrap_or(0)))
            .map_err(|error| {
                let message = format!("the result cannot be written as JSON: {error}");
                Failure::new(Exit::Usage, message, "")
            }),
        Format::Markdown => report.markdown().ok_or_else(|| {
            let message = "this command has no Markdown yet";
            Failure::new(Exit::Usage, message, "use -f table or -f json")
        }),
    }
}

/// The format that a file name asks for.
pub(super) fn format_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" => Some(Format::Json),
        "md" => Some(Format::Markdown),
        "txt" => Some(Format::Table),
        _ => None,
    }
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
pub(super) fn write_stdout(text: &str) -> Result<(), Failure> {
    // The report has decided on colours; the stream only translates them for old consoles.
    let mut stdout = AutoStream::new(std::io::stdout().lock(), ColorChoice::Always);
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(
            Exit::Usage,
            format!("standard output: {error}"),
            "check where the output is sent",
        )),
    }
}
