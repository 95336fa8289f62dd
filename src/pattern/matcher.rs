//! Holds the evidence of a finding against every pattern.

use super::goroutines::read_goroutines;
use super::passing::bytes_passing;
use super::view::{EvidenceView, HeapView};
use super::{Catalogue, HeapCondition, Pattern, Trend, Variant};
use crate::site::FrameClass;
use crate::units::size;
use std::collections::BTreeMap;

/// A pattern whose required conditions all hold.
#[derive(Debug, Clone)]
pub struct PatternMatch<'c> {
    /// The pattern.
    pub pattern: &'c Pattern,
    /// Its form, if one of its variants holds.
    pub variant: Option<&'c Variant>,
    /// One sentence per condition that holds.
    pub evidence: Vec<String>,
    /// Numbers of the heap buckets that met a condition that holds.
    pub met: Vec<u32>,
    /// Numbers of the heap buckets that belong to it beyond the finding's own.
    pub gathered: Vec<u32>,
    /// Indices of the crowds that meet its conditions.
    pub crowds: Vec<usize>,
}

impl PatternMatch<'_> {
    /// The variant's title, or the pattern's.
    pub fn title(&self) -> &str {
        let own = self.variant.and_then(|variant| variant.title.as_deref());
        own.unwrap_or(&self.pattern.title)
    }

    /// The variant's why, or the pattern's.
    pub fn why(&self) -> &str {
        let own = self.variant.and_then(|variant| variant.why.as_deref());
        own.unwrap_or(&self.pattern.why)
    }

    /// The variant's fix, or the pattern's.
    pub fn fix(&self) -> &str {
        let own = self.variant.and_then(|variant| variant.fix.as_deref());
        own.unwrap_or(&self.pattern.fix)
    }
}

/// What the catalogue says of a finding.
#[derive(Debug, Default)]
pub struct Matches<'c> {
    /// Patterns that match, the most specific first.
    pub matched: Vec<PatternMatch<'c>>,
    /// Patterns whose heap conditions hold but whose goroutine conditions could not be
    /// checked, because no goroutine profile was captured.
    pub unsettled: Vec<&'c Pattern>,
}

/// How a condition stands, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Fails,
    /// The evidence it needs was not captured.
    Unknown,
    Holds,
}

/// Matches a finding. `heap` is its heap side (`None` for one that rests on goroutines
/// alone), `all` every stack of the run, from which patterns may gather.
pub fn match_patterns<'c>(
    catalogue: &'c Catalogue,
    view: &EvidenceView,
    heap: Option<&HeapView>,
    all: &HeapView,
) -> Matches<'c> {
    let mut matches = Matches::default();
    for pattern in catalogue.patterns() {
        match_one(pattern, view, heap, all, &mut matches);
    }
    matches
        .matched
        .sort_by_key(|found| std::cmp::Reverse(found.pattern.specificity));
    matches
}

fn match_one<'c>(
    pattern: &'c Pattern,
    view: &EvidenceView,
    heap: Option<&HeapView>,
    all: &HeapView,
    matches: &mut Matches<'c>,
) {
    if pattern.needs_growth && view.is_single {
        return;
    }
    // Growth of the heap has to do with a pattern that says nothing of the heap only by chance.
    if heap.is_some() && pattern.heap.is_empty() && !view.is_single {
        return;
    }
    // Without heap growth of its own a finding must be about goroutines.
    if heap.is_none()
        && !pattern
            .goroutines
            .iter()
            .any(|condition| condition.one_of.is_some() || condition.is_required(view.is_single))
    {
        return;
    }
    let reading = read_pattern(pattern, view, heap.unwrap_or(all), all);
    // One that rests on goroutines alone needs some to rest on.
    let heap_holds = match heap {
        Some(_) => reading.heap_holds,
        None => !reading.found.crowds.is_empty(),
    };
    match (heap_holds, reading.goroutines) {
        (true, Standing::Holds) => matches.matched.push(reading.found),
        (true, Standing::Unknown) => matches.unsettled.push(pattern),
        _ => {}
    }
}

/// Reads a pattern's evidence again once all parts of its finding are known: sentences and
/// variant are then of the whole.
pub fn reread<'c>(
    pattern: &'c Pattern,
    view: &EvidenceView,
    heap: &HeapView,
    all: &HeapView,
) -> PatternMatch<'c> {
    read_pattern(pattern, view, heap, all).found
}

/// A pattern's conditions, each read.
struct PatternReading<'c> {
    found: PatternMatch<'c>,
    /// Whether every required condition on the heap holds.
    heap_holds: bool,
    /// How the required conditions on the goroutines stand together.
    goroutines: Standing,
}

fn read_pattern<'c>(
    pattern: &'c Pattern,
    view: &EvidenceView,
    heap: &HeapView,
    all: &HeapView,
) -> PatternReading<'c> {
    let mut held: Vec<&str> = Vec::new();
    let mut found = PatternMatch {
        pattern,
        variant: None,
        evidence: Vec::new(),
        met: Vec::new(),
        gathered: Vec::new(),
        crowds: Vec::new(),
    };
    let mut heap_holds = true;
    // By their word, the best of the conditions of which one is needed.
    let mut one_of_heap: BTreeMap<&str, bool> = BTreeMap::new();
    for condition in &pattern.heap {
        let reading = read_heap(condition, view, heap);
        if condition.gathers && !condition.absent {
            found
                .gathered
                .extend(stacks_that_meet(condition, view, all).map(|s| s.bucket));
        }
        if let Some(word) = &condition.one_of {
            *one_of_heap.entry(word).or_default() |= reading.holds;
        }
        if reading.holds {
            held.push(&condition.id);
            found.evidence.push(reading.sentence);
            if !condition.absent {
                found
                    .met
                    .extend(stacks_that_meet(condition, view, heap).map(|s| s.bucket));
            }
        } else if condition.is_required(view.is_single) {
            heap_holds = false;
        }
    }
    heap_holds &= one_of_heap.values().all(|&holds| holds);
    let mut goroutines = Standing::Holds;
    let mut one_of: BTreeMap<&str, Standing> = BTreeMap::new();
    for condition in &pattern.goroutines {
        let reading = read_goroutines(condition, view);
        if let Some(word) = &condition.one_of {
            let best = one_of.entry(word).or_insert(reading.standing);
            *best = reading.standing.max(*best);
        }
        if reading.standing == Standing::Holds {
            held.push(&condition.id);
            found.evidence.push(reading.sentence);
            // Those that only show that nothing grew are not part of the finding.
            if condition.trend != Trend::Steady {
                found.crowds.extend(reading.crowds);
            }
        } else if condition.is_required(view.is_single) {
            goroutines = goroutines.min(reading.standing);
        }
    }
    let weakest = one_of.into_values().min();
    goroutines = goroutines.min(weakest.unwrap_or(Standing::Holds));
    let holds = |id: &String| held.contains(&id.as_str());
    found.variant = pattern
        .variant
        .iter()
        .find(|v| v.when.iter().all(holds) && !v.when_not.iter().any(holds));
    for numbers in [&mut found.met, &mut found.gathered] {
        numbers.sort_unstable();
        numbers.dedup();
    }
    found.crowds.sort_unstable();
    found.crowds.dedup();
    PatternReading {
        found,
        heap_holds,
        goroutines,
    }
}

pub(super) struct HeapReading {
    pub holds: bool,
    pub sentence: String,
}

pub(super) fn read_heap(
    condition: &HeapCondition,
    view: &EvidenceView,
    heap: &HeapView,
) -> HeapReading {
    let (mut bytes, mut stacks) = (0.0, 0usize);
    for stack in stacks_that_meet(condition, view, heap) {
        bytes += stack.weight;
        stacks += 1;
    }
    let passing = bytes_passing(condition, view, heap).filter(|passing| *passing > bytes);
    bytes = passing.unwrap_or(bytes);
    let share = if heap.total > 0.0 {
        bytes / heap.total
    } else {
        0.0
    };
    let least = match view.is_single {
        true => condition.suspect_share,
        false => condition.min_share,
    };
    let churn_fits = view.is_single
        || match (condition.min_churn, condition.max_churn) {
            (None, None) => true,
            (least, most) => heap.churn.is_some_and(|churn| {
                least.is_none_or(|least| churn >= least) && most.is_none_or(|most| churn <= most)
            }),
        };
    let retention_fits = view.is_single
        || match (condition.min_retention, condition.max_retention) {
            (None, None) => true,
            (least, most) => heap.retention.is_some_and(|kept| {
                least.is_none_or(|least| kept >= least) && most.is_none_or(|most| kept <= most)
            }),
        };
    let shape_fits = view.is_single
        || condition.shape.is_empty()
        || heap
            .shape
            .is_some_and(|shape| condition.shape.iter().any(|wanted| wanted.is(shape)));
    let share_fits = match condition.absent {
        true => share < least,
        false => (stacks > 0 || passing.is_some()) && share >= least,
    };
    let number = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |v| format!("{v:.1}"));
    let mut sentence = fill(
        &condition.says,
        &[
            ("bytes", size(bytes)),
            ("share", format!("{:.0} %", share.min(1.0) * 100.0)),
            ("stacks", stacks.to_string()),
            ("churn", number(heap.churn)),
            ("retention", number(heap.retention)),
        ],
    );
    if passing.is_some() {
        sentence.push_str("; by cumulative figures, for the text shows no whole stacks");
    }
    HeapReading {
        holds: share_fits && churn_fits && retention_fits && shape_fits,
        sentence,
    }
}

fn stacks_that_meet<'h>(
    condition: &'h HeapCondition,
    view: &'h EvidenceView,
    heap: &'h HeapView,
) -> impl Iterator<Item = &'h super::view::WeighedStack> {
    // A report in place of a profile has no sizes; a suspicion may rest on names alone.
    let has_names = condition.site.is_some() || !condition.through.is_empty();
    let is_unknown = move |size: u64| size == 0 && view.is_single && has_names;
    heap.stacks.iter().filter(move |stack| {
        let fits_size = condition.object_size.is_none_or(|[least, most]| {
            (least..=most).contains(&stack.size) || is_unknown(stack.size)
        });
        let fits_site = condition.site.as_ref().is_none_or(|expression| {
            let site = view.sites.site(stack.stack);
            site.is_some_and(|frame| view.is_match(expression, frame))
        });
        let fits_owner = !condition.under_application
            || view
                .sites
                .frames(stack.stack)
                .any(|frame| view.sites.class(frame.function) == FrameClass::Application);
        fits_size && fits_site && fits_owner && fits_frames(condition, view, stack.stack)
    })
}

fn fits_frames(
    condition: &HeapCondition,
    view: &EvidenceView,
    stack: crate::profile::StackId,
) -> bool {
    if condition.through.is_empty() && condition.without.is_none() {
        return true;
    }
    let mut wanted = condition.through.iter().peekable();
    for frame in view.sites.frames(stack) {
        if let Some(expression) = &condition.without
            && view.is_match(expression, frame)
        {
            return false;
        }
        if wanted
            .peek()
            .is_some_and(|expression| view.is_match(expression, frame))
        {
            wanted.next();
        }
    }
    wanted.peek().is_none()
}

/// Replaces `{name}` by its value; a name that is not known stays as it is.
pub(super) fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, tail) = rest.split_at(open);
        out.push_str(before);
        let value = tail.find('}').and_then(|close| {
            let name = &tail[1..close];
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, close))
        });
        match value {
            Some((value, close)) => {
                // Filled in once: braces within a value are text.
                out.push_str(value);
                rest = &tail[close + 1..];
            }
            None => {
                out.push('{');
                rest = &tail[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let values = [("a", "{b}".to_owned()), ("b", "x".to_owned())];
        assert_eq!(fill("1 {a} 2 {b} {c} {", &values), "1 {b} 2 x {c} {");
    }
}
