//! What stands beside a verdict: warm-ups, noisy loads, whom a chain of calls blames, what is
//! no growth at all, other runs, and what would change the verdict.

mod support;

use serde_json::Value;
use std::fs;
use support::profiles::Pprof;
use support::series::{CHURN, Path10, STEADY, culprit_of_first, diagnose, verdict_of_first};
use support::{heapdrift, json};

type Row<'a> = (&'a str, i64, Path10);

fn evidence(diagnosis: &Value) -> String {
    diagnosis["findings"][0]["evidence"].to_string()
}

fn names(diagnosis: &Value) -> Vec<&str> {
    let entries = diagnosis["not_a_leak"].as_array().unwrap();
    let names = entries.iter().map(|entry| entry["name"].as_str().unwrap());
    names.collect()
}

#[test]
fn growth_that_goes_on_after_a_warm_up_is_a_leak() {
    // 150 objects within the first 30 s, then 12 in every interval.
    let row: Row = ("main.keep < main.serve < main.main", 4096, |t| {
        let held = if t == 0 { 20 } else { 170 + 12 * t };
        (held, held)
    });
    let diagnosis = diagnose(&[STEADY, CHURN, row], None);
    assert_eq!(verdict_of_first(&diagnosis), "leak");
    let course = &diagnosis["findings"][0]["course"];
    assert_eq!(course["warm_up_seconds"], 30.0);
    assert_eq!(course["thirds"][0]["seconds"][0], 30.0);
    assert!(evidence(&diagnosis).contains("the first 30 s are a warm-up"));
}

#[test]
fn one_of_a_hundred_that_stays_is_found_by_how_evenly_it_grows() {
    // Frees could have renewed everything between any two snapshots: counts alone prove no
    // third. A renewed population would scatter by √n; this one hardly does.
    let even: Row = ("main.keep < main.serve < main.main", 4096, |t| {
        (600 * (t + 1), 12 + 6 * t + t % 2)
    });
    let diagnosis = diagnose(&[STEADY, even], None);
    assert_eq!(verdict_of_first(&diagnosis), "leak");
    let uneven: Row = ("main.keep < main.serve < main.main", 4096, |t| {
        let held = [12, 30, 17, 25, 45, 28, 50, 38, 62, 66][t as usize];
        (600 * (t + 1), held)
    });
    let diagnosis = diagnose(&[STEADY, uneven], None);
    assert_ne!(verdict_of_first(&diagnosis), "leak");
}

#[test]
fn a_load_that_swings_weakens_what_the_thirds_prove() {
    // 20 objects a third either way; here they come 0, 18 and 2 at a time.
    let even: Row = ("main.keep < main.main", 4096, |t| (10 + 6 * t, 10 + 6 * t));
    assert_eq!(verdict_of_first(&diagnose(&[STEADY, even], None)), "leak");
    let bursts: Row = ("main.keep < main.main", 4096, |t| {
        let held = 10 + [0, 0, 18, 18, 18, 36, 37, 37, 37, 55][t as usize];
        (held, held)
    });
    let diagnosis = diagnose(&[STEADY, CHURN, bursts], None);
    assert_eq!(verdict_of_first(&diagnosis), "growing");
    // By hand: around its third's slope the changes of the bursts scatter by 2·6² + 12²
    // (thirds 18, 19, 18 of three intervals): about 650 over 6 degrees of freedom, where
    // 55/9 objects an interval predict 6.1 each: 17 or 18 times as much.
    let dispersion = &diagnosis["findings"][0]["course"]["dispersion"];
    assert!(
        (15.0..20.0).contains(&dispersion.as_f64().unwrap()),
        "{dispersion}"
    );
    assert!(evidence(&diagnosis).contains("load that swings"));
}

#[test]
fn of_a_chain_the_one_who_can_keep_is_blamed() {
    let check = |stack: &str, culprit: &str| {
        let row: Row = (stack, 2048, |t| (10 + 9 * t, 10 + 9 * t));
        let diagnosis = diagnose(&[STEADY, CHURN, row], None);
        assert_eq!(verdict_of_first(&diagnosis), "leak", "{stack}");
        assert_eq!(culprit_of_first(&diagnosis), culprit, "{stack}");
    };
    // A plain function hands what it makes to the method that called it.
    check(
        "main.newEntry < main.(*Cache).put < main.main",
        "main.(*Cache).put",
    );
    // Without a method it may keep it in its package.
    check("main.remember < main.handle < main.main", "main.remember");
    // A closure is a part of the function around it.
    check("main.(*Hub).Run.func2.1 < main.main", "main.(*Hub).Run");
    // What a library makes is the application's to keep.
    check(
        "bytes.makeSlice < bytes.(*Buffer).grow < main.(*Log).add < main.main",
        "main.(*Log).add",
    );
}

#[test]
fn a_helper_whose_other_callers_let_go_is_not_blamed() {
    let keeps: Row = (
        "main.read < main.(*Index).add < main.serve < main.main",
        4096,
        |t| (10 + 9 * t, 10 + 9 * t),
    );
    let lets_go: Row = (
        "main.read < main.(*Audit).record < main.serve < main.main",
        4096,
        |t| (500 * (t + 1), 0),
    );
    let diagnosis = diagnose(&[STEADY, keeps, lets_go], None);
    assert_eq!(culprit_of_first(&diagnosis), "main.(*Index).add");
    assert!(!evidence(&diagnosis).contains("callers"));
}

#[test]
fn growth_from_many_callers_alike_is_the_callees_own() {
    let row = |caller: &'static str| -> Row<'static> { (caller, 1024, |t| (5 + 5 * t, 5 + 5 * t)) };
    let rows = [
        row("main.(*Bus).Subscribe < main.(*Web).open < main.main"),
        row("main.(*Bus).Subscribe < main.(*Mail).open < main.main"),
        row("main.(*Bus).Subscribe < main.(*Phone).open < main.main"),
        STEADY,
    ];
    let diagnosis = diagnose(&rows, None);
    assert_eq!(diagnosis["findings"].as_array().unwrap().len(), 1);
    assert_eq!(culprit_of_first(&diagnosis), "main.(*Bus).Subscribe");
    let said = evidence(&diagnosis);
    assert!(said.contains("3 callers, 33 % from the largest"), "{said}");
}

#[test]
fn what_another_caller_gave_up_is_no_growth() {
    let loaded: Row = ("main.read < main.load < main.main", 4096, |t| {
        (90, 90 - 9 * t)
    });
    let refreshed: Row = ("main.read < main.refresh < main.main", 4096, |t| {
        (9 * t, 9 * t)
    });
    let diagnosis = diagnose(&[STEADY, loaded, refreshed], None);
    assert_eq!(diagnosis["verdict"], "steady");
    assert_eq!(diagnosis["findings"], serde_json::json!([]));
    assert_eq!(names(&diagnosis), ["replaced"]);
    // The same growth with nothing given up is a leak.
    let kept: Row = ("main.read < main.load < main.main", 4096, |_| (90, 90));
    let diagnosis = diagnose(&[STEADY, kept, refreshed], None);
    assert_eq!(diagnosis["verdict"], "leak");
}

#[test]
fn what_comes_and_goes_is_named() {
    let check = |history: Path10, expect: &[&str]| {
        let site: Row = ("main.hold < main.serve < main.main", 4096, history);
        let diagnosis = diagnose(&[STEADY, site], None);
        assert_eq!(diagnosis["verdict"], "steady");
        assert_eq!(names(&diagnosis), expect);
    };
    check(
        |t| {
            let held = [5, 40, 80, 80, 40, 5, 5, 5, 5, 5][t as usize];
            (200 * (t + 1), held)
        },
        &["peak"],
    );
    check(
        |t| {
            let held = [5, 60, 5, 60, 5, 60, 5, 60, 5, 5][t as usize];
            (200 * (t + 1), held)
        },
        &["sawtooth"],
    );
    // As many sampled objects as chance moves: nothing to name.
    check(
        |t| {
            let held = [20, 24, 18, 22, 21, 17, 23, 20, 19, 21][t as usize];
            (200 * (t + 1), held)
        },
        &[],
    );
}

/// Snapshots of two pods in one directory, 5 s apart, each with its own table and leak.
fn two_pods(second: Path10) -> Value {
    let dir = tempfile::tempdir().unwrap();
    for t in 0..10 {
        let write = |name: &str, seconds: i64, allocated: i64, in_use: i64, own: &str| {
            let heap = Pprof::heap(seconds)
                .sampled(own, 8192, 60, 60)
                .sampled("main.table < main.main", 8192, 50 + 40 * allocated, 60)
                .sampled(
                    "main.keep < main.serve < main.main",
                    4096,
                    allocated,
                    in_use,
                );
            fs::write(dir.path().join(name), heap.gzip()).unwrap();
        };
        let held = 10 + 9 * t;
        write(
            &format!("a{t}.pb.gz"),
            30 * t,
            900 + held,
            held,
            "main.first",
        );
        let (allocated, in_use) = second(t);
        write(
            &format!("b{t}.pb.gz"),
            30 * t + 5,
            allocated,
            in_use,
            "main.second",
        );
    }
    let output = heapdrift()
        .arg("diagnose")
        .arg(dir.path())
        .args(["-f", "json", "--app-module", "example.com/app"])
        .output()
        .unwrap();
    json(&output)
}

#[test]
fn pods_are_counted_and_their_counts_pooled() {
    let diagnosis = two_pods(|t| (10 + 9 * t, 10 + 9 * t));
    let warnings = diagnosis["warnings"].to_string();
    assert!(warnings.contains("2 different processes"), "{warnings}");
    let others = &diagnosis["findings"][0]["other_runs"];
    assert_eq!(others["runs"], 1);
    assert_eq!(others["grew"], 1);
    assert_eq!(others["sustained"], 1);
    // 81 objects grew in each and none was freed: one of 2^162 ways.
    let p = others["pooled_p_value"].as_f64().unwrap();
    assert!((p.log2() + 162.0).abs() < 0.01, "{p}");

    let diagnosis = two_pods(|t| (10 + 9 * t, 10));
    let others = diagnosis["findings"]
        .as_array()
        .unwrap()
        .first()
        .map(|finding| finding["other_runs"]["grew"].clone());
    // Either pod may be the one that is judged; the steady one has no finding.
    assert!(
        others.is_none() || others == Some(Value::from(0)),
        "{others:?}"
    );
}

#[test]
fn what_would_settle_it_is_said_in_snapshots_and_in_a_sampling_rate() {
    // 15 objects, 5 a third but one third of 3: p = 2^-3 there.
    let weak: Row = ("main.keep < main.main", 4096, |t| {
        let held = 10 + [0, 2, 4, 6, 7, 8, 9, 11, 13, 15][t as usize];
        (held, held)
    });
    let diagnosis = diagnose(&[STEADY, weak], None);
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["verdict"], "growing");
    let p = finding["course"]["thirds"][1]["p_value"].as_f64().unwrap();
    assert!((p - 0.125).abs() < 1e-12, "{p}");
    // z of 2^-15 is 4.01, 2.31 a third; (2.92/2.31)² = 1.59 windows, 0.59 × 9 = 5.3 → 6.
    let said = finding["would_change"].to_string();
    assert!(said.contains("about 6 more snapshots"), "{said}");
    assert!(said.contains("GODEBUG=memprofilerate=131072"), "{said}");

    let few: Row = ("main.keep < main.main", 4096, |t| (10 + 9 * t, 10 + 9 * t));
    let diagnosis = diagnose(&[STEADY, few], None);
    let said = diagnosis["findings"][0]["would_change"].to_string();
    assert!(said.contains("levels off"), "{said}");
}

#[test]
fn exact_profiles_do_not_make_a_finding_of_a_few_bytes() {
    let dir = tempfile::tempdir().unwrap();
    for t in 0..8 {
        let heap = Pprof::heap(30 * t)
            .with(|heap| heap.period = 1)
            .sampled("main.table < main.main", 4096, 5000, 5000)
            .sampled("main.tick < main.main", 16, 3 + t, 3 + t);
        fs::write(dir.path().join(format!("{t}.pb.gz")), heap.gzip()).unwrap();
    }
    let output = heapdrift()
        .arg("diagnose")
        .arg(dir.path())
        .args(["-f", "json"])
        .output()
        .unwrap();
    let diagnosis = json(&output);
    assert_eq!(diagnosis["verdict"], "steady");
    let warnings = diagnosis["warnings"].to_string();
    assert!(
        warnings.contains("1 more places grew by less than 0.1 %"),
        "{warnings}"
    );
}

/// Eight snapshots 30 s apart, with the runtime's own count of collector cycles.
fn with_cycles(cycles: fn(i64) -> i64) -> Value {
    let dir = tempfile::tempdir().unwrap();
    for t in 0..8 {
        let heap = Pprof::heap(30 * t)
            .sampled("main.table < main.main", 8192, 60 + t, 60)
            .sampled("main.keep < main.main", 4096, 10 + 9 * t, 10 + 9 * t);
        fs::write(dir.path().join(format!("{t}.heap.pb.gz")), heap.gzip()).unwrap();
        let memory = format!(
            "# runtime.MemStats\n# NumGC = {}\n# NumForcedGC = 0\n",
            cycles(t)
        );
        fs::write(dir.path().join(format!("{t}.memory.txt")), memory).unwrap();
    }
    let output = heapdrift()
        .arg("diagnose")
        .arg(dir.path())
        .args(["-f", "json"])
        .output()
        .unwrap();
    json(&output)
}

#[test]
fn a_window_of_fewer_than_ten_cycles_is_no_proof() {
    let diagnosis = with_cycles(|t| 100 + t);
    assert_eq!(diagnosis["series"]["gc_cycles"], 7);
    assert_eq!(verdict_of_first(&diagnosis), "growing");
    let said = diagnosis["findings"][0]["would_change"].to_string();
    assert!(said.contains("ten collector cycles"), "{said}");
    let diagnosis = with_cycles(|t| 100 + 3 * t);
    assert_eq!(diagnosis["series"]["gc_cycles"], 21);
    assert_eq!(verdict_of_first(&diagnosis), "leak");
}

#[test]
fn sites_of_one_sampled_object_prove_nothing() {
    // Thirty sites of one object each; as many new ones as old ones gone.
    let stacks: Vec<String> = (0..30)
        .map(|i| format!("main.site{i} < main.main"))
        .collect();
    let rows: Vec<Row> = stacks
        .iter()
        .enumerate()
        .map(|(index, stack)| {
            let history: Path10 = match index % 2 {
                0 => |t| (1, i64::from(t < 5)),
                _ => |t| (i64::from(t >= 5), i64::from(t >= 5)),
            };
            (stack.as_str(), 524_288, history)
        })
        .chain([STEADY])
        .collect();
    let diagnosis = diagnose(&rows, None);
    assert_eq!(diagnosis["verdict"], "steady");
    assert_eq!(diagnosis["findings"], serde_json::json!([]));
}
