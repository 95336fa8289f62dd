//! `heapdrift diagnose SOURCE…`

use super::args::{DiagnoseArgs, General, Judging};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::inputs::{read_catalogue, refuse_nothing};
use super::output::{Report, print};
use crate::diagnosis::{DiagnoseOptions, Diagnosis, diagnose};
use crate::report::{Layout, cut_diagnosis, diagnosis_table, to_json};
use crate::source::{Source, load_series};

pub(super) fn run(args: &DiagnoseArgs, general: &General) -> Result<Exit, Failure> {
    let mut sources = Source::parse_all(&args.sources)?;
    sources.extend(args.cluster.selected().map(Source::Remote));
    let catalogue = read_catalogue(args.judging.patterns.as_deref(), &Config::find()?)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let sources = connector.fetch(sources)?;
    let series = load_series(&sources, &args.reading.options())?;
    refuse_nothing(&series)?;
    let diagnosis = diagnose(&series, &catalogue, &args.judging.options())?;
    let threshold = args.failing.fail_on.threshold();
    let is_found = diagnosis
        .findings
        .iter()
        .any(|finding| finding.verdict >= threshold);
    print(diagnosis, args.rows.rows, general)?;
    Ok(Exit::from_found(is_found, args.failing.exit_zero))
}

impl Judging {
    pub(super) fn options(&self) -> DiagnoseOptions {
        DiagnoseOptions {
            app_modules: self.app_module.clone(),
            limit_bytes: self.limit,
        }
    }
}

impl Report for Diagnosis {
    fn table(mut self, layout: &Layout, rows: usize) -> String {
        cut_diagnosis(&mut self, rows);
        diagnosis_table(&self, layout)
    }

    fn json(mut self, rows: usize) -> serde_json::Result<String> {
        cut_diagnosis(&mut self, rows);
        to_json(&self)
    }
}
