//! What `diagnose` and `watch` print: the judgement of one series, or of several side by side.

use super::failure::Failure;
use super::inputs::refuse_nothing;
use super::output::{Paper, Report};
use crate::diagnosis::{
    DiagnoseOptions, Diagnosis, FindingVerdict, Fleet, FleetMember, Stacks, diagnose,
};
use crate::pattern::Catalogue;
use crate::report::{Layout, Notices, cut_fleet, fleet_markdown, fleet_table, to_json};
use crate::source::{LoadOptions, Source, load_series};

/// The judgement over everything that was given.
#[derive(Debug, Clone)]
pub(super) enum Judgement {
    /// One series.
    One(Box<Diagnosis>),
    /// Processes side by side.
    Several(Box<Fleet>),
}

impl Judgement {
    /// Whether there is a finding of this kind or worse.
    pub(super) fn has(&self, threshold: FindingVerdict) -> bool {
        let reaches = |diagnosis: &Diagnosis| {
            let mut findings = diagnosis.findings.iter();
            findings.any(|finding| finding.verdict >= threshold)
        };
        match self {
            Self::One(diagnosis) => reaches(diagnosis),
            Self::Several(fleet) => fleet
                .members
                .iter()
                .filter_map(|member| member.diagnosis.as_ref())
                .any(reaches),
        }
    }

    /// The judgements of the single processes.
    pub(super) fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        let (one, several) = match self {
            Self::One(diagnosis) => (Some(&**diagnosis), None),
            Self::Several(fleet) => (None, Some(&fleet.members)),
        };
        let members = several.into_iter().flatten();
        one.into_iter()
            .chain(members.filter_map(|member| member.diagnosis.as_ref()))
    }
}

impl Report for Judgement {
    fn table(self, layout: &Layout, rows: usize) -> String {
        match self {
            Self::One(diagnosis) => diagnosis.table(layout, rows),
            Self::Several(mut fleet) => {
                cut_fleet(&mut fleet, rows);
                fleet_table(&fleet, layout)
            }
        }
    }

    fn json(self, rows: usize) -> serde_json::Result<String> {
        match self {
            Self::One(diagnosis) => diagnosis.json(rows),
            Self::Several(mut fleet) => {
                cut_fleet(&mut fleet, rows);
                to_json(&*fleet)
            }
        }
    }

    fn markdown_with(self, paper: &Paper) -> Option<String> {
        match self {
            Self::One(diagnosis) => diagnosis.markdown_with(paper),
            Self::Several(fleet) => Some(fleet_markdown(&fleet)),
        }
    }

    fn html(self, paper: &Paper, stacks: Option<&Stacks>) -> Option<String> {
        match self {
            Self::One(diagnosis) => diagnosis.html(paper, stacks),
            Self::Several(_) => None,
        }
    }

    fn notices(&self) -> Option<Notices> {
        match self {
            Self::One(diagnosis) => diagnosis.notices(),
            Self::Several(_) => None,
        }
    }

    fn source_files(&self) -> Vec<&str> {
        self.diagnoses().flat_map(Diagnosis::source_files).collect()
    }
}

/// Judges one process of several; what cannot be judged says why.
pub(super) fn judge_member(
    name: String,
    source: &Source,
    catalogue: &Catalogue,
    options: &DiagnoseOptions,
    loading: &LoadOptions,
) -> FleetMember {
    let judge = || -> Result<Diagnosis, Failure> {
        let series = load_series(std::slice::from_ref(source), loading)?;
        refuse_nothing(&series)?;
        Ok(diagnose(&series, catalogue, options)?)
    };
    let (diagnosis, problem) = match judge() {
        Ok(diagnosis) => (Some(diagnosis), None),
        Err(failure) => (None, Some(failure.message())),
    };
    FleetMember {
        name,
        diagnosis,
        problem,
    }
}
