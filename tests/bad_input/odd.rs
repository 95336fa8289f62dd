//! Odd but sound content of profiles, and figures at the ends of their range.

use crate::harness::*;
use crate::support::profiles::{Pprof, gzip, leaking_process, memory_text, wire};
use pprof::protos::{Message, Profile};
use serde_json::Value;

/// A profile on a desk; the odd ones are compared with it.
struct Plain {
    desk: Desk,
    base: Pprof,
    top: Value,
}

impl Plain {
    fn new() -> Self {
        let desk = Desk::new();
        let base = Pprof::heap(0)
            .sampled("main.a < main.main", 1024, 9, 5)
            .sampled("main.b < main.main", 64, 7, 3);
        let top = of(&desk, &base.raw()).is_content().json();
        let in_use: i64 = base.rows.iter().map(|row| row.values[3]).sum();
        assert_eq!(top["total_bytes"], in_use);
        Self { desk, base, top }
    }

    fn top(&self, bytes: &[u8]) -> Said {
        of(&self.desk, bytes)
    }

    /// The same result, without a warning.
    #[track_caller]
    fn is_same(&self, what: &str, bytes: &[u8]) {
        let top = self.top(bytes).is_content().json();
        same(
            &top,
            &self.top,
            &["/total_bytes", "/total_se", "/rows"],
            what,
        );
    }

    #[track_caller]
    fn is_same_message(&self, what: &str, profile: &Profile) {
        self.is_same(what, &profile.encode_to_vec());
    }
}

/// What `top` says of a file that all commands can use.
#[track_caller]
fn of(desk: &Desk, raw: &[u8]) -> Said {
    let file = desk.put("odd.heap.pb.gz", gzip(raw));
    run("diagnose", &[&file], &[]).answered(0);
    run("diff", &[&file, &file], &[]).answered(0);
    let said = run_json("top", &[&file], &[]);
    said.answered(0);
    said
}

#[test]
fn rows_that_say_nothing_new_change_nothing() {
    let plain = Plain::new();
    let base = || plain.base.clone();
    // As the runtime keeps them; the label is missing there.
    let zeroes = base()
        .row("main.gone < main.main", None, &[0; 4])
        .row("", None, &[]);
    plain.is_same("rows of zeroes", &zeroes.raw());
    let freed = base().sampled("main.freed < main.main", 512, 8, 0);
    plain.is_same("rows of which all is freed", &freed.raw());
    let mut halves = base().message();
    let mut half = halves.sample[0].clone();
    for (half, whole) in half.value.iter_mut().zip(&mut halves.sample[0].value) {
        *half = *whole / 2;
        *whole -= *half;
    }
    halves.sample.push(half);
    plain.is_same_message("a row in two halves", &halves);
}

#[test]
fn ids_may_be_anything() {
    let plain = Plain::new();
    let base = || plain.base.message();
    let ends = [u64::MAX, u64::MAX - 1, 1 << 63];
    for ids in [ends, [0, 1, u64::MAX], [7, 1 << 20, 1 << 40]] {
        let mut profile = base();
        let new = |id: u64| ids[id as usize - 1];
        for location in &mut profile.location {
            location.id = new(location.id);
            location
                .line
                .iter_mut()
                .for_each(|line| line.function_id = new(line.function_id));
        }
        profile
            .function
            .iter_mut()
            .for_each(|function| function.id = new(function.id));
        let used = profile
            .sample
            .iter_mut()
            .flat_map(|sample| &mut sample.location_id);
        used.for_each(|id| *id = new(*id));
        plain.is_same_message(&format!("ids {ids:?}"), &profile);
    }
    let mut twice = base();
    twice.location.extend(base().location);
    twice.function.extend(base().function);
    twice.mapping.extend(base().mapping);
    plain.is_same_message("ids defined twice", &twice);
    let many = [base().encode_to_vec(), b"\x22\0".repeat(1_000_000)].concat();
    plain.is_same("a million empty locations", &many);

    let mut missing = base();
    missing.location.remove(0);
    let said = plain.top(&missing.encode_to_vec());
    said.warns_once(&["does not define"]);
    assert_eq!(said.json()["total_bytes"], plain.top["total_bytes"]);
    // Without symbols the addresses are names; mappings are not needed.
    let mut bare = base();
    bare.function.clear();
    bare.mapping.clear();
    let top = plain.top(&bare.encode_to_vec()).is_content().json();
    same(
        &top,
        &plain.top,
        &["/total_bytes", "/total_se", "/rows/0/flat_bytes"],
        "addresses",
    );
    assert!(
        top["rows"][0]["function"]
            .as_str()
            .unwrap()
            .starts_with("0x"),
        "{top}"
    );
}

#[test]
fn unknown_types_and_fields_are_passed_over() {
    let plain = Plain::new();
    let more = plain.base.clone().with(|p| {
        p.sample_types
            .insert(0, ("lifetime".into(), "nanoseconds".into()));
        p.sample_types.insert(3, ("pages".into(), "count".into()));
        for row in &mut p.rows {
            row.values.insert(0, 1 << 50);
            row.values.insert(3, 17);
        }
    });
    plain.is_same("more sample types", &more.raw());
    let fields = [
        wire::integer(100, 7),
        wire::bytes(101, b"\xff\xff"),
        wire::bytes(13, &[1, 2]),
        [wire::varint(102 << 3 | 1), vec![0xff; 8]].concat(),
        [wire::varint(103 << 3 | 5), vec![0xff; 4]].concat(),
    ];
    plain.is_same(
        "unknown fields",
        &[plain.base.raw(), fields.concat()].concat(),
    );
    let labels = plain
        .base
        .clone()
        .label("pod", "api-0")
        .label("bytes", "many");
    plain.is_same("other labels", &labels.raw());
}

#[test]
fn any_stack_is_borne() {
    let plain = Plain::new();
    // No stack at all: the bytes are in use all the same.
    let rootless = plain.base.clone().sampled("", 2048, 3, 2);
    let in_use: i64 = rootless.rows.iter().map(|row| row.values[3]).sum();
    let top = plain.top(&rootless.raw()).is_content().json();
    assert_eq!(top["total_bytes"], in_use);
    // A function counts once, however often it is on a stack.
    let circle = ["main.a", "main.b"].repeat(40).join(" < ");
    let circle = Pprof::heap(0).sampled(&circle, 1024, 9, 5);
    let top = plain.top(&circle.raw()).json();
    assert_eq!(list(&top["rows"]).len(), 2, "{top}");
    for row in list(&top["rows"]) {
        assert_eq!(row["cum_bytes"], top["total_bytes"], "{row}");
    }
    // A million frames are only a deep stack.
    let mut deep = plain.base.message();
    deep.sample[0].location_id = vec![deep.location[0].id; 1_000_000];
    let top = plain.top(&deep.encode_to_vec()).json();
    assert_eq!(top["total_bytes"], plain.top["total_bytes"]);
}

#[test]
fn figures_at_the_ends_of_their_range_are_borne() {
    let desk = Desk::new();
    let max = 1 << 58;
    for size in [1, 16, 1 << 20, 1 << 58, i64::MAX] {
        let snapshot = |step: i64| {
            let in_use = max / 5 * step;
            let values = [max, max, in_use, in_use];
            Pprof::heap(step * 300).row("main.f < main.main", Some(size), &values)
        };
        let files = desk.put_series("most", &(0..5).map(snapshot).collect::<Vec<_>>());
        for form in ["json", "table"] {
            assert!(run("diagnose", &files, &["-f", form]).code < 2);
            run("diff", &[&files[0], &files[4]], &["-f", form]).answered(0);
            run("top", &files[4..], &["-f", form]).answered(0);
        }
    }
    for period in [i64::MIN, -1, 0, 1, 2, i64::MAX] {
        let file = desk.put(
            "rate.heap.pb.gz",
            sound().with(|p| p.period = period).gzip(),
        );
        run("top", &[&file], &[]).answered(0);
        run("diagnose", &[&file], &[]).answered(0);
        run("diff", &[&file, &file], &[]).answered(0);
    }
}

#[test]
fn figures_of_the_runtime_that_do_not_fit_are_borne() {
    const MANY: &str = "99999999999999999999999";
    let desk = Desk::new();
    for (index, heap) in leaking_process(0, 5).iter().enumerate() {
        let text = memory_text(index as i64 * 300, 1 << 20);
        let forced = if index == 0 { "0" } else { MANY };
        let odd = text
            .replace("NumForcedGC = 1", &format!("NumForcedGC = {forced}"))
            .replace("Sys = 2097152", &format!("Sys = {MANY}"))
            .replace("Stack = 65536 / 65536", &format!("Stack = {MANY} / {MANY}"));
        desk.put(format!("{index}.memory.txt"), odd);
        desk.put(format!("{index}.heap.pb.gz"), heap.gzip());
    }
    run("diagnose", &desk.all(), &["--limit", "1GiB"]).answered(1);
    run_json("diagnose", &desk.all(), &["--limit", "1GiB"]).answered(1);

    let goroutines = |count: i64| {
        Pprof::of_types(&[("goroutine", "count")], ("goroutine", "count"), 1)
            .row("main.a", None, &[count])
            .row("main.b < main.main", None, &[count])
            .row("main.b < main.main", None, &[count])
            .row("main.c", None, &[-5])
    };
    let series: Vec<Pprof> = [0, 1 << 20, 1 << 30, 1 << 37, 1 << 38]
        .map(goroutines)
        .into();
    let files = desk.put_series("crowd", &series);
    let said = run_json("diagnose", &files, &[]);
    assert!(said.code < 2, "{}", said.err);
    assert_eq!(said.json()["totals"]["goroutines"][4], 3_i64 << 38);
}
