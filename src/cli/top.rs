//! `heapdrift top SOURCE`

use super::args::{General, TopArgs};
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::inputs::refuse_nothing;
use super::output::{Report, print};
use crate::diagnosis::{Top, top};
use crate::report::{Layout, cut_top, to_json, top_table};
use crate::source::{Source, load_series};

pub(super) fn run(args: &TopArgs, general: &General) -> Result<Exit, Failure> {
    let source = Source::parse(&args.source)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let source = connector.fetch_each(vec![source])?;
    let series = load_series(&source, &args.reading.options())?;
    refuse_nothing(&series)?;
    print(top(&series)?, args.rows.rows, general)?;
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
}
