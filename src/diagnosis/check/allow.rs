//! Growth that is meant: `[[allow]]` entries of the configuration.
//!
//! "Today" is the day on which the checked heaps were taken, so that an answer can be reproduced
//! from its files.

use super::{CheckLevel, CheckRow, CheckRowVerdict};
use regex::Regex;
use serde::Serialize;

/// A day as `YYYY-MM-DD`; its order is that of time.
pub type Day = String;

/// Growth that is meant.
#[derive(Debug, Clone)]
pub struct Allow {
    /// Sites and packages: found in the name of the function that allocates, of the one that
    /// ordered it, or of the package.
    pub site: Regex,
    /// Why.
    pub reason: String,
    /// The last day on which it counts.
    pub expires: Option<Day>,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllowStatus {
    /// It let growth pass.
    Used,
    /// Nothing over budget is of its kind.
    Unused,
    /// Its day is over.
    Expired,
    /// It matches whatever there is.
    Everything,
}

/// An entry and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AllowUse {
    /// Its expression.
    pub site: String,
    /// Its reason.
    pub reason: String,
    /// Its last day.
    pub expires: Option<String>,
    /// What became of it.
    pub status: AllowStatus,
}

/// Lets pass what is meant. The whole heap passes if, without what is allowed at its sites, it
/// would be within its budget.
pub(super) fn apply(
    entries: &[Allow],
    rows: &mut [CheckRow],
    taken_at: Option<&str>,
) -> Vec<AllowUse> {
    let mut uses = Vec::new();
    for entry in entries {
        let is_expired = match (&entry.expires, taken_at) {
            (Some(day), Some(time)) => time.get(..10).is_some_and(|today| today > day.as_str()),
            _ => false,
        };
        let matches_all = ["", "\u{1}", "a.b/c.(*D).e"]
            .iter()
            .all(|text| entry.site.is_match(text));
        let mut status = AllowStatus::Unused;
        if is_expired {
            status = AllowStatus::Expired;
        } else if matches_all {
            status = AllowStatus::Everything;
        } else {
            for row in rows.iter_mut() {
                let names = [Some(&row.name), row.ordered_by.as_ref()];
                let is_meant = row.level != CheckLevel::Heap
                    && names
                        .into_iter()
                        .flatten()
                        .any(|name| entry.site.is_match(name));
                if is_meant && row.verdict == CheckRowVerdict::OverBudget {
                    row.verdict = CheckRowVerdict::Allowed;
                    row.allowed = Some(entry.reason.clone());
                    status = AllowStatus::Used;
                }
            }
        }
        uses.push(AllowUse {
            site: entry.site.as_str().to_owned(),
            reason: entry.reason.clone(),
            expires: entry.expires.clone(),
            status,
        });
    }
    allow_sums(rows);
    uses
}

/// Sums pass if what is allowed at sites brings them below their budgets.
fn allow_sums(rows: &mut [CheckRow]) {
    let allowed: Vec<(super::CheckAgainst, f64, String)> = rows
        .iter()
        .filter(|row| row.level == CheckLevel::Site && row.verdict == CheckRowVerdict::Allowed)
        .map(|row| {
            (
                row.against,
                row.delta_bytes,
                row.allowed.clone().unwrap_or_default(),
            )
        })
        .collect();
    for row in rows.iter_mut() {
        let is_sum = row.level != CheckLevel::Site && row.verdict == CheckRowVerdict::OverBudget;
        let meant: f64 = allowed
            .iter()
            .filter(|a| a.0 == row.against)
            .map(|a| a.1)
            .sum();
        let low = row.ci95.map_or(row.delta_bytes, |[low, _]| low);
        if is_sum && meant > 0.0 && low - meant <= row.budget_bytes {
            row.verdict = CheckRowVerdict::Allowed;
            row.allowed = allowed.iter().map(|a| a.2.clone()).next();
        }
    }
}
