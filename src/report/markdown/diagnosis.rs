//! A diagnosis as Markdown.

use super::document::{Document, MAX_BYTES, details, list};
use super::fence_layout;
use crate::diagnosis::{Diagnosis, Finding, FindingGoroutines, Input};
use crate::report::facts::{
    answer, goroutine_facts, heap_facts, input_facts, limit, noise, series_facts, verdict_word,
};
use crate::report::finding::{
    basis, finding_name, finding_word, group_facts, growth_facts, headline_figure, sites_text,
};
use crate::report::identity;
use crate::report::links::SourceLinks;
use crate::report::memory::memory_text;
use crate::report::names::brief;
use crate::report::sanitize::markdown::{code_span, fenced, sentence};
use crate::report::units::{count_of, counted, size};

/// Bytes of all findings together, and of one list.
const MAX_FINDINGS: usize = 44_000;
const MAX_LIST: usize = 5_000;
/// Sites that stand open.
const OPEN_SITES: usize = 5;

/// Lays a diagnosis out for a comment, a message or a ticket: at most 64 kB.
pub fn diagnosis_markdown(diagnosis: &Diagnosis, links: &SourceLinks) -> String {
    let mut document = Document::new(MAX_BYTES);
    document.block(&format!(
        "## heapdrift: {}\n\n**{}**",
        verdict_word(diagnosis.verdict),
        sentence(&capitalised(&answer(diagnosis)))
    ));
    document.block(&list(facts(diagnosis), MAX_LIST));
    write_findings(&mut document, diagnosis, links);
    let not_a_leak = diagnosis.not_a_leak.iter().map(|entry| {
        let bytes = entry
            .bytes
            .map_or_else(String::new, |bytes| format!(", {}", size(bytes)));
        format!("**{}**{bytes}: {}", entry.name, sentence(&entry.text))
    });
    let next = list(
        diagnosis.next_steps.iter().map(|step| sentence(step)),
        MAX_LIST,
    );
    for (heading, body) in [
        ("Next", next),
        (
            "Warnings",
            list(diagnosis.warnings.iter().map(|w| sentence(w)), MAX_LIST),
        ),
    ] {
        if !body.is_empty() {
            document.block_or_note(&format!("**{heading}**\n\n{body}"), heading);
        }
    }
    let summary = format!("Not a leak of the heap ({})", diagnosis.not_a_leak.len());
    document.block_or_note(
        &details(&summary, &list(not_a_leak, MAX_LIST)),
        "what is no leak",
    );
    if let Some(memory) = &diagnosis.memory {
        let text = memory_text(memory, &fence_layout());
        document.block_or_note(
            &details("Where the memory is", &code_block(&text)),
            "the memory",
        );
    }
    let inputs = list(diagnosis.inputs.iter().map(input), 2 * MAX_LIST);
    let summary = format!("Inputs ({})", diagnosis.inputs.len());
    document.block_or_note(&details(&summary, &inputs), "the inputs");
    document.finish()
}

/// What the judgement rests on, and the whole heap.
fn facts(diagnosis: &Diagnosis) -> Vec<String> {
    let mut facts = Vec::new();
    let mut fact =
        |label: &str, text: String| facts.push(format!("**{label}**: {}", sentence(&text)));
    fact("series", series_facts(diagnosis));
    if let Some(found) = &diagnosis.identity {
        fact(identity::label(found), identity::sentence(found));
    }
    if let Some(heap) = heap_facts(&diagnosis.totals) {
        fact("heap", heap.join(", "));
    }
    if let Some(goroutines) = goroutine_facts(&diagnosis.totals) {
        fact("goroutines", goroutines.join(", "));
    }
    if let Some(text) = noise(diagnosis) {
        fact("noise", text);
    }
    if let Some(text) = limit(&diagnosis.forecast) {
        fact("limit", text);
    }
    facts
}

fn write_findings(document: &mut Document, diagnosis: &Diagnosis, links: &SourceLinks) {
    let limit = document.room().saturating_sub(MAX_FINDINGS);
    for (number, finding) in diagnosis.findings.iter().enumerate() {
        let blocks = [
            finding_block(number, finding, links, Detail::Whole),
            finding_block(number, finding, links, Detail::Short),
        ];
        let fitting = blocks
            .iter()
            .find(|block| document.room() >= limit + block.len());
        if fitting.is_some_and(|block| document.block(block)) {
            continue;
        }
        let rest = &diagnosis.findings[number..];
        let grown = rest.iter().filter_map(|finding| finding.growth.as_ref());
        let bytes: f64 = grown.map(|growth| growth.bytes).sum();
        document.note(format!(
            "{}, {}",
            counted(rest.len(), "more finding"),
            size(bytes)
        ));
        return;
    }
}

#[derive(PartialEq)]
enum Detail {
    Whole,
    Short,
}

fn finding_block(number: usize, finding: &Finding, links: &SourceLinks, detail: Detail) -> String {
    let figure = match headline_figure(finding) {
        figure if figure.is_empty() => figure,
        figure => format!(", {figure}"),
    };
    let mut out = format!(
        "### {}. {} {}{figure}\n\n{}\n\n",
        number + 1,
        finding_word(finding.verdict),
        code_span(finding_name(finding)),
        sentence(&finding.title),
    );
    if let Some(culprit) = &finding.culprit {
        out += &format!(
            "- **culprit** {}{}\n",
            code_span(&culprit.function),
            link(culprit.file.as_deref(), culprit.line, links),
        );
        out += &format!("  {}\n", sentence(&basis(culprit)));
    }
    if let Some(growth) = &finding.growth {
        out += &format!("- **growth** {}\n", growth_facts(growth, finding));
    }
    out += &format!("- **why** {}\n", sentence(&finding.why));
    out += &format!("- **fix** {}\n", sentence(&finding.fix));
    if let Some(other) = &finding.also_matches {
        out += &format!(
            "- **or else** {} fits as well, but less closely\n",
            code_span(other)
        );
    }
    if let Some(pattern) = &finding.pattern {
        out += &format!(
            "- **more** `heapdrift explain {}`\n",
            pattern.replace('`', "")
        );
    }
    if detail == Detail::Short {
        return out;
    }
    let shown = OPEN_SITES.min(finding.sites.len());
    if shown > 0 {
        out += &format!(
            "\n{}",
            code_block(&sites_text(finding, 0..shown, &fence_layout()))
        );
    }
    out += "\n";
    if shown < finding.sites.len() {
        let range = shown..finding.sites.len();
        let more = code_block(&sites_text(finding, range, &fence_layout()));
        let rest = finding.sites.len() - shown + finding.sites_unshown.rows;
        out += &details(&counted(rest, "more site"), &more);
    }
    let mut reasons = list(finding.evidence.iter().map(|text| sentence(text)), MAX_LIST);
    let but = finding.would_change.iter();
    reasons += &list(but.map(|text| format!("but: {}", sentence(text))), MAX_LIST);
    out += &details(&format!("Evidence ({})", finding.evidence.len()), &reasons);
    let path = finding.path.iter().map(|name| code_span(brief(name)));
    let path: Vec<String> = path.collect();
    let callers: Vec<String> = finding
        .callers
        .iter()
        .map(|name| code_span(brief(name)))
        .collect();
    let mut ways = Vec::new();
    if path.len() > 1 {
        ways.push(format!("**path** {}", path.join(" → ")));
    }
    if !callers.is_empty() {
        ways.push(format!("**called by** {}", callers.join(", ")));
    }
    ways.extend(finding.goroutines.iter().map(group));
    out += &details("Path and goroutines", &list(ways, MAX_LIST));
    let references = finding.references.iter().map(|name| reference(name));
    out += &details("Public reports", &list(references, MAX_LIST));
    out
}

/// ` at [controller.go:240](…)`; a path alone where no repository is known.
fn link(file: Option<&str>, line: Option<u32>, links: &SourceLinks) -> String {
    let place = links.place(file, line);
    if place.is_empty() {
        return String::new();
    }
    match links.address(file, line) {
        Some(address) => format!(" at [{}]({address})", code_span(&place)),
        None => format!(" at {}", code_span(&place)),
    }
}

fn group(group: &FindingGoroutines) -> String {
    let numbers = match group.series.len() {
        0 | 1 => count_of(group.after),
        _ => format!("{} → {}", count_of(group.before), count_of(group.after)),
    };
    let facts = group_facts(group);
    let facts = match facts.is_empty() {
        true => String::new(),
        false => format!(" ({})", sentence(&facts.join(", "))),
    };
    format!(
        "{numbers} goroutines in {}{facts}",
        code_span(&group.function)
    )
}

fn reference(name: &str) -> String {
    match crate::pattern::reference_url(name) {
        Some(url) => format!("[{}]({url})", sentence(name)),
        None => sentence(name),
    }
}

fn input(input: &Input) -> String {
    let mut text = format!(
        "{}: {}",
        code_span(&input.source),
        sentence(&input_facts(input))
    );
    for warning in &input.warnings {
        text += &format!("; {}", sentence(warning));
    }
    text
}

/// Text between fences; nothing for nothing.
fn code_block(text: &str) -> String {
    match text.trim().is_empty() {
        true => String::new(),
        false => fenced(text),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}
