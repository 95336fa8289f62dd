//! One snapshot: nothing can be said to grow, but known patterns can be recognised.

use super::case::Case;
use super::finding::{Parts, write_finding};
use super::{Finding, FindingVerdict, whole_heap};
use crate::pattern::{Catalogue, EvidenceView, PatternMatch, match_patterns};

/// Groups of leaked goroutines that are listed.
const MOST_LEAKED: usize = 10;
/// Confidence in a leak that the runtime has proved; whether it matters is another question.
const CERTAIN: f64 = 0.95;

/// Patterns that a single snapshot shows, each as a suspect.
///
/// Of two that rest on the same stacks, the more specific one stands and names the other.
pub(super) fn suspects(
    case: &Case,
    view: &EvidenceView,
    catalogue: &Catalogue,
    unsettled: &mut Vec<String>,
    warnings: &mut Vec<String>,
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
    let patterns = kept
        .iter()
        .flat_map(|(found, _)| found.crowds.iter().copied());
    let leaked = leaked_crowds(case, &patterns.collect::<Vec<_>>(), warnings);
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
    findings
        .chain(
            leaked
                .into_iter()
                .map(|crowd| write_leaked(case, view, crowd)),
        )
        .collect()
}

/// Crowds with goroutines that the runtime has proved to be stuck, and that are in no finding yet.
pub(super) fn leaked_crowds(
    case: &Case,
    known: &[usize],
    warnings: &mut Vec<String>,
) -> Vec<usize> {
    let crowds = &case.crowds.crowds;
    let mut leaked: Vec<usize> = (0..crowds.len())
        .filter(|index| crowds[*index].leaked() > 0 && !known.contains(index))
        .collect();
    leaked.sort_by_key(|&index| std::cmp::Reverse(crowds[index].leaked()));
    let cut = leaked.split_off(leaked.len().min(MOST_LEAKED));
    if !cut.is_empty() {
        let goroutines: u64 = cut.iter().map(|&index| crowds[index].leaked()).sum();
        warnings.push(format!(
            "{} more groups with {goroutines} leaked goroutines are not listed",
            cut.len()
        ));
    }
    leaked
}

/// Goroutines that are leaked for certain, and of which nothing more is known.
pub(super) fn write_leaked(case: &Case, view: &EvidenceView, crowd: usize) -> Finding {
    let parts = Parts {
        crowds: vec![crowd],
        ..Parts::default()
    };
    let mut finding = write_finding(case, view, &parts);
    finding.verdict = FindingVerdict::Suspect;
    finding.confidence = CERTAIN;
    finding
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
