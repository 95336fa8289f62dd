//! Files that do not belong together, or are given in an odd way.

use crate::harness::*;
use crate::support::profiles::{Pprof, RATE, leaking_process};
use crate::zoo::unsuitable;

#[test]
fn two_unrelated_processes_are_not_compared() {
    let mut files = [first_case(), second_case()].map(|case| case.heaps().remove(0));
    // The older one first: the clock must not be what refuses.
    files.sort_by_key(|file| seconds_of(file));
    run("diff", &files, &[]).refused(3, "are not of one program: ");
    let said = run("diagnose", &files, &[]);
    said.refused(3, "are not of one process: ");
    assert!(said.err.contains("it is another build"), "{}", said.err);
    // One build, two processes: only the counters tell.
    let same_build = ["stale-watchers", "stale-watchers-fixed"];
    let mut pair = same_build.map(|name| case(name).heaps().remove(0));
    pair.sort_by_key(|file| seconds_of(file));
    let said = run("diff", &pair, &[]);
    said.refused(3, "are not of one process: ");
    // `64 of 114 allocation counters went back`
    let words: Vec<&str> = said
        .err
        .split("one process: ")
        .nth(1)
        .unwrap()
        .split(' ')
        .collect();
    let [back, all] = [0, 2].map(|word| words[word].parse::<usize>().expect("a number"));
    assert!(0 < back && back <= all, "{}", said.err);
    assert!(said.err.contains("allocation counters went back"));
    for command in ["diff", "diagnose"] {
        let said = run_json(command, &files, &[FORCE]);
        let warning = said.answered(0).warns("2 different processes");
        assert!(warning.contains(FORCE), "{warning}");
    }
}

#[test]
fn a_restart_splits_the_series() {
    let desk = Desk::new();
    let (before, after) = (leaking_process(0, 8), leaking_process(2400, 5));
    desk.put_series("alone", &before);
    desk.put_series("built", &[before, after].concat());
    // Once in real captures.
    let (heaps, others) = (first_case().heaps(), second_case().heaps());
    let begin = seconds_of(&heaps[0]);
    let later = seconds_of(&heaps[9]) - begin + 3600;
    for (index, heap) in others[..4].iter().enumerate() {
        let moved = moved(heap, begin + later - seconds_of(&others[0]));
        desk.put(format!("other/b{index}.heap.pb.gz"), moved);
    }
    for (index, heap) in heaps.iter().enumerate() {
        desk.put(format!("other/a{index}.heap.pb.gz"), read(heap));
    }
    for (folder, snapshots, second_begins) in
        [("built", 8, "8.heap.pb.gz"), ("other", 10, "b0.heap.pb.gz")]
    {
        let said = run_json("diagnose", &[desk.path(folder)], &[]);
        assert!(said.code < 2, "{folder}: {}", said.err);
        let warning = said.warns("restarted once");
        assert!(warning.contains(second_begins), "{folder}: {warning}");
        assert_eq!(said.json()["series"]["restarts"], 1, "{folder}");
        assert_eq!(said.json()["series"]["snapshots"], snapshots, "{folder}");
    }
    // What is judged is judged as if the other run were not there.
    let said = run_json("diagnose", &[desk.path("built")], &[]);
    said.answered(1).warns_once(&["restarted once"]);
    let alone = run_json("diagnose", &[desk.path("alone")], &[]).json();
    same(
        &said.json(),
        &alone,
        &["/verdict", "/totals", "/findings/0/growth"],
        "built",
    );
}

#[test]
fn snapshots_of_two_processes_in_one_directory_are_told_apart() {
    let desk = Desk::new();
    let (heaps, others) = (first_case().heaps(), second_case().heaps());
    let beside = seconds_of(&heaps[0]) - seconds_of(&others[0]) + 5;
    for (index, heap) in heaps.iter().enumerate() {
        desk.put(format!("a{index}.heap.pb.gz"), read(heap));
    }
    for (index, heap) in others[..6].iter().enumerate() {
        desk.put(format!("b{index}.heap.pb.gz"), moved(heap, beside));
    }
    let said = run_json("diagnose", &desk.all(), &[]);
    let warning = said.warns("2 different processes");
    assert!(warning.contains("a directory of its own"), "{warning}");
    let alone = run_json("diagnose", &heaps, &[]).json();
    let parts = [
        "/verdict",
        "/totals",
        "/findings/0/pattern",
        "/findings/0/growth",
    ];
    same(&said.json(), &alone, &parts, "mixed");
}

#[test]
fn ten_copies_of_one_snapshot_are_a_repeated_cycle() {
    let desk = Desk::new();
    let heap = &first_case().heaps()[9];
    for index in 0..10 {
        desk.put(format!("same/{index}.heap.pb.gz"), read(heap));
        desk.put(format!("later/{index}.heap.pb.gz"), moved(heap, index * 30));
    }
    for folder in ["same", "later"] {
        let said = run_json("diagnose", &[desk.path(folder)], &["--fail-on", "growing"]);
        said.answered(0)
            .warns_once(&["9 of 9 intervals", "same collector cycle", "gc=1"]);
        let diagnosis = said.json();
        let verdict = diagnosis["verdict"].as_str().unwrap();
        assert!(!["leak", "growing"].contains(&verdict), "{verdict}");
        assert_eq!(diagnosis["series"]["gc_points"], 1);
        assert_eq!(diagnosis["series"]["repeats"], 9);
    }
}

#[test]
fn another_build_or_rate_in_the_middle_is_another_process() {
    let desk = Desk::new();
    let change_half = |change: fn(&mut Pprof)| {
        let mut series = leaking_process(0, 8);
        series[4..].iter_mut().for_each(change);
        series
    };
    let ids = |index| if index < 4 { "b0" } else { "b1" };
    let mut series = leaking_process(0, 8);
    for (index, heap) in series.iter_mut().enumerate() {
        heap.build_id = ids(index).into();
    }
    let builds = desk.put_series("build", &series);
    let rates = desk.put_series("rate", &change_half(|heap| heap.period = RATE / 8));
    let changed = "the sampling rate changed from 512 KiB to 64 KiB at";
    for (folder, says) in [("build", "as another build"), ("rate", changed)] {
        let said = run_json("diagnose", &[desk.path(folder)], &[]);
        said.answered(1).warns_once(&[says, "4.heap.pb.gz"]);
        assert_eq!(said.json()["series"]["snapshots"], 4, "{folder}");
    }
    run("diff", &[&rates[3], &rates[4]], &[]).refused(3, "do not compare object by object");
    for (files, options, says) in [
        (&builds, &[][..], "matched by name"),
        (&builds, &[FORCE], "matched by name"),
        (&rates, &[FORCE], "no error estimate"),
    ] {
        let pair = [&files[3], &files[4]];
        let said = run_json("diff", &pair, options);
        said.answered(0).warns(says);
        let diff = said.json();
        let mut rows = list(&diff["rows"]).iter();
        let keep = rows.find(|row| row["function"] == "main.keep").unwrap();
        assert!(keep["delta_bytes"].as_i64().unwrap() > 20 << 20, "{keep}");
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_split_the_series() {
    let desk = Desk::new();
    let heaps = first_case().heaps();
    for (index, heap) in heaps.iter().enumerate() {
        let seconds = if index < 5 { 3600 } else { 0 };
        desk.put(format!("back/{index}.heap.pb.gz"), moved(heap, seconds));
    }
    let said = run_json("diagnose", &[desk.path("back")], &[]);
    let warning = said.warns("the clock jumped back by 35");
    assert!(warning.contains("5.heap.pb.gz"), "{warning}");
    let alone = run_json("diagnose", &heaps, &[]).json();
    let parts = ["/verdict", "/totals/series", "/findings/0/growth/bytes"];
    same(&said.json(), &alone, &parts, "back");
    // The interval across the jump is as long as the others: twelve seconds, as it was.
    let window = |diagnosis: &serde_json::Value| {
        let seconds = diagnosis["series"]["window_seconds"].as_f64();
        seconds.unwrap()
    };
    assert!((window(&said.json()) - window(&alone)).abs() < 1.0);
    // Two snapshots of it, in the order in which they were taken.
    let pair = [4, 5].map(|index| desk.path(format!("back/{index}.heap.pb.gz")));
    let said = run_json("diff", &pair, &[]);
    said.answered(0).warns("the clock jumped back");
    assert_eq!(said.json()["total"]["seconds"], serde_json::Value::Null);
}

#[test]
fn a_diff_in_the_wrong_order_is_refused() {
    let heaps = first_case().heaps();
    let said = run("diff", &[&heaps[9], &heaps[0]], &[]);
    said.refused(3, "wrong order");
    assert!(
        said.err.contains("swap") && said.err.contains(FORCE),
        "{}",
        said.err
    );
    let delta = |files: [&std::path::PathBuf; 2], options: &[&str]| {
        let diff = run_json("diff", &files, options).answered(0).json();
        diff["total"]["delta_bytes"].as_i64().unwrap()
    };
    let forward = delta([&heaps[0], &heaps[9]], &[]);
    assert_eq!(delta([&heaps[9], &heaps[0]], &[FORCE]), -forward);
    // Clocks at the ends of time.
    let desk = Desk::new();
    let ends = [i64::MAX, i64::MIN].map(|time| {
        let heap = sound().with(|p| p.time_nanos = time);
        desk.put(format!("{time}.heap.pb.gz"), heap.gzip())
    });
    run("diff", &ends, &[]).refused(3, "wrong order");
    run("diagnose", &ends, &[]).answered(0);
}

#[test]
fn the_same_file_twice_is_a_repeated_cycle() {
    let heap = &first_case().heaps()[0];
    let said = run_json("diff", &[heap, heap], &["--fail-on", "growing"]);
    said.answered(0).warns_once(&["same collector cycle"]);
    let diff = said.json();
    assert_eq!(diff["total"]["delta_bytes"], 0);
    assert!(
        list(&diff["rows"])
            .iter()
            .all(|row| row["delta_bytes"] == 0)
    );
    // A file given twice to diagnose is one file.
    let said = run_json("diagnose", &[heap, heap], &[]);
    assert_eq!(said.answered(0).json()["series"]["snapshots"], 1);
}

#[test]
fn force_takes_what_is_unsuitable_and_says_so() {
    let desk = Desk::new();
    let earlier = sound().with(|p| p.time_nanos -= 1_000_000_000);
    let good = desk.put("good.heap.pb.gz", earlier.gzip());
    for bad in unsuitable() {
        let file = desk.put("forced.heap.pb.gz", &bad.bytes);
        for said in [
            run_json("top", &[&file], &[FORCE]),
            run_json("diff", &[&good, &file], &[FORCE]),
            run_json("diagnose", &[&good, &file], &[FORCE]),
        ] {
            let warning = said.answered(0).warns("taken as it stands (--force)");
            assert!(warning.contains(bad.says), "{}: {warning}", bad.what);
        }
    }
}

#[test]
fn the_content_counts_and_not_the_name() {
    use crate::support::profiles::zstd;
    let desk = Desk::new();
    let endings = ["txt", "zip", "html", "json", "log", "x"];
    for (heap, ending) in leaking_process(0, 6).iter().zip(endings) {
        let bytes = match ending {
            "zip" | "x" => heap.raw(),
            "log" => zstd(&heap.raw()),
            _ => heap.gzip(),
        };
        desk.put(format!("{}.{ending}", heap.time_nanos), bytes);
    }
    let said = run_json("diagnose", &desk.all(), &[]);
    assert_eq!(
        said.answered(1).is_content().json()["series"]["gc_points"],
        6
    );
}

#[test]
fn what_lies_beside_the_captures_is_passed_over() {
    let case = first_case();
    let desk = case.copy();
    let expected = run_json("diagnose", &desk.all(), &[]);
    desk.put("case.toml", read(&case.dir.join("case.toml")));
    desk.put(
        "README.md",
        "# How this was captured: heap, goroutines, memory",
    );
    desk.put("target.json", "{\"url\": \"http://localhost:6060\"}");
    desk.put("run.log", "started\n");
    desk.put("empty", "");
    desk.put(".1.heap.pb.gz.part", "half");
    desk.put("old/1.heap.pb.gz", sound().gzip());
    let said = run_json("diagnose", &desk.all(), &[]);
    assert_eq!(said.answered(1).out, expected.out);
    run("top", &desk.all(), &[]).answered(0);
}

#[test]
fn order_and_repetition_of_files_do_not_matter() {
    let case = second_case();
    let mut files = case.part(&case.stems());
    let expected = run_json("diagnose", &files, &[]);
    files.reverse();
    files.rotate_left(7);
    let mut twice = [files.clone(), files].concat();
    assert_eq!(run_json("diagnose", &twice, &[]).out, expected.out);
    twice.push(case.dir.clone());
    let said = run_json("diagnose", &twice, &[]).json();
    same(
        &said,
        &expected.json(),
        &["/verdict", "/findings", "/series"],
        "with the directory",
    );
    // Copies under other names are repeats: said, and no new evidence.
    let desk = case.copy();
    for heap in case.heaps() {
        let name = heap.file_name().unwrap().to_str().unwrap();
        desk.put(format!("copy-{name}"), read(&heap));
    }
    let said = run_json("diagnose", &desk.all(), &[]);
    said.warns("10 of 19 intervals");
    let parts = [
        "/verdict",
        "/series/gc_points",
        "/findings/0/pattern",
        "/findings/0/growth",
    ];
    same(&said.json(), &expected.json(), &parts, "with copies");
}
