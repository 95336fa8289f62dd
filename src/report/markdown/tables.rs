//! A diff and a top list as Markdown: what they are about, then the table.

use super::document::{Document, MAX_BYTES, list};
use super::fence_layout;
use crate::diagnosis::{Diff, Top, Verification};
use crate::report::diff::{diff_facts, diff_rows};
use crate::report::rows::{cut_diff, cut_top};
use crate::report::sanitize::markdown::{fenced, sentence};
use crate::report::top::{top_facts, top_rows};
use crate::report::units::{change, size_with_error};
use crate::report::verify::{verdict_word, verification_facts, verification_rows};

const MAX_LIST: usize = 6_000;
/// What a table may take.
const MAX_TABLE: usize = 50_000;

/// Lays a diff out for a comment, a message or a ticket: at most 64 kB.
pub fn diff_markdown(diff: &Diff) -> String {
    let total = change(diff.total.delta_bytes as f64, diff.total.sd_bytes);
    let table = fitting(diff.rows.len(), |rows| {
        let mut diff = diff.clone();
        cut_diff(&mut diff, rows);
        diff_rows(&diff, &fence_layout())
    });
    page(
        &format!("## heapdrift: the heap changed by {total}"),
        diff_facts(diff),
        &table,
        &diff.warnings,
    )
}

/// Lays a top list out for a comment, a message or a ticket: at most 64 kB.
pub fn top_markdown(top: &Top) -> String {
    let total = size_with_error(top.total_bytes as f64, top.total_se);
    let table = fitting(top.rows.len(), |rows| {
        let mut top = top.clone();
        cut_top(&mut top, rows);
        top_rows(&top, &fence_layout())
    });
    page(
        &format!("## heapdrift: {total} in use"),
        top_facts(top),
        &table,
        &top.warnings,
    )
}

/// Lays the answer of `verify` out for a comment, a message or a ticket: at most 64 kB.
pub fn verification_markdown(result: &Verification) -> String {
    let (_, word) = verdict_word(result.verdict);
    let table = fitting(result.findings.len(), |rows| {
        let mut result = result.clone();
        result.findings.truncate(rows);
        verification_rows(&result, &fence_layout())
    });
    let mut facts = vec![("why", result.reason.clone())];
    facts.extend(verification_facts(result));
    let new = result.new_findings.iter();
    facts.extend(new.map(|finding| ("new growth", finding.title.clone())));
    facts.extend(result.settles.iter().map(|text| ("next", text.clone())));
    page(
        &format!("## heapdrift: {word}"),
        facts,
        &table,
        &result.warnings,
    )
}

/// The table with as many rows as there is room for; it counts what it leaves out.
fn fitting(rows: usize, table: impl Fn(usize) -> String) -> String {
    let mut rows = rows;
    loop {
        let text = table(rows);
        if text.len() <= MAX_TABLE || rows == 0 {
            return text;
        }
        // A row that is longer than the others may need a second round.
        rows = (rows * MAX_TABLE / text.len()).min(rows - 1);
    }
}

fn page(
    heading: &str,
    facts: Vec<(&'static str, String)>,
    table: &str,
    warnings: &[String],
) -> String {
    let mut document = Document::new(MAX_BYTES);
    document.block(heading);
    let facts = facts
        .into_iter()
        .map(|(label, text)| format!("**{label}**: {}", sentence(&text)));
    document.block(&list(facts, MAX_LIST));
    document.block_or_note(&fenced(table), "the table");
    let warnings = list(warnings.iter().map(|text| sentence(text)), MAX_LIST);
    if !warnings.is_empty() {
        document.block_or_note(&format!("**Warnings**\n\n{warnings}"), "the warnings");
    }
    document.finish()
}
