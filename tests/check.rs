//! The gate over real heaps: one program again and again must pass, growth must not.
//!
//! `fixtures/corpus/steady-exact` recorded every allocation; it is thinned as the runtime samples,
//! so that pairs of captures of one build can be made by the hundred. Seeded.

mod support;

use heapdrift::diagnosis::{
    Baseline, Budget, Check, CheckLevel, CheckOptions, CheckRowVerdict, CheckVerdict, Reference,
    check,
};
use heapdrift::profile::StackId;
use heapdrift::site::{Classifier, FrameClass, SiteIndex};
use heapdrift::snapshot::{Run, Series};
use heapdrift::source::{LoadOptions, Source, load_sides};
use serde_json::Value;
use support::profiles::Pprof;
use support::random::Random;
use support::thinning::{Frees, History, history_of, resample};
use support::{heapdrift, json, project};

/// What the program holds, as recorded; and how much more a build of it does.
struct Builds {
    base: Series,
    head: Series,
    history: History,
    /// A stack of the application that holds next to nothing, and the function at its site.
    leak: (StackId, String),
}

/// Object size of what leaks.
const LEAKED: u64 = 256;

impl Builds {
    fn new() -> Self {
        let dir = [Source::Directory(
            project().join("fixtures/corpus/steady-exact"),
        )];
        let [base, head] = load_sides(&dir, &dir, &LoadOptions::default()).unwrap();
        let history = history_of(&base);
        let sites = SiteIndex::new(&base.symbols, &Classifier::default());
        let bytes = |stack: StackId| -> u64 {
            let all = history.iter().filter(|((s, _), _)| *s == stack);
            all.map(|((_, size), bucket)| size * bucket[9][1]).sum()
        };
        let of_application = history.keys().map(|(stack, _)| *stack).filter(|stack| {
            let site = sites.site(*stack).map(|frame| frame.function);
            site.is_some_and(|function| sites.class(function) == FrameClass::Application)
        });
        let stack = of_application.min_by_key(|stack| bytes(*stack)).unwrap();
        let site = sites.site(stack).unwrap();
        let name = base.symbols.function_name(site.function).to_owned();
        Self {
            base,
            head,
            history,
            leak: (stack, name),
        }
    }

    /// Bytes in use in the last snapshot.
    fn bytes(&self) -> u64 {
        let held = self.history.iter();
        held.map(|((_, size), bucket)| size * bucket[9][1]).sum()
    }

    /// The history with `share` of the heap more at the leak.
    fn grown(&self, share: f64) -> History {
        let mut history = self.history.clone();
        let more = (self.bytes() as f64 * share) as u64 / LEAKED;
        let bucket = history
            .entry((self.leak.0, LEAKED))
            .or_insert_with(|| vec![[0; 2]; 10]);
        for values in bucket {
            *values = values.map(|count| count + more);
        }
        history
    }
}

/// Samples anew; each of the points is then a run of its own.
fn capture(series: &mut Series, history: &History, rate: i64, points: &[usize], seed: u64) {
    resample(series, history, rate, Frees::Any, &mut Random::new(seed));
    let run = |point: &usize| Run {
        snapshots: vec![*point],
        is_one_process: true,
    };
    series.processes = points.iter().map(run).collect();
}

fn options(budget: Budget) -> CheckOptions {
    CheckOptions {
        heap: budget,
        package: budget,
        site: budget,
        allow: Vec::new(),
        app_modules: Vec::new(),
        force: false,
    }
}

fn share(relative: f64) -> Budget {
    Budget {
        relative: Some(relative),
        bytes: None,
    }
}

fn run(
    base: Option<&Series>,
    baseline: Option<&Baseline>,
    head: &Series,
    budget: Budget,
) -> (Check, Baseline) {
    check(&Reference { base, baseline }, head, &options(budget)).unwrap()
}

fn over(result: &Check) -> Vec<(CheckLevel, &str)> {
    let rows = result.rows.iter();
    let over = rows.filter(|row| row.verdict == CheckRowVerdict::OverBudget);
    over.map(|row| (row.level, row.name.as_str())).collect()
}

/// At most 2 of 200 pairs of one build fail at the default.
#[test]
fn pairs_of_one_build_pass() {
    let mut builds = Builds::new();
    for (rate, runs) in [(524_288, 1), (4_096, 1), (65_536, 4)] {
        let mut failed = Vec::new();
        for pair in 0..200u64 {
            // Points of the process's life, at which it holds more or less.
            let points = |first: u64| -> Vec<usize> {
                (0..runs)
                    .map(|run| ((first + 3 * run) % 10) as usize)
                    .collect()
            };
            let history = builds.history.clone();
            let seed = pair << 24 | rate as u64;
            capture(&mut builds.base, &history, rate, &points(pair), 2 * seed);
            capture(
                &mut builds.head,
                &history,
                rate,
                &points(pair / 10),
                2 * seed + 1,
            );
            let (result, _) = run(Some(&builds.base), None, &builds.head, Budget::DEFAULT);
            if result.verdict != CheckVerdict::Passed {
                failed.push(format!("{pair}: {:?}", over(&result)));
            }
        }
        println!(
            "one sample per {rate} bytes, {runs} runs a side: {} of 200 fail",
            failed.len()
        );
        assert!(failed.len() <= 2, "{rate}: {failed:?}");
    }
}

#[test]
fn a_leak_of_three_percent_fails_and_names_its_site() {
    let mut builds = Builds::new();
    for runs in [1, 4] {
        let points: Vec<usize> = (10 - runs..10).collect();
        let (steady, grown) = (builds.history.clone(), builds.grown(0.03));
        capture(&mut builds.base, &steady, 4096, &points, 5);
        capture(&mut builds.head, &grown, 4096, &points, 6);
        let (result, _) = run(Some(&builds.base), None, &builds.head, share(0.02));
        assert_eq!(result.verdict, CheckVerdict::Failed);
        let failures = over(&result);
        assert!(
            failures.contains(&(CheckLevel::Site, builds.leak.1.as_str())),
            "{failures:?}"
        );
        // And no other site.
        let sites = failures.iter().filter(|row| row.0 == CheckLevel::Site);
        assert_eq!(sites.count(), 1, "{failures:?}");
    }
}

/// Ten merges that add 3 % each.
#[test]
fn a_baseline_sees_what_no_merge_shows() {
    let mut builds = Builds::new();
    let points = [9];
    let mut last = builds.grown(0.0);
    capture(&mut builds.head, &last, 4096, &points, 100);
    let (_, baseline) = run(None, None, &builds.head, share(0.05));
    // As a file.
    let text = serde_json::to_string(&baseline).unwrap();
    let baseline: Baseline = serde_json::from_str(&text).unwrap();
    let mut caught = Vec::new();
    for merge in 1..=10 {
        let now = builds.grown(1.03_f64.powi(merge) - 1.0);
        capture(&mut builds.base, &last, 4096, &points, 200 + merge as u64);
        capture(&mut builds.head, &now, 4096, &points, 300 + merge as u64);
        let (alone, _) = run(Some(&builds.base), None, &builds.head, share(0.05));
        assert_eq!(
            alone.verdict,
            CheckVerdict::Passed,
            "{merge}: {:?}",
            over(&alone)
        );
        let (drift, _) = run(
            Some(&builds.base),
            Some(&baseline),
            &builds.head,
            share(0.05),
        );
        if drift.verdict == CheckVerdict::Failed {
            assert!(over(&drift).contains(&(CheckLevel::Site, builds.leak.1.as_str())));
            caught.push(merge);
        }
        last = now;
    }
    // Two merges are 6 %, of which the interval's lower limit may be below 5.
    assert!(
        caught.starts_with(&[2]) || caught.starts_with(&[3]),
        "{caught:?}"
    );
    assert!(caught.ends_with(&[8, 9, 10]), "{caught:?}");
}

#[test]
fn a_pure_refactor_passes() {
    let dir = project().join("fixtures/corpus/rebuild");
    let heap = |time: &str| dir.join(format!("20261130T{time}Z.heap.pb.gz"));
    let base = ["120824", "120836", "120848", "120900", "120912"].map(heap);
    let head = ["120924", "120936", "120948", "121000", "121012"].map(heap);
    for (one, other) in base.iter().zip(&head) {
        let output = heapdrift()
            .arg("check")
            .args([one, other])
            .args(["-f", "json"])
            .output()
            .unwrap();
        let result = json(&output);
        assert_eq!(result["verdict"], "passed", "{result}");
        assert_eq!(result["identity"]["is_other_build"], true);
        assert_eq!(output.status.code(), Some(0));
    }
}

/// A directory with heaps of `stack` in them: name and sampled objects of 64 KiB.
fn heaps(files: &[(&str, &str, i64)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (number, (name, stack, objects)) in files.iter().enumerate() {
        let heap = Pprof::heap(60 * number as i64)
            .with(|heap| heap.build_id = name.chars().take(1).collect())
            .sampled(stack, 65_536, *objects, *objects)
            .sampled("main.table < main.main", 65_536, 40, 40);
        std::fs::write(dir.path().join(name), heap.gzip()).unwrap();
    }
    dir
}

const KEEP: &str = "main.keep@9/7 < main.main@5/3";

fn two() -> tempfile::TempDir {
    heaps(&[
        ("base.heap.pb.gz", KEEP, 40),
        ("head.heap.pb.gz", KEEP, 160),
        (
            "other.heap.pb.gz",
            "example.org/x.load < example.org/y.walk",
            40,
        ),
    ])
}

#[track_caller]
fn says(dir: &tempfile::TempDir, arguments: &[&str], code: i32, words: &[&str]) -> String {
    let mut command = heapdrift();
    let output = command
        .current_dir(dir.path())
        .arg("check")
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?}: no {word:?} in {text}");
    }
    text
}

#[test]
fn bad_input_is_told() {
    let dir = two();
    let (base, head) = ("base.heap.pb.gz", "head.heap.pb.gz");
    says(&dir, &[], 2, &["head is missing"]);
    says(&dir, &[head], 2, &["base is missing"]);
    says(&dir, &["none.pb.gz", head], 2, &["none.pb.gz"]);
    says(&dir, &[base, base], 2, &["as base and as head"]);
    says(&dir, &[base, base, "--force"], 0, &["one file twice?"]);
    says(&dir, &[head, base], 0, &["are they swapped?"]);
    says(&dir, &[base, head, "--max-growth", "-3%"], 2, &["5%,1MiB"]);
    says(&dir, &[base, head, "--max-growth", "0"], 1, &["main.keep"]);
    says(&dir, &[base, head, "--exit-zero"], 0, &["FAILED"]);
    let files = std::fs::read(dir.path().join(base)).unwrap();
    std::fs::write(dir.path().join("copy.heap.pb.gz"), files).unwrap();
    says(
        &dir,
        &[base, "copy.heap.pb.gz", "--max-growth", "0"],
        0,
        &["one file twice?"],
    );
}

#[test]
fn baselines_are_written_read_and_refused() {
    let dir = two();
    let (base, head) = ("base.heap.pb.gz", "head.heap.pb.gz");
    says(&dir, &[base, "--write-baseline", "b.json"], 0, &["b.json"]);
    says(
        &dir,
        &["--baseline", "b.json", head],
        1,
        &["against the baseline", "main.keep"],
    );
    let text = std::fs::read_to_string(dir.path().join("b.json")).unwrap();
    let newer = text.replacen("\"schema_version\": 1", "\"schema_version\": 9", 1);
    assert_ne!(text, newer);
    for (content, words) in [
        (newer.as_str(), "version 9"),
        ("{}", "no schema_version"),
        ("hello", "no baseline"),
        ("{\"schema_version\": 1, \"x\": 2}", "unknown field"),
    ] {
        std::fs::write(dir.path().join("c.json"), content).unwrap();
        says(
            &dir,
            &["--baseline", "c.json", head],
            2,
            &[words, "--write-baseline"],
        );
    }
}

#[test]
fn growth_that_is_meant_passes_until_it_expires() {
    let dir = two();
    let (base, head) = ("base.heap.pb.gz", "head.heap.pb.gz");
    let allow = |text: &str| std::fs::write(dir.path().join("heapdrift.toml"), text).unwrap();
    let entry = |site: &str, expires: &str| {
        format!("[[allow]]\nsite = '{site}'\nreason = 'a larger table'\nexpires = '{expires}'\n")
    };
    allow(&entry("^main\\.keep$", "2999-01-01"));
    says(&dir, &[base, head], 0, &["allowed", "a larger table"]);
    allow(&entry("^main\\.keep$", "2001-01-01"));
    says(&dir, &[base, head], 1, &["has expired on 2001-01-01"]);
    allow(&entry("main.gone", "2999-01-01"));
    says(&dir, &[base, head], 1, &["lets nothing pass any more"]);
    allow(&entry(".*", "2999-01-01"));
    says(&dir, &[base, head], 1, &["matches everything"]);
    allow("[[allow]]\nsites = 'x'\n");
    says(&dir, &[base, head], 2, &["did you mean `site`?"]);
}

#[test]
fn a_hundred_runs_a_side() {
    let names: Vec<String> = (0..200)
        .map(|n| format!("{}{n:03}.heap.pb.gz", if n < 100 { 'b' } else { 'h' }))
        .collect();
    let grown: Vec<(&str, &str, i64)> = names
        .iter()
        .enumerate()
        // Allocation counters that go up and down: each is a process of its own.
        .map(|(n, name)| {
            (
                name.as_str(),
                KEEP,
                if n < 100 { 40 } else { 60 } + (7 * n as i64) % 5 - 2 * (n as i64 % 2),
            )
        })
        .collect();
    let dir = heaps(&grown);
    let mut arguments = vec!["--base"];
    arguments.extend(names[..100].iter().map(String::as_str));
    arguments.push("--head");
    arguments.extend(names[100..].iter().map(String::as_str));
    says(&dir, &arguments, 1, &["main.keep", "over budget"]);
}

#[test]
fn the_json_keeps_its_schema() {
    let dir = two();
    let schema = serde_json::from_str(heapdrift::report::CHECK_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut command = heapdrift();
    let arguments = [
        "check",
        "base.heap.pb.gz",
        "head.heap.pb.gz",
        "-f",
        "json",
        "--rows",
        "1",
    ];
    let result = json(
        &command
            .current_dir(dir.path())
            .args(arguments)
            .output()
            .unwrap(),
    );
    let errors: Vec<_> = validator
        .iter_errors(&result)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(result["rows"].as_array().unwrap().len(), 1);
    assert!(result["unshown"]["rows"].as_u64().unwrap() > 0);
    says(
        &dir,
        &[
            "base.heap.pb.gz",
            "other.heap.pb.gz",
            "--max-growth",
            "100MiB",
        ],
        0,
        &[],
    );
}

/// The required structure of SARIF 2.1.0 (OASIS, §3.13 to §3.28), as far as it is used.
fn sarif_schema() -> Value {
    serde_json::json!({
        "type": "object",
        "required": ["version", "runs"],
        "properties": {
            "version": { "const": "2.1.0" },
            "$schema": { "type": "string", "format": "uri" },
            "runs": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": { "type": "object", "required": ["driver"], "properties": {
                        "driver": {
                            "type": "object",
                            "required": ["name", "rules"],
                            "properties": { "rules": { "type": "array", "uniqueItems": true, "items": {
                                "type": "object",
                                "required": ["id"],
                                "properties": { "shortDescription": { "required": ["text"] } },
                            }}},
                        },
                    }},
                    "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
                    "results": { "type": "array", "items": {
                        "type": "object",
                        "required": ["message", "ruleId", "ruleIndex"],
                        "properties": {
                            "ruleIndex": { "type": "integer", "minimum": 0 },
                            "level": { "enum": ["none", "note", "warning", "error"] },
                            "message": { "type": "object", "required": ["text"] },
                            "locations": { "type": "array", "items": { "properties": {
                                "physicalLocation": {
                                    "required": ["artifactLocation"],
                                    "properties": { "region": {
                                        "properties": { "startLine": { "type": "integer", "minimum": 1 } },
                                    }},
                                },
                                "logicalLocations": { "type": "array" },
                            }}},
                        },
                    }},
                },
            }},
        },
    })
}

#[test]
fn machines_are_told() {
    let dir = two();
    let summary = dir.path().join("summary.md");
    std::fs::write(&summary, "of another step\n").unwrap();
    let run = |format: &str| {
        let mut command = heapdrift();
        command
            .current_dir(dir.path())
            .env("GITHUB_STEP_SUMMARY", &summary);
        let arguments = ["check", "base.heap.pb.gz", "head.heap.pb.gz", "-f", format];
        let output = command.args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let annotations = run("github");
    assert!(annotations.contains("::error "), "{annotations}");
    assert!(annotations.contains("main.keep"), "{annotations}");
    let page = std::fs::read_to_string(&summary).unwrap();
    assert!(
        page.starts_with("of another step\n## heapdrift: FAILED"),
        "{page}"
    );
    let sarif: Value = serde_json::from_str(&run("sarif")).unwrap();
    let validator = jsonschema::validator_for(&sarif_schema()).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&sarif)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    // The heap, the package and the site.
    assert_eq!(results.len(), 3, "{sarif}");
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let junit = run("junit");
    assert!(junit.contains("tests=\"4\" failures=\"3\""), "{junit}");
    assert_eq!(junit.matches("<failure ").count(), 3, "{junit}");
    // Only `-f github` writes a summary.
    assert_eq!(std::fs::read_to_string(&summary).unwrap(), page);
}
