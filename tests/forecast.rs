//! The forecast against what really happened: real captures cut short, and histories made up.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use support::profiles::{Pprof, START, gunzip};
use support::{Case, cases, heapdrift, json};

/// Snapshots that are given to heapdrift; the rest is the future.
const SEEN: [usize; 2] = [6, 7];
/// Least snapshots of a series.
const SERIES: usize = 10;
/// Share of the forecasts that have to hold the truth.
const RIGHT: f64 = 0.90;

/// What the Go runtime holds, in bytes, by the text of a memory file: Sys − HeapReleased.
fn held(case: &Case, stem: &str) -> i64 {
    let bytes = fs::read(case.dir.join(format!("{stem}.memory.txt.gz"))).unwrap();
    let text = String::from_utf8(gunzip(&bytes)).unwrap();
    let figure = |name: &str| -> i64 {
        let front = format!("# {name} = ");
        let line = text.lines().find_map(|line| line.strip_prefix(&front));
        line.unwrap().parse().unwrap()
    };
    figure("Sys") - figure("HeapReleased")
}

/// Seconds of a stem such as `20261130T095931Z` within its month.
fn seconds(stem: &str) -> i64 {
    let part = |from: usize| stem[from..from + 2].parse::<i64>().unwrap();
    ((part(6) * 24 + part(9)) * 60 + part(11)) * 60 + part(13)
}

/// Whether the program's own live heap grew over the window, and not its goroutines alone.
fn grows_on_the_heap(case: &Case) -> bool {
    case.label == "leak" && case.rate[0] > 0.0
}

fn forecast(case: &Case, stems: &[String], limit: i64) -> Value {
    let dir = tempfile::tempdir().unwrap();
    for file in case.part(stems) {
        fs::copy(&file, dir.path().join(file.file_name().unwrap())).unwrap();
    }
    let mut command = heapdrift();
    command.arg("diagnose").arg(dir.path()).args(["-f", "json"]);
    let output = command
        .args(["--limit", &limit.to_string()])
        .output()
        .unwrap();
    json(&output)["forecast"].clone()
}

/// The limit is what the process held at the end of the series. It is reached by the first
/// snapshot after the cut that holds as much, and after the one before it: memory moves in jumps (spans, the
/// scavenger), and between two snapshots nothing is known.
#[test]
fn the_range_holds_what_really_happened() {
    let mut table = String::new();
    let (mut right, mut all, mut silent) = (0, 0, BTreeMap::new());
    for case in cases().iter().filter(|case| grows_on_the_heap(case)) {
        let stems = case.stems();
        if stems.len() < SERIES {
            continue;
        }
        let held: Vec<i64> = stems.iter().map(|stem| held(case, stem)).collect();
        let limit = held[held.len() - 1];
        for seen in SEEN {
            let cut = seen - 1;
            if limit <= held[cut] {
                continue;
            }
            let reached = (seen..held.len()).find(|&at| held[at] >= limit).unwrap();
            let after = |at: usize| (seconds(&stems[at]) - seconds(&stems[cut])) as f64;
            let (from, to) = (after(reached - 1), after(reached));
            let forecast = forecast(case, &stems[..seen], limit);
            let hours = |key: &str| forecast[key].as_f64().map(|hours| hours * 3600.0);
            let Some(earliest) = hours("earliest_hours") else {
                let reason = forecast["reason"].as_str().unwrap().to_owned();
                *silent.entry(reason).or_insert(0) += 1;
                continue;
            };
            // No latest time: later than ten windows, or never.
            let latest = hours("latest_hours").unwrap_or(f64::INFINITY);
            let is_right = earliest <= to && from <= latest;
            all += 1;
            right += usize::from(is_right);
            table.push_str(&format!(
                "{:28} {seen} of {:2}  {:6.1} → {:6.1} MiB  {from:4.0} to {to:4.0} s  {earliest:6.0} to {latest:6.0} s  {}\n",
                case.name,
                stems.len(),
                held[cut] as f64 / 1_048_576.0,
                limit as f64 / 1_048_576.0,
                if is_right { "" } else { "MISSED" },
            ));
        }
    }
    println!(
        "{:28} seen      held now → limit       reached in      forecast\n{table}",
        "case"
    );
    println!("{right} of {all} forecasts hold the truth; no forecast: {silent:?}");
    assert!(all >= 10, "only {all} forecasts");
    assert!(
        right as f64 >= RIGHT * all as f64,
        "{right} of {all} forecasts hold the truth"
    );
    // A range that says nothing would always be right.
    let told: usize = silent.values().sum();
    assert!(told <= all, "{told} series without a forecast: {silent:?}");
}

/// A made-up process whose every byte is known. Sizes are bytes, times seconds.
struct Process {
    /// Live at the start, and how it grows.
    live: f64,
    leak: f64,
    /// All that is allocated, a second.
    allocated: f64,
    /// 1 + GOGC/100.
    factor: f64,
    /// Room between objects, and what is not of the heap.
    between: f64,
    beside: f64,
    now: f64,
    heap: f64,
    goal: f64,
    /// Heap pages that were ever used; none is given back.
    pages: f64,
    cycles: u64,
    forced: u64,
}

impl Process {
    fn live_at(&self, time: f64) -> f64 {
        self.live + self.leak * time
    }

    fn held(&self) -> f64 {
        self.pages + self.between + self.beside
    }

    fn collect(&mut self) {
        self.heap = self.live_at(self.now);
        self.goal = self.heap * self.factor;
        self.cycles += 1;
    }

    /// Runs up to a time, or until it holds `limit`.
    fn run(&mut self, until: f64, limit: f64) {
        loop {
            // The heap fills up to the first of these.
            let room = limit - self.between - self.beside - self.heap;
            let to_goal = (self.goal - self.heap) / self.allocated;
            let to_limit = match room + self.heap > self.pages {
                true => room / self.allocated,
                false => 0.0,
            };
            let span = (until - self.now).min(to_goal).min(to_limit);
            self.now += span;
            self.heap += span * self.allocated;
            self.pages = self.pages.max(self.heap);
            if span >= to_limit || self.now >= until {
                return;
            }
            self.collect();
        }
    }

    /// What a capture with `gc=1` finds.
    fn capture(&mut self) -> (Pprof, String) {
        self.collect();
        self.forced += 1;
        let heap = self.heap as i64;
        let allocated = heap + (self.allocated * self.now) as i64;
        let profile = Pprof::heap(0)
            .with(|profile| {
                profile.period = 1;
                profile.time_nanos += (self.now * 1e9) as i64;
            })
            .sampled("main.keep < main.main", 1024, heap / 1024, heap / 1024)
            .sampled("main.churn < main.main", 1024, (allocated - heap) / 1024, 0);
        let in_use = heap + self.between as i64;
        let idle = (self.pages - self.heap) as i64;
        let nanos = START * 1_000_000_000 + (self.now * 1e9) as i64;
        let text = format!(
            "# runtime.MemStats\n# HeapAlloc = {heap}\n# HeapInuse = {in_use}\n# HeapIdle = {idle}\n\
             # HeapReleased = 0\n# Sys = {}\n# TotalAlloc = {allocated}\n# NextGC = {}\n\
             # LastGC = {nanos}\n# NumGC = {}\n# NumForcedGC = {}\n",
            self.beside as i64 + in_use + idle,
            self.goal as i64,
            self.cycles,
            self.forced,
        );
        (profile, text)
    }
}

/// A number from 0 to 1 of a fixed row (xorshift).
fn next(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// Every allocation is recorded, so the slope is exact and only the collector is uncertain: then
/// the range has to hold the truth every time.
#[test]
fn the_range_of_an_exact_history_always_holds_the_truth() {
    const MIB: f64 = 1_048_576.0;
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let (mut forecasts, mut bounded) = (0, 0);
    for number in 0..120 {
        let mut draw = |low: f64, high: f64| low + (high - low) * next(&mut state);
        let leak = draw(0.02, 1.0) * MIB;
        let mut process = Process {
            live: draw(10.0, 100.0) * MIB,
            leak,
            // From a pure leak to a leak of one byte in a hundred.
            allocated: leak * draw(0.0, 4.6).exp(),
            factor: draw(1.2, 5.0),
            between: draw(0.0, 10.0) * MIB,
            beside: draw(3.0, 40.0) * MIB,
            now: 0.0,
            heap: 0.0,
            goal: 0.0,
            pages: 0.0,
            cycles: 0,
            forced: 0,
        };
        process.collect();
        // Some had a spike at the start, whose pages are still there.
        process.pages = process.goal * draw(0.0, 1.5);
        process.pages = process.pages.max(process.heap);
        let dir = tempfile::tempdir().unwrap();
        for point in 0..7 {
            process.run(60.0 * f64::from(point + 1), f64::INFINITY);
            let (profile, text) = process.capture();
            fs::write(
                dir.path().join(format!("{point}.heap.pb.gz")),
                profile.gzip(),
            )
            .unwrap();
            fs::write(dir.path().join(format!("{point}.memory.txt")), text).unwrap();
        }
        let limit = (process.held() * draw(1.02, 3.0)).round();
        let output = heapdrift()
            .args(["diagnose", "-f", "json", "--limit", &limit.to_string()])
            .arg(dir.path())
            .output()
            .unwrap();
        let diagnosis = json(&output);
        let forecast = &diagnosis["forecast"];
        let start = process.now;
        process.run(f64::INFINITY, limit);
        let truth = process.now - start;
        let hours = |key: &str| forecast[key].as_f64().map(|hours| hours * 3600.0);
        let Some(earliest) = hours("earliest_hours") else {
            panic!("{number}: {}: {forecast}", diagnosis["verdict"]);
        };
        // Sizes are whole bytes, objects whole kilobytes.
        let slack = 0.05 + 0.001 * truth;
        assert!(earliest <= truth + slack, "{number}: {truth} s: {forecast}");
        let horizon = 10.0 * 360.0;
        match hours("latest_hours") {
            Some(latest) => {
                assert!(truth <= latest + slack, "{number}: {truth} s: {forecast}");
                bounded += 1;
            }
            None => assert!(earliest <= horizon, "{number}: {forecast}"),
        }
        if forecast["reason"].is_string() {
            assert!(truth >= horizon - slack, "{number}: {truth} s: {forecast}");
        }
        forecasts += 1;
    }
    println!("{forecasts} forecasts, {bounded} of them with a latest time");
    assert!(bounded * 2 >= forecasts, "{bounded} of {forecasts}");
}
