//! The site table of two snapshots, for people.

use super::Layout;
use super::columns::{Columns, Narrow, Row};
use super::identity::{label, sentence};
use super::names::place;
use super::printer::{Printer, Role, Span};
use super::units::{change, counted, duration, from_to, period, signed_count, size};
use crate::diagnosis::{Diff, DiffRow, DiffSide, RowVerdict};

/// Columns of a label.
const LABEL: usize = 12;

/// Lays a diff out for a terminal.
pub fn diff_table(diff: &Diff, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    for (label, text) in diff_facts(diff) {
        printer.labelled(0, LABEL, label, &text);
    }
    printer.gap();
    print_rows(&mut printer, diff);
    if !diff.warnings.is_empty() {
        printer.gap();
    }
    for warning in &diff.warnings {
        printer.labelled(0, LABEL, "warning", warning);
    }
    printer.finish()
}

/// What is compared, and how well, each with its label.
pub(super) fn diff_facts(diff: &Diff) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("before", side(&diff.before)),
        ("after", side(&diff.after)),
        ("change", total(diff)),
    ];
    if let Some(limit) = diff.total.detection_limit_bytes {
        let text = format!(
            "growth of less than {} at one place cannot be told from noise (~)",
            size(limit)
        );
        facts.push(("noise", text));
    }
    if let Some(identity) = &diff.identity {
        facts.push((label(identity), sentence(identity)));
    }
    facts
}

/// The table alone.
pub(super) fn diff_rows(diff: &Diff, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_rows(&mut printer, diff);
    printer.finish()
}

fn print_rows(printer: &mut Printer, diff: &Diff) {
    let columns = Columns {
        headings: vec!["verdict", "change", "before → after", "objects"],
        left: vec![0],
        least_name: 50,
        // Below the change, beside the verdict.
        narrow: Narrow::NameBelow(8),
    };
    let rows: Vec<Row> = diff.rows.iter().map(row).collect();
    columns.print(printer, 0, 0, "", &rows);
    if rows.is_empty() && diff.unshown.rows == 0 {
        printer.line(
            0,
            &[Span::plain("no allocation site holds anything in either")],
        );
    }
    if diff.unshown.rows > 0 {
        let text = format!(
            "… {}, {}",
            counted(diff.unshown.rows, "more site"),
            change(diff.unshown.bytes, None)
        );
        printer.line(0, &[Span::new(Role::Faint, text)]);
    }
}

fn side(side: &DiffSide) -> String {
    let mut facts = vec![side.source.clone()];
    facts.extend(side.taken_at.clone());
    facts.push(format!("{} in use", size(side.inuse_bytes as f64)));
    match side.sampling_period {
        Some(1) => facts.push("every allocation recorded".to_owned()),
        Some(bytes) => facts.push(format!("one sample per {}", period(bytes))),
        None => {}
    }
    facts.join(", ")
}

/// `+9.1 ±1.3 MiB over 50 min`.
fn total(diff: &Diff) -> String {
    let total = &diff.total;
    let change = change(total.delta_bytes as f64, total.sd_bytes);
    match total.seconds {
        Some(seconds) => format!("{change} over {}", duration(seconds)),
        None => change,
    }
}

fn row(row: &DiffRow) -> Row {
    let (role, verdict) = match row.verdict {
        RowVerdict::Grew => (Role::Caution, "grew"),
        RowVerdict::Shrank => (Role::Good, "shrank"),
        RowVerdict::WithinNoise => (Role::Plain, "~"),
        RowVerdict::Moved => (Role::Plain, "moved"),
        RowVerdict::Unknown => (Role::Plain, "?"),
    };
    Row {
        role,
        figures: vec![
            verdict.to_owned(),
            change(row.delta_bytes as f64, row.sd_bytes),
            from_to(row.before_bytes as f64, row.after_bytes as f64),
            signed_count(row.delta_objects),
        ],
        name: row.function.clone(),
        place: place(row.file.as_deref(), row.line),
        note: row
            .moved_from
            .as_ref()
            .map_or_else(String::new, |from| format!("moved from {from}")),
    }
}
