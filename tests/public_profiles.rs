//! Public profiles of other people's programs, where they lie beside the project; what must
//! come out is known from where they come from. Says so when it is skipped.

mod support;

use serde_json::Value;
use support::{diagnose, heapdrift, json, public_profiles};

#[test]
fn a_step_among_repeated_cycles_is_no_leak() {
    let Some(public) = public_profiles() else {
        return;
    };
    let (diagnosis, code) = diagnose(&[&public.join("parca-step-series")]);
    assert_eq!(code, Some(0));
    // In use 48.9 MB in eight snapshots, then 143.7 MB in two.
    let series: Vec<i64> = diagnosis["totals"]["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_i64().unwrap())
        .collect();
    assert!(
        series[..8]
            .iter()
            .all(|bytes| (48_900_000..49_000_000).contains(bytes))
    );
    assert!(
        series[8..]
            .iter()
            .all(|bytes| (143_600_000..143_800_000).contains(bytes))
    );
    assert_eq!(diagnosis["series"]["repeats"], 8);
    let findings = diagnosis["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["verdict"], "step");
    assert!(
        diagnosis["warnings"]
            .to_string()
            .contains("8 of 9 intervals")
    );
}

#[test]
fn a_pair_that_grew_is_growing_and_not_a_leak() {
    let Some(public) = public_profiles() else {
        return;
    };
    let (diagnosis, code) = diagnose(&[&public.join("profefe-pair")]);
    assert_eq!(
        (diagnosis["verdict"].as_str(), code),
        (Some("growing"), Some(0))
    );
    // 464 s apart, 15.5 → 43.9 MB.
    let seconds = diagnosis["series"]["window_seconds"].as_f64().unwrap();
    assert!((464.0..465.0).contains(&seconds));
    assert_eq!(diagnosis["totals"]["first_bytes"], 15_475_697);
    assert_eq!(diagnosis["totals"]["last_bytes"], 43_891_110);
}

#[test]
fn churn_is_no_growth() {
    let Some(public) = public_profiles() else {
        return;
    };
    let dir = public.join("dd-churn-pairs");
    for name in ["dd_heap", "dd_stress-failure.2"] {
        let pair = ["before", "after"].map(|side| dir.join(format!("{name}.{side}.pprof")));
        let (diagnosis, code) = diagnose(&[&pair[0], &pair[1]]);
        assert_eq!(
            (diagnosis["verdict"].as_str(), code),
            (Some("steady"), Some(0)),
            "{name}"
        );
        assert_eq!(diagnosis["findings"], Value::Array(Vec::new()), "{name}");
        let output = heapdrift()
            .arg("diff")
            .args(&pair)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let diff = json(&output);
        let grew = diff["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["verdict"] == "grew");
        assert_eq!(grew.count(), 0, "{name}");
    }
    // Both pairs at once are two processes, and neither grew.
    let (diagnosis, code) = diagnose(&[&dir]);
    assert_eq!(
        (diagnosis["verdict"].as_str(), code),
        (Some("steady"), Some(0))
    );
    assert_eq!(diagnosis["series"]["restarts"], 1);
}

#[test]
fn deltas_and_saved_diffs_are_recognised() {
    let Some(public) = public_profiles() else {
        return;
    };
    for (name, what) in [
        ("alloc_space_delta.pb.gz", "delta profile over 30 s"),
        ("already-a-diff.pb.gz", "saved diff"),
    ] {
        let output = heapdrift()
            .arg("diagnose")
            .arg(public.join("misc").join(name))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert!(
            error.contains(what) && error.contains("hint:"),
            "{name}: {error}"
        );
    }
}

#[test]
fn one_object_a_sample_is_what_it_is() {
    let Some(public) = public_profiles() else {
        return;
    };
    let (diagnosis, code) = diagnose(&[&public.join("misc/k8s-operator.pb.gz")]);
    assert_eq!(
        (diagnosis["verdict"].as_str(), code),
        (Some("undecided"), Some(0))
    );
    // 14.7 MB in use, in 23 samples of one object each: every one of them is as uncertain as
    // it is large, so that the error is the root of the sum of squares.
    let (bytes, sd) = (
        diagnosis["totals"]["last_bytes"].as_f64().unwrap(),
        diagnosis["totals"]["last_sd"].as_f64().unwrap(),
    );
    assert!((14_700_000.0..14_800_000.0).contains(&bytes));
    assert!(
        sd < 524_288.0 * 23f64.sqrt() && sd > 0.5 * 524_288.0 * 23f64.sqrt(),
        "{sd}"
    );
}
