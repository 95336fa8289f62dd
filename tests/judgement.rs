//! Verdicts, culprits and patterns on histories whose truth is known because they are made up.

mod support;

use serde_json::Value;
use support::profiles::goroutine_dump;
use support::series::{CHURN, Path10, STEADY, culprit_of_first, diagnose, verdict_of_first};
use support::{heapdrift, json};

#[test]
fn steady_heaps_and_churn_are_no_finding() {
    let diagnosis = diagnose(&[STEADY, CHURN], None);
    assert_eq!(diagnosis["verdict"], "steady");
    assert_eq!(diagnosis["findings"], serde_json::json!([]));
}

#[test]
fn a_leak_is_told_from_what_levels_off_jumps_or_comes_and_goes() {
    let check = |history: Path10, expect: &str, overall: &str| {
        let site = ("main.keep < main.serve < main.main", 4096, history);
        let diagnosis = diagnose(&[STEADY, CHURN, site], None);
        assert_eq!(verdict_of_first(&diagnosis), expect);
        assert_eq!(diagnosis["verdict"], overall);
    };
    check(|t| (20 + 10 * t, 20 + 10 * t), "leak", "leak");
    // 1 − exp(−t/2) of 200 objects: 79, 126, 155, 173, 184, 190, 194, 196, 198.
    check(
        |t| {
            let filled = [0, 79, 126, 155, 173, 184, 190, 194, 196, 198][t as usize];
            (20 + filled, 20 + filled)
        },
        "plateauing",
        "steady",
    );
    check(
        |t| (20 + 90 * i64::from(t > 4), 20 + 90 * i64::from(t > 4)),
        "step",
        "steady",
    );
    check(
        |t| (20 + 60 * (t + 1), 20 + 6 * t + 50 * (t % 2)),
        "sawtooth",
        "steady",
    );
}

#[test]
fn an_8_mib_leak_stands_out_beside_200_mib_that_stay() {
    // statistics.md §3: as independent samples z would be 0.6, within one process it is 4.
    let site: (&str, i64, Path10) = ("main.keep < main.main", 4096, |t| {
        (400 + 2 * t, 400 + 2 * t)
    });
    let diagnosis = diagnose(&[site], None);
    assert_eq!(diagnosis["verdict"], "leak");
    let growth = &diagnosis["findings"][0]["growth"];
    // 18 sampled objects of 4 KiB stand for 18 × 4096 / (1 − exp(−4096/524288)) = 9.04 MiB.
    let bytes = growth["bytes"].as_f64().unwrap();
    assert!((bytes / 1_048_576.0 - 9.035).abs() < 0.01, "{bytes}");
    // Pure growth: one of 2^18 ways.
    let p = growth["p_value"].as_f64().unwrap();
    assert!((p * 2f64.powi(18) - 1.0).abs() < 1e-6, "{p}");
    // 270 s: 9.035 MiB × 3600/270.
    let rate = growth["bytes_per_hour"].as_f64().unwrap();
    assert!((rate / 1_048_576.0 - 120.47).abs() < 0.1, "{rate}");
}

#[test]
fn the_leaking_caller_of_a_shared_helper_is_blamed() {
    let leaking: (&str, i64, Path10) = (
        "main.newBuffer < main.register < main.serve < main.main",
        2048,
        |t| (10 + 8 * t, 10 + 8 * t),
    );
    let honest: (&str, i64, Path10) = (
        "main.newBuffer < main.render < main.serve < main.main",
        2048,
        |t| {
            (
                500 * (t + 1),
                120 + [0, 2, -2, 1, 0, -1, 2, -2, 1, 0][t as usize],
            )
        },
    );
    let diagnosis = diagnose(&[STEADY, CHURN, leaking, honest], None);
    assert_eq!(diagnosis["verdict"], "leak");
    assert_eq!(culprit_of_first(&diagnosis), "main.register");
}

#[test]
fn growth_spread_thinly_under_one_frame_is_found_there() {
    const SITES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let stacks: Vec<String> = SITES
        .iter()
        .map(|site| format!("main.{site} < main.load < main.main"))
        .collect();
    // Two sampled objects a site over the window prove nothing; 24 together do.
    let rows: Vec<(&str, i64, Path10)> = stacks
        .iter()
        .enumerate()
        .map(|(index, stack)| {
            let history: Path10 = match index % 3 {
                0 => |t| {
                    (
                        5 + i64::from(t > 1) + i64::from(t > 5),
                        5 + i64::from(t > 1) + i64::from(t > 5),
                    )
                },
                1 => |t| {
                    (
                        5 + i64::from(t > 0) + i64::from(t > 7),
                        5 + i64::from(t > 0) + i64::from(t > 7),
                    )
                },
                _ => |t| {
                    (
                        5 + i64::from(t > 3) + i64::from(t > 6),
                        5 + i64::from(t > 3) + i64::from(t > 6),
                    )
                },
            };
            (stack.as_str(), 1024, history)
        })
        .chain([STEADY])
        .collect();
    let diagnosis = diagnose(&rows, None);
    assert_eq!(diagnosis["verdict"], "leak");
    assert_eq!(culprit_of_first(&diagnosis), "main.load");
}

#[test]
fn two_causes_are_two_findings() {
    let one: (&str, i64, Path10) = (
        "main.keep < main.handle < main.serve < main.main",
        512,
        |t| (9 * t, 9 * t),
    );
    let other: (&str, i64, Path10) = (
        "main.remember < main.audit < main.tick < main.main",
        256,
        |t| (7 * t, 7 * t),
    );
    let diagnosis = diagnose(&[STEADY, one, other], None);
    let culprits: Vec<_> = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["culprit"]["function"].as_str().unwrap())
        .collect();
    assert_eq!(culprits, ["main.keep", "main.remember"]);
}

#[test]
fn goroutines_that_pile_up_are_a_leak_though_the_heap_is_quiet() {
    let diagnosis = diagnose(
        &[STEADY],
        Some(|t| goroutine_dump("main.forward", 5 + 12 * t as usize)),
    );
    assert_eq!(diagnosis["verdict"], "leak");
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["goroutines"][0]["before"], 5);
    assert_eq!(finding["goroutines"][0]["after"], 113);
    assert_eq!(finding["goroutines"][0]["state"], "chan send");
    assert_eq!(culprit_of_first(&diagnosis), "main.forward");
}

/// Stacks of a syncer that opens watches, by the frames of public reports.
const WATCH: &str = "net/http.NewRequestWithContext < k8s.io/client-go/rest.(*Request).Watch < main.(*Syncer).watch < main.main";
const DIAL: &str =
    "bufio.NewReaderSize < net/http.(*Transport).dialConn < net/http.(*Transport).dialConnFor";

#[test]
fn a_hot_rewatch_loop_is_told_by_its_churn() {
    let rows: [(&str, i64, Path10); 3] = [
        (WATCH, 512, |t| (900 * (t + 1), 10 + 12 * t)),
        (DIAL, 4096, |t| (300 * (t + 1), 10 + 8 * t)),
        STEADY,
    ];
    let dump = |_: i64| goroutine_dump("k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive", 3);
    let diagnosis = diagnose(&rows, Some(dump));
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["pattern"], "hot-rewatch-loop");
    assert_eq!(culprit_of_first(&diagnosis), "main.(*Syncer).watch");
    // The same heap, but the watches stay: the old ones are the trouble, not the churn.
    let dump = |t: i64| {
        goroutine_dump(
            "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
            3 + 30 * t as usize,
        )
    };
    let diagnosis = diagnose(&rows, Some(dump));
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["pattern"], "stale-watchers");
}

#[test]
fn what_only_goroutines_could_tell_is_said_when_they_are_missing() {
    let decode: (&str, i64, Path10) = (
        "k8s.io/api/core/v1.(*PodSpec).Unmarshal < k8s.io/client-go/rest/watch.(*Decoder).Decode < k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
        1280,
        |t| (60 + 20 * t, 60 + 20 * t),
    );
    let diagnosis = diagnose(&[STEADY, decode], None);
    assert_eq!(diagnosis["verdict"], "leak");
    assert_eq!(diagnosis["findings"][0]["pattern"], Value::Null);
    let steps = diagnosis["next_steps"].to_string();
    assert!(steps.contains("backed-up-informer"), "{steps}");
    assert!(steps.contains("goroutine?debug=2"), "{steps}");
}

#[test]
fn every_output_keeps_its_schema() {
    let check = |schema: &str, arguments: &[&str]| {
        let output = heapdrift()
            .args(arguments)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let schema: Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let instance = json(&output);
        let errors: Vec<String> = validator
            .iter_errors(&instance)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{arguments:?}: {errors:?}");
    };
    for case in support::cases() {
        let dir = case.dir.to_str().unwrap();
        let files = case.part(&case.stems());
        let heap = files
            .iter()
            .find(|f| f.to_string_lossy().contains(".heap."))
            .unwrap();
        let stems = case.stems();
        let last = case.part(&stems[stems.len() - 1..]).swap_remove(0);
        let (heap, last) = (heap.to_str().unwrap(), last.to_str().unwrap());
        check(
            heapdrift::report::DIAGNOSIS_SCHEMA,
            &["diagnose", dir, "--limit", "4GiB"],
        );
        check(heapdrift::report::DIAGNOSIS_SCHEMA, &["diagnose", heap]);
        check(
            heapdrift::report::DIFF_SCHEMA,
            &["diff", "--force", heap, last],
        );
        check(heapdrift::report::TOP_SCHEMA, &["top", heap]);
    }
}
