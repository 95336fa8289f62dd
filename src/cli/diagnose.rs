//! `heapdrift diagnose SOURCE…`

use super::args::{DiagnoseArgs, General, Judging};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::fetching::Connector;
use super::inputs::{read_catalogue, refuse_nothing};
use super::judgement::{Judgement, judge_member};
use super::output::{Paper, Report, print, print_with_stacks};
use crate::diagnosis::{
    DiagnoseOptions, Diagnosis, Stacks, diagnose, diagnose_fleet, diagnosis_stacks,
};
use crate::report::{
    Layout, Notices, cut_diagnosis, diagnosis_html, diagnosis_markdown, diagnosis_notices,
    diagnosis_table, to_json,
};
use crate::source::{Source, list_targets, load_series};

/// Sites of a finding in Markdown when the user does not say.
const MARKDOWN_ROWS: usize = 30;

pub(super) fn run(args: &DiagnoseArgs, general: &General) -> Result<Exit, Failure> {
    let mut sources = Source::parse_all(&args.sources)?;
    sources.extend(args.cluster.selected().map(Source::Remote));
    let catalogue = read_catalogue(args.judging.patterns.as_deref(), &Config::find()?)?;
    let connector = Connector::new(&args.fetching, &args.cluster, args.reading.bounds.max_size)?;
    let sources = connector.fetch(sources)?;
    let loading = args.reading.options();
    let options = args.judging.options();
    let members = members_of(&sources);
    let threshold = args.failing.fail_on.threshold();
    if members.is_empty() {
        let series = load_series(&sources, &loading)?;
        refuse_nothing(&series)?;
        let diagnosis = diagnose(&series, &catalogue, &options)?;
        let judgement = Judgement::One(Box::new(diagnosis));
        let is_found = judgement.has(threshold);
        let stacks = || diagnosis_stacks(&series, &options);
        print_with_stacks(judgement, &stacks, args.rows.rows, general)?;
        return Ok(Exit::from_found(is_found, args.failing.exit_zero));
    }
    let judge = |(name, source)| judge_member(name, &source, &catalogue, &options, &loading);
    let members = members.into_iter().map(judge).collect();
    let judgement = Judgement::Several(Box::new(diagnose_fleet(members)));
    let is_found = judgement.has(threshold);
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

    fn markdown_with(mut self, paper: &Paper) -> Option<String> {
        cut_diagnosis(&mut self, paper.rows_or(MARKDOWN_ROWS));
        Some(diagnosis_markdown(&self, &paper.links))
    }

    fn notices(&self) -> Option<Notices> {
        Some(diagnosis_notices(self))
    }

    fn html(mut self, paper: &Paper, stacks: Option<&Stacks>) -> Option<String> {
        cut_diagnosis(&mut self, paper.rows_or(0));
        Some(diagnosis_html(&self, stacks, &paper.links, &paper.command))
    }

    fn source_files(&self) -> Vec<&str> {
        let sites = self.findings.iter().flat_map(|finding| &finding.sites);
        let culprits = self.findings.iter().filter_map(|f| f.culprit.as_ref());
        let files = sites.map(|site| &site.file);
        let files = files.chain(culprits.map(|culprit| &culprit.file));
        files.flatten().map(String::as_str).collect()
    }
}
