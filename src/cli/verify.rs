//! `heapdrift verify BEFORE AFTER`

use super::args::{General, VerifyArgs};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::inputs::{read_catalogue, refuse_nothing};
use super::output::{Paper, Report, print};
use crate::diagnosis::{Verification, VerifyVerdict, verify};
use crate::report::{Layout, to_json, verification_markdown, verification_table};
use crate::source::{Source, load_sides};

pub(super) fn run(args: &VerifyArgs, general: &General) -> Result<Exit, Failure> {
    let sources = Source::parse_all(&[&args.before, &args.after])?;
    let catalogue = read_catalogue(args.judging.patterns.as_deref(), &Config::find()?)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let sources = connector.fetch_each(sources)?;
    let [before, after] = sources.as_slice() else {
        unreachable!("two arguments are two sources");
    };
    let [before, after] = load_sides(
        std::slice::from_ref(before),
        std::slice::from_ref(after),
        &args.reading.options(),
    )?;
    refuse_nothing(&before)?;
    refuse_nothing(&after)?;
    let result = verify(
        &before,
        &after,
        &catalogue,
        &args.judging.options(),
        args.reading.force,
    )?;
    let exit = match result.verdict {
        _ if args.exit_zero => Exit::Clean,
        VerifyVerdict::Fixed | VerifyVerdict::Reduced => Exit::Clean,
        VerifyVerdict::Unchanged | VerifyVerdict::Worse => Exit::Found,
        VerifyVerdict::TooShortToTell => Exit::NotComparable,
    };
    print(result, None, general)?;
    Ok(exit)
}

impl Report for Verification {
    fn table(self, layout: &Layout, _rows: usize) -> String {
        verification_table(&self, layout)
    }

    fn json(self, _rows: usize) -> serde_json::Result<String> {
        to_json(&self)
    }

    fn markdown_with(self, _paper: &Paper) -> Option<String> {
        Some(verification_markdown(&self))
    }
}
