//! Growth over time as a chart: lines in an SVG that stretches with its place, labels beside it
//! as text, so that they keep their size on any screen.

use crate::diagnosis::{Diagnosis, FindingSite, Moment, Verdict};
use crate::report::names::{brief, place};
use crate::report::sanitize::html::Text;
use crate::report::sparkline::thin_out;
use crate::report::units::{counted, duration, from_to, rate_with_interval, size};

/// The drawing's own measure.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;
/// Sites with a line of their own.
const MAX_LINES: usize = 5;
/// Snapshots that the table lists, and points of a small line.
const MAX_LISTED: usize = 400;
const MAX_SPARK: usize = 48;
/// How far beyond the last snapshot growth is drawn, as a share of the window.
const AHEAD: f64 = 0.25;

/// A chart for a page.
pub(super) struct Chart {
    /// Lines and marks.
    pub(super) svg: String,
    /// Labels from the top down.
    pub(super) y_labels: Vec<String>,
    /// Labels from left to right.
    pub(super) x_labels: Vec<String>,
    /// What each line is.
    pub(super) legend: Vec<Entry>,
    /// The figures behind it: one row a snapshot.
    pub(super) rows: Vec<MomentRow>,
    /// How many snapshots the table leaves out; empty for none.
    pub(super) unshown: String,
}

/// A line of the legend.
pub(super) struct Entry {
    /// Class of its colour.
    pub(super) class: &'static str,
    /// What it shows.
    pub(super) name: Text,
    /// Its figures.
    pub(super) figures: String,
}

/// A snapshot in figures.
pub(super) struct MomentRow {
    pub(super) source: Text,
    pub(super) time: String,
    pub(super) bytes: i64,
    pub(super) heap: String,
    pub(super) note: &'static str,
}

struct Scale {
    from: f64,
    seconds: f64,
    most: f64,
}

impl Scale {
    fn point(&self, seconds: f64, bytes: f64) -> String {
        format!(
            "{:.1},{:.1}",
            (seconds - self.from) / self.seconds * WIDTH,
            HEIGHT - (bytes / self.most).clamp(0.0, 1.0) * HEIGHT
        )
    }
}

impl Chart {
    /// None with fewer than two heaps.
    pub(super) fn new(diagnosis: &Diagnosis) -> Option<Self> {
        let heaps: Vec<(f64, &Moment, f64)> = heaps_of(&diagnosis.timeline);
        let judged: Vec<&(f64, &Moment, f64)> = heaps.iter().filter(|h| h.1.used).collect();
        let (first, last) = (judged.first()?, judged.last()?);
        if judged.len() < 2 {
            return None;
        }
        let window = last.0 - first.0;
        let ahead = ahead_of(diagnosis).filter(|_| window > 0.0);
        let until = last.0 + if ahead.is_some() { AHEAD * window } else { 0.0 };
        let latest = heaps.iter().map(|heap| heap.0).fold(until, f64::max);
        let from = heaps
            .iter()
            .map(|heap| heap.0)
            .fold(f64::INFINITY, f64::min);
        let hours = (until - last.0) / 3600.0;
        let reached = ahead.map_or(0.0, |[_, high]| last.2 + high * hours);
        let highest = heaps.iter().map(|heap| heap.2).fold(reached, f64::max);
        let (most, steps) = round_top(highest);
        let scale = Scale {
            from,
            seconds: (latest - from).max(f64::MIN_POSITIVE),
            most,
        };
        let mut svg = String::new();
        for step in 1..steps {
            let y = HEIGHT * step as f64 / steps as f64;
            svg += &format!("<path class=\"grid\" d=\"M0 {y:.1}H{WIDTH}\"/>");
        }
        svg += &other_runs(&heaps, &scale);
        let mut legend = Vec::new();
        if let Some([low, high]) = ahead {
            svg += &format!(
                "<polygon class=\"ahead\" points=\"{} {} {}\"/>",
                scale.point(last.0, last.2),
                scale.point(until, last.2 + low * hours),
                scale.point(until, last.2 + high * hours),
            );
        }
        let times: Vec<f64> = judged.iter().map(|heap| heap.0).collect();
        let lines = diagnosis
            .sites
            .iter()
            .filter(|site| is_line(site, times.len()));
        for (number, site) in lines.take(MAX_LINES).enumerate() {
            let class = ["c0", "c1", "c2", "c3", "c4"][number];
            svg += &polyline(
                class,
                times.iter().copied().zip(site.series.iter().copied()),
                &scale,
            );
            let place = place(site.file.as_deref(), site.line);
            legend.push(Entry {
                class,
                name: Text::new(format!("{} {place}", brief(&site.function)).trim_end()),
                figures: from_to(site.before.unwrap_or(0.0), site.after),
            });
        }
        svg += &polyline("total", judged.iter().map(|heap| (heap.0, heap.2)), &scale);
        for heap in &judged {
            let class = if heap.1.repeats_previous {
                "dot repeat"
            } else {
                "dot"
            };
            svg += &format!(
                "<path class=\"{class}\" d=\"M{}h0\"/>",
                scale.point(heap.0, heap.2)
            );
        }
        legend.insert(
            0,
            Entry {
                class: "total",
                name: Text::new("the whole heap in use"),
                figures: from_to(first.2, last.2),
            },
        );
        legend.extend(more_legend(diagnosis, ahead, &heaps));
        Some(Self {
            svg,
            y_labels: (0..=steps)
                .rev()
                .map(|step| size(most * step as f64 / steps as f64))
                .collect(),
            x_labels: x_labels(&scale, diagnosis),
            legend,
            unshown: match heaps.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!("… {}", counted(more, "more snapshot")),
            },
            rows: heaps.iter().take(MAX_LISTED).map(row).collect(),
        })
    }
}

/// Seconds, snapshot and bytes; without clocks snapshots are a second apart.
fn heaps_of(timeline: &[Moment]) -> Vec<(f64, &Moment, f64)> {
    let has_clocks = timeline.iter().all(|moment| moment.seconds.is_some());
    let moments = timeline.iter().enumerate();
    moments
        .filter_map(|(number, moment)| {
            let seconds = moment.seconds.filter(|_| has_clocks);
            let bytes = moment.inuse_bytes? as f64;
            Some((seconds.unwrap_or(number as f64), moment, bytes))
        })
        .collect()
}

/// The rate's interval, where growth is said to go on.
fn ahead_of(diagnosis: &Diagnosis) -> Option<[f64; 2]> {
    let is_growing = matches!(diagnosis.verdict, Verdict::Leak | Verdict::Growing);
    diagnosis.totals.ci95.filter(|_| is_growing)
}

fn is_line(site: &FindingSite, points: usize) -> bool {
    site.series.len() == points && site.delta.is_some_and(|delta| delta != 0.0)
}

fn polyline(class: &str, points: impl Iterator<Item = (f64, f64)>, scale: &Scale) -> String {
    let points: Vec<String> = points.map(|(x, y)| scale.point(x, y)).collect();
    format!(
        "<polyline class=\"line {class}\" points=\"{}\"/>",
        points.join(" ")
    )
}

/// Lines of the runs that are not judged, and where one process followed another.
fn other_runs(heaps: &[(f64, &Moment, f64)], scale: &Scale) -> String {
    let mut svg = String::new();
    let runs = heaps.iter().map(|heap| heap.1.run).max().unwrap_or(0);
    let of_run = |run: usize| heaps.iter().filter(move |heap| heap.1.run == run);
    for run in 0..=runs {
        if of_run(run).any(|heap| !heap.1.used) {
            svg += &polyline("other", of_run(run).map(|heap| (heap.0, heap.2)), scale);
            for heap in of_run(run) {
                svg += &format!(
                    "<path class=\"dot other\" d=\"M{}h0\"/>",
                    scale.point(heap.0, heap.2)
                );
            }
        }
        let start = of_run(run).next().map(|heap| heap.0);
        let before = heaps.iter().filter(|heap| heap.1.run < run);
        let ended = before.map(|heap| heap.0).fold(f64::NEG_INFINITY, f64::max);
        if let Some(start) = start.filter(|start| ended.is_finite() && ended <= *start) {
            let x = scale.point((start + ended) / 2.0, 0.0);
            svg += &format!("<path class=\"restart\" d=\"M{x}V0\"/>");
        }
    }
    svg
}

fn more_legend(
    diagnosis: &Diagnosis,
    ahead: Option<[f64; 2]>,
    heaps: &[(f64, &Moment, f64)],
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut entry = |class, name: &str, figures: String| {
        entries.push(Entry {
            class,
            name: Text::new(name),
            figures,
        });
    };
    if let (Some(_), Some(rate)) = (ahead, diagnosis.totals.bytes_per_hour) {
        let figures = rate_with_interval(rate, diagnosis.totals.ci95);
        entry("ahead", "if it goes on like this", figures);
    }
    if heaps
        .iter()
        .any(|heap| heap.1.used && heap.1.repeats_previous)
    {
        entry("repeat", "a collector cycle already seen", String::new());
    }
    if heaps.iter().any(|heap| heap.1.run > 0) {
        entry("restart", "one process ends, another begins", String::new());
    }
    if heaps.iter().any(|heap| !heap.1.used) {
        entry("other", "another process: not judged", String::new());
    }
    entries
}

/// A round figure above all values, and the number of steps below it.
fn round_top(highest: f64) -> (f64, usize) {
    let mut unit = 1.0;
    while highest / unit >= 1024.0 {
        unit *= 1024.0;
    }
    let value = (highest / unit).max(1.0);
    let magnitude = 10f64.powf(value.log10().floor());
    for (step, steps) in [
        (1.0, 4),
        (1.2, 4),
        (1.6, 4),
        (2.0, 4),
        (3.0, 3),
        (4.0, 4),
        (6.0, 3),
        (8.0, 4),
        (10.0, 5),
    ] {
        if value <= step * magnitude {
            return (step * magnitude * unit, steps);
        }
    }
    (10.0 * magnitude * unit, 5)
}

fn x_labels(scale: &Scale, diagnosis: &Diagnosis) -> Vec<String> {
    if diagnosis
        .timeline
        .iter()
        .any(|moment| moment.seconds.is_none())
    {
        return vec!["first snapshot".to_owned(), "last snapshot".to_owned()];
    }
    (0..=4)
        .map(|step| scale.from + scale.seconds * f64::from(step) / 4.0)
        .map(|seconds| match seconds {
            s if s.abs() < scale.seconds / 1e6 => "0".to_owned(),
            s if s < 0.0 => format!("-{}", duration(-s)),
            s => duration(s),
        })
        .collect()
}

fn row((_, moment, bytes): &(f64, &Moment, f64)) -> MomentRow {
    MomentRow {
        source: Text::new(&moment.source),
        time: moment.taken_at.clone().unwrap_or_default(),
        bytes: moment.inuse_bytes.unwrap_or(0),
        heap: size(*bytes),
        note: match (moment.used, moment.repeats_previous) {
            (false, _) => "another process",
            (true, true) => "a cycle already seen",
            (true, false) => "",
        },
    }
}

/// A line of small size from the smallest value to the largest, as a report on a terminal has
/// it in bars; empty for fewer than two values.
pub(super) fn spark(values: &[f64]) -> String {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    if values.len() < 2 || !low.is_finite() {
        return String::new();
    }
    // Noise must not look like growth.
    let span = (high - low).max(high.abs() / 4.0).max(f64::MIN_POSITIVE);
    let values = thin_out(values, MAX_SPARK);
    let last = values.len() - 1;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .filter(|(_, value)| value.is_finite())
        .map(|(number, value)| {
            let x = 2.0 + number as f64 / last as f64 * 76.0;
            format!("{x:.1},{:.1}", 18.0 - (value - low) / span * 16.0)
        })
        .collect();
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 80 20\" width=\"80\" height=\"20\" aria-hidden=\"true\"><polyline points=\"{}\"/></svg>",
        points.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_above_the_highest_value() {
        let mib = 1_048_576.0;
        for (highest, top) in [
            (52.0 * mib, 60.0 * mib),
            (0.0, 1.0),
            (999.0, 1000.0),
            (1000.0 * 1024.0, 1000.0 * 1024.0),
            (17.0 * mib, 20.0 * mib),
        ] {
            let (most, steps) = round_top(highest);
            assert_eq!(most, top, "{highest}");
            assert!(most >= highest && (3..=5).contains(&steps));
        }
    }

    #[test]
    fn a_spark_line_keeps_noise_low() {
        assert_eq!(spark(&[1.0]), "");
        assert!(spark(&[0.0, 10.0]).contains("2.0,18.0 78.0,2.0"));
        // 4 of a span of 26: 18 − 16 · 4/26 = 15.5.
        assert!(spark(&[100.0, 104.0]).contains("78.0,15.5"));
    }
}
