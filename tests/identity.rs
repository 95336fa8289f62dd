//! Two builds of one program: what was moved, renamed, inlined or made generic does not grow,
//! what grew there is still seen, and the reports say how the sites were matched.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::profiles::{Pprof, RATE};
use support::{heapdrift, json, project};
use tempfile::TempDir;

/// Object size of all rows: one sampled object stands for 0.5 MiB.
const SIZE: i64 = 65_536;
/// Sampled objects of a site: 200 ± 14, so that a site that vanishes is far beyond noise.
const OBJECTS: i64 = 200;

/// What both builds have, so that there is something to compare with.
const COMMON: &str = "net/http.(*Server).Serve@90/80 < main.serve@20/15 < main.main@5/3";

/// One heap profile of a build: sites with their sampled objects.
fn heap(seconds: i64, build: &str, sites: &[(&str, i64)]) -> Pprof {
    let empty = Pprof::heap(seconds)
        .with(|heap| heap.build_id = build.to_owned())
        .sampled(COMMON, SIZE, OBJECTS + seconds, OBJECTS);
    sites.iter().fold(empty, |heap, (stack, objects)| {
        heap.sampled(stack, SIZE, 4 * OBJECTS + objects + seconds, *objects)
    })
}

/// Four snapshots of each of two builds in a directory; the second's are `4.heap.pb.gz` to
/// `7.heap.pb.gz`, with `objects(n)` at its sites in the nth.
struct Captures(TempDir);

impl Captures {
    fn new(ids: [&str; 2], sites: [&[&str]; 2], objects: impl Fn(i64) -> i64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..8 {
            let build = usize::from(number >= 4);
            // The first build's are steady.
            let each = if build == 0 {
                OBJECTS
            } else {
                objects(number - 4)
            };
            let rows: Vec<(&str, i64)> = sites[build].iter().map(|site| (*site, each)).collect();
            // The second process begins anew.
            let mut profile = heap(number % 4 * 60, ids[build], &rows);
            profile.time_nanos += number / 4 * 3600 * 1_000_000_000;
            let file = dir.path().join(format!("{number}.heap.pb.gz"));
            std::fs::write(file, profile.gzip()).unwrap();
        }
        Self(dir)
    }

    fn file(&self, number: usize) -> PathBuf {
        self.0.path().join(format!("{number}.heap.pb.gz"))
    }

    fn diff(&self) -> Value {
        answer("diff", &[&self.file(3), &self.file(4)], &[])
    }

    fn diagnose(&self, options: &[&str]) -> Value {
        answer("diagnose", &[self.0.path()], options)
    }
}

fn answer(command: &str, sources: &[&Path], options: &[&str]) -> Value {
    let output = heapdrift()
        .arg(command)
        .args(sources)
        .args(options)
        .args(["-f", "json"])
        .output()
        .unwrap();
    assert!(output.status.code() < Some(2), "{output:?}");
    json(&output)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// Share of the bytes that a tier matched.
fn share(result: &Value, tier: &str) -> f64 {
    let tiers = list(&result["identity"]["tiers"]).iter();
    let mut found = tiers.filter(|entry| entry["tier"] == tier);
    found.next().unwrap()["share"].as_f64().unwrap()
}

/// Verdicts of the rows at which a function allocates.
fn verdicts<'a>(diff: &'a Value, function: &str) -> Vec<&'a str> {
    let rows = list(&diff["rows"]).iter();
    let found = rows.filter(|row| row["function"] == function);
    found.map(|row| row["verdict"].as_str().unwrap()).collect()
}

/// Nothing grew from one build to the other, and half of the bytes (the other half is
/// [`COMMON`]) were matched in one tier.
#[track_caller]
fn check(before: &str, after: &str, tier: &str) -> Value {
    let captures = Captures::new(["b1", "b2"], [&[before], &[after]], |_| OBJECTS);
    let diff = captures.diff();
    for row in list(&diff["rows"]) {
        let verdict = row["verdict"].as_str().unwrap();
        assert!(["within-noise", "moved"].contains(&verdict), "{row}");
        assert_eq!(row["delta_bytes"], 0, "{row}");
    }
    assert_eq!(list(&diff["rows"]).len(), 2);
    let expected = if tier == "same-lines" { 1.0 } else { 0.5 };
    assert_eq!(share(&diff, tier), expected, "{}", diff["identity"]);
    assert_eq!(diff["identity"]["unmatched"]["share"], 0.0);
    assert_eq!(diff["identity"]["is_other_build"], true);
    let warnings = diff["warnings"].to_string();
    assert!(warnings.contains("matched by name"), "{warnings}");
    let forced = captures.diagnose(&["--force"]);
    assert_eq!(forced["verdict"], "steady", "{}", forced["findings"]);
    assert_eq!(list(&forced["findings"]), [] as [Value; 0]);
    // As information the same stands in a report that judges one run.
    let judged = captures.diagnose(&[]);
    assert_eq!(judged["series"]["snapshots"], 4);
    assert_eq!(judged["identity"], diff["identity"]);
    diff
}

#[test]
fn a_function_that_moved_down_its_file() {
    check(
        "main.keep@35/30 < main.handle@25/20 < main.main@5/3",
        "main.keep@65/60 < main.handle@55/50 < main.main@5/3",
        "same-offsets",
    );
}

#[test]
fn lines_that_changed() {
    check(
        "main.keep@35/30 < main.handle@25/20 < main.main@5/3",
        "main.keep@37/30 < main.handle@28/20 < main.main@5/3",
        "same-names",
    );
}

#[test]
fn a_function_that_moved_to_another_package() {
    let diff = check(
        "main.(*Store).keep@35/30 < main.handle@25/20 < main.main@5/3",
        "example.com/store.(*Store).keep@9/7 < main.handle@25/20 < main.main@5/3",
        "moved",
    );
    let to = "example.com/store.(*Store).keep";
    assert_eq!(verdicts(&diff, to), ["moved"]);
    let moves = list(&diff["identity"]["moves"]);
    assert_eq!(moves.len(), 1);
    assert_eq!(moves[0]["from"], "main.(*Store).keep");
    assert_eq!(moves[0]["to"], to);
    let rows = list(&diff["rows"]);
    let row = rows.iter().find(|row| row["function"] == to).unwrap();
    assert_eq!(row["moved_from"], "main.(*Store).keep");
}

#[test]
fn a_function_that_was_split() {
    let diff = check(
        "main.keep@35/30 < main.handle@25/20 < main.main@5/3",
        "main.grow@41/40 < main.keep@35/30 < main.handle@25/20 < main.main@5/3",
        "moved",
    );
    assert_eq!(verdicts(&diff, "main.grow"), ["moved"]);
}

#[test]
fn a_function_that_is_inlined_now() {
    check(
        "main.keep@35/30 < main.handle@25/20 < main.main@5/3",
        "main.keep@35/30 + main.handle@25/20 < main.main@5/3",
        "same-lines",
    );
    // And the closure in it, which is named after both then.
    check(
        "main.keep.func1@35/30 < main.each@9/8 < main.handle@25/20 < main.main@5/3",
        "main.handle.keep.func2@35/30 < main.each@9/8 + main.handle@25/20 < main.main@5/3",
        "same-offsets",
    );
}

#[test]
fn names_that_changed() {
    let stack = |leaf: &str| format!("{leaf}@35/30 < main.handle@25/20 < main.main@5/3");
    for (old, new) in [
        // Generic.
        ("main.Put", "main.Put[...]"),
        (
            "main.(*Map[go.shape.int]).Put",
            "main.(*Map[go.shape.string]).Put",
        ),
        // A closure renumbered.
        ("main.handle.func1", "main.handle.func3"),
        ("main.glob..func1", "main.init.func4"),
        // A major version.
        ("example.com/store.Put", "example.com/store/v2.Put"),
        ("gopkg.in/yaml%2ev2.keep", "gopkg.in/yaml%2ev3.keep"),
        // Vendored, and as a module.
        (
            "example.com/app/vendor/example.com/store.Put",
            "example.com/store.Put",
        ),
    ] {
        check(&stack(old), &stack(new), "same-offsets");
    }
}

#[test]
fn stacks_that_are_cut_at_another_depth() {
    // Go before 1.23 keeps 32 frames, later ones 128; nothing is said of the rest.
    let stack = |depth: usize| {
        let frames = (0..depth).map(|number| format!("main.f{number}@{0}/{0}", 10 * number + 20));
        frames.collect::<Vec<_>>().join(" < ")
    };
    check(&stack(32), &stack(128), "same-names");
    check(&stack(128), &stack(32), "same-names");
}

#[test]
fn growth_at_a_moved_site_is_seen() {
    let captures = Captures::new(
        ["b1", "b2"],
        [
            &["main.(*Store).keep@35/30 < main.handle@25/20 < main.main@5/3"],
            &["example.com/store.(*Store).keep@9/7 < main.handle@25/20 < main.main@5/3"],
        ],
        // From 200 sampled objects to 400 at once: ten standard errors.
        |number| 2 * OBJECTS + 100 * number,
    );
    let to = "example.com/store.(*Store).keep";
    let diff = captures.diff();
    assert_eq!(verdicts(&diff, to), ["grew"]);
    assert_eq!(verdicts(&diff, "main.(*Store).keep"), [""; 0]);
    let row = list(&diff["rows"]).iter().find(|row| row["function"] == to);
    assert_eq!(row.unwrap()["moved_from"], "main.(*Store).keep");
    let forced = captures.diagnose(&["--force"]);
    let finding = &list(&forced["findings"])[0];
    let site = &list(&finding["sites"])[0];
    assert_eq!(site["function"], to, "{finding}");
    // From 200 to 700 objects, of all that the first build held.
    let [before, after] = ["before", "after"].map(|side| site[side].as_f64().unwrap());
    assert!((after / before - 3.5).abs() < 0.01, "{before} {after}");
}

#[test]
fn growth_of_new_code_is_seen() {
    let both = "main.keep@35/30 < main.handle@25/20 < main.main@5/3";
    let new = "other/lib.cache@7/6 < other/lib.Get@3/2 < other/lib.loop@1/1";
    let captures = Captures::new(["b1", "b2"], [&[both], &[both, new]], |_| OBJECTS);
    let diff = captures.diff();
    assert_eq!(verdicts(&diff, "other/lib.cache"), ["grew"]);
    assert_eq!(verdicts(&diff, "main.keep"), ["within-noise"]);
    let unmatched = &diff["identity"]["unmatched"];
    assert_eq!(unmatched["before_share"], 0.0);
    // One of three sites.
    assert!((unmatched["after_share"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-4);
}

#[test]
fn a_rebuild_without_build_ids_is_told_by_its_code() {
    let before = "main.keep@35/30 < main.handle@25/20 < main.main@5/3";
    let after = "main.keep@65/60 < main.handle@55/50 < main.main@5/3";
    let captures = Captures::new(["", ""], [&[before], &[after]], |_| OBJECTS);
    let diagnosis = captures.diagnose(&[]);
    let warnings = diagnosis["warnings"].to_string();
    // `main.keep` and `main.handle` of five functions.
    let says = "restarted once as another build";
    assert!(warnings.contains(says), "{warnings}");
    assert!(
        warnings.contains("2 of 5 functions begin on another line"),
        "{warnings}"
    );
    assert_eq!(diagnosis["identity"]["builds"][0], "unknown");
    assert_eq!(share(&captures.diff(), "same-offsets"), 0.5);
}

#[test]
fn a_restart_of_one_build_is_no_rebuild() {
    let site = "main.keep@35/30 < main.handle@25/20 < main.main@5/3";
    let captures = Captures::new(["", ""], [&[site], &[site]], |_| OBJECTS);
    let files = [captures.file(3), captures.file(4)];
    let output = heapdrift().arg("diff").args(&files).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let diagnosis = captures.diagnose(&[]);
    let warnings = diagnosis["warnings"].to_string();
    assert!(
        warnings.contains("the process restarted once (first at"),
        "{warnings}"
    );
    let identity = &diagnosis["identity"];
    assert_eq!(identity["is_other_build"], false);
    assert_eq!(share(&diagnosis, "same-lines"), 1.0);
    // One process has nothing to match.
    let pair = [captures.file(0), captures.file(1)];
    let diff = answer("diff", &[&pair[0], &pair[1]], &[]);
    assert_eq!(diff["identity"], Value::Null);
    assert_eq!(captures.diagnose(&["--force"])["verdict"], "steady");
}

#[test]
fn builds_at_different_rates_compare_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let site = "main.keep@35/30 < main.handle@25/20 < main.main@5/3";
    let moved = "main.keep@65/60 < main.handle@55/50 < main.main@5/3";
    let at_rate = |number: i64, build: &str, stack: &str, period: i64, objects: i64| {
        let profile = Pprof::heap(number * 60)
            .with(|heap| (heap.period, heap.build_id) = (period, build.to_owned()))
            .sampled(stack, SIZE, objects, objects);
        let file = dir.path().join(format!("{number}.heap.pb.gz"));
        std::fs::write(&file, profile.gzip()).unwrap();
        file
    };
    // A sampled object of 64 KiB stands for 1/(1 − e^(−1/8)) = 8.51 at 512 KiB, and for
    // 1/(1 − 1/e) = 1.58 at 64 KiB: 200 and 1076 sampled objects are 1702 of each.
    let before = at_rate(0, "b1", site, RATE, 200);
    let after = at_rate(1, "b2", moved, RATE / 8, 1076);
    let diff = answer("diff", &[&before, &after], &[]);
    let [row] = list(&diff["rows"]) else {
        panic!("{}", diff["rows"]);
    };
    assert_eq!(row["verdict"], "unknown");
    let size = row["before_bytes"].as_f64().unwrap();
    assert!((size / (1702.0 * 65_536.0) - 1.0).abs() < 0.001, "{size}");
    let change = row["delta_bytes"].as_f64().unwrap();
    assert!(change.abs() < 0.001 * size, "{change}");
    let warnings = diff["warnings"].to_string();
    assert!(warnings.contains("no error estimate"), "{warnings}");
}

#[test]
fn two_programs_are_not_two_builds() {
    let dir = tempfile::tempdir().unwrap();
    let write = |number: i64, binary: &str, sites: &[(&str, i64)]| {
        let profile = heap(number * 60, ["b1", "b2"][number as usize], sites);
        let profile = profile.with(|heap| heap.binary = binary.to_owned());
        let file = dir.path().join(format!("{number}.heap.pb.gz"));
        std::fs::write(&file, profile.gzip()).unwrap();
        file
    };
    // A third of the bytes is at the site that both have.
    let [one, other] = ["a.f@1/1 < a.g@2/2 < a.h@3/3", "b.x@4/4 < b.y@5/5 < b.z@6/6"];
    let before = write(0, "/app/one", &[(one, 2 * OBJECTS)]);
    let refused = |after: &Path| {
        let output = heapdrift()
            .arg("diff")
            .args([&before, after])
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), error)
    };
    let (code, error) = refused(&write(1, "/app/other", &[(other, 2 * OBJECTS)]));
    assert_eq!(code, Some(3));
    assert!(error.contains("not of one program: 33 %"), "{error}");
    assert!(error.contains("--force"), "{error}");
    // Of a binary of that name a third is enough, and of another a half.
    let (code, error) = refused(&write(1, "/srv/one", &[(other, 2 * OBJECTS)]));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let (code, error) = refused(&write(1, "/app/other", &[(one, 2 * OBJECTS)]));
    assert_eq!((code, error.as_str()), (Some(0), ""));
}

#[test]
fn two_pods_of_two_builds_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let site = "main.keep@35/30 < main.handle@25/20 < main.main@5/3";
    let moved = "main.keep@65/60 < main.handle@55/50 < main.main@5/3";
    for number in 0..5 {
        for (pod, stack) in [("a", site), ("b", moved)] {
            let seconds = number * 60 + i64::from(pod == "b");
            let profile = heap(seconds, "", &[(stack, OBJECTS)]);
            let file = dir.path().join(format!("{pod}{number}.heap.pb.gz"));
            std::fs::write(file, profile.gzip()).unwrap();
        }
    }
    let mixed = answer("diagnose", &[dir.path()], &[]);
    assert_eq!(mixed["series"]["snapshots"], 5);
    let warnings = mixed["warnings"].to_string();
    assert!(warnings.contains("2 different processes"), "{warnings}");
    assert!(warnings.contains("a directory of its own"), "{warnings}");
    let forced = answer("diagnose", &[dir.path()], &["--force"]);
    assert_eq!(forced["verdict"], "steady", "{}", forced["findings"]);
    assert_eq!(share(&forced, "same-offsets"), 0.5);
}

#[test]
fn a_captured_rebuild_shows_no_growth() {
    let corpus = project().join("fixtures/corpus/rebuild");
    let mut heaps: Vec<PathBuf> = corpus
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".heap.pb.gz"))
        .collect();
    heaps.sort();
    assert_eq!(heaps.len(), 10);
    // Five snapshots of each build.
    for (before, after) in [(4, 5), (3, 9), (0, 5)] {
        let diff = answer("diff", &[&heaps[before], &heaps[after]], &[]);
        for row in list(&diff["rows"]) {
            assert!(
                !["grew", "shrank"].contains(&row["verdict"].as_str().unwrap()),
                "{row}"
            );
        }
        // `ReadShelf` was moved to a package of its own.
        let moves = list(&diff["identity"]["moves"]);
        assert_eq!(moves[0]["from"], "example.com/generic/depot.ReadShelf");
        assert_eq!(
            moves[0]["to"],
            "example.com/generic/depot/shelves.ReadShelf"
        );
        let unmatched = diff["identity"]["unmatched"]["share"].as_f64().unwrap();
        assert!(unmatched < 0.05, "{}", diff["identity"]);
    }
    for options in [&[][..], &["--force"]] {
        let diagnosis = answer("diagnose", &[&corpus], options);
        assert_eq!(diagnosis["verdict"], "steady", "{}", diagnosis["findings"]);
        assert!(share(&diagnosis, "same-lines") > 0.3);
    }
}
