//! Whether a fix stopped the growth, for people.

use super::Layout;
use super::columns::{Columns, Narrow, Row};
use super::identity::{label, sentence};
use super::names::place;
use super::printer::{Printer, Role, Span};
use super::units::{counted, duration, rate, rate_with_interval};
use crate::diagnosis::{RateChange, Verification, VerifiedFinding, VerifySide, VerifyVerdict};

/// Columns of a label.
const LABEL: usize = 12;

/// Lays the answer out for a terminal.
pub fn verification_table(result: &Verification, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    let (role, word) = verdict_word(result.verdict);
    printer.line(
        0,
        &[
            Span::new(role, word.to_uppercase()),
            Span::plain(format!("  {}", result.reason)),
        ],
    );
    printer.gap();
    for (label, text) in verification_facts(result) {
        printer.labelled(0, LABEL, label, &text);
    }
    print_rows(&mut printer, result);
    for finding in &result.new_findings {
        let speed = finding
            .bytes_per_hour
            .map_or_else(String::new, |speed| format!(", {}", rate(speed)));
        let text = format!("{}{speed}", finding.title);
        printer.labelled(0, LABEL, "new growth", &text);
    }
    if let Some(text) = &result.settles {
        printer.labelled(0, LABEL, "next", text);
    }
    for warning in &result.warnings {
        printer.labelled(0, LABEL, "warning", warning);
    }
    printer.finish()
}

/// The word for a verdict, and how it is shown.
pub(super) fn verdict_word(verdict: VerifyVerdict) -> (Role, &'static str) {
    match verdict {
        VerifyVerdict::Fixed => (Role::Good, "fixed"),
        VerifyVerdict::Reduced => (Role::Caution, "reduced"),
        VerifyVerdict::Unchanged => (Role::Alarm, "unchanged"),
        VerifyVerdict::Worse => (Role::Alarm, "worse"),
        VerifyVerdict::TooShortToTell => (Role::Caution, "too short to tell"),
    }
}

/// What was compared and how it grew, each with its label.
pub(super) fn verification_facts(result: &Verification) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("before", side(&result.before)),
        ("after", side(&result.after)),
    ];
    let rates = [("whole heap", &result.total), ("what grew", &result.growth)];
    for (label, change) in rates {
        if let Some(change) = change {
            facts.push((label, sizes(change)));
        }
    }
    if let Some(change) = &result.goroutines {
        facts.push(("goroutines", counts(change)));
    }
    if let Some(identity) = &result.identity {
        facts.push((label(identity), sentence(identity)));
    }
    facts
}

/// The table alone, for other forms.
pub(super) fn verification_rows(result: &Verification, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_rows(&mut printer, result);
    printer.finish()
}

fn print_rows(printer: &mut Printer, result: &Verification) {
    if result.findings.is_empty() {
        return;
    }
    printer.gap();
    let columns = Columns {
        headings: vec!["verdict", "before", "after"],
        left: vec![0],
        least_name: 30,
        narrow: Narrow::NameBelow(8),
    };
    let rows: Vec<Row> = result.findings.iter().map(row).collect();
    columns.print(printer, 0, 0, "", &rows);
    printer.gap();
}

fn row(finding: &VerifiedFinding) -> Row {
    let (role, word) = verdict_word(finding.verdict);
    let speed = |of: fn(&RateChange) -> f64| {
        let growth = finding.growth.as_ref();
        growth.map_or_else(|| "goroutines".to_owned(), |change| rate(of(change)))
    };
    Row {
        role,
        figures: vec![
            word.to_owned(),
            speed(|change| change.before_per_hour),
            speed(|change| change.after_per_hour),
        ],
        name: finding.culprit.clone().unwrap_or_default(),
        place: place(finding.file.as_deref(), finding.line),
        note: finding.title.clone(),
    }
}

fn side(side: &VerifySide) -> String {
    let mut facts = vec![side.source.clone(), counted(side.snapshots, "snapshot")];
    facts.extend(
        side.window_seconds
            .map(|seconds| format!("over {}", duration(seconds))),
    );
    facts.extend(side.detection_limit_bytes_per_hour.map(|limit| {
        format!(
            "growth below {} can go unseen",
            rate(limit).trim_start_matches('+')
        )
    }));
    facts.join(", ")
}

/// `+11.4 MiB/h (95 %: 10.2 to 12.6) → +0.1 MiB/h (95 %: …), a change of …`.
fn sizes(change: &RateChange) -> String {
    format!(
        "{} → {}, a change of {}",
        rate_with_interval(change.before_per_hour, Some(change.before_ci95)),
        rate_with_interval(change.after_per_hour, Some(change.after_ci95)),
        rate_with_interval(change.difference_per_hour, Some(change.difference_ci95)),
    )
}

fn counts(change: &RateChange) -> String {
    let one =
        |value: f64, [low, high]: [f64; 2]| format!("{value:+.0}/h (95 %: {low:.0} to {high:.0})");
    format!(
        "{} → {}",
        one(change.before_per_hour, change.before_ci95),
        one(change.after_per_hour, change.after_ci95)
    )
}
