//! `heapdrift diff BEFORE AFTER`

use super::args::{DiffArgs, FailOn, General};
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::output::{Report, print};
use crate::diagnosis::{Diff, RowVerdict, diff};
use crate::report::{Layout, cut_diff, diff_table, to_json};
use crate::source::{Source, load_pair};

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
    print(diff, args.rows.rows, general)?;
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
}
