//! Several processes side by side: one line each, then what grows in them.
//!
//! Knows the layout only; what is shared was decided before.

use super::Layout;
use super::facts::verdict_word;
use super::finding::print_finding;
use super::names::{brief, shorten};
use super::printer::{Printer, Role, Span};
use super::rows::cut_diagnosis;
use super::sanitize::sanitize;
use super::table::verdict_role;
use super::units::{counted, from_to, rate_with_interval};
use crate::diagnosis::{
    Diagnosis, FindingVerdict, Fleet, FleetMember, PooledGrowth, SharedFinding,
};

/// Columns of a label.
const LABEL: usize = 12;
/// Columns of a verdict.
const VERDICT: usize = 11;
/// Names that a list of processes shows.
const MAX_NAMES: usize = 8;
/// Findings that are shown whole.
pub(super) const MAX_FINDINGS: usize = 5;
/// Narrowest column of names.
const LEAST_NAME: usize = 16;

/// Cuts the lists of every member to `rows`; what is cut is counted.
pub fn cut_fleet(fleet: &mut Fleet, rows: usize) {
    for member in &mut fleet.members {
        if let Some(diagnosis) = &mut member.diagnosis {
            cut_diagnosis(diagnosis, rows);
        }
    }
}

/// Lays a fleet out for a terminal.
pub fn fleet_table(fleet: &Fleet, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_top(&mut printer, fleet);
    for shared in fleet.findings.iter().take(MAX_FINDINGS) {
        printer.gap();
        print_shared(&mut printer, fleet, shared);
    }
    let more = fleet.findings.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        printer.gap();
        let text = format!("… {}; the JSON has all", counted(more, "more finding"));
        printer.labelled(0, LABEL, "", &text);
    }
    printer.finish()
}

/// The top of the report as lines, for a screen.
pub fn fleet_screen(fleet: &Fleet, layout: &Layout) -> Vec<String> {
    let mut printer = Printer::new(layout);
    print_top(&mut printer, fleet);
    for shared in &fleet.findings {
        printer.gap();
        print_cause(&mut printer, fleet, shared);
    }
    printer.finish().lines().map(str::to_owned).collect()
}

fn print_top(printer: &mut Printer, fleet: &Fleet) {
    let (role, word) = (verdict_role(fleet.verdict), verdict_word(fleet.verdict));
    let answer = format!("{word}: {}", answer(fleet));
    printer.labelled_as(role, 0, LABEL, "verdict", &answer);
    if let Some(pooled) = &fleet.pooled {
        printer.labelled(0, LABEL, "together", &pooled_words(pooled, "heap"));
    }
    printer.gap();
    for member in &fleet.members {
        print_member(printer, member);
    }
}

/// `2 of 3 processes leak`, and how many could not be judged.
pub(super) fn answer(fleet: &Fleet) -> String {
    let judged: Vec<&Diagnosis> = fleet
        .members
        .iter()
        .filter_map(|member| member.diagnosis.as_ref())
        .collect();
    let all = match judged.len() {
        1 => "1 process".to_owned(),
        several => format!("{several} processes"),
    };
    let leaking = judged
        .iter()
        .filter(|diagnosis| has_leak(diagnosis))
        .count();
    let answer = match leaking {
        0 => format!("none of {all} leaks"),
        1 => format!("1 of {all} leaks"),
        some if some == judged.len() => format!("all of {all} leak"),
        some => format!("{some} of {all} leak"),
    };
    match fleet.members.len() - judged.len() {
        0 => answer,
        more => format!("{answer}; {more} could not be judged"),
    }
}

fn has_leak(diagnosis: &Diagnosis) -> bool {
    diagnosis
        .findings
        .iter()
        .any(|finding| finding.verdict == FindingVerdict::Leak)
}

/// `heap +3.1 MiB/h (95 %: 2.2 to 4.0) on the mean of 3, p = 0.002`
fn pooled_words(pooled: &PooledGrowth, what: &str) -> String {
    let rate = rate_with_interval(pooled.bytes_per_hour, Some(pooled.ci95));
    let front = if what.is_empty() {
        String::new()
    } else {
        format!("{what} ")
    };
    format!(
        "{front}{rate} on the mean of {}, {}",
        pooled.processes,
        p_words(pooled.p_value)
    )
}

fn p_words(p_value: f64) -> String {
    match p_value < 1e-4 {
        true => "p < 0.0001".to_owned(),
        false => format!("p = {p_value:.2}"),
    }
}

/// `LEAK       prod/api-0     12.1 → 18.3 MiB   +11.4 MiB/h (…)   logger-promise-chain`
fn print_member(printer: &mut Printer, member: &FleetMember) {
    let name = sanitize(&member.name).into_owned();
    let Some(diagnosis) = &member.diagnosis else {
        let room = printer.width().saturating_sub(VERDICT);
        let label = Span::new(Role::Faint, format!("{:<VERDICT$}", "-"));
        printer.line(0, &[label, Span::plain(shorten(&name, room))]);
        if let Some(problem) = &member.problem {
            printer.labelled_as(Role::Caution, VERDICT, 0, "", problem);
        }
        return;
    };
    let (role, word) = (
        verdict_role(diagnosis.verdict),
        verdict_word(diagnosis.verdict),
    );
    let totals = &diagnosis.totals;
    let mut facts = Vec::new();
    if let (Some(first), Some(last)) = (totals.first_bytes, totals.last_bytes) {
        facts.push(from_to(first as f64, last as f64));
    }
    if let Some(rate) = totals.bytes_per_hour {
        facts.push(rate_with_interval(rate, totals.ci95));
    }
    let facts = facts.join("  ");
    let room = printer
        .width()
        .saturating_sub(VERDICT + facts.chars().count() + 2);
    let left = vec![
        Span::new(role, format!("{word:<VERDICT$}")),
        Span::new(Role::Strong, shorten(&name, room.max(LEAST_NAME))),
    ];
    printer.line_with_right(0, left, Span::plain(facts));
    if let Some(worst) = diagnosis.findings.first() {
        let cause = worst.pattern.as_deref().unwrap_or(&worst.title);
        let culprit = worst
            .culprit
            .as_ref()
            .map(|culprit| brief(&culprit.function));
        let text = match culprit {
            Some(culprit) => format!("{cause}, {culprit}"),
            None => cause.to_owned(),
        };
        printer.labelled_as(Role::Faint, VERDICT, 0, "", &text);
    }
}

/// What it is and where, in few lines.
fn print_cause(printer: &mut Printer, fleet: &Fleet, shared: &SharedFinding) {
    let name = shared.pattern.as_deref().unwrap_or(&shared.title);
    let role = match shared.verdict {
        FindingVerdict::Leak => Role::Alarm,
        FindingVerdict::Growing | FindingVerdict::Suspect => Role::Caution,
        _ => Role::Note,
    };
    printer.labelled_as(role, 0, LABEL, "cause", name);
    for (label, text) in cause_facts(fleet, shared) {
        printer.labelled(0, LABEL, label, &text);
    }
}

/// What is known of a cause over all processes, each with its label.
pub(super) fn cause_facts(fleet: &Fleet, shared: &SharedFinding) -> Vec<(&'static str, String)> {
    let all = fleet.members.len();
    let place = |names: &[String]| {
        let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
        match names.len().saturating_sub(MAX_NAMES) {
            0 => shown.join(", "),
            more => format!("{}, … {more} more", shown.join(", ")),
        }
    };
    let mut places = Vec::new();
    if !shared.leaks_in.is_empty() {
        let number = shared.leaks_in.len();
        places.push(format!(
            "a leak in {number} of {all}: {}",
            place(&shared.leaks_in)
        ));
    }
    if !shared.found_in.is_empty() {
        let kind = match shared.verdict {
            FindingVerdict::Suspect => "suspected",
            _ => "seen, not as a leak,",
        };
        let number = shared.found_in.len();
        places.push(format!(
            "{kind} in {number} of {all}: {}",
            place(&shared.found_in)
        ));
    }
    if !shared.not_in.is_empty() {
        places.push(format!("not in {}", place(&shared.not_in)));
    }
    let mut facts = Vec::new();
    facts.extend(shared.culprit.clone().map(|culprit| ("culprit", culprit)));
    facts.push(("where", places.join("; ")));
    facts.extend(
        shared
            .pooled
            .as_ref()
            .map(|pooled| ("rate", pooled_words(pooled, ""))),
    );
    facts.extend(shared.sustained_p_value.map(|p_value| {
        let text = format!(
            "it grew in every third of the window: {} in the weakest, over all processes that show it (Fisher)",
            p_words(p_value)
        );
        ("together", text)
    }));
    facts
}

/// The processes, a line or two each.
pub(super) fn members_text(fleet: &Fleet, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    if let Some(pooled) = &fleet.pooled {
        printer.labelled(0, LABEL, "together", &pooled_words(pooled, "heap"));
    }
    for member in &fleet.members {
        print_member(&mut printer, member);
    }
    printer.finish()
}

/// The finding where a cause shows worst.
pub(super) fn shared_text(fleet: &Fleet, shared: &SharedFinding, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    print_worst(&mut printer, fleet, shared);
    printer.finish()
}

fn print_shared(printer: &mut Printer, fleet: &Fleet, shared: &SharedFinding) {
    print_cause(printer, fleet, shared);
    print_worst(printer, fleet, shared);
}

fn print_worst(printer: &mut Printer, fleet: &Fleet, shared: &SharedFinding) {
    let Some(member) = fleet.members.get(shared.worst_member) else {
        return;
    };
    let finding = member
        .diagnosis
        .as_ref()
        .and_then(|diagnosis| diagnosis.findings.get(shared.worst_finding));
    if let Some(finding) = finding {
        printer.labelled_as(Role::Faint, 0, LABEL, "worst in", &member.name);
        printer.gap();
        print_finding(printer, finding);
    }
}
