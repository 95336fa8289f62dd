//! The direction of imports (see the architecture page in `src/lib.rs`), read from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may name with `crate::`. A leaf may be used by all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("profile", &[]),
    ("snapshot", &["profile", "units"]),
    ("site", &["profile", "snapshot"]),
    ("growth", &["profile", "snapshot", "site"]),
    (
        "pattern",
        &["profile", "snapshot", "site", "growth", "units"],
    ),
    (
        "diagnosis",
        &["profile", "snapshot", "site", "growth", "pattern", "units"],
    ),
    ("source", &["profile", "snapshot"]),
    ("report", &["diagnosis", "pattern", "units"]),
    (
        "cli",
        &[
            "report",
            "diagnosis",
            "source",
            "pattern",
            "snapshot",
            "profile",
            "units",
        ],
    ),
];

/// Modules that do no I/O and read no clock.
const PURE: &[&str] = &[
    "units",
    "profile",
    "snapshot",
    "site",
    "growth",
    "pattern",
    "diagnosis",
];
const IMPURE_NAMES: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::time",
    "File::open",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "println!",
    "eprintln!",
];

fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.ends_with("tests.rs")
                && !path.to_string_lossy().ends_with("_tests.rs")
            {
                // Unit tests in files of their own may read their data.
                let below = path.strip_prefix(&root).unwrap();
                let module = below.iter().next().unwrap().to_str().unwrap();
                let module = module.strip_suffix(".rs").unwrap_or(module).to_owned();
                let text = fs::read_to_string(&path).unwrap();
                found.push((module, below.to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// The text without comments and without a trailing `#[cfg(test)] mod tests`.
fn code_of(text: &str) -> String {
    let body = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = body
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Modules named with `crate::` (or `heapdrift::`), braces included.
fn used_modules(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for prefix in ["crate::", "heapdrift::"] {
        for (at, _) in code.match_indices(prefix) {
            let rest = &code[at + prefix.len()..];
            let list = match rest.strip_prefix('{') {
                Some(inner) => inner.split('}').next().unwrap_or(inner),
                None => rest,
            };
            let single = !rest.starts_with('{');
            for part in list.split(',') {
                let name: String = part
                    .trim()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                if !name.is_empty() {
                    used.insert(name);
                }
                if single {
                    break;
                }
            }
        }
    }
    used
}

#[test]
fn imports_point_one_way() {
    let rules: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let mut seen = BTreeSet::new();
    for (module, path, text) in sources() {
        if module == "lib" || module == "main" {
            continue;
        }
        let allowed = rules
            .get(module.as_str())
            .unwrap_or_else(|| panic!("{module} has no rule: add it to the architecture"));
        for used in used_modules(&code_of(&text)) {
            assert!(
                used == module || allowed.contains(&used.as_str()),
                "{} uses crate::{used}, which stands above it or beside it",
                path.display()
            );
        }
        seen.insert(module);
    }
    let known: BTreeSet<String> = rules.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(seen, known, "the rules name each module that exists");
}

#[test]
fn the_judgement_does_no_io_and_reads_no_clock() {
    for (module, path, text) in sources() {
        if !PURE.contains(&module.as_str()) {
            continue;
        }
        let code = code_of(&text);
        for name in IMPURE_NAMES {
            assert!(!code.contains(name), "{} uses {name}", path.display());
        }
    }
}

#[test]
fn main_can_be_read_in_a_minute() {
    let lines = |wanted: &str| {
        let all = sources();
        let (_, _, text) = all.iter().find(|(module, ..)| module == wanted).unwrap();
        text.lines().count()
    };
    assert!(lines("main") <= 60, "main.rs has {} lines", lines("main"));
}

#[test]
fn the_checks_can_fail() {
    let used = used_modules("use crate::{profile::X, report::Y};\nfn f() { crate::cli::run() }");
    let names: Vec<_> = used.iter().map(String::as_str).collect();
    assert_eq!(names, ["cli", "profile", "report"]);
    assert_eq!(
        code_of("a // crate::cli\n#[cfg(test)]\nmod tests { crate::cli }").trim(),
        "a"
    );
}
