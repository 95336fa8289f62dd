//! The built-in patterns against real names, and a user's files against every error.

use super::*;
use crate::pattern::{CulpritRule, Expression};
use crate::site::canonical_name;
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
fn builtin_patterns_come_most_specific_first() {
    let catalogue = Catalogue::builtin();
    let names: Vec<&str> = catalogue
        .patterns()
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    let expect = [
        "logger-promise-chain",
        "stale-watchers",
        "backed-up-informer",
        "hot-rewatch-loop",
    ];
    assert_eq!(names, expect);
    for name in expect {
        assert_eq!(catalogue.get(name).map(|p| p.name.as_str()), Some(name));
    }
    assert!(catalogue.get("no-such-pattern").is_none());
}

#[test]
fn builtin_texts_fit_where_they_are_printed() {
    for pattern in Catalogue::builtin().patterns() {
        let name = &pattern.name;
        assert!(pattern.title.len() <= 100, "{name}: a title is one line");
        let variants = pattern.variant.iter();
        let clauses = variants
            .flat_map(|v| [v.why.as_deref(), v.fix.as_deref()])
            .flatten();
        for clause in clauses.chain([pattern.why.as_str(), &pattern.fix]) {
            assert!(
                !clause.ends_with('.'),
                "{name}: a clause has no full stop: {clause}"
            );
            assert!(
                !clause.contains('\n'),
                "{name}: a clause is one line: {clause}"
            );
        }
        let page = &pattern.page;
        for text in [
            &page.what,
            &page.why,
            &page.confirm,
            &page.fix,
            &page.lookalikes,
        ] {
            for line in text.lines() {
                assert!(
                    line.chars().count() <= 80,
                    "{name}: too long for a terminal: {line}"
                );
            }
        }
        assert!(!page.references.is_empty(), "{name}: where was it seen?");
    }
}

/// The expressions of one condition or rule, by the way to it: `heap.ID.site`,
/// `heap.ID.through`, `goroutines.ID.frame`, `goroutines.ID.without`,
/// `goroutines.ID.equal_growth`, `culprit.N`.
fn expressions<'p>(pattern: &'p Pattern, way: &str) -> Vec<&'p Expression> {
    let parts: Vec<&str> = way.split('.').collect();
    let found: Vec<&Expression> = match parts[..] {
        ["heap", id, field] => {
            let condition = pattern.heap.iter().find(|c| c.id == id).expect(way);
            match field {
                "site" => condition.site.iter().collect(),
                _ => condition.through.iter().collect(),
            }
        }
        ["goroutines", id, field] => {
            let condition = pattern.goroutines.iter().find(|c| c.id == id).expect(way);
            match field {
                "frame" => vec![&condition.frame],
                "without" => condition.without.iter().collect(),
                "state" => condition.state.iter().collect(),
                _ => condition.equal_growth.iter().collect(),
            }
        }
        ["culprit", number] => match &pattern.culprit[number.parse::<usize>().expect(way)] {
            CulpritRule::Frame { frame: of }
            | CulpritRule::HeapCaller { of }
            | CulpritRule::GoroutineInside { of }
            | CulpritRule::GoroutineCreator { of } => vec![of],
        },
        _ => panic!("{way}"),
    };
    assert!(!found.is_empty(), "{}: {way}", pattern.name);
    found
}

/// Names are given as profiles have them.
fn check_names(pattern: &str, way: &str, matching: &[&str], others: &[&str]) {
    let catalogue = Catalogue::builtin();
    let pattern = catalogue.get(pattern).expect("a built-in pattern");
    let found = expressions(pattern, way);
    let is_match = |raw: &&&str| found.iter().any(|e| e.is_match(&canonical_name(raw)));
    let missed: Vec<&&str> = matching.iter().filter(|raw| !is_match(raw)).collect();
    assert!(
        missed.is_empty(),
        "{}: {way} misses {missed:?}",
        pattern.name
    );
    let caught: Vec<&&str> = others.iter().filter(is_match).collect();
    assert!(
        caught.is_empty(),
        "{}: {way} catches {caught:?}",
        pattern.name
    );
}

#[test]
fn logger_promises_are_told_from_other_loggers() {
    // From the captures of controller-runtime v0.6.2, the report's vendored build of v0.6,
    // and the source of v0.1.12.
    let promises = [
        "sigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithValues",
        "sigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithName",
        "sigs.k8s.io/controller-runtime/pkg/log.(*DelegatingLogger).WithValues",
        "example.com/operator/vendor/sigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithValues",
        "sigs.k8s.io/controller-runtime/pkg/runtime/log.(*loggerPromise).WithValues",
    ];
    // From the sources of zap, zapr, logr and klog.
    let others = [
        "github.com/go-logr/zapr.(*zapLogger).WithValues",
        "github.com/go-logr/logr.Logger.WithValues",
        "go.uber.org/zap.(*Logger).With",
        "go.uber.org/zap/zapcore.(*ioCore).With",
        "k8s.io/klog/v2/klogr.klogger.WithValues",
        "sigs.k8s.io/controller-runtime/pkg/log.(*DelegatingLogger).Info",
        "sigs.k8s.io/controller-runtime/pkg/log.FromContext",
        "example.com/controller-runtime/pkg/logs.(*loggerPromise).WithValues",
    ];
    check_names(
        "logger-promise-chain",
        "heap.promises.site",
        &promises,
        &others,
    );
    let handler =
        "sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).reconcileHandler";
    let plumbing = [
        "sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).processNextWorkItem",
        "sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).worker",
        "k8s.io/apimachinery/pkg/util/wait.JitterUntil",
        "example.com/operator.(*Controller).reconcileHandler",
    ];
    for way in ["heap.values.site", "culprit.0"] {
        check_names("logger-promise-chain", way, &[handler], &plumbing);
    }
    check_names(
        "logger-promise-chain",
        "culprit.1",
        &promises[2..3],
        &promises[..1],
    );
}

#[test]
fn handlers_are_found_below_the_listener() {
    // From the captures of client-go v0.18.6 and v0.37.2.
    let runs = [
        "k8s.io/client-go/tools/cache.(*processorListener).run.func1",
        "k8s.io/client-go/tools/cache.(*processorListener).run",
    ];
    let others = [
        "k8s.io/client-go/tools/cache.(*processorListener).pop",
        "k8s.io/client-go/tools/cache.(*sharedProcessor).run",
        "k8s.io/client-go/tools/cache.ResourceEventHandlerFuncs.OnUpdate",
        "example.com/backed-up-informer/policy.(*Controller).onPodUpdate",
    ];
    for way in [
        "goroutines.inside.frame",
        "goroutines.listeners.frame",
        "culprit.0",
    ] {
        check_names("backed-up-informer", way, &runs, &others);
    }
    // The sources of k8s.io/utils: the ring grows in WriteOne; NewRingGrowing is a new
    // listener, which is another fault.
    let grows = [
        "k8s.io/utils/buffer.(*RingGrowing).WriteOne",
        "k8s.io/utils/buffer.(*TypedRingGrowing[...]).WriteOne",
    ];
    let others = [
        "k8s.io/utils/buffer.NewRingGrowing",
        "k8s.io/utils/buffer.NewTypedRingGrowing[...]",
        "k8s.io/utils/buffer.(*RingGrowing).ReadOne",
    ];
    check_names("backed-up-informer", "heap.ring.site", &grows, &others);
    let informer = [
        "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
        "k8s.io/client-go/tools/cache.(*Reflector).list.func1",
        "k8s.io/client-go/tools/cache.(*sharedIndexInformer).HandleDeltas",
    ];
    // The last ones are what the handler itself allocates.
    let others = [
        "k8s.io/client-go/rest.(*Request).Watch",
        "k8s.io/apimachinery/pkg/watch.(*Broadcaster).loop",
        "k8s.io/client-go/tools/cache.(*processorListener).run",
        "example.com/backed-up-informer/policy.(*Controller).fullSync",
    ];
    check_names(
        "backed-up-informer",
        "heap.objects.through",
        &informer,
        &others,
    );
}

#[test]
fn all_that_a_watch_holds_is_found() {
    // From the captures on client-go v0.37.2 and v0.19.0 (HTTP/1); the HTTP/2 names from the
    // sources of golang.org/x/net v0.35.0 and of net/http.
    let held = [
        "k8s.io/client-go/rest.(*Request).Watch",
        "k8s.io/client-go/rest.(*Request).newStreamWatcher",
        "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
        "net/http.(*Transport).dialConn",
        "net/http.(*Transport).dialConnFor",
        "net/http.(*persistConn).readLoop",
        "net/http.(*persistConn).readResponse",
        "net/http.(*persistConn).writeLoop",
        "net.(*sysDialer).dialParallel.func1",
        "golang.org/x/net/http2.(*Transport).newClientConn",
        "golang.org/x/net/http2.(*clientStream).doRequest",
        "golang.org/x/net/http2.(*clientConnReadLoop).run",
        "net/http.(*http2ClientConn).readLoop",
        "net/http.(*http2clientStream).doRequest",
        "runtime.malg",
        "runtime.allgadd",
    ];
    let others = [
        "k8s.io/client-go/rest.(*Request).Do",
        "k8s.io/client-go/rest.(*Request).request",
        "net/http.(*conn).serve",
        "net/http.(*persistConn).roundTrip",
        "net/http.(*http2serverConn).serve",
        "golang.org/x/net/http2.(*serverConn).serve",
        "google.golang.org/grpc/internal/transport.(*http2Client).reader",
        "runtime.mallocgc",
        "bufio.NewReaderSize",
    ];
    check_names("stale-watchers", "heap.held.through", &held, &others);
}

#[test]
fn watches_and_their_connections_are_told_apart() {
    let receive = "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive";
    let connections = [
        "net/http.(*persistConn).readLoop",
        "golang.org/x/net/http2.(*clientStream).doRequest",
        "net/http.(*http2clientStream).doRequest",
    ];
    let others = [
        "k8s.io/client-go/tools/watch.(*RetryWatcher).receive",
        "k8s.io/apimachinery/pkg/watch.NewStreamWatcherWithLogger",
        "k8s.io/apimachinery/pkg/watch.(*Broadcaster).loop",
        "net/http.(*persistConn).writeLoop",
    ];
    for way in [
        "goroutines.open.frame",
        "goroutines.blocked.frame",
        "goroutines.sending.frame",
        "goroutines.connections.equal_growth",
        "goroutines.reflectors.equal_growth",
    ] {
        check_names("stale-watchers", way, &[receive], &others);
        check_names("stale-watchers", way, &[], &connections);
    }
    check_names(
        "stale-watchers",
        "goroutines.connections.frame",
        &connections,
        &others,
    );
    // A watch that waits for the next event is below its decoder.
    let decoders = [
        "k8s.io/client-go/rest/watch.(*Decoder).Decode",
        "k8s.io/apimachinery/pkg/runtime/serializer/streaming.(*decoder).Decode",
    ];
    check_names(
        "stale-watchers",
        "goroutines.blocked.without",
        &decoders,
        &[receive],
    );
    check_names(
        "stale-watchers",
        "goroutines.blocked.state",
        &["select", "chan send"],
        &["IO wait"],
    );
    check_names(
        "stale-watchers",
        "goroutines.sending.state",
        &["chan send"],
        &["select"],
    );
    let reflectors = [
        "k8s.io/client-go/tools/cache.(*Reflector).ListAndWatch",
        "k8s.io/client-go/tools/cache.(*Reflector).ListAndWatchWithContext",
    ];
    // Its second goroutine would make two of one.
    let others = ["k8s.io/client-go/tools/cache.(*Reflector).startResync"];
    check_names(
        "stale-watchers",
        "goroutines.reflectors.frame",
        &reflectors,
        &others,
    );
    let others = [
        "k8s.io/client-go/rest.(*Request).WatchList",
        "k8s.io/client-go/rest.(*Request).Do",
    ];
    check_names(
        "stale-watchers",
        "culprit.0",
        &["k8s.io/client-go/rest.(*Request).Watch"],
        &others,
    );
}

#[test]
fn a_hot_loop_is_about_opening_watches() {
    let opening = ["k8s.io/client-go/rest.(*Request).Watch"];
    // Where events are decoded there is churn in every healthy informer.
    let others = ["k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"];
    check_names(
        "hot-rewatch-loop",
        "heap.opening.through",
        &opening,
        &others,
    );
    check_names("hot-rewatch-loop", "culprit.0", &opening, &others);
}

#[test]
fn a_users_pattern_joins_the_catalogue() {
    let catalogue = user_catalogue(&[("my/patterns/example.toml", EXAMPLE)]).expect("valid");
    let names: Vec<&str> = catalogue
        .patterns()
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    let expect = [
        "logger-promise-chain",
        "stale-watchers",
        "backed-up-informer",
        "example",
        "hot-rewatch-loop",
    ];
    assert_eq!(names, expect);
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
        "DuplicateId",
        "EmptyCondition",
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
    check("sql-open-per-query", None);
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
