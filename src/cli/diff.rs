//! `heapdrift diff BEFORE AFTER`

use super::args::{DiffArgs, FailOn, General};
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::output::{Paper, Report, print_with_stacks};
use crate::diagnosis::{Diff, RowVerdict, Stacks, diff, diff_stacks};
use crate::report::{Layout, cut_diff, diff_html, diff_markdown, diff_table, to_json};
use crate::source::{Source, load_pair};

/// Rows in Markdown when the user does not say.
const MARKDOWN_ROWS: usize = 30;

pub(super) fn run(args: &DiffArgs, general: &General) -> Result<Exit, Failure> {
    let sources = Source::parse_all(&[&args.before, &args.after])?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let sources = connector.fetch_each(sources)?;
    let [before, after] = sources.as_slice() else {
        unreachable!("two arguments are two sources");
    };
    let series = load_pair(before, after, &args.reading.options())?;
    let diff = diff(&series)?;
    // Two snapshots never make a leak.
    let is_found = args.failing.fail_on != FailOn::Leak
        && diff.rows.iter().any(|row| row.verdict == RowVerdict::Grew);
    print_with_stacks(diff, &|| diff_stacks(&series), args.rows.rows, general)?;
    Ok(Exit::from_found(is_found, args.failing.exit_zero))
}

impl Report for Diff {
    fn table(mut self, layout: &Layout, rows: usize) -> String {
        cut_diff(&mut self, rows);
        diff_table(&self, layout)
    }

    fn json(mut self, rows: usize) -> serde_json::Result<String> {
        cut_diff(&mut self, rows);
        to_json(&self)
    }

    fn markdown_with(mut self, paper: &Paper) -> Option<String> {
        cut_diff(&mut self, paper.rows_or(MARKDOWN_ROWS));
        Some(diff_markdown(&self))
    }

    fn html(mut self, paper: &Paper, stacks: Option<&Stacks>) -> Option<String> {
        cut_diff(&mut self, paper.rows_or(0));
        Some(diff_html(&self, stacks, &paper.links, &paper.command))
    }

    fn source_files(&self) -> Vec<&str> {
        let files = self.rows.iter().map(|row| &row.file);
        files.flatten().map(String::as_str).collect()
    }
}
