//! The real captures of `fixtures/corpus`: what heapdrift says of each, against the label that
//! was written before it ever saw them, and against what simple rules say of the same files.
//! `cargo test --test corpus -- --nocapture` prints the score.

#[path = "../support/mod.rs"]
mod support;

mod baselines;
mod judged;
mod misses;
mod named;
mod perturbed;
mod score;

use baselines::{BASELINES, sites_of};
use judged::{Call, Judged, corpus};
use misses::{KINDS, Ledger, count, is_listed, known_misses, misjudged};
use named::{LOOK_ALIKES_MUST_BE_NAMED, names_given};
use score::{Score, below, most_interval_misses};
use std::fmt::Write;
use support::{diagnose, heapdrift, project};

/// Where the README has the score. `HEAPDRIFT_UPDATE=1` writes it anew.
const SCORE_IN_README: [&str; 2] = ["<!-- score -->\n```text\n", "```\n<!-- /score -->"];

/// Patterns that go by growth and not by a frame alone: one snapshot cannot show them, and a
/// program without a leak would look the same.
const NOT_IN_ONE_SNAPSHOT: &[&str] = &[
    "append-only-slice",
    "retained-buffer",
    "subscriptions-never-removed",
    "unbounded-work-queue",
];

/// The halves of the corpus, both together, and the programs on real libraries, which are there
/// for the patterns. The floors are those of each.
const PARTS: [(&str, &[&str]); 4] = [
    ("tune", &["tune"]),
    ("held", &["held"]),
    ("tune and held", &["tune", "held"]),
    (LIBRARIES, &["libraries"]),
];
const LIBRARIES: &str = "libraries";

#[test]
fn the_corpus_scores_above_the_floors() {
    let judges: Vec<&str> = ["heapdrift"]
        .into_iter()
        .chain(BASELINES.map(|(name, _)| name))
        .collect();
    let calls: Vec<(&Judged, Vec<Call>)> = corpus()
        .iter()
        .map(|judged| {
            let sites = sites_of(&judged.case);
            let by_rules = BASELINES.map(|(_, rule)| rule(&sites));
            (
                judged,
                [judged.call()].into_iter().chain(by_rules).collect(),
            )
        })
        .collect();
    // Printed in one piece: other tests print beside this one.
    let (mut report, mut failed) = (String::new(), Vec::new());
    for (part, splits) in PARTS {
        let cases: Vec<_> = calls
            .iter()
            .filter(|(judged, _)| splits.contains(&judged.case.split.as_str()))
            .collect();
        if cases.is_empty() {
            report += &format!("\n{part}: no cases\n");
            continue;
        }
        report += &format!("\n{part}\n{}\n", Score::header());
        let mut scores = Vec::new();
        for (index, name) in judges.iter().enumerate() {
            let mut score = Score::default();
            for (judged, calls) in &cases {
                score.count(judged, &calls[index]);
            }
            report += &format!("{}\n", score.row(name));
            scores.push(score);
        }
        let judged: Vec<&Judged> = cases.iter().map(|(judged, _)| *judged).collect();
        let patterns = check_patterns(&judged, &mut report);
        let below = [scores[0].below_floors(), patterns].concat();
        failed.extend(below.into_iter().map(|words| format!("{part}: {words}")));
    }
    println!("{report}");
    failed.extend(check_readme(&report));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Reports how patterns were named, and says what is wrong with it.
fn check_patterns(cases: &[&Judged], report: &mut String) -> Vec<String> {
    let with_pattern = || cases.iter().filter(|judged| judged.case.pattern.is_some());
    let is_right =
        |judged: &&&Judged| judged.first()["pattern"].as_str() == judged.case.pattern.as_deref();
    let (right, all) = (
        with_pattern().filter(is_right).count(),
        with_pattern().count(),
    );
    let look_alikes = || cases.iter().filter(|judged| !judged.case.is_leak());
    let wrongly = look_alikes()
        .filter(|judged| count(judged, |finding| !finding["pattern"].is_null()) > 0)
        .count();
    *report += &format!(
        "patterns: {right} of {all} named right; {wrongly} of {} look-alikes are given one\n",
        look_alikes().count()
    );
    let alarm = (wrongly > 0).then(|| format!("{wrongly} look-alikes are given a pattern"));
    let floor = below("patterns named right", right, all, 0.90);
    floor.into_iter().chain(alarm).collect()
}

/// The README has the score as it is printed.
fn check_readme(report: &str) -> Option<String> {
    if std::env::var_os("HEAPDRIFT_HALF").is_some() {
        return None;
    }
    let path = project().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(SCORE_IN_README[0])?;
    let (score, after) = rest.split_once(SCORE_IN_README[1])?;
    let report = report.trim_start();
    if score == report {
        return None;
    }
    if std::env::var_os("HEAPDRIFT_UPDATE").is_some() {
        let [open, close] = SCORE_IN_README;
        std::fs::write(&path, [before, open, report, close, after].concat()).unwrap();
        return None;
    }
    Some("README.md has another score: HEAPDRIFT_UPDATE=1 cargo test --test corpus".to_owned())
}

#[test]
fn the_corpus_is_judged_as_it_is_labelled() {
    let mut ledger = Ledger::of(KINDS);
    let mut table = String::new();
    let mut unnamed = Vec::new();
    for judged in corpus() {
        let (case, first) = (&judged.case, judged.first());
        let last = match case.is_leak() {
            true => first["culprit"]["function"]
                .as_str()
                .unwrap_or("-")
                .to_owned(),
            false => format!(
                "{}, named {}",
                case.shape.as_deref().unwrap_or("repaired"),
                names_given(judged)
            ),
        };
        writeln!(
            table,
            "{:32} {:5} {:10} {:9} {:10} {:20} {last}",
            case.name,
            case.split,
            case.label,
            judged.diagnosis["verdict"].as_str().unwrap_or("?"),
            first["verdict"].as_str().unwrap_or("-"),
            first["pattern"].as_str().unwrap_or("-"),
        )
        .unwrap();
        for miss in misjudged(judged) {
            if miss.0 == "named" {
                unnamed.push(format!("{}: {}", case.name, miss.1));
                if !LOOK_ALIKES_MUST_BE_NAMED && !is_listed(case, miss.0) {
                    continue;
                }
            }
            ledger.note(case, miss);
        }
    }
    println!(
        "{:32} {:5} {:10} {:9} {:10} {:20} culprit, or what a look-alike is and was named\n{table}",
        "case", "split", "label", "verdict", "finding", "pattern"
    );
    let with_shape = corpus().iter().filter(|j| j.case.shape.is_some()).count();
    println!(
        "look-alikes that are not named: {} of {with_shape}\n{}",
        unnamed.len(),
        unnamed.join("\n")
    );
    for (name, kind, why) in known_misses() {
        println!("known miss: {name}: {kind}: {why}");
    }
    ledger.settle();
}

/// The program's own counters (the slope of its live heap, first to last and by least squares)
/// against the interval of what is found to grow. A leak of goroutines alone has none.
#[test]
fn intervals_hold_the_programs_own_rate() {
    let (mut intervals, mut misses) = (0, Vec::new());
    for judged in corpus().iter().filter(|judged| judged.case.is_leak()) {
        // One leak can be several findings: the keys of a map and its entries.
        let growing = judged
            .findings()
            .iter()
            .filter(|finding| ["leak", "growing"].iter().any(|v| finding["verdict"] == *v));
        let limits: Vec<[f64; 2]> = growing
            .filter_map(|finding| finding["growth"]["ci95"].as_array())
            .map(|interval| [0, 1].map(|i| interval[i].as_f64().unwrap()))
            .collect();
        if limits.is_empty() {
            continue;
        }
        intervals += 1;
        let [low, high] = [0, 1].map(|i| limits.iter().map(|limits| limits[i]).sum::<f64>());
        let rate = judged.case.rate;
        if rate[1] < low || high < rate[0] {
            misses.push(format!(
                "{}: {low:.3e} to {high:.3e} misses the program's own rate {rate:?}",
                judged.case.name
            ));
        }
    }
    let most = most_interval_misses(intervals);
    println!(
        "{} of {intervals} intervals miss the program's own rate (at most {most}):\n{}",
        misses.len(),
        misses.join("\n")
    );
    assert!(misses.len() <= most, "{misses:#?}");
}

#[test]
fn one_snapshot_is_a_suspect_and_two_are_never_a_leak() {
    let mut ledger = Ledger::of(&["one snapshot", "two snapshots"]);
    // What a pattern makes of a single snapshot is only proved where an incident showed it.
    let incidents =
        |judged: &&Judged| judged.case.pattern.is_some() && judged.case.split != LIBRARIES;
    for Judged { case, .. } in corpus().iter().filter(incidents) {
        let stems = case.stems();
        let one = case.part(&stems[stems.len() - 1..]);
        let (diagnosis, code) = diagnose(&one);
        let first = &diagnosis["findings"][0];
        let steps = diagnosis["next_steps"].to_string();
        let pattern = case.pattern.as_deref();
        let is_named = match pattern.is_some_and(|name| NOT_IN_ONE_SNAPSHOT.contains(&name)) {
            true => first.is_null(),
            false => first["verdict"] == "suspect" && first["pattern"].as_str() == pattern,
        };
        let holds = diagnosis["verdict"] == "undecided"
            && is_named
            && steps.contains("four or more")
            && code == Some(0);
        let said = format!(
            "{}, {} {}, exit code {code:?}, {steps}",
            diagnosis["verdict"], first["verdict"], first["pattern"]
        );
        ledger.expect(case, holds, "one snapshot", said);

        let two = case.part(&[stems[0].clone(), stems[stems.len() - 1].clone()]);
        let (diagnosis, code) = diagnose(&two);
        let findings = diagnosis["findings"].as_array().unwrap();
        let strict = heapdrift()
            .arg("diagnose")
            .args(&two)
            .args(["--fail-on", "growing"])
            .output()
            .unwrap();
        // --fail-on is leak by default.
        let holds = diagnosis["verdict"] == "growing"
            && findings.iter().all(|finding| finding["verdict"] != "leak")
            && findings[0]["pattern"].as_str() == case.pattern.as_deref()
            && code == Some(0)
            && strict.status.code() == Some(1);
        let said = format!(
            "{}, exit codes {code:?} and {:?}, {}",
            diagnosis["verdict"],
            strict.status.code(),
            diagnosis["findings"][0]["pattern"]
        );
        ledger.expect(case, holds, "two snapshots", said);
    }
    ledger.settle();
}

#[test]
fn one_snapshot_of_a_look_alike_is_no_suspect() {
    let mut ledger = Ledger::of(&["suspect"]);
    for Judged { case, .. } in corpus().iter().filter(|j| !j.case.is_leak()) {
        let stems = case.stems();
        let (diagnosis, _) = diagnose(&case.part(&stems[stems.len() - 1..]));
        let findings = diagnosis["findings"].as_array().unwrap();
        ledger.expect(
            case,
            findings.is_empty(),
            "suspect",
            format!("{findings:?}"),
        );
    }
    ledger.settle();
}

#[test]
fn the_figures_of_a_finding_add_up() {
    for judged in corpus() {
        let name = &judged.case.name;
        let last = judged.diagnosis["totals"]["last_bytes"].as_f64().unwrap();
        for finding in judged.findings() {
            let sites = finding["sites"].as_array().unwrap();
            let sum = |key: &str| {
                let values = sites.iter().filter_map(|site| site[key].as_f64());
                values.sum::<f64>()
            };
            // The growth is worked out from sampled counts, the sites from the file's values.
            if let Some(growth) = finding["growth"]["bytes"].as_f64() {
                let apart = (sum("delta") - growth).abs();
                assert!(apart <= 0.001 * growth.abs() + 1024.0, "{name}: {apart}");
            }
            if let Some(share) = finding["share"].as_f64() {
                let apart = (share - sum("after") / last).abs();
                assert!(apart < 1e-9, "{name}: {share}");
            }
        }
    }
}
