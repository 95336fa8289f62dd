//! The report of a diagnosis for people: the answer first, then its reasons.

use super::Layout;
use super::facts::{
    answer, goroutine_facts, heap_facts, input_facts, limit, noise, series_facts, verdict_word,
};
use super::finding::print_finding;
use super::identity;
use super::memory::{print_memory, print_not_a_leak};
use super::printer::{Printer, Role, Span};
use super::units::{counted, size};
use crate::diagnosis::{Diagnosis, Finding, Input, Totals, Verdict};

/// Columns of a label.
const LABEL: usize = 12;
/// Findings that a report shows; the rest is counted (`-v` shows all, and so does the JSON).
const MAX_FINDINGS: usize = 10;

/// Lays a diagnosis out for a terminal.
pub fn diagnosis_table(diagnosis: &Diagnosis, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_header(&mut printer, diagnosis);
    let shown = match printer.is_verbose() {
        true => diagnosis.findings.len(),
        false => diagnosis.findings.len().min(MAX_FINDINGS),
    };
    let (first, rest) = diagnosis.findings.split_at(shown);
    for finding in first {
        printer.gap();
        print_finding(&mut printer, finding);
    }
    print_unshown(&mut printer, rest);
    print_not_a_leak(&mut printer, diagnosis);
    if let Some(memory) = &diagnosis.memory {
        print_memory(&mut printer, memory);
    }
    print_list(&mut printer, Role::Caution, "warning", &diagnosis.warnings);
    print_list(&mut printer, Role::Strong, "next", &diagnosis.next_steps);
    if printer.is_verbose() {
        print_inputs(&mut printer, &diagnosis.inputs);
    }
    printer.finish()
}

fn print_unshown(printer: &mut Printer, rest: &[Finding]) {
    if rest.is_empty() {
        return;
    }
    let grown = rest.iter().filter_map(|finding| finding.growth.as_ref());
    let bytes: f64 = grown.map(|growth| growth.bytes).sum();
    let text = format!(
        "… {}, {}; -v shows them",
        counted(rest.len(), "more finding"),
        size(bytes)
    );
    printer.gap();
    printer.labelled(0, LABEL, "", &text);
}

/// How a verdict is shown.
pub(super) fn verdict_role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Leak => Role::Alarm,
        Verdict::Growing | Verdict::Undecided => Role::Caution,
        Verdict::Steady | Verdict::Shrinking => Role::Good,
    }
}

/// The answer and what it rests on.
pub(super) fn print_header(printer: &mut Printer, diagnosis: &Diagnosis) {
    let role = verdict_role(diagnosis.verdict);
    let answer = format!("{}: {}", verdict_word(diagnosis.verdict), answer(diagnosis));
    printer.labelled_as(role, 0, LABEL, "verdict", &answer);
    printer.labelled(0, LABEL, "series", &series_facts(diagnosis));
    if let Some(found) = &diagnosis.identity {
        let text = identity::sentence(found);
        printer.labelled(0, LABEL, identity::label(found), &text);
    }
    print_heap(printer, &diagnosis.totals);
    if let Some(figures) = goroutine_facts(&diagnosis.totals) {
        printer.figures(0, LABEL, "goroutines", &figures);
    }
    if let Some(text) = noise(diagnosis) {
        printer.labelled(0, LABEL, "noise", &text);
    }
    if let Some(text) = limit(&diagnosis.forecast) {
        printer.labelled(0, LABEL, "limit", &text);
    }
}

fn print_heap(printer: &mut Printer, totals: &Totals) {
    let Some(facts) = heap_facts(totals) else {
        return;
    };
    let (sizes, rate) = facts.split_at(facts.len().min(2));
    printer.figures(0, LABEL, "heap", sizes);
    for rate in rate {
        printer.labelled(0, LABEL, "", rate);
    }
}

/// Sentences under one label, each on a line of its own.
fn print_list(printer: &mut Printer, role: Role, label: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    printer.gap();
    for sentence in sentences {
        let text = super::sanitize(sentence);
        let lines = super::wrap::wrap(&text, printer.width().saturating_sub(LABEL));
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            let spans = [
                Span::new(role, format!("{label:<LABEL$}")),
                Span::plain(line),
            ];
            printer.line(0, &spans);
        }
    }
}

fn print_inputs(printer: &mut Printer, inputs: &[Input]) {
    if inputs.is_empty() {
        return;
    }
    printer.gap();
    printer.line(0, &[Span::new(Role::Faint, "inputs")]);
    for input in inputs {
        printer.paragraph(
            Role::Plain,
            2,
            &format!("{}: {}", input.source, input_facts(input)),
        );
        for warning in &input.warnings {
            printer.paragraph(Role::Plain, 4, warning);
        }
    }
}
