//! One snapshot: nothing can be said to grow, but known patterns can be recognised.

use super::case::Case;
use super::finding::{Parts, write_finding};
use super::{Finding, FindingVerdict, whole_heap};
use crate::pattern::{Catalogue, EvidenceView, PatternMatch, match_patterns};

/// Patterns that a single snapshot shows, each as a suspect.
///
/// Of two that rest on the same stacks, the more specific one stands and names the other.
pub(super) fn suspects(
    case: &Case,
    view: &EvidenceView,
    catalogue: &Catalogue,
    unsettled: &mut Vec<String>,
) -> Vec<Finding> {
    let heap = whole_heap(case);
    let has_heap = case.history.points() > 0;
    let matches = match_patterns(catalogue, view, has_heap.then_some(&heap), &heap);
    unsettled.extend(matches.unsettled.iter().map(|pattern| pattern.name.clone()));
    let mut kept: Vec<(PatternMatch, Option<String>)> = Vec::new();
    for found in matches.matched {
        match kept.iter_mut().find(|(known, _)| overlap(known, &found)) {
            Some((_, runner_up)) => {
                runner_up.get_or_insert_with(|| found.pattern.name.clone());
            }
            None => kept.push((found, None)),
        }
    }
    let findings = kept.into_iter().map(|(found, runner_up)| {
        let parts = Parts {
            gathered: found.met.clone(),
            crowds: found.crowds.clone(),
            matched: Some(found),
            runner_up,
            ..Parts::default()
        };
        let mut finding = write_finding(case, view, &parts);
        finding.verdict = FindingVerdict::Suspect;
        finding.confidence = 0.3;
        finding
    });
    findings.collect()
}

fn overlap(a: &PatternMatch, b: &PatternMatch) -> bool {
    let shares_heap = a
        .met
        .iter()
        .any(|bucket| b.met.binary_search(bucket).is_ok());
    let shares_crowd = a
        .crowds
        .iter()
        .any(|crowd| b.crowds.binary_search(crowd).is_ok());
    shares_heap || shares_crowd
}
