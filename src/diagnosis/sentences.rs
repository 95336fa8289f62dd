//! What a finding says in words: title, why, fix, and evidence with numbers.

use super::case::Case;
use super::finding::Parts;
use super::{Culprit, FindingGoroutines, FindingGrowth, FindingVerdict, OtherRuns};
use crate::growth::{Shape, ShapeReading};
use crate::units::{duration, signed_size, size};

/// Share of the growth below which a part of it is not worth a sentence.
const LEAST_WORTH_SAYING: f64 = 0.01;
/// Scatter above this multiple of what counts predict is worth a sentence.
const NOTABLE_DISPERSION: f64 = 2.5;
/// Distance of the median slope from the mean one, as a share, that is worth a sentence.
const NOTABLE_SKEW: f64 = 0.5;

/// Title, why and fix.
pub(super) struct Texts {
    pub title: String,
    pub why: String,
    pub fix: String,
}

impl Texts {
    /// The pattern's texts; without a pattern, what can be said honestly of plain growth.
    pub fn of(
        parts: &Parts,
        verdict: FindingVerdict,
        culprit: Option<&Culprit>,
        goroutines: &[FindingGoroutines],
    ) -> Self {
        if let Some(matched) = &parts.matched {
            return Self {
                title: matched.title().to_owned(),
                why: matched.why().to_owned(),
                fix: matched.fix().to_owned(),
            };
        }
        let who = culprit.map_or("an unknown function", |culprit| culprit.function.as_str());
        if parts.grown.is_empty() {
            let group = goroutines.first();
            let place = group.map_or(who, |group| group.function.as_str());
            if parts.crowd_shape.is_none() && group.is_some_and(|group| group.leaked > 0) {
                return Self {
                    title: format!("Goroutines in {place} can never go on"),
                    why: "nothing that could wake them can be reached any more: they stay, with their stacks and all that they refer to, until the process ends".to_owned(),
                    fix: format!("give the goroutines in {place} a way to end (a context, a closed channel, a buffer for the one value that nobody takes)"),
                };
            }
            return Self {
                title: format!("Goroutines pile up in {place}"),
                why: "goroutines are started and do not end; each keeps its stack and all that it refers to".to_owned(),
                fix: format!("give the goroutines in {place} a way to end (a context, a closed channel, a time-out), and let whoever starts them wait for that"),
            };
        }
        let harmless = |title: &str, why: &str, fix: &str| Self {
            title: format!("Memory allocated under {who} {title}"),
            why: why.to_owned(),
            fix: fix.to_owned(),
        };
        match verdict {
            FindingVerdict::Step => {
                return harmless(
                    "came all at once and stays",
                    "something was loaded, or load moved in, between two snapshots; nothing was added before or after",
                    "none needed if that was expected; find out what happened at that time if it was not",
                );
            }
            FindingVerdict::Plateauing => {
                return harmless(
                    "grew and levels off",
                    "it fills up and stops: a cache, a pool, or a start-up that ends",
                    "none needed if its full size fits the limit; give it a smaller bound if it does not",
                );
            }
            FindingVerdict::Sawtooth => {
                return harmless(
                    "comes and goes",
                    "what is allocated is given back again: batches, bursts, buffers between two flushes",
                    "none needed if the peaks fit the limit; smaller batches lower them if they do not",
                );
            }
            _ => {}
        }
        Self {
            title: format!("Memory allocated under {who} grows"),
            why: "no pattern of the catalogue fits; a heap profile shows who allocated the memory, not who keeps it".to_owned(),
            fix: format!("find where {who} stores what it allocates, and give that a bound or a way to remove entries"),
        }
    }
}

/// Evidence from the heap.
pub(super) fn of_heap(
    case: &Case,
    parts: &Parts,
    reading: &ShapeReading,
    growth: &FindingGrowth,
) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(of_warm_up(case, reading));
    let blocks: Vec<String> = reading
        .blocks
        .iter()
        .map(|block| signed_size(block.change))
        .collect();
    let blocks = blocks.join(", ");
    let weakest = reading.blocks.iter().map(|block| block.p_value);
    let weakest = p_value(weakest.fold(0.0, f64::max));
    match reading.shape {
        _ if let Some(container) = reading.container => said.push(format!(
            "one object is reallocated ever larger: {} → {}, {} times, in every third of the window; it is appended to and never cut",
            size(container.first as f64),
            size(container.last as f64),
            container.enlarged,
        )),
        Shape::Sustained if case.history.sampler().is_none() => {
            said.push(format!("grew in every third of the window: {blocks}"));
        }
        Shape::Sustained => said.push(format!(
            "grew in every third of the window: {blocks} (p {weakest} in the weakest)"
        )),
        Shape::Step => said.push(format!(
            "{:.0} % of the growth fell into one interval of {}: a step, not a slope",
            reading.largest_interval * 100.0,
            case.history.points().saturating_sub(1),
        )),
        Shape::Sawtooth => said.push(format!(
            "memory was given back: it fell by {:.0} % of the growth in between",
            reading.draw_down * 100.0
        )),
        Shape::Plateauing => said.push(format!(
            "the growth levels off: {blocks} in the thirds of the window"
        )),
        Shape::Open if !blocks.is_empty() => said.push(format!(
            "{}thirds of the window grew by {blocks} (p {weakest} in the weakest): not yet a steady slope",
            if parts.crowd_shape.is_some() {
                "of the heap alone the "
            } else {
                "the "
            }
        )),
        Shape::Open => {}
    }
    if matches!(reading.shape, Shape::Sustained | Shape::Open) {
        said.extend(of_scatter(reading, growth));
    }
    if let Some(p) = growth.p_value {
        let tests = case.tested.tests;
        said.push(format!(
            "no net growth would show this much with p {} ({tests} tests, false-discovery rate held at 5 %)",
            p_value(p)
        ));
    } else {
        said.push("no error estimate: the profiles have lost their object sizes".to_owned());
    }
    if let Some(retention) = growth.retention {
        said.push(match retention {
            r if r >= 0.995 => "of what the sites that hold memory allocated in the window, nothing was freed".to_owned(),
            r => format!(
                "of what the sites that hold memory allocated in the window, {:.0} % is still in use",
                r * 100.0
            ),
        });
    }
    let grown: f64 = super::candidate::growth_of(case.history, &parts.grown);
    if growth.bytes - grown > LEAST_WORTH_SAYING * growth.bytes {
        said.push(format!(
            "{} of the growth is at sites that are not significant by themselves but belong to the pattern",
            signed_size(growth.bytes - grown)
        ));
    }
    said
}

/// The warm-up that the thirds leave out.
fn of_warm_up(case: &Case, reading: &ShapeReading) -> Option<String> {
    let end = reading.warm_up_ends?;
    let long = case.history.seconds().map_or_else(
        || format!("the first {end} intervals"),
        |seconds| format!("the first {}", duration(seconds[end])),
    );
    Some(format!(
        "{long} are a warm-up, at least four times as steep as what follows; the thirds are those of the rest"
    ))
}

/// Load that swings, and odd snapshots.
fn of_scatter(reading: &ShapeReading, growth: &FindingGrowth) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(dispersion) = reading.dispersion.filter(|d| *d >= NOTABLE_DISPERSION) {
        said.push(format!(
            "the changes scatter {dispersion:.1} times as much as sampling explains (load that swings); the test of each third allows for it"
        ));
    }
    if let (Some(median), Some(mean)) = (growth.median_bytes_per_hour, growth.bytes_per_hour)
        && (median - mean).abs() > NOTABLE_SKEW * mean.abs()
    {
        said.push(format!(
            "the median slope between all pairs of snapshots is {}/h: a few snapshots make up much of the growth from first to last",
            signed_size(median)
        ));
    }
    said
}

/// The same sites in other runs.
pub(super) fn of_other_runs(others: &OtherRuns) -> String {
    let pooled = others.pooled_p_value.map_or_else(String::new, |p| {
        format!("; all runs pooled: p {}", p_value(p))
    });
    format!(
        "in {} of {} other runs (pods, or before a restart) the same sites grew beyond noise, in {} of them in every third{pooled}",
        others.grew, others.runs, others.sustained
    )
}

/// Evidence from the goroutines.
pub(super) fn of_crowds(case: &Case, parts: &Parts) -> Vec<String> {
    if parts.crowd_shape.is_none() {
        return Vec::new();
    }
    let sum = |at: fn(&Vec<u64>) -> Option<&u64>| -> u64 {
        let counts = parts
            .crowds
            .iter()
            .map(|&index| &case.crowds.crowds[index].counts);
        counts.filter_map(at).sum()
    };
    let (first, last) = (sum(|counts| counts.first()), sum(|counts| counts.last()));
    let over = case
        .window_seconds()
        .map_or_else(String::new, |s| format!(" over {}", duration(s)));
    let thirds = match parts.crowd_shape {
        Some(Shape::Sustained) => ", more in every third of the window",
        _ => "",
    };
    vec![format!(
        "goroutines {first} → {last}{over}{thirds} (counts are exact)"
    )]
}

/// What the runtime itself has proved.
pub(super) fn of_leaked(case: &Case, parts: &Parts) -> Option<String> {
    let crowds = || parts.crowds.iter().map(|&index| &case.crowds.crowds[index]);
    let leaked: u64 = crowds().map(|crowd| crowd.leaked()).sum();
    let first: u64 = crowds().filter_map(|crowd| crowd.leaked.first()).sum();
    let all: u64 = crowds().filter_map(|crowd| crowd.counts.last()).sum();
    let before = match case.crowds.points {
        0 | 1 => String::new(),
        _ => format!(", {first} in the first snapshot"),
    };
    (leaked > 0).then(|| {
        format!(
            "the runtime itself says that {leaked} of these {all} goroutines can never go on{before}: its collector looks for leaks and finds no false ones"
        )
    })
}

/// A p-value as people write it.
pub(super) fn p_value(p: f64) -> String {
    if p < 1e-12 {
        "< 1e-12".to_owned()
    } else if p < 0.001 {
        format!("= {p:.0e}")
    } else {
        format!("= {p:.3}")
    }
}
