//! One cause of growth, written out: its growth, sites, culprit, goroutines and evidence.

use super::case::{Case, FrameName};
use super::course::{course, other_runs};
use super::culprit::{blame, callers_of, even_callers, path_from};
use super::listing::{list_goroutines, list_sites};
use super::sentences;
use super::settle::would_change;
use super::{Culprit, Finding, FindingGrowth, FindingVerdict, Unshown};
use crate::growth::{
    BlockTest, Container, History, MIN_POINTS, Shape, ShapeReading, read_shape, theil_sen,
};
use crate::pattern::{EvidenceView, HeapView, PatternMatch, WeighedFrame, WeighedStack};
use crate::profile::Frame;
use crate::site::{FrameClass, declared_name};

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

pub(super) fn all_buckets(case: &Case) -> Vec<u32> {
    (0..case.history.buckets().len() as u32).collect()
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

/// Reads the shape of a set of buckets over the points of a run.
pub(super) fn shape_of(history: &History, buckets: &[u32]) -> ShapeReading {
    let values = history.series(buckets);
    let mut reading = read_shape(
        &values,
        history.seconds(),
        history.distinct(),
        |from, to| {
            match history.evidence(buckets, from, to) {
                Some(evidence) => BlockTest {
                    p_value: evidence.p_value(),
                    sd: evidence.sd_bytes(),
                    variance: evidence.test_variance(),
                    is_loose: evidence.is_loose(),
                },
                // Without an error estimate persistence is all there is.
                None => BlockTest {
                    p_value: if values[to] > values[from] { 0.0 } else { 1.0 },
                    sd: 0.0,
                    variance: 0.0,
                    is_loose: false,
                },
            }
        },
    );
    reading.container = Container::find(history, buckets);
    if reading.container.is_some() {
        reading.shape = Shape::Sustained;
    }
    reading
}

fn heap_verdict(case: &Case, reading: &ShapeReading) -> FindingVerdict {
    let has_counts = case.history.sampler().is_some();
    named(case, reading.shape, has_counts && case.has_enough_cycles())
}

fn crowd_verdict(case: &Case, shape: Shape) -> FindingVerdict {
    // Counts are exact and need no collector: four snapshots are enough.
    named(case, shape, case.crowds.points >= MIN_POINTS)
}

/// The verdict of a shape. Growth that lasts is a leak only on evidence that suffices, and only
/// within one process.
fn named(case: &Case, shape: Shape, suffices: bool) -> FindingVerdict {
    match shape {
        Shape::Step => FindingVerdict::Step,
        Shape::Sawtooth => FindingVerdict::Sawtooth,
        Shape::Plateauing => FindingVerdict::Plateauing,
        Shape::Sustained if suffices && case.run.is_one_process => FindingVerdict::Leak,
        Shape::Sustained | Shape::Open => FindingVerdict::Growing,
    }
}

/// Growth of a set of buckets from the first to the last point.
pub(super) fn measure(case: &Case, buckets: &[u32]) -> FindingGrowth {
    let (history, last) = (case.history, case.last());
    let evidence = history.evidence(buckets, 0, last);
    let series = history.series(buckets);
    let plain = series.last().copied().unwrap_or(0.0) - series.first().copied().unwrap_or(0.0);
    let bytes = evidence
        .as_ref()
        .map_or(plain, |evidence| evidence.delta_bytes());
    let per_hour = |bytes: f64| case.hours().map(|hours| bytes / hours);
    let ci95 = evidence.as_ref().and_then(|evidence| {
        let (low, high) = evidence.interval95();
        Some([per_hour(low)?, per_hour(high)?])
    });
    let allocated = history.allocated_between(buckets, 0, last);
    // Sites that hold nothing at either end are churn, not a part of what is kept.
    let holding: Vec<u32> = buckets
        .iter()
        .copied()
        .filter(|&bucket| history.inuse(0, bucket) != 0 || history.inuse(last, bucket) != 0)
        .collect();
    let allocated_by_holding = history.allocated_between(&holding, 0, last);
    let objects = |point| {
        let count = buckets
            .iter()
            .map(|&b| history.inuse_objects(point, b) as f64);
        count.sum::<f64>()
    };
    let share_of = |whole: f64, part: f64| (whole > 0.0 && plain > 0.0).then(|| part / whole);
    FindingGrowth {
        bytes,
        sd_bytes: evidence.as_ref().map(|evidence| evidence.sd_bytes()),
        bytes_per_hour: per_hour(bytes),
        ci95,
        median_bytes_per_hour: history
            .seconds()
            .and_then(|seconds| theil_sen(&series, seconds))
            .map(|per_second| per_second * 3600.0),
        p_value: evidence.as_ref().map(|evidence| evidence.p_value()),
        objects: objects(last) - objects(0),
        retention: share_of(allocated_by_holding, plain).map(|kept| kept.min(1.0)),
        churn: share_of(allocated, plain).map(|kept| (1.0 / kept).max(1.0)),
    }
}

/// Buckets as patterns weigh them: by growth, or by what is in use in a single snapshot.
pub(super) fn weigh(case: &Case, buckets: &[u32]) -> HeapView {
    let (history, last) = (case.history, case.last());
    let stacks: Vec<WeighedStack> = buckets
        .iter()
        .map(|&number| {
            let bucket = history.buckets()[number as usize];
            let before = if case.is_single() {
                0
            } else {
                history.inuse(0, number)
            };
            WeighedStack {
                bucket: number,
                stack: bucket.stack,
                size: bucket.size,
                weight: (history.inuse(last, number) - before) as f64,
            }
        })
        .collect();
    let passing = match case.is_single() {
        true => passing_frames(case),
        false => Vec::new(),
    };
    HeapView {
        passing,
        total: stacks.iter().map(|stack| stack.weight).sum(),
        stacks,
        churn: None,
        retention: None,
    }
}

/// What a pasted report knows of functions above stacks that it does not show.
fn passing_frames(case: &Case) -> Vec<WeighedFrame> {
    let heaps = case
        .snapshots()
        .filter_map(|snapshot| snapshot.heap.as_ref());
    heaps
        .flat_map(|heap| &heap.passing)
        .map(|passing| WeighedFrame {
            frame: case.sites.symbols().frame(passing.frame),
            weight: passing.bytes as f64,
        })
        .collect()
}

/// The pattern's own rule first, then the frame that explains the growth best, then, for
/// goroutines alone, the application frame that stands on most of their stacks.
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
        && let Some(blamed) = view.blame(&matched.pattern.culprit, stacks)
    {
        let seen_in = if blamed.in_goroutine {
            "goroutine"
        } else {
            "heap"
        };
        let basis = format!("the frame that the pattern {} names", matched.pattern.name);
        return written(blamed.frame, seen_in, basis);
    }
    if !parts.grown.is_empty() || parts.crowds.is_empty() {
        let between = if case.is_single() {
            (0, 0)
        } else {
            (0, case.last())
        };
        let found = blame(case.history, case.sites, buckets, between)?;
        let basis = format!(
            "{:.0} % of this growth passes through it; Ochiai score {:.2}",
            found.share * 100.0,
            found.score
        );
        return written(found.frame, "heap", basis);
    }
    let frame = view.crowd_owner(&parts.crowds)?;
    let basis = "the program's own frame on most of these goroutines' stacks".to_owned();
    written(frame, "goroutine", basis)
}

/// How sure a finding is, 0 to 1. A verdict starts at what its rule proves (leak 0.7, growing
/// 0.4, a shape that argues against a leak 0.2, suspect 0.3); a window of ten minutes and eight
/// points, memory that is never freed, and a known pattern each add 0.05 to 0.1.
fn confidence(
    case: &Case,
    verdict: FindingVerdict,
    parts: &Parts,
    growth: Option<&FindingGrowth>,
) -> f64 {
    let start: f64 = match verdict {
        FindingVerdict::Leak => 0.7,
        FindingVerdict::Growing => 0.4,
        FindingVerdict::Suspect => 0.3,
        _ => 0.2,
    };
    let points = case.history.distinct().len().max(case.crowds.points);
    let long = case
        .window_seconds()
        .is_some_and(|seconds| seconds >= 600.0);
    let kept = growth
        .and_then(|g| g.retention)
        .is_some_and(|kept| kept >= 0.9);
    let bonus = [
        (long, 0.1),
        (points >= 8, 0.05),
        (kept, 0.05),
        (parts.matched.is_some(), 0.09),
    ];
    let bonus: f64 = bonus
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, add)| add)
        .sum();
    (100.0 * (start + bonus)).round() / 100.0
}
