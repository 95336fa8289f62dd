//! The report of a diagnosis for people: the answer first, then its reasons.

use super::Layout;
use super::finding::print_finding;
use super::identity;
use super::memory::{print_memory, print_not_a_leak};
use super::printer::{Printer, Role, Span};
use super::sanitize::sanitize;
use super::sparkline::sparkline;
use super::units::{
    count, counted, duration, from_to_with_errors, hours, hours_from_to, period,
    rate_with_interval, size, size_with_error,
};
use crate::diagnosis::{Diagnosis, Finding, FindingVerdict, Forecast, Input, Verdict};

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

/// The verdict in a word, and how it is shown.
pub(super) fn verdict_word(verdict: Verdict) -> (Role, &'static str) {
    match verdict {
        Verdict::Leak => (Role::Alarm, "LEAK"),
        Verdict::Growing => (Role::Caution, "GROWING"),
        Verdict::Undecided => (Role::Caution, "UNDECIDED"),
        Verdict::Steady => (Role::Good, "STEADY"),
        Verdict::Shrinking => (Role::Good, "SHRINKING"),
    }
}

/// The answer and what it rests on.
pub(super) fn print_header(printer: &mut Printer, diagnosis: &Diagnosis) {
    let (role, word) = verdict_word(diagnosis.verdict);
    let answer = format!("{word}: {}", answer(diagnosis));
    printer.labelled_as(role, 0, LABEL, "verdict", &answer);
    printer.labelled(0, LABEL, "series", &series_facts(diagnosis));
    if let Some(found) = &diagnosis.identity {
        let text = identity::sentence(found);
        printer.labelled(0, LABEL, identity::label(found), &text);
    }
    print_heap(printer, diagnosis);
    let goroutines = &diagnosis.totals.goroutines;
    if let (Some(first), Some(last)) = (goroutines.first(), goroutines.last()) {
        let values: Vec<f64> = goroutines.iter().map(|number| *number as f64).collect();
        let figures = match goroutines.len() {
            1 => vec![count_of(*last)],
            _ => vec![
                format!("{} → {}", count_of(*first), count_of(*last)),
                sparkline(&values),
            ],
        };
        printer.figures(0, LABEL, "goroutines", &figures);
    }
    if let Some(text) = noise(diagnosis) {
        printer.labelled(0, LABEL, "noise", &text);
    }
    if let Some(text) = limit(&diagnosis.forecast) {
        printer.labelled(0, LABEL, "limit", &text);
    }
}

/// What carries the worst findings.
fn what_grows(diagnosis: &Diagnosis) -> &'static str {
    let worst = diagnosis.findings.iter().map(|f| f.verdict).max();
    let of_worst = |name: &str| {
        let mut worst_ones = diagnosis
            .findings
            .iter()
            .filter(|f| Some(f.verdict) == worst);
        worst_ones.any(|finding| finding.rests_on.contains(&name))
    };
    match (of_worst("heap"), of_worst("goroutines")) {
        (true, true) => "memory and goroutines grow",
        (false, true) => "goroutines pile up",
        _ => "memory grows",
    }
}

/// The verdict in a sentence.
fn answer(diagnosis: &Diagnosis) -> String {
    let number = |verdict: FindingVerdict| {
        diagnosis
            .findings
            .iter()
            .filter(|finding| finding.verdict == verdict)
            .count()
    };
    let window = match diagnosis.series.window_seconds {
        Some(seconds) if seconds > 0.0 => format!(" in {}", duration(seconds)),
        _ => String::new(),
    };
    match diagnosis.verdict {
        Verdict::Leak => match number(FindingVerdict::Leak) {
            0 | 1 => format!("{} in every third of the window", what_grows(diagnosis)),
            causes => format!(
                "{} in every third of the window, for {causes} causes",
                what_grows(diagnosis)
            ),
        },
        Verdict::Growing => format!(
            "{} beyond noise; whether it is a leak needs more snapshots or a longer window",
            what_grows(diagnosis)
        ),
        Verdict::Steady if diagnosis.findings.is_empty() => {
            format!(
                "nothing on the heap grew beyond noise{window}{}",
                see_below(diagnosis)
            )
        }
        Verdict::Steady => format!("nothing grows without end{window}; see below for what moved"),
        Verdict::Shrinking => format!("the heap fell beyond noise{window}"),
        Verdict::Undecided if diagnosis.series.snapshots == 1 => {
            match number(FindingVerdict::Suspect) {
                0 => "one snapshot shows what is in use, not what grows".to_owned(),
                1 => "one snapshot shows what is in use, not what grows; it looks like one known pattern".to_owned(),
                many => format!("one snapshot shows what is in use, not what grows; it looks like {many} known patterns"),
            }
        }
        Verdict::Undecided => "memory moved, but these snapshots do not settle how".to_owned(),
    }
}

/// Names that the answer refers to.
const MAX_NAMED: usize = 3;

/// `; see native-memory below`: what holds or moved memory though nothing leaks.
fn see_below(diagnosis: &Diagnosis) -> String {
    let names = diagnosis.not_a_leak.iter().map(|entry| entry.name.as_str());
    let names: Vec<_> = names.take(MAX_NAMED).map(sanitize).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; see {} below", names.join(", ")),
    }
}

/// `6 snapshots over 50 min of one process, 6 GC points, one sample per 512 KiB`.
fn series_facts(diagnosis: &Diagnosis) -> String {
    let series = &diagnosis.series;
    let mut facts = counted(series.snapshots, "snapshot");
    if series.snapshots > 1 {
        if let Some(seconds) = series.window_seconds {
            facts.push_str(&format!(" over {}", duration(seconds)));
        }
        facts.push_str(match series.is_one_process {
            true => " of one process",
            false => " of several processes (--force)",
        });
        if series.gc_points > 0 {
            facts.push_str(&format!(", {}", counted(series.gc_points, "GC point")));
        }
        if let Some(cycles) = series.gc_cycles {
            facts.push_str(&format!(" in {} GC cycles", count_of(cycles)));
        }
    }
    if series.repeats > 0 {
        facts.push_str(&format!(
            ", {} of a cycle already seen",
            count_of(series.repeats as u64)
        ));
    }
    if series.restarts > 0 {
        facts.push_str(&format!(
            ", {} before or after left aside",
            counted(series.restarts, "other run")
        ));
    }
    match series.sampling_period {
        Some(1) => facts.push_str(", every allocation recorded"),
        Some(bytes) => facts.push_str(&format!(", one sample per {}", period(bytes))),
        None => {}
    }
    facts
}

fn print_heap(printer: &mut Printer, diagnosis: &Diagnosis) {
    let totals = &diagnosis.totals;
    let Some(last) = totals.last_bytes else {
        return;
    };
    let Some(first) = totals.first_bytes.filter(|_| totals.series.len() > 1) else {
        let text = format!("{} in use", size_with_error(last as f64, totals.last_sd));
        return printer.labelled(0, LABEL, "heap", &text);
    };
    let sizes = from_to_with_errors(
        (first as f64, totals.first_sd),
        (last as f64, totals.last_sd),
    );
    let values: Vec<f64> = totals.series.iter().map(|bytes| *bytes as f64).collect();
    printer.figures(0, LABEL, "heap", &[sizes, sparkline(&values)]);
    if let Some(rate) = totals.bytes_per_hour {
        printer.labelled(0, LABEL, "", &rate_with_interval(rate, totals.ci95));
    }
}

/// How small a leak could have been missed.
fn noise(diagnosis: &Diagnosis) -> Option<String> {
    let series = &diagnosis.series;
    let limit = series.detection_limit_bytes?;
    let per_hour = series
        .detection_limit_bytes_per_hour
        .map_or_else(String::new, |rate| format!(" ({}/h)", size(rate)));
    let size = size(limit);
    Some(match diagnosis.verdict {
        Verdict::Steady | Verdict::Shrinking => format!(
            "a leak of up to about {size}{per_hour} at one place can have gone unseen in this window"
        ),
        _ => {
            format!("growth below about {size}{per_hour} at one place can go unseen in this window")
        }
    })
}

fn limit(forecast: &Forecast) -> Option<String> {
    let limit = size(forecast.limit_bytes? as f64);
    let limit = match forecast.limit_from {
        Some("cgroup") => format!("{limit} of the control group"),
        _ => limit,
    };
    let held = forecast
        .held_bytes
        .map_or_else(String::new, |held| format!(" ({} now)", size(held as f64)));
    Some(
        match (
            forecast.earliest_hours,
            forecast.latest_hours,
            &forecast.reason,
        ) {
            (_, _, Some(reason)) => format!("{limit}{held}: {reason}"),
            (Some(0.0), Some(latest), None) => {
                format!("{limit} reached within {}{held}", hours(latest))
            }
            (Some(earliest), Some(latest), None) => {
                format!(
                    "{limit} reached in {}{held}",
                    hours_from_to(earliest, latest)
                )
            }
            (Some(earliest), None, None) => {
                format!(
                    "{limit} reached in {} at the earliest{held}",
                    hours(earliest)
                )
            }
            (None, ..) => format!("{limit}: no forecast"),
        },
    )
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
        let mut facts = vec![input.kind.to_owned()];
        facts.extend(input.taken_at.clone());
        facts.extend(input.inuse_bytes.map(|bytes| size(bytes as f64)));
        facts.extend(
            input
                .goroutines
                .map(|number| format!("{} goroutines", count_of(number))),
        );
        facts.extend(
            input
                .build_id
                .as_ref()
                .map(|id| format!("build {}", short_id(id))),
        );
        if !input.used {
            facts.push("not used".to_owned());
        }
        printer.paragraph(
            Role::Plain,
            2,
            &format!("{}: {}", input.source, facts.join(", ")),
        );
        for warning in &input.warnings {
            printer.paragraph(Role::Plain, 4, warning);
        }
    }
}

fn short_id(id: &str) -> String {
    id.chars().take(12).collect()
}

fn count_of(number: u64) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}
