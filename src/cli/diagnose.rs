//! `heapdrift diagnose SOURCE…`

use super::args::{DiagnoseArgs, General};
use super::config::Config;
use super::exit::Exit;
use super::failure::Failure;
use super::inputs::{read_catalogue, refuse_nothing};
use super::output::{Paper, Report, print_with_stacks};
use crate::diagnosis::{DiagnoseOptions, Diagnosis, Stacks, diagnose, diagnosis_stacks};
use crate::report::{
    Layout, cut_diagnosis, diagnosis_html, diagnosis_markdown, diagnosis_table, to_json,
};
use crate::source::{Source, load_series};

/// Sites of a finding in Markdown when the user does not say.
const MARKDOWN_ROWS: usize = 30;

pub(super) fn run(args: &DiagnoseArgs, general: &General) -> Result<Exit, Failure> {
    let sources = Source::parse_all(&args.sources)?;
    let catalogue = read_catalogue(args.patterns.as_deref(), &Config::find()?)?;
    let series = load_series(&sources, &args.reading.options())?;
    refuse_nothing(&series)?;
    let options = DiagnoseOptions {
        app_modules: args.app_module.clone(),
        limit_bytes: args.limit,
    };
    let diagnosis = diagnose(&series, &catalogue, &options)?;
    let threshold = args.failing.fail_on.threshold();
    let is_found = diagnosis
        .findings
        .iter()
        .any(|finding| finding.verdict >= threshold);
    let stacks = || diagnosis_stacks(&series, &options);
    print_with_stacks(diagnosis, &stacks, args.rows.rows, general)?;
    Ok(Exit::from_found(is_found, args.failing.exit_zero))
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
