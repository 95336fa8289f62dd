//! What is said of a diagnosis in sentences, the same in every form.

use super::sanitize::sanitize;
use super::sparkline::sparkline;
use super::units::{
    count_of, counted, duration, from_to_with_errors, hours, hours_from_to, period,
    rate_with_interval, size, size_with_error,
};
use crate::diagnosis::{Diagnosis, FindingVerdict, Forecast, Input, Totals, Verdict};

/// The verdict as it stands before its sentence.
pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Leak => "LEAK",
        Verdict::Growing => "GROWING",
        Verdict::Undecided => "UNDECIDED",
        Verdict::Steady => "STEADY",
        Verdict::Shrinking => "SHRINKING",
    }
}

/// What carries the worst findings.
fn what_grows(diagnosis: &Diagnosis) -> &'static str {
    let worst = diagnosis.findings.iter().map(|f| f.verdict).max();
    let of_worst = |name: &str| {
        let mut worst_ones = diagnosis
            .findings
            .iter()
            .filter(|f| Some(f.verdict) == worst);
        worst_ones.any(|finding| finding.rests_on.contains(&name))
    };
    match (of_worst("heap"), of_worst("goroutines")) {
        (true, true) => "memory and goroutines grow",
        (false, true) => "goroutines pile up",
        _ => "memory grows",
    }
}

/// The verdict in a sentence.
pub(super) fn answer(diagnosis: &Diagnosis) -> String {
    let number = |verdict: FindingVerdict| {
        diagnosis
            .findings
            .iter()
            .filter(|finding| finding.verdict == verdict)
            .count()
    };
    let window = match diagnosis.series.window_seconds {
        Some(seconds) if seconds > 0.0 => format!(" in {}", duration(seconds)),
        _ => String::new(),
    };
    match diagnosis.verdict {
        Verdict::Leak => match number(FindingVerdict::Leak) {
            0 | 1 => format!("{} in every third of the window", what_grows(diagnosis)),
            causes => format!(
                "{} in every third of the window, for {causes} causes",
                what_grows(diagnosis)
            ),
        },
        Verdict::Growing => format!(
            "{} beyond noise; whether it is a leak needs more snapshots or a longer window",
            what_grows(diagnosis)
        ),
        Verdict::Steady if diagnosis.findings.is_empty() => {
            format!(
                "nothing on the heap grew beyond noise{window}{}",
                see_below(diagnosis)
            )
        }
        Verdict::Steady => format!("nothing grows without end{window}; see below for what moved"),
        Verdict::Shrinking => format!("the heap fell beyond noise{window}"),
        Verdict::Undecided if diagnosis.series.snapshots == 1 => {
            match number(FindingVerdict::Suspect) {
                0 => "one snapshot shows what is in use, not what grows".to_owned(),
                1 => "one snapshot shows what is in use, not what grows; it looks like one known pattern".to_owned(),
                many => format!("one snapshot shows what is in use, not what grows; it looks like {many} known patterns"),
            }
        }
        Verdict::Undecided => "memory moved, but these snapshots do not settle how".to_owned(),
    }
}

/// Names that the answer refers to.
const MAX_NAMED: usize = 3;

/// `; see native-memory below`: what holds or moved memory though nothing leaks.
fn see_below(diagnosis: &Diagnosis) -> String {
    let names = diagnosis.not_a_leak.iter().map(|entry| entry.name.as_str());
    let names: Vec<_> = names.take(MAX_NAMED).map(sanitize).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; see {} below", names.join(", ")),
    }
}

/// `6 snapshots over 50 min of one process, 6 GC points, one sample per 512 KiB`.
pub(super) fn series_facts(diagnosis: &Diagnosis) -> String {
    let series = &diagnosis.series;
    let mut facts = counted(series.snapshots, "snapshot");
    if series.snapshots > 1 {
        if let Some(seconds) = series.window_seconds {
            facts.push_str(&format!(" over {}", duration(seconds)));
        }
        facts.push_str(match series.is_one_process {
            true => " of one process",
            false => " of several processes (--force)",
        });
        if series.gc_points > 0 {
            facts.push_str(&format!(", {}", counted(series.gc_points, "GC point")));
        }
        if let Some(cycles) = series.gc_cycles {
            facts.push_str(&format!(" in {} GC cycles", count_of(cycles)));
        }
    }
    if series.repeats > 0 {
        facts.push_str(&format!(
            ", {} of a cycle already seen",
            count_of(series.repeats as u64)
        ));
    }
    if series.restarts > 0 {
        facts.push_str(&format!(
            ", {} before or after left aside",
            counted(series.restarts, "other run")
        ));
    }
    match series.sampling_period {
        Some(1) => facts.push_str(", every allocation recorded"),
        Some(bytes) => facts.push_str(&format!(", one sample per {}", period(bytes))),
        None => {}
    }
    facts
}

/// How small a leak could have been missed.
pub(super) fn noise(diagnosis: &Diagnosis) -> Option<String> {
    let series = &diagnosis.series;
    let limit = series.detection_limit_bytes?;
    let per_hour = series
        .detection_limit_bytes_per_hour
        .map_or_else(String::new, |rate| format!(" ({}/h)", size(rate)));
    let size = size(limit);
    Some(match diagnosis.verdict {
        Verdict::Steady | Verdict::Shrinking => format!(
            "a leak of up to about {size}{per_hour} at one place can have gone unseen in this window"
        ),
        _ => {
            format!("growth below about {size}{per_hour} at one place can go unseen in this window")
        }
    })
}

pub(super) fn limit(forecast: &Forecast) -> Option<String> {
    let limit = size(forecast.limit_bytes? as f64);
    let limit = match forecast.limit_from {
        Some("cgroup") => format!("{limit} of the control group"),
        _ => limit,
    };
    let held = forecast
        .held_bytes
        .map_or_else(String::new, |held| format!(" ({} now)", size(held as f64)));
    Some(
        match (
            forecast.earliest_hours,
            forecast.latest_hours,
            &forecast.reason,
        ) {
            (_, _, Some(reason)) => format!("{limit}{held}: {reason}"),
            (Some(0.0), Some(latest), None) => {
                format!("{limit} reached within {}{held}", hours(latest))
            }
            (Some(earliest), Some(latest), None) => {
                format!(
                    "{limit} reached in {}{held}",
                    hours_from_to(earliest, latest)
                )
            }
            (Some(earliest), None, None) => {
                format!(
                    "{limit} reached in {} at the earliest{held}",
                    hours(earliest)
                )
            }
            (None, ..) => format!("{limit}: no forecast"),
        },
    )
}

/// The heap's sizes, its course in bars, and its rate; none without a heap.
pub(super) fn heap_facts(totals: &Totals) -> Option<Vec<String>> {
    let last = totals.last_bytes?;
    let Some(first) = totals.first_bytes.filter(|_| totals.series.len() > 1) else {
        return Some(vec![format!(
            "{} in use",
            size_with_error(last as f64, totals.last_sd)
        )]);
    };
    let values: Vec<f64> = totals.series.iter().map(|bytes| *bytes as f64).collect();
    let mut facts = vec![
        from_to_with_errors(
            (first as f64, totals.first_sd),
            (last as f64, totals.last_sd),
        ),
        sparkline(&values),
    ];
    facts.extend(
        totals
            .bytes_per_hour
            .map(|rate| rate_with_interval(rate, totals.ci95)),
    );
    Some(facts)
}

/// The number of goroutines, and its course in bars; none where they were not captured.
pub(super) fn goroutine_facts(totals: &Totals) -> Option<Vec<String>> {
    let (first, last) = (totals.goroutines.first()?, totals.goroutines.last()?);
    let values: Vec<f64> = totals
        .goroutines
        .iter()
        .map(|number| *number as f64)
        .collect();
    Some(match values.len() {
        1 => vec![count_of(*last)],
        _ => vec![
            format!("{} → {}", count_of(*first), count_of(*last)),
            sparkline(&values),
        ],
    })
}

/// What a file held.
pub(super) fn input_facts(input: &Input) -> String {
    let mut facts = vec![input.kind.to_owned()];
    facts.extend(input.taken_at.clone());
    facts.extend(input.inuse_bytes.map(|bytes| size(bytes as f64)));
    facts.extend(
        input
            .goroutines
            .map(|number| format!("{} goroutines", count_of(number))),
    );
    facts.extend(
        input
            .build_id
            .as_ref()
            .map(|id| format!("build {}", short_id(id))),
    );
    if !input.used {
        facts.push("not used".to_owned());
    }
    facts.join(", ")
}

fn short_id(id: &str) -> String {
    id.chars().take(12).collect()
}
