//! What the gate says, for people.

use super::Layout;
use super::columns::{Columns, Narrow, Row};
use super::identity::{label, sentence};
use super::names::place;
use super::printer::{Printer, Role, Span};
use super::units::{change, counted, from_to, period, size};
use crate::diagnosis::{
    Check, CheckAgainst, CheckLevel, CheckRow, CheckRowVerdict, CheckSide, CheckVerdict, Unshown,
};

/// Columns of a label.
const LABEL: usize = 12;

/// Keeps so many rows, and counts the others.
pub fn cut_check(result: &mut Check, rows: usize) {
    let rest = result.rows.split_off(rows.min(result.rows.len()));
    result.unshown = Unshown {
        rows: result.unshown.rows + rest.len(),
        bytes: result.unshown.bytes + rest.iter().map(|row| row.delta_bytes).sum::<f64>(),
    };
}

/// Lays the answer out for a terminal.
pub fn check_table(result: &Check, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    let role = match result.verdict {
        CheckVerdict::Passed => Role::Good,
        CheckVerdict::Failed => Role::Alarm,
        CheckVerdict::Undecided => Role::Caution,
    };
    printer.line(0, &[Span::new(role, check_title(result))]);
    printer.gap();
    for (label, text) in check_facts(result) {
        printer.labelled(0, LABEL, label, &text);
    }
    printer.gap();
    print_rows(&mut printer, result);
    if !result.warnings.is_empty() {
        printer.gap();
    }
    for warning in &result.warnings {
        printer.labelled(0, LABEL, "warning", warning);
    }
    printer.finish()
}

/// The answer in a line.
pub(super) fn check_title(result: &Check) -> String {
    match result.verdict {
        CheckVerdict::Passed => "PASSED  nothing exceeds its budget beyond noise".to_owned(),
        CheckVerdict::Failed => format!(
            "FAILED  {} over budget, beyond noise",
            counted(result.failures, "row")
        ),
        CheckVerdict::Undecided => {
            "UNDECIDED  the profiles have no sampled counts, so noise is not known".to_owned()
        }
    }
}

/// What was compared, each with its label.
pub(super) fn check_facts(result: &Check) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    facts.extend(result.base.as_ref().map(|base| ("base", side(base))));
    facts.extend(
        result
            .baseline
            .as_ref()
            .map(|base| ("baseline", side(base))),
    );
    facts.push(("head", side(&result.head)));
    if let Some(limit) = result.detection_limit_bytes {
        let text = format!(
            "growth of less than {} at one site can go unseen (~)",
            size(limit)
        );
        facts.push(("noise", text));
    }
    if let Some(identity) = &result.identity {
        facts.push((label(identity), sentence(identity)));
    }
    facts
}

fn side(side: &CheckSide) -> String {
    let mut facts = vec![side.source.clone(), counted(side.runs, "run")];
    facts.extend(side.taken_at.clone());
    facts.push(format!("{} in use", size(side.inuse_bytes)));
    facts.extend(side.sampling_period.map(|bytes| match bytes {
        1 => "every allocation recorded".to_owned(),
        bytes => format!("one sample per {}", period(bytes)),
    }));
    facts.join(", ")
}

/// The table alone, for other forms.
pub(super) fn check_rows(result: &Check, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_rows(&mut printer, result);
    printer.finish()
}

fn print_rows(printer: &mut Printer, result: &Check) {
    let columns = Columns {
        headings: vec!["verdict", "of", "change (95 %)", "base → head", "budget"],
        left: vec![0, 1],
        least_name: 40,
        narrow: Narrow::NameBelow(8),
    };
    let rows: Vec<Row> = result.rows.iter().map(row).collect();
    columns.print(printer, 0, 0, "", &rows);
    if result.unshown.rows > 0 {
        let rest = counted(result.unshown.rows, "more row");
        let text = format!("… {rest}, {}", change(result.unshown.bytes, None));
        printer.line(0, &[Span::new(Role::Faint, text)]);
    }
}

/// The word for a row's verdict, and how it is shown.
pub(super) fn row_word(verdict: CheckRowVerdict) -> (Role, &'static str) {
    match verdict {
        CheckRowVerdict::OverBudget => (Role::Alarm, "over budget"),
        CheckRowVerdict::Allowed => (Role::Note, "allowed"),
        CheckRowVerdict::Moved => (Role::Plain, "moved"),
        CheckRowVerdict::Grew => (Role::Caution, "grew"),
        CheckRowVerdict::Shrank => (Role::Good, "shrank"),
        CheckRowVerdict::WithinNoise => (Role::Plain, "~"),
        CheckRowVerdict::Unknown => (Role::Plain, "?"),
    }
}

/// The word for what a row is of.
pub(super) fn level_word(level: CheckLevel) -> &'static str {
    match level {
        CheckLevel::Heap => "heap",
        CheckLevel::Package => "package",
        CheckLevel::Site => "site",
    }
}

/// `+9.1 MiB (7.0 to 11.2 MiB)`.
pub(super) fn change_words(row: &CheckRow) -> String {
    let reach = row
        .ci95
        .filter(|ci| ci.iter().all(|limit| limit.is_finite()));
    let words = change(row.delta_bytes, None);
    match reach {
        Some([low, high]) => format!("{words} ({} to {})", size(low), size(high)),
        None => words,
    }
}

fn row(row: &CheckRow) -> Row {
    let (role, word) = row_word(row.verdict);
    let mut notes = Vec::new();
    notes.extend(row.ordered_by.as_ref().map(|name| format!("for {name}")));
    if row.against == CheckAgainst::Baseline {
        notes.push("against the baseline".to_owned());
    }
    notes.extend(row.allowed.clone());
    Row {
        role,
        figures: vec![
            word.to_owned(),
            level_word(row.level).to_owned(),
            change_words(row),
            from_to(row.base_bytes, row.head_bytes),
            size(row.budget_bytes),
        ],
        name: match row.level {
            CheckLevel::Heap => String::new(),
            _ => row.name.clone(),
        },
        place: place(row.file.as_deref(), row.line),
        note: notes.join(", "),
    }
}
