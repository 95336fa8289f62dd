//! What people paste instead of a profile, through the binary. Figures are those of the texts.

mod support;

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use support::{cases, diagnose, heapdrift, json, project};

const CULPRIT: &str =
    "sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).reconcileHandler";

fn data(name: &str) -> PathBuf {
    project().join("tests/data/pasted").join(name)
}

fn chat() -> PathBuf {
    project().join("fixtures/pasted/operator-in-a-chat.txt")
}

fn says(list: &Value, part: &str) -> bool {
    let mut texts = list.as_array().unwrap().iter().filter_map(Value::as_str);
    texts.any(|text| text.contains(part))
}

/// The third incident: 21 + 16.86 + 6 of 52.02 MB.
fn check_chat(diagnosis: &Value) {
    assert_eq!(diagnosis["verdict"], "undecided");
    let [finding] = diagnosis["findings"].as_array().unwrap().as_slice() else {
        panic!("{:#}", diagnosis["findings"]);
    };
    assert_eq!(finding["pattern"], "logger-promise-chain");
    assert_eq!(finding["verdict"], "suspect");
    assert_eq!(finding["culprit"]["function"], CULPRIT);
    let share = finding["share"].as_f64().unwrap();
    assert!((share - 43.86 / 52.02).abs() < 0.001, "{share}");
    let site = |index: usize| {
        let site = &finding["sites"][index];
        (
            site["line"].as_u64(),
            site["after"].as_f64().unwrap() / 1_048_576.0,
        )
    };
    assert_eq!(site(0), (None, 21.0));
    assert_eq!(site(1).0, Some(52));
    assert!((site(1).1 - 15.0).abs() < 0.02, "{:?}", site(1));
    let warnings = &diagnosis["warnings"];
    for part in [
        "not who calls them, object counts or sizes",
        "leaves 66 functions out: 2.0 MiB belong to no function",
        "taken as memory in use",
    ] {
        assert!(says(warnings, part), "{part}: {warnings:#}");
    }
    assert!(says(&diagnosis["next_steps"], "paste its -raw"));
}

#[test]
fn a_chat_with_a_top_names_the_pattern() {
    let (diagnosis, code) = diagnose(&[chat()]);
    assert_eq!(code, Some(0), "a suspect is no leak");
    check_chat(&diagnosis);
    let output = heapdrift()
        .args(["diagnose", "-", "-f", "json"])
        .write_stdin(fs::read(chat()).unwrap())
        .output()
        .unwrap();
    check_chat(&json(&output));
}

#[test]
fn raw_text_is_as_good_as_the_profile() {
    let case = cases()
        .into_iter()
        .find(|case| case.name == "map-without-delete");
    let Some(case) = case else { return };
    let profile = case
        .dir
        .join(format!("{}.heap.pb.gz", case.stems().last().unwrap()));
    let top = |source: &PathBuf| {
        let mut command = heapdrift();
        let output = command
            .arg("top")
            .arg(source)
            .args(["-f", "json"])
            .output()
            .unwrap();
        let mut top = json(&output);
        top["source"] = Value::Null;
        top
    };
    assert_eq!(top(&data("raw.txt")), top(&profile));
}

#[test]
fn cumulative_figures_are_shown_where_stacks_are_not_known() {
    let output = heapdrift()
        .arg("top")
        .arg(data("top.txt"))
        .args(["-f", "json"])
        .output()
        .unwrap();
    let top = json(&output);
    let row = |name: &str| {
        let rows = top["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["function"] == name).unwrap();
        (
            row["flat_bytes"].as_i64().unwrap(),
            row["cum_bytes"].as_i64().unwrap(),
        )
    };
    // 40495.56 kB, 36904.55 kB.
    assert_eq!(
        row("example.com/generic/front.(*Router).drive"),
        (0, 41_467_453)
    );
    assert_eq!(
        row("example.com/generic/session.(*Table).Open"),
        (37_790_259, 37_790_259)
    );
    assert_eq!(top["total_bytes"], 46_229_555);
}

#[test]
fn allocations_are_not_memory_in_use() {
    for (name, said, hint) in [
        (
            "top-alloc.txt",
            "ever allocated (alloc_space)",
            "classic mistake",
        ),
        ("top-diff.txt", "a saved diff", "the two profiles"),
    ] {
        let output = heapdrift()
            .arg("diagnose")
            .arg(data(name))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(said) && text.contains(hint), "{text}");
    }
    let output = heapdrift()
        .args(["top", "--force"])
        .arg(data("top-diff.txt"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_heap_and_its_goroutines_in_one_text_belong_together() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("question.txt");
    let top = fs::read_to_string(data("top.txt")).unwrap();
    let dump = "> goroutine 1 [select, 5 minutes]:\n> main.main()\n>       /app/main.go:3 +0x1d\n";
    fs::write(&path, format!("{top}\nand goroutine?debug=2:\n{dump}")).unwrap();
    let (diagnosis, _) = diagnose(&[&path]);
    assert_eq!(diagnosis["series"]["snapshots"], 1);
    let kinds: Vec<&Value> = diagnosis["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["kind"])
        .collect();
    assert_eq!(kinds, ["heap", "goroutines"]);
    assert_eq!(diagnosis["inputs"][1]["goroutines"], 1);
}

#[test]
fn two_tops_show_growth_but_never_a_leak() {
    let dir = tempfile::tempdir().unwrap();
    let now = fs::read_to_string(data("top.txt")).unwrap();
    let before = now
        .replace("10:56:36", "10:26:36")
        .replace("36904.55kB", "16904.55kB")
        .replace("45146.05kB", "25146.05kB");
    let files = [("monday.txt", &before), ("tuesday.txt", &now)].map(|(name, text)| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    });
    let (diagnosis, code) = diagnose(&files);
    assert_eq!(
        (&diagnosis["verdict"], code),
        (&Value::from("growing"), Some(0))
    );
    let growth = &diagnosis["findings"][0]["growth"];
    // 20,000 kB in half an hour.
    assert_eq!(growth["bytes"], 20_480_000.0);
    assert_eq!(growth["bytes_per_hour"], 40_960_000.0);
    assert_eq!(growth["p_value"], Value::Null);
}

#[test]
fn what_the_runtime_says_is_leaked_is_a_certain_suspect() {
    let dir = tempfile::tempdir().unwrap();
    let block = |id: u32, state: &str| {
        format!(
            "goroutine {id} [{state}]:\nexample.com/app.(*Hub).send(0x{id:x})\n\t/app/hub.go:41 +0x1d\n\
             created by example.com/app.(*Hub).Publish in goroutine 1\n\t/app/hub.go:30 +0x9d\n\n"
        )
    };
    let mut dump = "goroutine 1 [running]:\nmain.main()\n\t/app/main.go:3 +0x1d\n\n".to_owned();
    for id in 2..9 {
        dump.push_str(&block(id, "chan send (leaked), 7 minutes"));
    }
    dump.push_str(&block(9, "chan send"));
    let path = dir.path().join("1.goroutine.txt");
    fs::write(&path, &dump).unwrap();
    let leaked = |files: &[&PathBuf]| {
        let (diagnosis, code) = diagnose(files);
        assert_eq!(code, Some(0));
        let finding = diagnosis["findings"][0].clone();
        assert_eq!(finding["verdict"], "suspect");
        assert!(
            finding["title"]
                .as_str()
                .unwrap()
                .contains("can never go on"),
            "{finding:#}"
        );
        assert!(says(
            &finding["evidence"],
            "the runtime itself says that 7 of these 8 goroutines can never go on"
        ));
        assert_eq!(finding["goroutines"][0]["leaked"], 7);
        assert_eq!(
            finding["culprit"]["function"],
            "example.com/app.(*Hub).send"
        );
    };
    leaked(&[&path]);
    // The same told by a profile of the leaked ones alone, beside a dump that says nothing.
    fs::write(&path, dump.replace(" (leaked)", "")).unwrap();
    let leaks = dir.path().join("1.goroutineleak.txt");
    let text = "goroutineleak profile: total 7\n7 @ 0x1 0x2\n#\t0x1\texample.com/app.(*Hub).send+0x1d\t/app/hub.go:41\n\n";
    fs::write(&leaks, text).unwrap();
    leaked(&[&path, &leaks]);
}
