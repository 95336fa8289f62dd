//! `heapdrift top SOURCE`

use super::args::{General, TopArgs};
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::inputs::refuse_nothing;
use super::output::{Paper, Report, print_with_stacks};
use crate::diagnosis::{Stacks, Top, top, top_stacks};
use crate::report::{Layout, cut_top, to_json, top_html, top_markdown, top_table};
use crate::source::{Source, load_series};

/// Rows in Markdown when the user does not say.
const MARKDOWN_ROWS: usize = 30;

pub(super) fn run(args: &TopArgs, general: &General) -> Result<Exit, Failure> {
    let source = Source::parse(&args.source)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let source = connector.fetch_each(vec![source])?;
    let series = load_series(&source, &args.reading.options())?;
    refuse_nothing(&series)?;
    let stacks = || top_stacks(&series);
    print_with_stacks(top(&series)?, &stacks, args.rows.rows, general)?;
    Ok(Exit::Clean)
}

impl Report for Top {
    fn table(mut self, layout: &Layout, rows: usize) -> String {
        cut_top(&mut self, rows);
        top_table(&self, layout)
    }

    fn json(mut self, rows: usize) -> serde_json::Result<String> {
        cut_top(&mut self, rows);
        to_json(&self)
    }

    fn markdown_with(mut self, paper: &Paper) -> Option<String> {
        cut_top(&mut self, paper.rows_or(MARKDOWN_ROWS));
        Some(top_markdown(&self))
    }

    fn html(mut self, paper: &Paper, stacks: Option<&Stacks>) -> Option<String> {
        cut_top(&mut self, paper.rows_or(0));
        Some(top_html(&self, stacks, &paper.links, &paper.command))
    }
}
