//! Several processes side by side as Markdown.

use super::document::{Document, MAX_BYTES, details, list};
use super::fence_layout;
use crate::diagnosis::{Fleet, SharedFinding};
use crate::report::facts::verdict_word;
use crate::report::fleet::{MAX_FINDINGS, answer, cause_facts, members_text, shared_text};
use crate::report::sanitize::markdown::{code_span, fenced, sentence};
use crate::report::units::counted;

/// Bytes of the lines of all processes.
const MAX_MEMBERS: usize = 20_000;
/// Bytes of the facts about one cause.
const MAX_LIST: usize = 2_000;

/// Lays a fleet out for a comment, a message or a ticket: at most 64 kB.
pub fn fleet_markdown(fleet: &Fleet) -> String {
    let mut document = Document::new(MAX_BYTES);
    document.block(&format!(
        "## heapdrift: {}\n\n**{}**",
        verdict_word(fleet.verdict),
        sentence(&answer(fleet))
    ));
    let members = members_text(fleet, &fence_layout());
    document.block(&fenced(&cut_lines(&members, MAX_MEMBERS)));
    let shown = fleet.findings.len().min(MAX_FINDINGS);
    for shared in &fleet.findings[..shown] {
        document.block_or_note(&cause(fleet, shared), "a cause");
        let report = shared_text(fleet, shared, &fence_layout());
        let body = match report.is_empty() {
            true => String::new(),
            false => fenced(&report),
        };
        document.block_or_note(&details("The worst of them", &body), "a report");
    }
    let more = fleet.findings.len() - shown;
    if more > 0 {
        document.note(counted(more, "more finding"));
    }
    document.finish()
}

fn cause(fleet: &Fleet, shared: &SharedFinding) -> String {
    let name = match &shared.pattern {
        Some(pattern) => code_span(pattern),
        None => sentence(&shared.title),
    };
    let facts = cause_facts(fleet, shared);
    let facts = facts
        .iter()
        .map(|(label, text)| format!("**{label}**: {}", sentence(text)));
    format!("### {name}\n\n{}", list(facts, MAX_LIST))
}

/// As many whole lines as fit; the rest is counted.
fn cut_lines(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    for line in lines.by_ref() {
        if kept.len() + line.len() + 1 > most {
            kept.push_str(&format!("… {}", counted(lines.count() + 1, "more line")));
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        assert_eq!(cut_lines("aa\nbb\ncc\n", 100), "aa\nbb\ncc\n");
        assert_eq!(cut_lines("aa\nbb\ncc\n", 4), "aa\n… 2 more lines");
    }
}
