//! The built-in patterns against names as real profiles have them.

use super::*;
use crate::pattern::{CulpritRule, Expression};
use crate::site::canonical_name;

#[test]
fn builtin_patterns_come_most_specific_first() {
    let catalogue = Catalogue::builtin();
    let keys: Vec<_> = catalogue
        .patterns()
        .iter()
        .map(|p| (std::cmp::Reverse(p.specificity), p.name.as_str()))
        .collect();
    assert!(keys.is_sorted(), "{keys:?}");
    for (_, name) in keys {
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

#[test]
fn pages_refer_to_patterns_that_there_are() {
    let harmless = crate::pattern::not_a_leak::BUILTIN;
    let is_not_a_leak = |name: &str| {
        let mut files = harmless.iter().map(|(file, _)| file.strip_suffix(".toml"));
        files.any(|stem| stem == Some(name))
    };
    let catalogue = Catalogue::builtin();
    let mut seen = 0;
    for pattern in catalogue.patterns() {
        let page = &pattern.page;
        for text in [&page.what, &page.why, &page.confirm, &page.lookalikes] {
            // "see one, another-one and a-third"
            let text = text.replace('\n', " ");
            for tail in text.split("see ").skip(1) {
                let words = tail.split_whitespace().map(|word| {
                    word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                });
                let names = words.take_while(|word| *word == "and" || word.contains('-'));
                for name in names.filter(|word| *word != "and") {
                    let is_page = catalogue.get(name).is_some() || is_not_a_leak(name);
                    assert!(is_page, "{}: {name}", pattern.name);
                    assert_ne!(name, pattern.name);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 15, "{seen}");
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
                "frame" => condition.frame.iter().collect(),
                "below" => condition.below.iter().collect(),
                "without" => condition.without.iter().collect(),
                "state" => condition.state.iter().collect(),
                _ => condition.equal_growth.iter().collect(),
            }
        }
        ["culprit", number] => match &pattern.culprit[number.parse::<usize>().expect(way)] {
            CulpritRule::Frame { frame: of }
            | CulpritRule::HeapCaller { of, .. }
            | CulpritRule::GoroutineInside { of }
            | CulpritRule::GoroutineCreator { of } => vec![of],
            CulpritRule::GoroutineStanding => Vec::new(),
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
    // From captures on client-go v0.37.2 and v0.19.0, over HTTP/1 and over HTTP/2
    // (golang.org/x/net v0.57.0); net/http's own HTTP/2 names from its source.
    let held = [
        "k8s.io/client-go/rest.(*Request).Watch",
        "k8s.io/client-go/rest.(*Request).newStreamWatcher",
        "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
        "net/http.(*Transport).dialConn",
        "net/http.(*Transport).dialConnFor",
        "net/http.(*persistConn).readLoop",
        "net/http.(*persistConn).readResponse",
        "net/http.(*persistConn).writeLoop",
        "net/http.(*persistConn).addTLS.func2",
        "net.(*sysDialer).dialParallel.func1",
        "golang.org/x/net/http2.(*Transport).newClientConn",
        "golang.org/x/net/http2.(*addConnCall).run",
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
fn a_single_snapshot_must_show_that_watches_are_stuck() {
    // Many open watches alone may be as many informers.
    let catalogue = Catalogue::builtin();
    let pattern = catalogue.get("stale-watchers").expect("a built-in pattern");
    let required = |is_single: bool| -> Vec<&str> {
        let conditions = pattern.goroutines.iter();
        let required = conditions.filter(|condition| condition.is_required(is_single));
        required.map(|condition| condition.id.as_str()).collect()
    };
    assert_eq!(required(false), ["open", "no-managers"]);
    assert_eq!(required(true), ["open", "blocked"]);
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
