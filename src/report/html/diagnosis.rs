//! A diagnosis as a page.

use super::cards::{Card, Group, site_cells};
use super::chart::Chart;
use super::flame::Flame;
use super::page::{Banner, Column, InputRow, Memory, Note, Page, Part, Table, Tile};
use crate::diagnosis::{Diagnosis, Finding, MemoryBreakdown, Stacks, Verdict};
use crate::report::facts::{
    answer, goroutine_facts, input_facts, limit, noise, series_facts, verdict_word,
};
use crate::report::identity;
use crate::report::links::SourceLinks;
use crate::report::memory;
use crate::report::sanitize::html::Text;
use crate::report::units::{
    counted, duration, from_to_with_errors, rate_with_interval, size, size_with_error,
};
use crate::units::signed_size;

/// Findings with a card of their own.
const MAX_CARDS: usize = 30;
/// Inputs and warnings that a page lists.
const MAX_LISTED: usize = 300;

/// Lays a diagnosis out as one HTML file. `command` is what was typed.
pub fn diagnosis_html(
    diagnosis: &Diagnosis,
    stacks: Option<&Stacks>,
    links: &SourceLinks,
    command: &str,
) -> String {
    let shown = diagnosis.findings.len().min(MAX_CARDS);
    let listed = diagnosis.warnings.iter().take(MAX_LISTED);
    let mut warnings: Vec<Text> = listed.map(Text::new).collect();
    let more = diagnosis.warnings.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        warnings.push(Text::new(format!("… {}", counted(more, "more warning"))));
    }
    warnings.extend(unshown(&diagnosis.findings[shown..]));
    let page = Page {
        banner: banner(diagnosis),
        chart: Chart::new(diagnosis),
        cards: diagnosis.findings[..shown]
            .iter()
            .map(|finding| Card::new(finding, links))
            .collect(),
        flame: stacks.and_then(Flame::new),
        sites: sites(diagnosis, links),
        goroutines: diagnosis.findings[..shown]
            .iter()
            .flat_map(|finding| &finding.goroutines)
            .map(Group::new)
            .collect(),
        memory: diagnosis.memory.as_ref().and_then(memory_bar),
        not_a_leak: diagnosis
            .not_a_leak
            .iter()
            .map(|entry| Note {
                name: Text::new(entry.name.as_str()),
                figure: entry.bytes.map_or_else(String::new, size),
                text: Text::new(&entry.text),
            })
            .collect(),
        facts: facts(diagnosis),
        warnings,
        next_steps: diagnosis.next_steps.iter().map(Text::new).collect(),
        inputs: diagnosis
            .inputs
            .iter()
            .take(MAX_LISTED)
            .map(|input| InputRow {
                source: Text::new(&input.source),
                facts: Text::new(input_facts(input)),
                warnings: input.warnings.iter().map(Text::new).collect(),
            })
            .collect(),
        input_count: diagnosis.inputs.len(),
        command: Text::new(command),
    };
    page.html()
}

fn unshown(rest: &[Finding]) -> Option<Text> {
    let grown = rest.iter().filter_map(|finding| finding.growth.as_ref());
    let bytes: f64 = grown.map(|growth| growth.bytes).sum();
    (!rest.is_empty()).then(|| {
        Text::new(format!(
            "… {}, {}: see the JSON",
            counted(rest.len(), "more finding"),
            size(bytes)
        ))
    })
}

fn banner(diagnosis: &Diagnosis) -> Banner {
    let (class, symbol) = match diagnosis.verdict {
        Verdict::Leak => ("bad", "▲"),
        Verdict::Growing => ("warn", "◆"),
        Verdict::Undecided => ("warn", "?"),
        Verdict::Steady => ("good", "●"),
        Verdict::Shrinking => ("good", "▼"),
    };
    Banner {
        class,
        symbol,
        word: verdict_word(diagnosis.verdict),
        sentence: Text::new(answer(diagnosis)),
        tiles: tiles(diagnosis),
    }
}

fn tiles(diagnosis: &Diagnosis) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let mut tile = |label, value: String, note: String| {
        tiles.push(Tile {
            label,
            value: Text::new(value),
            note: Text::new(note),
        });
    };
    let totals = &diagnosis.totals;
    match (totals.first_bytes, totals.last_bytes) {
        (Some(first), Some(last)) if totals.series.len() > 1 => {
            let sizes = from_to_with_errors(
                (first as f64, totals.first_sd),
                (last as f64, totals.last_sd),
            );
            tile("Heap in use", sizes, String::new());
        }
        (_, Some(last)) => {
            let text = size_with_error(last as f64, totals.last_sd);
            tile("Heap in use", text, String::new());
        }
        _ => {}
    }
    if let Some(rate) = totals.bytes_per_hour {
        let text = rate_with_interval(rate, totals.ci95);
        let (value, interval) = text.split_once(" (").unwrap_or((&text, ""));
        tile(
            "Rate",
            value.to_owned(),
            interval.trim_end_matches(')').to_owned(),
        );
    }
    if let Some(facts) = goroutine_facts(totals) {
        let note = facts.get(1).cloned().unwrap_or_default();
        tile("Goroutines", facts[0].clone(), note);
    }
    let series = &diagnosis.series;
    let window = series.window_seconds.filter(|seconds| *seconds > 0.0);
    let note = window.map_or_else(String::new, |seconds| format!("over {}", duration(seconds)));
    tile("Snapshots", counted(series.snapshots, "snapshot"), note);
    if let Some(bytes) = diagnosis.series.detection_limit_bytes {
        let rate = series.detection_limit_bytes_per_hour;
        let note = rate.map_or_else(String::new, |rate| format!("{}/h", size(rate)));
        tile("Smaller growth can go unseen", size(bytes), note);
    }
    if let Some(text) = limit(&diagnosis.forecast) {
        tile("Limit", text, String::new());
    }
    tiles
}

fn sites(diagnosis: &Diagnosis, links: &SourceLinks) -> Option<Table> {
    if diagnosis.sites.is_empty() {
        return None;
    }
    let is_single = diagnosis.sites.iter().all(|site| site.before.is_none());
    let column = |title, is_number| Column { title, is_number };
    let mut columns = vec![column("Allocation site", false)];
    columns.extend(match is_single {
        true => vec![column("In use", true)],
        false => vec![
            column("Before → after", true),
            column("Change", true),
            column("Course", false),
        ],
    });
    columns.push(column("Each", true));
    let unshown = &diagnosis.sites_unshown;
    Some(Table {
        heading: "Allocation sites",
        note: match is_single {
            true => "What is in use in this snapshot, by the place that allocated it.",
            false if diagnosis.findings.is_empty() => {
                "By the place that allocated, largest change first. None of these changes is a finding."
            }
            false => {
                "By the place that allocated, largest change first. Only the findings above are told from noise."
            }
        },
        columns,
        rows: diagnosis
            .sites
            .iter()
            .map(|site| site_cells(site, is_single, links))
            .collect(),
        unshown: match unshown.rows {
            0 => String::new(),
            rows => format!("… {}, {}", counted(rows, "more site"), size(unshown.bytes)),
        },
    })
}

fn facts(diagnosis: &Diagnosis) -> Vec<(&'static str, Text)> {
    let mut facts = vec![("Series", Text::new(series_facts(diagnosis)))];
    if let Some(found) = &diagnosis.identity {
        let label = match found.is_other_build {
            true => "Builds",
            false => "Processes",
        };
        facts.push((label, Text::new(identity::sentence(found))));
    }
    if diagnosis.series.tests > 0 {
        let tests = counted(diagnosis.series.tests, "test");
        let text = format!("{tests}, over which the false-discovery rate is held at 5 %");
        facts.push(("Tests", Text::new(text)));
    }
    if let Some(text) = noise(diagnosis) {
        facts.push(("Detection limit", Text::new(text)));
    }
    if let Some(text) = limit(&diagnosis.forecast) {
        facts.push(("Limit", Text::new(text)));
    }
    facts.push((
        "What a heap profile shows",
        Text::new("who allocated the memory that is in use, not who keeps it"),
    ));
    facts
}

fn memory_bar(figures: &MemoryBreakdown) -> Option<Memory> {
    const CLASSES: [&str; 6] = ["p0", "p1", "p2", "p3", "p4", "p5"];
    let total = memory::total(figures)?;
    let mut parts = memory::parts(figures);
    let whole: i64 = parts.iter().map(|(_, bytes, _)| bytes.max(&0)).sum();
    // The class is the part's, not its rank's.
    let mut classed: Vec<_> = parts.drain(..).zip(CLASSES).collect();
    classed.sort_by_key(|((_, bytes, _), _)| std::cmp::Reverse(*bytes));
    let mut start = 0.0;
    let parts = classed
        .into_iter()
        .map(|((name, bytes, change), class)| {
            let width = bytes.max(0) as f64 / whole.max(1) as f64 * 100.0;
            let part = Part {
                class,
                name,
                shown: size(bytes as f64),
                bytes,
                change: change.map_or_else(String::new, |change| signed_size(change as f64)),
                start,
                width,
            };
            start += width;
            part
        })
        .collect();
    Some(Memory {
        total,
        parts,
        beside: memory::beside(figures).iter().map(Text::new).collect(),
    })
}
