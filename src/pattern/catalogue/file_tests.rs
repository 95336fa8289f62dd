//! The files: those that are built in, and a user's own with everything that can be wrong.

use super::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn repository_file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn toml_files(directory: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(repository_file(directory)).expect("the directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<(String, String)> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read_to_string(&path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

fn user_catalogue(files: &[(&str, &str)]) -> Result<Catalogue, CatalogueError> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Catalogue::builtin().with_files(files)
}

const EXAMPLE: &str = include_str!("../../../tests/data/patterns/example.toml");

#[test]
fn the_list_in_code_is_the_directory() {
    let listed: Vec<(String, String)> = BUILTIN
        .iter()
        .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
        .collect();
    assert_eq!(listed, toml_files("src/pattern/catalogue"));
}

#[test]
fn the_pages_of_what_is_no_leak_are_as_strict() {
    use super::super::not_a_leak::BUILTIN;
    let listed: Vec<(String, String)> = BUILTIN
        .iter()
        .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
        .collect();
    assert_eq!(listed, toml_files("src/pattern/not_a_leak"));
    let sound = listed[0].1.clone();
    let name = listed[0].0.clone();
    let wrong = |text: &str| check::parse_page(&name, text).expect_err(text).to_string();
    let unknown = format!("{sound}\nnonsense = 1\n");
    assert!(wrong(&unknown).contains("unknown field `nonsense`"));
    let empty = sound.replacen("title = \"", "title = \"\" # ", 1);
    assert!(
        wrong(&empty).ends_with("`title` is empty"),
        "{}",
        wrong(&empty)
    );
    let renamed = sound.replacen("name = \"", "name = \"x", 1);
    assert!(wrong(&renamed).contains(":1:8: the pattern is called"));
}

/// What a page shows in 80 columns, and what else its kind must be.
#[test]
fn every_page_fits_into_80_columns() {
    let catalogue = Catalogue::builtin();
    let mut names: Vec<&str> = Vec::new();
    for entry in catalogue.entries() {
        let name = entry.name();
        assert!(entry.title().chars().count() <= 100, "{name}: one line");
        assert!(!entry.title().ends_with('.'), "{name}: no full stop");
        names.push(name);
        for section in entry.sections() {
            for block in section.blocks {
                if let crate::pattern::Block::Code(code) = block {
                    let longest = code.lines().map(|line| line.chars().count()).max();
                    assert!(longest <= Some(74), "{name}: code is too wide: {code}");
                }
            }
        }
        for reference in entry.references() {
            let is_report = crate::pattern::reference_url(reference).is_some();
            assert!(is_report, "{name}: {reference} is no owner/repo#number");
        }
    }
    let also = catalogue.not_a_leak.iter().flat_map(|page| &page.also);
    names.extend(also.map(String::as_str));
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len(), "a name is given once");
    let leaks = catalogue.patterns().len();
    assert!(names.len() >= leaks + 10, "ten pages of what is no leak");
}

#[test]
fn a_users_pattern_joins_the_catalogue() {
    let catalogue = user_catalogue(&[("my/patterns/example.toml", EXAMPLE)]).expect("valid");
    let example = catalogue.get("example").expect("the user's");
    let builtin = Catalogue::builtin();
    let more: Vec<&str> = catalogue
        .patterns()
        .iter()
        .map(|p| p.name.as_str())
        .filter(|name| builtin.get(name).is_none())
        .collect();
    assert_eq!(more, ["example"]);
    let specificities: Vec<u8> = catalogue.patterns().iter().map(|p| p.specificity).collect();
    assert!(specificities.is_sorted_by(|a, b| a >= b));
    assert_eq!(example.specificity, 60);
}

/// Each file's first line is a comment that says the error.
#[test]
fn broken_files_say_what_is_wrong_and_where() {
    let files = toml_files("tests/data/patterns/broken");
    let mut wrong = Vec::new();
    for (name, text) in &files {
        let expect = text.lines().next().unwrap_or_default();
        let error = user_catalogue(&[(name, text)]).expect_err(name);
        assert!(!error.hint().is_empty(), "{name}");
        assert!(!error.to_string().contains('\n'), "{name}: one line");
        let found = error.to_string().replacen(&format!("{name}:"), "# ", 1);
        // `…` stands for the keys that there are.
        if !found.starts_with(expect.trim_end_matches('…')) {
            wrong.push(format!("{name}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // Every kind of problem is there; the missing ones have tests of their own.
    let kinds: BTreeSet<String> = files
        .iter()
        .filter_map(|(name, text)| user_catalogue(&[(name, text)]).err())
        .map(|error| format!("{:?}", error.problem))
        .map(|debug| {
            debug
                .split(['(', ' '])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    let expect = [
        "Alone",
        "Contradiction",
        "DuplicateId",
        "EmptyCondition",
        "EmptyGoroutineCondition",
        "EmptyText",
        "Expression",
        "Format",
        "LooseBrace",
        "NameCharacters",
        "NameIsNotTheFiles",
        "NoCondition",
        "NoRequiredCondition",
        "OutOfRange",
        "UnknownId",
        "UnknownPlaceholder",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), expect);
}

#[test]
fn a_name_is_given_only_once() {
    let stale = BUILTIN
        .iter()
        .find(|(file, _)| *file == "stale-watchers.toml")
        .expect("it");
    let error = user_catalogue(&[("mine/stale-watchers.toml", stale.1)]).expect_err("taken");
    let expect = "mine/stale-watchers.toml:1:8: there is a pattern \"stale-watchers\" already, in the built-in catalogue";
    assert_eq!(error.to_string(), expect);
    let twice = [("a/example.toml", EXAMPLE), ("b/example.toml", EXAMPLE)];
    let error = user_catalogue(&twice).expect_err("taken");
    assert!(
        error.to_string().starts_with(
            "b/example.toml:7:8: there is a pattern \"example\" already, in a/example.toml"
        ),
        "{error}"
    );
}

#[test]
fn a_name_of_what_is_no_leak_is_taken_too() {
    for name in ["gc-headroom", "plateauing"] {
        let text = EXAMPLE.replacen("name = \"example\"", &format!("name = \"{name}\""), 1);
        let error = user_catalogue(&[(&format!("{name}.toml"), &text)]).expect_err("taken");
        assert!(
            error.to_string().contains("in the built-in catalogue"),
            "{error}"
        );
    }
}

#[test]
fn a_file_has_a_limit() {
    let text = format!("#{}", "x".repeat(300_000));
    let error = user_catalogue(&[("big.toml", &text)]).expect_err("too large");
    let expect = "big.toml:1:1: the file holds 300001 bytes; a pattern may have 262144";
    assert_eq!(error.to_string(), expect);
}

#[test]
fn a_near_miss_gets_a_suggestion() {
    let catalogue = Catalogue::builtin();
    let check =
        |name: &str, expect: Option<&str>| assert_eq!(catalogue.suggest(name), expect, "{name}");
    check("stale-watcher", Some("stale-watchers"));
    check("stale_watchers", Some("stale-watchers"));
    check("Stale Watchers", Some("stale-watchers"));
    check("promise", Some("logger-promise-chain"));
    check("bakced-up-informer", Some("backed-up-informer"));
    check("hot-rewach-lop", Some("hot-rewatch-loop"));
    check("slq-open-per-query", Some("sql-open-per-query"));
    check("kernel-slab-growth", None);
    check("x", None);
    check("", None);
}

proptest::proptest! {
    /// Whatever stands in a user's file, it is a pattern or an error with a place in it.
    #[test]
    fn no_text_panics(text in "(name|\\[\\[heap\\]\\]|=|\"|'|\\{|\\}|\\n|id|says|[a-z0-9]|\\PC){0,40}") {
        if let Err(error) = user_catalogue(&[("x.toml", &text)]) {
            proptest::prop_assert!(error.line >= 1 && error.column >= 1);
            proptest::prop_assert!(error.line <= text.lines().count() + 1);
        }
    }

    /// The distance between two words never exceeds the longer one, and is 0 only for equals.
    #[test]
    fn distances_are_distances(a in "[a-c]{0,6}", b in "[a-c]{0,6}") {
        let distance = edit_distance(&a, &b);
        proptest::prop_assert!(distance <= a.len().max(b.len()));
        proptest::prop_assert_eq!(distance == 0, a == b);
        proptest::prop_assert_eq!(distance, edit_distance(&b, &a));
    }
}
