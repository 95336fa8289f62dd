//! Profiles that lack something, and are used as far as they go.

use crate::harness::*;
use crate::support::profiles::{Pprof, goroutine_dump, heap_text, leaking_process, memory_text};
use serde_json::Value;

#[test]
fn without_object_sizes_there_is_no_error_estimate() {
    let mut series = leaking_process(0, 8);
    for row in series.iter_mut().flat_map(|heap| &mut heap.rows) {
        row.size = None;
    }
    let desk = Desk::new();
    let files = desk.put_series("bare", &series);

    let said = run_json("top", &files[..1], &[]);
    said.answered(0)
        .warns_once(&["lost the object sizes", "no error estimate"]);
    let top = said.json();
    assert!(top["total_se"].is_null());
    for row in list(&top["rows"]) {
        assert!(row["flat_se"].is_null() && row["cum_se"].is_null(), "{row}");
    }

    let said = run_json("diff", &[&files[0], &files[7]], &["--fail-on", "growing"]);
    said.answered(0)
        .warns_once(&["and 1 more have lost the object sizes", "no error estimate"]);
    let diff = said.json();
    for figure in ["sd_bytes", "detection_limit_bytes"] {
        assert!(diff["total"][figure].is_null(), "{figure}");
    }
    for row in list(&diff["rows"]) {
        let is_bare = row["sd_bytes"].is_null() && row["p_value"].is_null();
        assert!(is_bare && row["verdict"] == "unknown", "{row}");
    }

    // However it grows: without counts it is no leak.
    let said = run_json("diagnose", &[desk.path("bare")], &[]);
    said.answered(0)
        .warns_once(&["and 7 more have lost the object sizes", "no error estimate"]);
    let diagnosis = said.json();
    assert_eq!(diagnosis["verdict"], "growing");
    for figure in [
        "/totals/ci95",
        "/totals/last_sd",
        "/series/detection_limit_bytes",
    ] {
        assert_eq!(diagnosis.pointer(figure), Some(&Value::Null), "{figure}");
    }
    for finding in list(&diagnosis["findings"]) {
        assert_ne!(finding["verdict"], "leak");
        for figure in ["sd_bytes", "p_value", "ci95"] {
            assert!(finding["growth"][figure].is_null(), "{figure}: {finding}");
        }
    }
    // A table shows nothing that the JSON does not hold.
    for command in ["top", "diagnose"] {
        let table = run(command, &[desk.path("bare")], &[]).out;
        assert!(!table.contains('±') && !table.contains("p <"), "{table}");
    }
}

#[test]
fn truncated_stacks_are_said_once() {
    let deepened = |depth: usize| {
        let mut series = leaking_process(0, 6);
        for row in series.iter_mut().flat_map(|heap| &mut heap.rows) {
            let missing = row.stack.len()..depth;
            row.stack
                .extend(missing.map(|level| format!("main.walk{level}")));
        }
        series
    };
    let desk = Desk::new();
    for (depth, newer_go_helps) in [(31, false), (32, true), (128, false)] {
        let folder = depth.to_string();
        desk.put_series(&folder, &deepened(depth));
        let said = run_json("diagnose", &[desk.path(&folder)], &[]);
        let culprit = &said.answered(1).json()["findings"][0]["culprit"]["function"];
        assert_eq!(culprit, "main.keep", "{depth}");
        if depth == 31 {
            said.is_content();
            continue;
        }
        said.warns_once(&[&format!("cut at {depth} frames")]);
        assert_eq!(
            said.warnings()[0].contains("Go 1.23"),
            newer_go_helps,
            "{depth}"
        );
    }
}

#[test]
fn without_a_clock_files_are_ordered_by_name() {
    let mut series = leaking_process(0, 12);
    series.iter_mut().for_each(|heap| heap.time_nanos = 0);
    let desk = Desk::new();
    desk.put_series("clockless", &series);
    let said = run_json("diagnose", &[desk.path("clockless")], &[]);
    said.warns_once(&["12 snapshot(s) hold no time", "no rate"]);
    let totals = said.json()["totals"].clone();
    let bytes: Vec<i64> = list(&totals["series"])
        .iter()
        .map(|v| v.as_i64().unwrap())
        .collect();
    assert!(bytes.is_sorted(), "10 stands behind 9: {bytes:?}");
    assert!(totals["bytes_per_hour"].is_null());
}

#[test]
fn goroutines_or_memory_figures_alone_are_used() {
    let desk = Desk::new();
    for index in 0..5_usize {
        let crowd = goroutine_dump("main.stuck", 10 + 40 * index);
        desk.put(format!("crowd/{index}.goroutine.txt"), crowd);
        let figures = memory_text(index as i64 * 60, 1 << 24);
        desk.put(format!("figures/{index}.memory.txt"), figures);
    }
    for (folder, code) in [("crowd", 1), ("figures", 0)] {
        let path = desk.path(folder);
        run("diagnose", &[&path], &[]).answered(code);
        // The others need a heap.
        run("top", &[&path], &[]).refused(2, "heap profile");
        run("diff", &[&path, &path], &[]).refused(2, "holds 0 heap profiles");
    }
    let said = run_json("diagnose", &[desk.path("crowd")], &[]).json();
    assert_eq!(said["verdict"], "leak");
    let crowd = &said["findings"][0]["goroutines"][0];
    assert_eq!(crowd["function"], "main.stuck");
    let said = run_json("diagnose", &[desk.path("figures")], &[]).json();
    assert_eq!(said["memory"]["heap_alloc"], 1 << 24);
    assert_eq!(list(&said["findings"]).len(), 0);
}

#[test]
fn heap_texts_alone_make_a_series() {
    let desk = Desk::new();
    let put = |index: i64| {
        let text = heap_text(index * 300, 40 + 40 * index);
        desk.put(format!("{index}.txt"), text)
    };
    let texts: Vec<_> = (0..5).map(put).collect();
    let said = run_json("diagnose", &desk.all(), &[]);
    let diagnosis = said.answered(1).is_content().json();
    assert_eq!(diagnosis["findings"][0]["culprit"]["function"], "main.keep");
    assert_eq!(diagnosis["series"]["gc_points"], 5);
    assert!(diagnosis["memory"].is_object());
    let said = run_json("diff", &[&texts[0], &texts[4]], &[]);
    assert_eq!(said.answered(0).json()["rows"][0]["verdict"], "grew");
    run("top", &texts[..1], &[]).answered(0);
    // Cut in the middle of a line: used, and said.
    let whole = heap_text(1500, 240);
    let cut = whole.find("main.main").unwrap();
    desk.put("5.txt", &whole[..cut]);
    run_json("diagnose", &desk.all(), &[]).warns("cut short");
}

#[test]
fn empty_profiles_are_used() {
    let desk = Desk::new();
    // Nothing was sampled yet: that is sound, and says little.
    let files = desk.put_series("new", &[Pprof::heap(0), Pprof::heap(300)]);
    run("top", &files[..1], &[]).answered(0);
    run("diagnose", &files, &[]).answered(0);
    let diff = run_json("diff", &files, &[]).answered(0).json();
    assert_eq!(diff["total"]["delta_bytes"], 0);
    let crowd = desk.put("1.goroutine.txt", "goroutine profile: total 0\n");
    run("diagnose", &[crowd], &[]).answered(0);
}
