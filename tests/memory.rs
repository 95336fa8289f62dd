//! Memory figures from several files of one moment, and verdicts about memory that is no leak.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::profiles::{Pprof, START, goroutine_dump, memory_text};
use support::{heapdrift, json};

const MIB: i64 = 1 << 20;

/// A page of metrics as of so many seconds after the start of a series, with other figures than `memory_text`.
fn metrics_text(seconds: i64, rss: i64) -> String {
    format!(
        "# TYPE go_memstats_sys_bytes gauge\ngo_memstats_sys_bytes {}\n\
         go_memstats_heap_released_bytes 0\ngo_memstats_heap_alloc_bytes 1\n\
         go_memstats_last_gc_time_seconds {}\ngo_gc_gogc_percent 150\n\
         go_gc_gomemlimit_bytes 9.223372036854776e+18\nprocess_resident_memory_bytes {rss}\n",
        30 * MIB,
        START + seconds
    )
}

fn cgroup_text(current: i64, limit: &str) -> String {
    format!(
        "memory.current {current}\nmemory.max {limit}\nanon {}\nfile {}\ninactive_file {}\n",
        current / 2,
        current / 4,
        current / 8
    )
}

/// A leak of 4 kB objects, five minutes a snapshot; memory figures are put beside by `put`.
fn leak(dir: &Path, put: impl Fn(i64, &str)) {
    for point in 0..8 {
        let heap = Pprof::heap(point * 300).sampled(
            "main.keep < main.main",
            4096,
            20 + 20 * point,
            20 + 20 * point,
        );
        let stem = format!("2026113{point}T093000Z");
        fs::write(dir.join(format!("{stem}.heap.pb.gz")), heap.gzip()).unwrap();
        put(point, &stem);
    }
}

fn run(dir: &Path, options: &[&str]) -> Value {
    let output = heapdrift()
        .args(["diagnose", "-f", "json"])
        .args(options)
        .arg(dir)
        .output()
        .unwrap();
    json(&output)
}

#[test]
fn files_of_one_moment_are_one_reading() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: String, text: String| fs::write(dir.path().join(name), text).unwrap();
    leak(dir.path(), |point, stem| {
        let seconds = point * 300;
        write(format!("{stem}.memory.txt"), memory_text(seconds, 16 * MIB));
        write(
            format!("{stem}.metrics.txt"),
            metrics_text(seconds, (40 + point) * MIB),
        );
        write(
            format!("{stem}.cgroup.txt"),
            cgroup_text((100 + point) * MIB, "1073741824"),
        );
    });
    let said = run(dir.path(), &[]);
    assert_eq!(said["warnings"], serde_json::json!([]));
    assert_eq!(said["series"]["snapshots"], 8);
    let memory = &said["memory"];
    // MemStats come first by name: 16 MiB allocated, and not the 1 byte of the metrics.
    assert_eq!(memory["heap_alloc"], 16 * MIB);
    assert_eq!(memory["max_rss"], 32 * MIB, "a peak");
    assert_eq!(memory["rss"], 47 * MIB, "of now");
    // 47 − (30 − 0), all three of the page.
    assert_eq!(memory["native"], 17 * MIB);
    assert_eq!(memory["gogc_percent"], 150);
    assert_eq!(memory["go_memory_limit"], Value::Null);
    assert_eq!(memory["cgroup_current"], 107 * MIB);
    assert_eq!(memory["cgroup_anon"], 107 * MIB / 2);
    assert_eq!(memory["change"]["rss"], 7 * MIB);
    assert_eq!(memory["change"]["native"], 7 * MIB);
    assert_eq!(memory["change"]["cgroup_file"], 7 * MIB / 4);
    assert_eq!(memory["change"]["max_rss"], 0);
    let of_memory = |input: &&Value| input["kind"] == "memory" && input["used"] == true;
    let inputs = said["inputs"].as_array().unwrap();
    assert_eq!(inputs.iter().filter(of_memory).count(), 24);
    // Nobody gave a limit, the control group has one; of it 53.5 MiB of anonymous memory are more than the 47.
    let forecast = &said["forecast"];
    assert_eq!(forecast["limit_from"], "cgroup");
    assert_eq!(forecast["limit_bytes"], 1024 * MIB);
    assert_eq!(forecast["held_bytes"], 107 * MIB / 2);
    assert_eq!(forecast["held_from"], "cgroup");
    assert_eq!(forecast["factor"], 2.5);
    assert!(forecast["earliest_hours"].as_f64().unwrap() > 0.0);
    // A limit that was given counts, and the resident set against it.
    let given = &run(dir.path(), &["--limit", "512MiB"])["forecast"];
    assert_eq!(given["limit_from"], "given");
    assert_eq!(given["held_bytes"], 47 * MIB);
    assert_eq!(given["held_from"], "rss");
}

#[test]
fn a_peak_is_never_taken_for_what_is_resident() {
    let dir = tempfile::tempdir().unwrap();
    leak(dir.path(), |point, stem| {
        let text = memory_text(point * 300, 16 * MIB).replace(
            &format!("# MaxRSS = {}", 32 * MIB),
            &format!("# MaxRSS = {}", 900 * MIB),
        );
        fs::write(dir.path().join(format!("{stem}.memory.txt")), text).unwrap();
    });
    let said = run(dir.path(), &["--limit", "512MiB"]);
    assert_eq!(said["memory"]["max_rss"], 900 * MIB);
    assert_eq!(said["memory"]["rss"], Value::Null);
    // Sys 32 − HeapReleased 4.
    assert_eq!(said["forecast"]["held_bytes"], 28 * MIB);
    assert_eq!(said["forecast"]["held_from"], "runtime");
}

#[test]
fn each_file_of_another_moment_is_left_out_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: String, text: String| fs::write(dir.path().join(name), text).unwrap();
    leak(dir.path(), |point, stem| {
        let seconds = point * 300;
        write(format!("{stem}.memory.txt"), memory_text(seconds, 16 * MIB));
        let of = if point == 3 { seconds - 3600 } else { seconds };
        write(format!("{stem}.metrics.txt"), metrics_text(of, 40 * MIB));
    });
    let said = run(dir.path(), &[]);
    let warnings = said["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    assert!(
        warning.contains("20261133T093000Z.metrics.txt"),
        "{warning}"
    );
    assert!(warning.contains("3600 s apart"), "{warning}");
    assert_eq!(said["memory"]["rss"], 40 * MIB);
}

#[test]
fn figures_that_are_none_do_no_harm() {
    let values = ["NaN", "+Inf", "-Inf", "1e400", "-1", "9.3e18", "x", ""];
    for value in values {
        let dir = tempfile::tempdir().unwrap();
        leak(dir.path(), |point, stem| {
            let page = metrics_text(point * 300, 40 * MIB);
            let names = [
                "heap_released_bytes 0",
                "heap_alloc_bytes 1",
                "gc_percent 150",
            ];
            let odd = names.iter().fold(page, |page, name| {
                let figure = name.rsplit_once(' ').unwrap().0;
                page.replace(name, &format!("{figure} {value}"))
            });
            fs::write(dir.path().join(format!("{stem}.metrics.txt")), odd).unwrap();
        });
        let said = run(dir.path(), &["--limit", "512MiB"]);
        assert_eq!(said["verdict"], "leak", "{value}");
        assert_eq!(said["memory"]["rss"], 40 * MIB, "{value}");
        assert_eq!(said["memory"]["native"], Value::Null, "{value}");
    }
}

#[test]
fn files_cut_anywhere_are_read_or_refused() {
    let texts = [metrics_text(0, 40 * MIB), cgroup_text(100 * MIB, "max")];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("1.metrics.txt");
    for text in texts {
        for end in (0..text.len()).step_by(7) {
            fs::write(&file, &text[..end]).unwrap();
            let output = heapdrift().arg("diagnose").arg(&file).output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 2)), "cut at {end}");
        }
    }
}

/// Sampled objects at each of ten points, 30 s apart: (stack, size, allocated and in use).
type Site = (&'static str, i64, fn(i64) -> (i64, i64));

/// Comes and goes, so that each snapshot shows a collection of its own.
const CHURN: Site = ("main.scratch < main.serve < main.main", 1024, |t| {
    (400 * (t + 1), 1)
});

/// The verdicts about memory that is no leak of a made-up series.
fn verdicts(sites: &[Site], goroutines: Option<usize>, memory: Option<fn(i64) -> String>) -> Value {
    let dir = tempfile::tempdir().unwrap();
    for point in 0..10 {
        let mut heap = Pprof::heap(point * 30);
        for (stack, size, history) in sites.iter().chain([&CHURN]) {
            let (allocated, in_use) = history(point);
            heap = heap.sampled(stack, *size, allocated, in_use);
        }
        let put = |ending: &str, bytes: Vec<u8>| {
            fs::write(dir.path().join(format!("{point:02}.{ending}")), bytes).unwrap();
        };
        put("heap.pb.gz", heap.gzip());
        if let Some(count) = goroutines {
            put(
                "goroutine.txt",
                goroutine_dump("main.wait", count).into_bytes(),
            );
        }
        if let Some(memory) = memory {
            put("memory.txt", memory(point).into_bytes());
        }
    }
    run(dir.path(), &["--app-module", "example.com/app"])["not_a_leak"].clone()
}

/// The one verdict of this name, its size in MiB and its sentence.
fn named(verdicts: &Value, name: &str) -> Option<(f64, String)> {
    let mut of_name = verdicts
        .as_array()
        .unwrap()
        .iter()
        .filter(|v| v["name"] == name);
    let found = of_name.next()?;
    assert!(of_name.next().is_none(), "{verdicts}");
    let text = found["text"].as_str().unwrap().to_owned();
    Some((found["bytes"].as_f64().unwrap() / MIB as f64, text))
}

/// 60 sampled objects of 8 KiB: 60 · 8192/(1 − exp(−8192/524288)) = 30.2 MiB.
const STEADY: Site = ("main.table < main.main", 8192, |_| (60, 60));

#[test]
fn a_cache_of_the_clusters_size_is_said_while_it_does_not_grow() {
    // 40 · 4096/(1 − exp(−4096/524288)) = 20.1 MiB, 40 % of 50.8.
    const STORE: &str = "encoding/json.Unmarshal < k8s.io/client-go/tools/cache.(*Reflector).list.func1 < main.main";
    let said = verdicts(&[STEADY, (STORE, 4096, |_| (40, 40))], None, None);
    let (size, text) = named(&said, "cluster-sized-cache").expect("40 %");
    assert!((size - 20.08).abs() < 0.02, "{size}");
    assert!(text.contains("20.1 MiB of the 50.8 MiB"), "{text}");
    // Fills up and stays.
    let filled = |t: i64| (20 + 5 * t.min(4), 20 + 5 * t.min(4));
    assert!(
        named(
            &verdicts(&[STEADY, (STORE, 4096, filled)], None, None),
            "cluster-sized-cache"
        )
        .is_some()
    );
    let grows = |t: i64| (40 + 10 * t, 40 + 10 * t);
    assert_eq!(
        named(
            &verdicts(&[STEADY, (STORE, 4096, grows)], None, None),
            "cluster-sized-cache"
        ),
        None
    );
    // 20 of 50 objects: 10.0 of 40.8 MiB are a quarter.
    let small = verdicts(&[STEADY, (STORE, 4096, |_| (20, 20))], None, None);
    assert_eq!(named(&small, "cluster-sized-cache"), None);
}

#[test]
fn a_constant_block_is_the_same_in_every_snapshot() {
    const BALLAST: &str = "main.ballast < main.main";
    let said = verdicts(&[STEADY, (BALLAST, 64 * MIB, |_| (1, 1))], None, None);
    let (size, text) = named(&said, "constant-block").expect("64 of 94 MiB");
    assert!((size - 64.0).abs() < 0.01, "{size}");
    assert!(
        text.contains("1 object(s), the largest from main.ballast"),
        "{text}"
    );
    for other in [
        // 8 of 38 MiB is a fifth.
        (BALLAST, 8 * MIB, (|_| (1, 1)) as fn(i64) -> (i64, i64)),
        (BALLAST, 64 * MIB, |t| (1 + t / 5, 1 + t / 5)),
        (BALLAST, 8 * MIB, |_| (5, 5)),
    ] {
        let said = verdicts(&[STEADY, other], None, None);
        assert_eq!(named(&said, "constant-block"), None, "{} bytes", other.1);
    }
}

#[test]
fn the_profilers_own_memory_is_said_in_a_small_heap() {
    const WRITER: &str =
        "compress/flate.NewWriter < runtime/pprof.(*profileBuilder).flush < main.main";
    // 5 objects of 800 KiB: 5 · 819200/(1 − exp(−1.5625)) = 4.94 of 35.1 MiB.
    let writer: Site = (WRITER, 819_200, |_| (5, 5));
    let (size, _) =
        named(&verdicts(&[STEADY, writer], None, None), "profiler-memory").expect("14 %");
    assert!((size - 4.94).abs() < 0.01, "{size}");
    // The program's own compressor.
    let own: Site = ("compress/flate.NewWriter < main.main", 819_200, |_| (5, 5));
    assert_eq!(
        named(&verdicts(&[STEADY, own], None, None), "profiler-memory"),
        None
    );
    // 120 objects are 60.5 MiB more.
    let large: Site = ("main.large < main.main", 8192, |_| (120, 120));
    assert_eq!(
        named(
            &verdicts(&[STEADY, writer, large], None, None),
            "profiler-memory"
        ),
        None
    );
}

#[test]
fn a_rise_below_the_detection_limit_is_neither_shown_nor_excluded() {
    // Of ten objects nine are replaced in each interval, and in the end there are eight more, 4.0
    // MiB on 35.8: m = 8 + 2 · 10, P[Bin(28, ½) ≥ 18] = 0.09.
    let drift: Site = ("main.drift < main.main", 4096, |t| {
        (10 + 9 * t + 8 * t / 9, 10 + 8 * t / 9)
    });
    let (size, text) =
        named(&verdicts(&[STEADY, drift], None, None), "below-detection").expect("4.0 MiB");
    assert!((size - 8.0 * 0.502).abs() < 0.01, "{size}");
    assert!(text.contains("neither shown nor excluded"), "{text}");
    // One object is no rise that anybody notices: 0.5 of 30.7 MiB.
    let still: Site = ("main.drift < main.main", 4096, |t| (1 + t / 9, 1 + t / 9));
    assert_eq!(
        named(&verdicts(&[STEADY, still], None, None), "below-detection"),
        None
    );
    // A leak is shown.
    let leak: Site = ("main.drift < main.main", 4096, |t| (1 + 10 * t, 1 + 10 * t));
    assert_eq!(
        named(&verdicts(&[STEADY, leak], None, None), "below-detection"),
        None
    );
}

#[test]
fn what_a_peak_leaves_behind_is_kept() {
    // 16 sampled descriptors of 480 B: 16 · 480/(1 − exp(−480/524288)) = 8.0 MiB of 17.5 thousand goroutines.
    let descriptors: Site = ("runtime.malg < runtime.newproc1", 480, |_| (16, 16));
    let (size, text) = named(
        &verdicts(&[STEADY, descriptors], Some(50), None),
        "peak-kept",
    )
    .expect("a peak");
    assert!((size - 8.0).abs() < 0.01, "{size}");
    assert!(
        text.contains("once about 17484 goroutines and are 51 now"),
        "{text}"
    );
    // Without goroutine profiles nobody knows how many there are now.
    assert_eq!(
        named(&verdicts(&[STEADY, descriptors], None, None), "peak-kept"),
        None
    );
    // With 6,000 now there may never have been more than three times as many.
    assert_eq!(
        named(
            &verdicts(&[STEADY, descriptors], Some(6000), None),
            "peak-kept"
        ),
        None
    );
    // A map that grew once and stays: 40 objects are 20.1 MiB.
    let map: Site = ("main.index < main.main", 4096, |t| {
        if t < 3 { (2, 2) } else { (42, 42) }
    });
    let (size, text) = named(&verdicts(&[STEADY, map], None, None), "peak-kept").expect("a step");
    assert!((size - 20.08).abs() < 0.02, "{size}");
    assert!(
        text.contains("of main.index rose by 20.1 MiB") && text.contains("changed by +0 B"),
        "{text}"
    );
    // One that has just grown.
    let late: Site = ("main.index < main.main", 4096, |t| {
        if t < 8 { (2, 2) } else { (42, 42) }
    });
    assert_eq!(
        named(&verdicts(&[STEADY, late], None, None), "peak-kept"),
        None
    );
}

#[test]
fn growth_that_the_profile_does_not_show_is_said_in_bytes() {
    fn figures(point: i64, stacks: i64) -> String {
        memory_text(point * 30, 32 * MIB).replace(
            "# Stack = 65536 / 65536",
            &format!("# Stack = {stacks} / {stacks}"),
        )
    }
    let stacks = |t| figures(t, MIB + t * 2 * MIB);
    let (size, text) =
        named(&verdicts(&[STEADY], None, Some(stacks)), "unseen-growth").expect("18 MiB");
    assert_eq!(size, 18.0);
    assert!(
        text.contains("the memory of goroutine stacks grew by 18.0 MiB"),
        "{text}"
    );
    // 9 · 0.2 MiB are below 2.
    let little = |t| figures(t, MIB + t * MIB / 5);
    assert_eq!(
        named(&verdicts(&[STEADY], None, Some(little)), "unseen-growth"),
        None
    );
    // The heap grows by 45 objects, 22.6 MiB, and HeapInuse with it: that is shown.
    let leak: Site = ("main.keep < main.main", 4096, |t| (5 + 5 * t, 5 + 5 * t));
    let shown = |t| {
        let heap = (32 * MIB) + t * 5 * MIB / 2;
        let system = heap + heap / 4 + 5 * MIB;
        memory_text(t * 30, heap).replace(
            &format!("# Sys = {}", 2 * heap),
            &format!("# Sys = {system}"),
        )
    };
    assert_eq!(
        named(
            &verdicts(&[STEADY, leak], None, Some(shown)),
            "unseen-growth"
        ),
        None
    );
}

#[test]
fn the_largest_comes_first() {
    let block: Site = ("main.ballast < main.main", 64 * MIB, |_| (1, 1));
    let map: Site = ("main.index < main.main", 4096, |t| {
        if t < 3 { (2, 2) } else { (42, 42) }
    });
    let said = verdicts(&[STEADY, block, map], None, None);
    let bytes: Vec<f64> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|verdict| verdict["bytes"].as_f64().unwrap())
        .collect();
    assert!(
        bytes.len() >= 2 && bytes.is_sorted_by(|a, b| a >= b),
        "{said}"
    );
}

#[test]
fn a_steady_program_is_left_in_peace() {
    let quiet = |t: i64| memory_text(t * 30, 32 * MIB);
    let said = verdicts(&[STEADY], Some(3), Some(quiet));
    let names: Vec<&str> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["name"].as_str().unwrap())
        .collect();
    assert!(names.is_empty(), "{said}");
}
