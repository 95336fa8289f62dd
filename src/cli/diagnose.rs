//! `heapdrift diagnose SOURCE…`

use super::args::{DiagnoseArgs, General, Judging};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::inputs::{read_catalogue, refuse_nothing};
use super::judgement::{Judgement, judge_member};
use super::output::{Report, print};
use crate::diagnosis::{DiagnoseOptions, Diagnosis, diagnose, diagnose_fleet};
use crate::report::{Layout, cut_diagnosis, diagnosis_table, to_json};
use crate::source::{Source, list_targets, load_series};

pub(super) fn run(args: &DiagnoseArgs, general: &General) -> Result<Exit, Failure> {
    let mut sources = Source::parse_all(&args.sources)?;
    sources.extend(args.cluster.selected().map(Source::Remote));
    let catalogue = read_catalogue(args.judging.patterns.as_deref(), &Config::find()?)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let sources = connector.fetch(sources)?;
    let loading = args.reading.options();
    let options = args.judging.options();
    let members = members_of(&sources);
    let judgement = match members.is_empty() {
        true => {
            let series = load_series(&sources, &loading)?;
            refuse_nothing(&series)?;
            Judgement::One(Box::new(diagnose(&series, &catalogue, &options)?))
        }
        false => {
            let judge =
                |(name, source)| judge_member(name, &source, &catalogue, &options, &loading);
            let members = members.into_iter().map(judge).collect();
            Judgement::Several(Box::new(diagnose_fleet(members)))
        }
    };
    let is_found = judgement.has(args.failing.fail_on.threshold());
    print(judgement, args.rows.rows, general)?;
    Ok(Exit::from_found(is_found, args.failing.exit_zero))
}

/// The processes of a store with several, or of a target that names several; none when the
/// sources are one series.
fn members_of(sources: &[Source]) -> Vec<(String, Source)> {
    if let [Source::Directory(path)] = sources {
        let targets = list_targets(path).into_iter();
        return targets
            .map(|(name, path)| (name, Source::Directory(path)))
            .collect();
    }
    let are_fetched = sources.len() > 1
        && sources
            .iter()
            .all(|source| matches!(source, Source::Fetched(_)));
    match are_fetched {
        true => sources
            .iter()
            .map(|source| (source.to_string(), source.clone()))
            .collect(),
        false => Vec::new(),
    }
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
