//! The functions of one snapshot, as pprof's `top` shows them, with standard errors.

use super::Layout;
use super::columns::{Columns, Narrow, Row};
use super::printer::{Printer, Role, Span};
use super::units::{count, counted, percent, period, size, size_with_error};
use crate::diagnosis::{Top, TopRow};

/// Columns of a label.
const LABEL: usize = 12;

/// Lays a top list out for a terminal.
pub fn top_table(top: &Top, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    for (label, text) in top_facts(top) {
        printer.labelled(0, LABEL, label, &text);
    }
    printer.gap();
    print_rows(&mut printer, top);
    if !top.warnings.is_empty() {
        printer.gap();
    }
    for warning in &top.warnings {
        printer.labelled(0, LABEL, "warning", warning);
    }
    printer.finish()
}

/// What is shown, each with its label.
pub(super) fn top_facts(top: &Top) -> Vec<(&'static str, String)> {
    let mut facts = vec![top.source.clone()];
    facts.extend(top.taken_at.clone());
    match top.sampling_period {
        Some(1) => facts.push("every allocation recorded".to_owned()),
        Some(bytes) => facts.push(format!("one sample per {}", period(bytes))),
        None => {}
    }
    let total = format!(
        "{} in use",
        size_with_error(top.total_bytes as f64, top.total_se)
    );
    vec![("profile", facts.join(", ")), ("heap", total)]
}

/// The table alone.
pub(super) fn top_rows(top: &Top, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_rows(&mut printer, top);
    printer.finish()
}

fn print_rows(printer: &mut Printer, top: &Top) {
    let columns = Columns {
        headings: vec!["flat", "flat %", "cum", "cum %", "objects"],
        left: Vec::new(),
        least_name: 16,
        narrow: Narrow::NameBelow(2),
    };
    let rows: Vec<Row> = top.rows.iter().map(top_row).collect();
    columns.print(printer, 0, 0, "", &rows);
    if rows.is_empty() && top.unshown.rows == 0 {
        printer.line(0, &[Span::plain("nothing is in use")]);
    }
    if top.unshown.rows > 0 {
        let text = format!(
            "… {}, {} flat",
            counted(top.unshown.rows, "more function"),
            size(top.unshown.bytes)
        );
        printer.line(0, &[Span::new(Role::Faint, text)]);
    }
}

fn top_row(row: &TopRow) -> Row {
    Row {
        role: Role::Plain,
        figures: vec![
            size_with_error(row.flat_bytes as f64, row.flat_se),
            percent(row.flat_share),
            size_with_error(row.cum_bytes as f64, row.cum_se),
            percent(row.cum_share),
            count(row.flat_objects),
        ],
        name: row.function.clone(),
        place: String::new(),
        note: String::new(),
    }
}
