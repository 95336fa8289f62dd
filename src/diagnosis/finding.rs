//! One cause of growth, written out: its growth, sites, culprit, goroutines and evidence.

use super::callers::{callers_of, even_callers, path_from};
use super::case::{Case, FrameName};
use super::course::{course, other_runs};
use super::culprit::blame;
use super::judge::{confidence, crowd_verdict, heap_verdict, shape_of};
use super::listing::{list_goroutines, list_sites};
use super::measure::{all_buckets, measure, weigh};
use super::sentences;
use super::settle::would_change;
use super::{Culprit, Finding, FindingVerdict, Unshown};
use crate::growth::Shape;
use crate::pattern::{EvidenceView, HeapView, PatternMatch};
use crate::profile::Frame;
use crate::site::{FrameClass, declared_name};

/// Of what goroutines hold on the heap this share must pass through a frame that is to be blamed
/// for them.
const OWNS: f64 = 0.5;

/// What a finding is made of.
#[derive(Debug, Default)]
pub(super) struct Parts<'c> {
    /// Active buckets whose growth is significant.
    pub grown: Vec<u32>,
    /// Buckets that the pattern adds.
    pub gathered: Vec<u32>,
    /// Its goroutines.
    pub crowds: Vec<usize>,
    /// How those grew, if they did.
    pub crowd_shape: Option<Shape>,
    /// The pattern that matched.
    pub matched: Option<PatternMatch<'c>>,
    /// The name of one that matched less well.
    pub runner_up: Option<String>,
}

impl Parts<'_> {
    /// All its buckets that changed or may change.
    pub fn buckets(&self) -> Vec<u32> {
        super::sorted_union(&self.grown, &self.gathered)
    }
}

/// Writes out a finding over a series.
pub(super) fn write_finding(case: &Case, view: &EvidenceView, parts: &Parts) -> Finding {
    let buckets = parts.buckets();
    let heap = (!parts.grown.is_empty()).then(|| shape_of(case.history, &parts.grown));
    let verdicts = [
        (
            "heap",
            heap.as_ref().map(|reading| heap_verdict(case, reading)),
        ),
        (
            "goroutines",
            parts.crowd_shape.map(|shape| crowd_verdict(case, shape)),
        ),
    ];
    let worst = verdicts.iter().filter_map(|(_, verdict)| *verdict).max();
    let rests_on = verdicts
        .iter()
        .filter(|(_, verdict)| verdict.is_some() && *verdict == worst)
        .map(|(name, _)| *name)
        .collect();
    let verdict = worst.unwrap_or(FindingVerdict::Growing);
    let growth =
        (!buckets.is_empty() && case.history.points() > 1).then(|| measure(case, &buckets));
    let stacks = weigh(case, &buckets);
    let culprit = find_culprit(case, view, parts, &buckets, &stacks);
    let sites = list_sites(case, &buckets);
    let goroutines = list_goroutines(case, &parts.crowds);
    let weighed = || stacks.stacks.iter().map(|s| (s.stack, s.weight));
    let even = match &culprit {
        Some((culprit, frame)) if culprit.seen_in == "heap" && !case.is_single() => {
            even_callers(case.sites, *frame, weighed())
        }
        _ => None,
    };
    let callers = match &culprit {
        Some((culprit, frame)) if culprit.seen_in == "heap" => {
            callers_of(case.sites, *frame, weighed())
        }
        Some((culprit, _)) => creators(case, parts, culprit),
        None => Vec::new(),
    };
    let path = culprit.as_ref().map_or_else(Vec::new, |(culprit, frame)| {
        if culprit.seen_in == "heap" {
            return path_from(case.sites, *frame, weighed());
        }
        let crowds = case.crowds.crowds.iter();
        let seen = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        path_from(
            case.sites,
            *frame,
            crowds.map(|crowd| (crowd.stack, seen(&crowd.counts))),
        )
    });
    let mut evidence = Vec::new();
    evidence.extend(sentences::of_crowds(case, parts));
    evidence.extend(sentences::of_leaked(case, parts));
    if let (Some(reading), Some(growth)) = (&heap, &growth) {
        evidence.extend(sentences::of_heap(case, parts, reading, growth));
    }
    evidence.extend(even.map(|(callers, largest)| {
        format!(
            "the culprit's growth comes from {callers} callers, {:.0} % from the largest: it is what this function keeps, not what one of them does",
            largest * 100.0
        )
    }));
    let others = other_runs(case, &parts.grown);
    evidence.extend(others.as_ref().map(sentences::of_other_runs));
    let would_change = would_change(case, verdict, heap.as_ref(), growth.as_ref());
    let culprit = culprit.map(|(culprit, _)| culprit);
    let texts = sentences::Texts::of(parts, verdict, culprit.as_ref(), &goroutines);
    if let Some(matched) = &parts.matched {
        evidence.extend(matched.evidence.iter().cloned());
    }
    let last: f64 = case
        .history
        .series(&all_buckets(case))
        .last()
        .copied()
        .unwrap_or(0.0);
    let held: f64 = sites.iter().map(|site| site.after).sum();
    Finding {
        pattern: parts
            .matched
            .as_ref()
            .map(|found| found.pattern.name.clone()),
        title: texts.title,
        verdict,
        rests_on,
        confidence: confidence(case, verdict, parts, growth.as_ref()),
        culprit,
        growth,
        course: heap.as_ref().map(|reading| course(case, reading)),
        other_runs: others,
        share: (last > 0.0 && held > 0.0).then(|| (held / last).min(1.0)),
        sites,
        sites_unshown: Unshown::default(),
        goroutines,
        callers,
        path,
        evidence,
        would_change,
        why: texts.why,
        fix: texts.fix,
        references: parts
            .matched
            .as_ref()
            .map_or_else(Vec::new, |found| found.pattern.page.references.clone()),
        also_matches: parts.runner_up.clone(),
    }
}

/// The functions that started a finding's growing goroutines, most first.
fn creators(case: &Case, parts: &Parts, culprit: &Culprit) -> Vec<String> {
    let mut crowds: Vec<_> = parts
        .crowds
        .iter()
        .map(|&index| &case.crowds.crowds[index])
        .collect();
    crowds.sort_by_key(|crowd| std::cmp::Reverse(crowd.growth()));
    let mut names: Vec<String> = Vec::new();
    for crowd in crowds {
        let Some(frame) = crowd.created_by.map(|id| case.sites.symbols().frame(id)) else {
            continue;
        };
        let name = case.name(frame).function;
        let is_own = case.sites.class(frame.function) == FrameClass::Application;
        if is_own && name != culprit.function && !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(3);
    names
}

/// The pattern's own rule first, then the frame that explains the growth best, then, for
/// goroutines alone, the application frame that stands on most of their stacks, or the one through
/// which most of what they hold was allocated.
fn find_culprit(
    case: &Case,
    view: &EvidenceView,
    parts: &Parts,
    buckets: &[u32],
    stacks: &HeapView,
) -> Option<(Culprit, Frame)> {
    let written = |frame: Frame, seen_in, basis: String| {
        let FrameName {
            function,
            file,
            line,
        } = case.name(frame);
        let culprit = Culprit {
            function: declared_name(&function).to_owned(),
            file,
            line,
            seen_in,
            basis,
        };
        Some((culprit, frame))
    };
    if let Some(matched) = &parts.matched
        && let Some(blamed) = view.blame(&matched.pattern.culprit, stacks, &matched.crowds)
    {
        let seen_in = if blamed.in_goroutine {
            "goroutine"
        } else {
            "heap"
        };
        let basis = format!("the frame that the pattern {} names", matched.pattern.name);
        return written(blamed.frame, seen_in, basis);
    }
    let between = if case.is_single() {
        (0, 0)
    } else {
        (0, case.last())
    };
    let explains = || blame(case.history, case.sites, case.background, buckets, between);
    if !parts.grown.is_empty() || parts.crowds.is_empty() {
        let found = explains()?;
        let basis = format!(
            "{:.0} % of this growth passes through it; Ochiai score {:.2}",
            found.share * 100.0,
            found.score
        );
        return written(found.frame, "heap", basis);
    }
    if let Some(frame) = view.crowd_owner(&parts.crowds) {
        let basis = "the program's own frame on most of these goroutines' stacks".to_owned();
        return written(frame, "goroutine", basis);
    }
    // A library started them: what they hold on the heap may say for whom.
    let found = explains()?;
    let is_own = case.sites.class(found.frame.function) == FrameClass::Application;
    let basis = format!(
        "no frame of the program is on these goroutines' stacks; {:.0} % of what they hold on the heap passes through it",
        found.share * 100.0
    );
    (is_own && found.share >= OWNS)
        .then(|| written(found.frame, "heap", basis))
        .flatten()
}
