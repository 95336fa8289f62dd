//! One finding: what grows, who is to blame, why, and what to do.

use super::Layout;
use super::columns::{Columns, Narrow, Row};
use super::names::{brief, full_place, place, shorten};
use super::printer::{Printer, Role, Span};
use super::sanitize::sanitize;
use super::sparkline::sparkline;
use super::units::{
    change, count_of, counted, duration, from_to, percent, rate_with_interval, signed_count, size,
    size_with_error,
};
use super::wrap::width_of;
use crate::diagnosis::{
    Culprit, Finding, FindingGoroutines, FindingGrowth, FindingSite, FindingVerdict,
};
use std::ops::Range;

const INDENT: usize = 6;
/// Columns of a label.
const LABEL: usize = 12;

pub(super) fn print_finding(printer: &mut Printer, finding: &Finding) {
    print_title(printer, finding);
    printer.paragraph(Role::Plain, INDENT, &finding.title);
    printer.gap();
    if let Some(culprit) = &finding.culprit {
        print_culprit(printer, culprit);
    }
    print_callers(printer, finding);
    print_path(printer, &finding.path);
    if let Some(growth) = &finding.growth {
        printer.labelled(INDENT, LABEL, "growth", &growth_facts(growth, finding));
    }
    print_sites(printer, finding);
    print_goroutines(printer, &finding.goroutines);
    for (number, sentence) in finding.evidence.iter().enumerate() {
        printer.labelled(
            INDENT,
            LABEL,
            if number == 0 { "evidence" } else { "" },
            sentence,
        );
    }
    for (number, sentence) in finding.would_change.iter().enumerate() {
        let label = if number == 0 { "but" } else { "" };
        printer.labelled(INDENT, LABEL, label, sentence);
    }
    printer.labelled(INDENT, LABEL, "why", &finding.why);
    printer.labelled(INDENT, LABEL, "fix", &finding.fix);
    if let Some(other) = &finding.also_matches {
        printer.labelled(
            INDENT,
            LABEL,
            "or else",
            &format!("{other} fits as well, but less closely"),
        );
    }
    if let Some(pattern) = &finding.pattern {
        printer.labelled(
            INDENT,
            LABEL,
            "more",
            &format!("heapdrift explain {pattern}"),
        );
    }
    if printer.is_verbose() {
        for (number, reference) in finding.references.iter().enumerate() {
            printer.labelled(
                INDENT,
                LABEL,
                if number == 0 { "see" } else { "" },
                reference,
            );
        }
    }
}

/// `LEAK  logger-promise-chain        +11.4 MiB/h (95 %: 10.2 to 12.6)`
pub(super) fn print_title(printer: &mut Printer, finding: &Finding) {
    let role = match finding.verdict {
        FindingVerdict::Leak => Role::Alarm,
        FindingVerdict::Growing | FindingVerdict::Suspect => Role::Caution,
        FindingVerdict::Plateauing | FindingVerdict::Step | FindingVerdict::Sawtooth => Role::Note,
    };
    let (word, name) = (finding_word(finding.verdict), finding_name(finding));
    let left = vec![
        Span::new(role, format!("{word:<width$}", width = INDENT - 2)),
        Span::plain("  "),
        Span::new(
            Role::Strong,
            shorten(&sanitize(name), printer.width().saturating_sub(12)),
        ),
    ];
    printer.line_with_right(0, left, Span::new(role, headline_figure(finding)));
}

/// A finding's kind as it stands before its name.
pub(super) fn finding_word(verdict: FindingVerdict) -> &'static str {
    match verdict {
        FindingVerdict::Leak => "LEAK",
        FindingVerdict::Growing => "GROWING",
        FindingVerdict::Suspect => "SUSPECT",
        FindingVerdict::Plateauing => "PLATEAUING",
        FindingVerdict::Step => "STEP",
        FindingVerdict::Sawtooth => "SAWTOOTH",
    }
}

/// Its pattern, or what stands for it.
pub(super) fn finding_name(finding: &Finding) -> &str {
    let known = finding.pattern.as_deref();
    known.unwrap_or("growth without a known pattern")
}

/// The figure that says how bad it is: a rate, else a change, a share, or a number of goroutines.
pub(super) fn headline_figure(finding: &Finding) -> String {
    match (&finding.growth, finding.share) {
        (Some(growth), _) => match growth.bytes_per_hour {
            Some(rate) => rate_with_interval(rate, growth.ci95),
            None => change(growth.bytes, growth.sd_bytes),
        },
        (None, Some(share)) => format!("{} of the heap", percent(share)),
        // Of one snapshot there is no growth, only a number.
        (None, None) if finding.verdict == FindingVerdict::Suspect => {
            let all = finding
                .goroutines
                .iter()
                .map(|group| group.after)
                .sum::<u64>();
            counted(usize::try_from(all).unwrap_or(usize::MAX), "goroutine")
        }
        (None, None) => goroutine_growth(&finding.goroutines),
    }
}

/// `+3,060 goroutines`, of a finding that is about goroutines only.
fn goroutine_growth(groups: &[FindingGoroutines]) -> String {
    let sum = |of: fn(&FindingGoroutines) -> u64| {
        groups
            .iter()
            .fold(0i64, |sum, group| sum.saturating_add_unsigned(of(group)))
    };
    match groups.is_empty() {
        true => String::new(),
        false => {
            let change = sum(|group| group.after).saturating_sub(sum(|group| group.before));
            format!("{} goroutines", signed_count(change))
        }
    }
}

/// The function to blame and where it stands.
pub(super) fn print_culprit_line(printer: &mut Printer, culprit: &Culprit) {
    let place = place(culprit.file.as_deref(), culprit.line);
    let gap = if place.is_empty() { 0 } else { 2 };
    let room = printer.width().saturating_sub(INDENT + LABEL);
    let for_name = room.saturating_sub(gap + width_of(&place));
    let function = sanitize(&culprit.function).into_owned();
    let label = Span::new(Role::Faint, format!("{:<LABEL$}", "culprit"));
    let name = Span::new(Role::Strong, shorten(&function, for_name));
    printer.line_with_right(
        INDENT,
        vec![label, name],
        Span::plain(shorten(&place, room)),
    );
}

fn print_culprit(printer: &mut Printer, culprit: &Culprit) {
    print_culprit_line(printer, culprit);
    if printer.is_verbose() {
        let whole = full_place(culprit.file.as_deref(), culprit.line);
        if !whole.is_empty() {
            printer.labelled_as(Role::Faint, INDENT, LABEL, "", &whole);
        }
    }
    printer.labelled_as(Role::Faint, INDENT, LABEL, "", &basis(culprit));
}

/// Why this one is blamed.
pub(super) fn basis(culprit: &Culprit) -> String {
    let seen = match culprit.seen_in {
        "goroutine" => "seen on goroutines",
        _ => "seen on heap stacks",
    };
    match culprit.basis.is_empty() {
        true => seen.to_owned(),
        false => format!("{} ({seen})", culprit.basis),
    }
}

fn print_callers(printer: &mut Printer, finding: &Finding) {
    if finding.callers.is_empty() {
        return;
    }
    let names: Vec<&str> = finding.callers.iter().map(|name| brief(name)).collect();
    let in_goroutine = finding
        .culprit
        .as_ref()
        .is_some_and(|c| c.seen_in == "goroutine");
    match in_goroutine {
        true => printer.labelled(INDENT, LABEL, "started by", &names.join(", ")),
        false => printer.labelled(INDENT, LABEL, "called by", &names.join(" ← ")),
    }
}

fn print_path(printer: &mut Printer, path: &[String]) {
    if path.len() > 1 {
        let names: Vec<&str> = path.iter().map(|name| brief(name)).collect();
        printer.labelled(INDENT, LABEL, "path", &names.join(" → "));
    }
}

/// `+9.1 ±1.3 MiB, +12,345 objects, 84.3 % of the heap in the end, confidence 84 %`
pub(super) fn growth_facts(growth: &FindingGrowth, finding: &Finding) -> String {
    let mut facts = vec![change(growth.bytes, growth.sd_bytes)];
    if growth.objects != 0.0 {
        facts.push(format!(
            "{} objects",
            signed_count(growth.objects.round() as i64)
        ));
    }
    if let Some(share) = finding.share {
        facts.push(format!("{} of the heap in the end", percent(share)));
    }
    facts.push(format!("confidence {:.0} %", finding.confidence * 100.0));
    facts.join(", ")
}

fn print_sites(printer: &mut Printer, finding: &Finding) {
    site_columns(finding).print(printer, INDENT, LABEL, "sites", &site_rows(finding));
    if let Some(text) = more_sites(finding) {
        let label = if finding.sites.is_empty() {
            "sites"
        } else {
            ""
        };
        printer.labelled(INDENT, LABEL, label, &text);
    }
}

/// Some of a finding's sites without a label; after the last of them, how many are left out.
pub(super) fn sites_text(finding: &Finding, range: Range<usize>, layout: &Layout) -> String {
    let mut printer = Printer::new(layout);
    let rows = site_rows(finding);
    let is_last = range.end == rows.len();
    site_columns(finding).print(&mut printer, 0, 0, "", &rows[range]);
    if let Some(text) = more_sites(finding).filter(|_| is_last) {
        printer.labelled(0, 0, "", &text);
    }
    printer.finish()
}

fn is_single(finding: &Finding) -> bool {
    finding.sites.iter().all(|site| site.before.is_none())
}

fn site_columns(finding: &Finding) -> Columns {
    Columns {
        headings: Vec::new(),
        left: vec![if is_single(finding) { 1 } else { 2 }],
        least_name: 40,
        narrow: Narrow::NameAbove,
    }
}

fn site_rows(finding: &Finding) -> Vec<Row> {
    let sites = finding.sites.iter();
    sites
        .map(|site| site_row(site, is_single(finding)))
        .collect()
}

/// `… 134 more sites, 12.3 MiB`.
fn more_sites(finding: &Finding) -> Option<String> {
    let unshown = &finding.sites_unshown;
    (unshown.rows > 0).then(|| {
        format!(
            "… {}, {}",
            counted(unshown.rows, "more site"),
            size(unshown.bytes)
        )
    })
}

fn site_row(site: &FindingSite, is_single: bool) -> Row {
    let object = site
        .object_size
        .map_or_else(String::new, |bytes| format!("{} each", size(bytes as f64)));
    let figures = match (is_single, site.before, site.delta) {
        (false, Some(before), Some(delta)) => vec![
            from_to(before, site.after),
            change(delta, site.sd),
            sparkline(&site.series),
            object,
        ],
        (false, ..) => vec![
            size(site.after),
            String::new(),
            sparkline(&site.series),
            object,
        ],
        (true, ..) => vec![size_with_error(site.after, site.sd), object],
    };
    Row {
        role: Role::Plain,
        figures,
        name: site.function.clone(),
        place: place(site.file.as_deref(), site.line),
        note: String::new(),
    }
}

/// Groups of goroutines that are shown: those whose number changed most.
const MOST_GROUPS: usize = 4;

fn print_goroutines(printer: &mut Printer, groups: &[FindingGoroutines]) {
    let mut order: Vec<&FindingGoroutines> = groups.iter().collect();
    order.sort_by_key(|group| std::cmp::Reverse(group.after.abs_diff(group.before)));
    let most = if printer.is_verbose() {
        groups.len()
    } else {
        MOST_GROUPS
    };
    let (shown, unshown) = order.split_at(most.min(order.len()));
    for (number, group) in shown.iter().enumerate() {
        let label = if number == 0 { "goroutines" } else { "" };
        print_group(printer, label, group);
    }
    if !unshown.is_empty() {
        let (before, after) = unshown.iter().fold((0u64, 0u64), |(before, after), group| {
            (
                before.saturating_add(group.before),
                after.saturating_add(group.after),
            )
        });
        let text = format!(
            "… {}, {} → {} goroutines",
            counted(unshown.len(), "more group"),
            count_of(before),
            count_of(after)
        );
        printer.labelled(INDENT, LABEL, "", &text);
    }
}

fn print_group(printer: &mut Printer, label: &str, group: &FindingGoroutines) {
    let values: Vec<f64> = group.series.iter().map(|number| *number as f64).collect();
    let mut figures = match group.series.len() {
        0 | 1 => vec![count_of(group.after)],
        _ => vec![
            format!("{} → {}", count_of(group.before), count_of(group.after)),
            sparkline(&values),
        ],
    };
    let room = printer.width().saturating_sub(INDENT + LABEL);
    let used: usize = figures.iter().map(|figure| width_of(figure) + 2).sum();
    // Beside the figures if a name of some length fits there, else below them.
    let for_name = room
        .checked_sub(used)
        .filter(|left| *left >= 24)
        .unwrap_or(room);
    figures.push(shorten(&sanitize(&group.function), for_name));
    printer.figures(INDENT, LABEL, label, &figures);
    let facts = group_facts(group);
    if !facts.is_empty() {
        printer.labelled_as(Role::Faint, INDENT, LABEL, "", &facts.join(", "));
    }
}

/// State, proof, wait and starter of a group, as far as known.
pub(super) fn group_facts(group: &FindingGoroutines) -> Vec<String> {
    let mut facts: Vec<String> = group.state.iter().cloned().collect();
    if group.leaked > 0 {
        facts.push(format!("{} leaked for certain", count_of(group.leaked)));
    }
    if let Some(minutes @ 1..) = group.wait_minutes {
        facts.push(format!(
            "waiting up to {}",
            duration(f64::from(minutes) * 60.0)
        ));
    }
    facts.extend(
        group
            .created_by
            .as_ref()
            .map(|by| format!("started by {}", brief(by))),
    );
    facts
}
