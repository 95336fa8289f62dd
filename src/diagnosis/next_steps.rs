//! What would settle an open question, each as a sentence with the command.

use super::case::Case;
use super::{Culprit, Finding, FindingVerdict, Verdict};
use crate::growth::MIN_POINTS;

/// Below this window a leak is worth a longer look.
const LONG_WINDOW_SECONDS: f64 = 600.0;

pub(super) fn next_steps(
    case: &Case,
    verdict: Verdict,
    findings: &[Finding],
    unsettled: &[String],
) -> Vec<String> {
    let mut steps = Vec::new();
    let points = case.history.distinct().len();
    let has_heap = case.history.points() > 0;
    if case.is_single() {
        steps.push(
            "one snapshot shows what is in use, not what grows: a second one shows growth with its error, \
             four or more (say eight, 30 s apart) settle whether it is a leak; fetch heap?gc=1 and \
             goroutine?debug=2 into one directory and run heapdrift diagnose on it"
                .to_owned(),
        );
    } else if has_heap && points < MIN_POINTS {
        steps.push(format!(
            "{} more snapshot(s) of collector cycles of their own (heap?gc=1) would settle whether growth goes on: \
             {MIN_POINTS} are needed, {points} are here",
            MIN_POINTS - points
        ));
    } else if has_heap
        && !case.has_enough_cycles()
        && findings
            .iter()
            .any(|f| f.verdict == FindingVerdict::Growing)
    {
        steps.push(
            "the window holds fewer than ten collector cycles: fetch heap?gc=1, which forces one per snapshot, or watch longer"
                .to_owned(),
        );
    }
    let is_short = case
        .window_seconds()
        .is_some_and(|seconds| seconds < LONG_WINDOW_SECONDS);
    if verdict == Verdict::Leak && is_short {
        steps.push(
            "the window is shorter than ten minutes: confirm with one that is longer than any cache takes to fill"
                .to_owned(),
        );
    }
    let is_pasted = |snapshot: &crate::snapshot::Snapshot| {
        snapshot
            .heap
            .as_ref()
            .is_some_and(|heap| heap.pasted.is_some())
    };
    if case.snapshots().any(is_pasted) {
        steps.push(
            "give the profile that the pasted report was made of (go tool pprof keeps a copy, `Saved profile in …`), \
             or paste its -raw: whole stacks, counts and sizes are in it"
                .to_owned(),
        );
    }
    if case.crowds.is_empty() {
        let mut names: Vec<&str> = unsettled.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            steps.push(format!(
                "no goroutine profile was given: goroutine?debug=2 beside each heap would tell whether this is {}",
                names.join(" or ")
            ));
        }
    }
    if findings.iter().any(|finding| {
        let in_heap = |culprit: &Culprit| culprit.seen_in == "heap";
        finding.pattern.is_none() && finding.culprit.as_ref().is_some_and(in_heap)
    }) {
        steps.push(
            "a heap profile names who allocated, not who keeps: look at what the culprit stores, or at a core dump with viewcore"
                .to_owned(),
        );
    }
    steps
}
