//! What a machine is told of a result: one notice a place in the code. GitHub annotations, SARIF
//! and JUnit are written from these.
//!
//! Texts are verbatim and untrusted; each form escapes them in its own way, after
//! `sanitize`.

use super::check::{change_words, level_word};
use super::units::{rate, size};
use crate::diagnosis::{
    Check, CheckAgainst, CheckRow, CheckRowVerdict, Diagnosis, FindingVerdict, Verification,
    VerifyVerdict,
};

/// How bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Note,
    /// Not what the command fails on.
    Warning,
    /// What it fails on.
    Error,
}

/// One thing to say of a place in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Which rule: a pattern's name, or the kind of growth.
    pub rule: String,
    /// How bad.
    pub level: Level,
    /// A line that says it.
    pub title: String,
    /// The figures.
    pub message: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known.
    pub line: Option<u32>,
    /// The function or package.
    pub function: String,
}

/// A result as notices, worst first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notices {
    /// The command.
    pub command: &'static str,
    /// The answer in a line.
    pub title: String,
    /// Worst first.
    pub notices: Vec<Notice>,
    /// How many things were looked at, those without a notice included.
    pub looked_at: usize,
}

/// Of a check: the rows over their budgets, and those that grew within them.
pub fn check_notices(result: &Check) -> Notices {
    let rows = result.rows.iter().filter_map(|row| {
        let (rule, level) = match row.verdict {
            CheckRowVerdict::OverBudget => ("over-budget", Level::Error),
            CheckRowVerdict::Allowed => ("allowed-growth", Level::Note),
            _ => return None,
        };
        Some(of_row(row, rule, level))
    });
    Notices {
        command: "check",
        title: super::check::check_title(result),
        notices: sorted(rows.collect()),
        looked_at: result.rows.len() + result.unshown.rows,
    }
}

fn of_row(row: &CheckRow, rule: &str, level: Level) -> Notice {
    let against = match row.against {
        CheckAgainst::Base => "the base",
        CheckAgainst::Baseline => "the baseline",
    };
    let mut message = format!(
        "{} against {against}, {} passes; {} before, {} now",
        change_words(row),
        size(row.budget_bytes),
        size(row.base_bytes),
        size(row.head_bytes)
    );
    if let Some(reason) = &row.allowed {
        message.push_str(&format!("; allowed: {reason}"));
    }
    Notice {
        rule: rule.to_owned(),
        level,
        title: format!("{} {} holds more memory", level_word(row.level), row.name),
        message,
        file: row.file.clone(),
        line: row.line,
        function: row.name.clone(),
    }
}

/// Of a diagnosis: its findings; a leak is an error.
pub fn diagnosis_notices(result: &Diagnosis) -> Notices {
    let findings = result.findings.iter().map(|finding| {
        let culprit = finding.culprit.as_ref();
        let growth = finding.growth.as_ref().and_then(|g| g.bytes_per_hour);
        let speed = growth.map_or_else(String::new, |speed| format!("{}; ", rate(speed)));
        Notice {
            rule: finding
                .pattern
                .clone()
                .unwrap_or_else(|| "growth".to_owned()),
            level: match finding.verdict {
                FindingVerdict::Leak => Level::Error,
                FindingVerdict::Growing => Level::Warning,
                _ => Level::Note,
            },
            title: finding.title.clone(),
            message: format!("{speed}{}; fix: {}", finding.why, finding.fix),
            file: culprit.and_then(|culprit| culprit.file.clone()),
            line: culprit.and_then(|culprit| culprit.line),
            function: culprit.map_or_else(String::new, |culprit| culprit.function.clone()),
        }
    });
    let notices: Vec<Notice> = findings.collect();
    Notices {
        command: "diagnose",
        title: format!("{:?}", result.verdict).to_lowercase(),
        looked_at: notices.len().max(1),
        notices: sorted(notices),
    }
}

/// Of a verification: what still grows is an error.
pub fn verification_notices(result: &Verification) -> Notices {
    let level_of = |verdict| match verdict {
        VerifyVerdict::Unchanged | VerifyVerdict::Worse => Level::Error,
        VerifyVerdict::Reduced | VerifyVerdict::TooShortToTell => Level::Warning,
        VerifyVerdict::Fixed => Level::Note,
    };
    let (_, word) = super::verify::verdict_word(result.verdict);
    let findings = result.findings.iter().map(|finding| {
        let (_, word) = super::verify::verdict_word(finding.verdict);
        let speeds = finding.growth.as_ref().map_or_else(String::new, |change| {
            format!(
                ": {} → {}",
                rate(change.before_per_hour),
                rate(change.after_per_hour)
            )
        });
        Notice {
            rule: finding
                .pattern
                .clone()
                .unwrap_or_else(|| "growth".to_owned()),
            level: level_of(finding.verdict),
            title: finding.title.clone(),
            message: format!("{word}{speeds}"),
            file: finding.file.clone(),
            line: finding.line,
            function: finding.culprit.clone().unwrap_or_default(),
        }
    });
    let mut notices: Vec<Notice> = findings.collect();
    // Without a finding the answer itself is what there is to say.
    if notices
        .iter()
        .all(|notice| notice.level < level_of(result.verdict))
    {
        notices.push(Notice {
            rule: "verify".to_owned(),
            level: level_of(result.verdict),
            title: word.to_owned(),
            message: result.reason.clone(),
            file: None,
            line: None,
            function: String::new(),
        });
    }
    Notices {
        command: "verify",
        title: format!("{word}: {}", result.reason),
        looked_at: notices.len(),
        notices: sorted(notices),
    }
}

/// Worst first, else in the order of the result.
fn sorted(mut notices: Vec<Notice>) -> Vec<Notice> {
    notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
    notices
}
