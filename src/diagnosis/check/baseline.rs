//! The figures of a build as a file: what later builds are compared with, so that growth which is
//! small in every merge is seen.

use super::gate::{SiteKey, Units, unit_of};
use super::{CheckSide, NOTHING};
use crate::growth::Holding;
use crate::profile::HeapProfile;
use serde::{Deserialize, Serialize};

/// Changes with every change of the form.
pub const BASELINE_VERSION: u32 = 1;

/// The figures of a build. Names are canonical: they stand the move of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`BASELINE_VERSION`].
    pub schema_version: u32,
    /// The first file that it was made of.
    pub source: String,
    /// RFC 3339 of the latest.
    pub taken_at: Option<String>,
    /// The program, by its file name; empty = unknown.
    pub binary: String,
    /// Processes.
    pub runs: usize,
    /// Mean bytes between samples; 0 = unknown, or mixed.
    pub sampling_period: i64,
    /// Whether there are sampled counts.
    pub has_counts: bool,
    /// Every site with anything in use, by name.
    pub sites: Vec<BaselineSite>,
}

/// One site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineSite {
    /// The function that allocates.
    pub function: String,
    /// The one that ordered it.
    pub ordered_by: String,
    /// The package of the latter.
    pub package: String,
    /// What it holds, all runs together.
    pub holding: Holding,
}

impl Baseline {
    pub(super) fn of(units: &Units, side: &CheckSide, heaps: &[&HeapProfile]) -> Self {
        let binary = heaps
            .iter()
            .map(|heap| heap.binary.as_str())
            .find(|b| !b.is_empty());
        let file_name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        Self {
            schema_version: BASELINE_VERSION,
            source: side.source.clone(),
            taken_at: side.taken_at.clone(),
            binary: binary.map(file_name).unwrap_or_default(),
            runs: units.runs,
            sampling_period: units.rate,
            has_counts: units.has_counts,
            sites: units
                .sites
                .iter()
                .map(|(key, unit)| BaselineSite {
                    function: key.function.clone(),
                    ordered_by: key.ordered_by.clone(),
                    package: unit.package.clone(),
                    holding: unit.holding,
                })
                .collect(),
        }
    }

    pub(super) fn units(&self) -> Units {
        let mut units = Units {
            runs: self.runs,
            rate: self.sampling_period,
            has_counts: self.has_counts,
            ..Units::default()
        };
        for site in &self.sites {
            let key = SiteKey {
                function: site.function.clone(),
                ordered_by: site.ordered_by.clone(),
            };
            units
                .sites
                .insert(key, unit_of(site.holding, site.package.clone()));
        }
        units
    }

    pub(super) fn side(&self) -> CheckSide {
        let whole = self.sites.iter().fold(NOTHING, |mut whole, site| {
            whole.merge(&site.holding);
            whole
        });
        CheckSide {
            source: self.source.clone(),
            taken_at: self.taken_at.clone(),
            runs: self.runs,
            inuse_bytes: whole.bytes / self.runs.max(1) as f64,
            sampling_period: Some(self.sampling_period).filter(|period| *period > 0),
        }
    }
}
