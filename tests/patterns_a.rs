//! Patterns of goroutines, clients, metrics, loggers and containers on made-up series. Stacks are
//! those of the libraries' sources and of public reports, not of our own output.

mod support;

use serde_json::Value;
use std::fs;
use support::heapdrift;
use support::series::{CHURN, Path10, STEADY, culprit_of_first, diagnose, verdict_of_first};

/// Goroutines of one stack: frames (leaf first), creator, state, minutes, how many at a point.
type Crowd = (
    &'static str,
    &'static str,
    &'static str,
    u32,
    fn(i64) -> i64,
);

/// `goroutine?debug=2` of these crowds at a point, beside a `main` that waits.
fn dump(crowds: &[Crowd], point: i64) -> String {
    let mut text = "goroutine 1 [select]:\nmain.main()\n\t/app/main.go:9 +0x1d\n".to_owned();
    let mut id = 2;
    for (stack, creator, state, minutes, count) in crowds {
        for number in 0..count(point) {
            // Those that came first have waited for longest.
            let waited = match (number, minutes) {
                (0, 1..) => format!(", {minutes} minutes"),
                _ => String::new(),
            };
            text += &format!("\ngoroutine {id} [{state}{waited}]:\n");
            for frame in stack.split(" < ") {
                text += &format!("{frame}(0xc000010000)\n\t/app/x.go:31 +0x2a\n");
            }
            text += &format!("created by {creator} in goroutine 1\n\t/app/x.go:12 +0x4f\n");
            id += 1;
        }
    }
    text
}

/// A series with goroutines. `diagnose` takes a plain function, so each caller has its own.
macro_rules! series {
    ($rows:expr, $crowds:expr) => {
        diagnose($rows, Some(|point| dump($crowds, point)))
    };
}

/// What one snapshot says.
fn single(rows: &[(&str, i64, i64)], crowds: &[Crowd]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let heap = rows.iter().fold(
        support::profiles::Pprof::heap(0),
        |heap, (stack, size, count)| heap.sampled(stack, *size, *count, *count),
    );
    fs::write(dir.path().join("0.heap.pb.gz"), heap.gzip()).unwrap();
    fs::write(dir.path().join("0.goroutine.txt"), dump(crowds, 9)).unwrap();
    let output = heapdrift()
        .arg("diagnose")
        .arg(dir.path())
        .args(["-f", "json", "--app-module", "example.com/app"])
        .output()
        .unwrap();
    support::json(&output)
}

/// That the first finding is a leak of that pattern and culprit.
#[track_caller]
fn is_named(diagnosis: &Value, pattern: &str, culprit: &str) {
    let first = &diagnosis["findings"][0];
    assert_eq!(first["pattern"], pattern, "{first:#}");
    assert_eq!(culprit_of_first(diagnosis), culprit, "{first:#}");
    assert_eq!(verdict_of_first(diagnosis), "leak", "{first:#}");
}

/// That no finding has that pattern.
#[track_caller]
fn is_not_named(diagnosis: &Value, pattern: &str) {
    for finding in diagnosis["findings"].as_array().unwrap() {
        assert_ne!(finding["pattern"], pattern, "{finding:#}");
    }
}

fn steady(_: i64) -> i64 {
    40
}

fn growing(point: i64) -> i64 {
    4 + 14 * point
}

fn fast(point: i64) -> i64 {
    40 + 60 * point
}

/// Seven of 64 KiB a point are sampled as they are; small objects by their odds.
const LEAK: fn(i64) -> (i64, i64) = |t| (20 + 12 * t, 20 + 12 * t);
/// What is a part of it.
const SLIGHT: fn(i64) -> (i64, i64) = |t| (6 + 3 * t, 6 + 3 * t);

fn leaking(stack: &str, size: i64) -> (&str, i64, Path10) {
    (stack, size, LEAK)
}

const CLONE: &str = "net/http.(*Transport).Clone < main.(*Checker).check < main.main";
const DIAL: &str =
    "bufio.NewReaderSize < net/http.(*Transport).dialConn < net/http.(*Transport).dialConnFor";
const IDLE: Crowd = (
    "internal/poll.runtime_pollWait < internal/poll.(*FD).Read < net.(*conn).Read < net/http.(*persistConn).Read < bufio.(*Reader).fill < bufio.(*Reader).Peek < net/http.(*persistConn).readLoop",
    "net/http.(*Transport).dialConn",
    "IO wait",
    5,
    growing,
);
const UNREAD: Crowd = (
    "net/http.(*persistConn).readLoop",
    "net/http.(*Transport).dialConn",
    "select",
    12,
    growing,
);
const WRITERS: Crowd = (
    "net/http.(*persistConn).writeLoop",
    "net/http.(*Transport).dialConn",
    "select",
    5,
    growing,
);

#[test]
fn goroutines_blocked_on_a_channel() {
    const FORWARD: Crowd = (
        "main.(*Relay).forward.func1",
        "main.(*Relay).forward",
        "chan send",
        3,
        growing,
    );
    let diagnosis = series!(&[STEADY, CHURN], &[FORWARD]);
    is_named(
        &diagnosis,
        "goroutine-blocked-on-channel",
        "main.(*Relay).forward",
    );
    let evidence = diagnosis["findings"][0]["evidence"].to_string();
    assert!(
        evidence.contains("main.(*Relay).forward.func1 (chan send): 4 → 130"),
        "{evidence}"
    );

    // A lock is another story, and so are workers that are many from the start.
    const LOCKED: Crowd = (
        "sync.runtime_SemacquireMutex < sync.(*Mutex).lockSlow < main.(*Store).get",
        "main.serve",
        "sync.Mutex.Lock",
        3,
        growing,
    );
    let diagnosis = series!(&[STEADY, CHURN], &[LOCKED]);
    assert_eq!(verdict_of_first(&diagnosis), "leak");
    is_not_named(&diagnosis, "goroutine-blocked-on-channel");
    const WORKERS: Crowd = (
        "main.(*Pool).work",
        "main.NewPool",
        "chan receive",
        90,
        steady,
    );
    let diagnosis = series!(&[STEADY, CHURN], &[WORKERS]);
    assert_eq!(diagnosis["verdict"], "steady");

    // Growth of the heap elsewhere is not the goroutines'.
    let other = leaking("main.keep < main.serve < main.main", 4096);
    let diagnosis = series!(&[STEADY, other], &[FORWARD]);
    let named: Vec<&Value> = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| &finding["pattern"])
        .collect();
    assert_eq!(named.len(), 2);
    assert!(named.contains(&&Value::Null), "{named:?}");
}

#[test]
fn one_snapshot_of_workers_is_no_suspect() {
    let heap = [("main.table < main.main", 8192, 60)];
    let many = |_: i64| 300;
    let crowd = |state: &'static str, minutes: u32| -> Crowd {
        ("main.(*Pool).work", "main.NewPool", state, minutes, many)
    };
    for (state, minutes) in [("chan receive", 500), ("select", 500), ("chan send", 0)] {
        let diagnosis = single(&heap, &[crowd(state, minutes)]);
        assert_eq!(diagnosis["findings"], serde_json::json!([]), "{state}");
    }
    let diagnosis = single(&heap, &[crowd("chan send", 9)]);
    assert_eq!(
        diagnosis["findings"][0]["pattern"],
        "goroutine-blocked-on-channel"
    );
    assert_eq!(verdict_of_first(&diagnosis), "suspect");
    assert_eq!(culprit_of_first(&diagnosis), "main.(*Pool).work");
}

#[test]
fn clients_per_call_and_bodies_that_stay_open_are_told_apart() {
    let rows = [
        STEADY,
        leaking(DIAL, 4096),
        (CLONE, 416, SLIGHT),
        (
            "bufio.NewWriterSize < net/http.(*Transport).dialConn < net/http.(*Transport).dialConnFor",
            4096,
            LEAK,
        ),
        (
            "net/http.setRequestCancel < net/http.send < net/http.(*Client).send < net/http.(*Client).do < net/http.(*Client).Do < main.(*Checker).ask < main.main",
            96,
            |t| (50 * (t + 1), 2),
        ),
    ];
    let diagnosis = series!(&rows, &[IDLE, WRITERS]);
    is_named(&diagnosis, "client-per-call", "main.(*Checker).check");
    let diagnosis = series!(&rows, &[UNREAD, WRITERS]);
    is_named(
        &diagnosis,
        "response-body-not-closed",
        "main.(*Checker).ask",
    );
    // Downloads that go on have somebody who reads.
    const READERS: Crowd = (
        "net/http.(*body).Read < net/http.(*bodyEOFSignal).Read < io.Copy < main.(*Checker).fetch",
        "main.main",
        "select",
        5,
        growing,
    );
    let diagnosis = series!(&rows, &[UNREAD, WRITERS, READERS]);
    is_not_named(&diagnosis, "response-body-not-closed");
    // Connections that stay as they are: the heap grows for another reason.
    const FLAT: Crowd = (IDLE.0, IDLE.1, IDLE.2, IDLE.3, steady);
    let diagnosis = series!(&rows, &[FLAT]);
    is_not_named(&diagnosis, "client-per-call");
}

#[test]
fn rows_that_are_not_closed() {
    const ROWS: Crowd = (
        "database/sql.(*Rows).awaitDone",
        "database/sql.(*Rows).initContextClose",
        "select",
        5,
        growing,
    );
    let query = "database/sql.(*DB).queryDC < database/sql.(*DB).query < database/sql.(*DB).QueryContext.func1 < database/sql.(*DB).retry < database/sql.(*DB).QueryContext < main.(*Store).list < main.main";
    let diagnosis = series!(&[STEADY, leaking(query, 512)], &[ROWS]);
    is_named(&diagnosis, "sql-rows-not-closed", "main.(*Store).list");
}

#[test]
fn the_cache_of_tls_transports() {
    let entry = "crypto/x509.(*CertPool).addCertFunc < crypto/x509.(*CertPool).AppendCertsFromPEM < k8s.io/client-go/transport.rootCertPool < k8s.io/client-go/transport.TLSConfigFor < k8s.io/client-go/transport.(*tlsTransportCache).get < k8s.io/client-go/transport.New < k8s.io/client-go/rest.TransportFor < k8s.io/client-go/rest.HTTPClientFor < k8s.io/client-go/kubernetes.NewForConfig < main.(*Reconciler).Reconcile < main.main";
    let rows = [STEADY, leaking(entry, 2048), (DIAL, 4096, SLIGHT)];
    let diagnosis = series!(&rows, &[IDLE, WRITERS]);
    is_named(
        &diagnosis,
        "tls-transport-cache",
        "main.(*Reconciler).Reconcile",
    );
    assert_eq!(diagnosis["findings"][0]["also_matches"], "client-per-call");
    // A client of its own, without client-go's cache.
    let own = "crypto/x509.(*CertPool).addCertFunc < crypto/x509.(*CertPool).AppendCertsFromPEM < main.newClient < main.main";
    let diagnosis = series!(&[STEADY, leaking(own, 2048)], &[IDLE, WRITERS]);
    is_named(&diagnosis, "client-per-call", "main.newClient");
}

#[test]
fn series_of_metrics() {
    let series = "github.com/prometheus/client_golang/prometheus.MakeLabelPairs < github.com/prometheus/client_golang/prometheus.NewCounterVec.func1 < github.com/prometheus/client_golang/prometheus.(*metricMap).getOrCreateMetricWithLabelValues < github.com/prometheus/client_golang/prometheus.(*MetricVec).GetMetricWithLabelValues < github.com/prometheus/client_golang/prometheus.(*CounterVec).WithLabelValues < main.(*Reconciler).count < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(series, 128)], None);
    is_named(
        &diagnosis,
        "metric-label-cardinality",
        "main.(*Reconciler).count",
    );
    let otel = "go.opentelemetry.io/otel/sdk/metric/internal/aggregate.(*valueMap[...]).measure < go.opentelemetry.io/otel/sdk/metric.(*int64Inst).aggregate < go.opentelemetry.io/otel/sdk/metric.(*int64Inst).Add < main.observe < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(otel, 256)], None);
    is_named(&diagnosis, "metric-label-cardinality", "main.observe");
    // The series of a deployment: they come once.
    let once: (&str, i64, Path10) = (series, 128, |t| {
        let count = 20 + 90 * i64::from(t > 4);
        (count, count)
    });
    is_not_named(&diagnose(&[STEADY, once], None), "metric-label-cardinality");
    // The page while it is written.
    let page = "github.com/prometheus/client_golang/prometheus.MakeLabelPairs < github.com/prometheus/client_golang/prometheus.MustNewConstMetric < main.(*Collector).Collect < github.com/prometheus/client_golang/prometheus.(*Registry).Gather";
    is_not_named(
        &diagnose(&[STEADY, leaking(page, 128)], None),
        "metric-label-cardinality",
    );
}

const DECODE: &str = "k8s.io/api/core/v1.(*PodSpec).Unmarshal < k8s.io/client-go/rest/watch.(*Decoder).Decode < k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive";
const REFLECTORS: Crowd = (
    "k8s.io/client-go/tools/cache.handleAnyWatch < k8s.io/client-go/tools/cache.handleWatch < k8s.io/client-go/tools/cache.(*Reflector).watch < k8s.io/client-go/tools/cache.(*Reflector).ListAndWatchWithContext < k8s.io/client-go/tools/cache.(*Reflector).RunWithContext.func1",
    "k8s.io/apimachinery/pkg/util/wait.(*Group).Start",
    "select",
    5,
    growing,
);
const RECEIVERS: Crowd = (
    "internal/poll.runtime_pollWait < net/http.(*body).Read < k8s.io/apimachinery/pkg/runtime/serializer/streaming.(*decoder).Decode < k8s.io/client-go/rest/watch.(*Decoder).Decode < k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
    "k8s.io/apimachinery/pkg/watch.NewStreamWatcher",
    "IO wait",
    5,
    growing,
);
const INFORMERS: Crowd = (
    "k8s.io/client-go/tools/cache.(*controller).RunWithContext < k8s.io/client-go/tools/cache.(*sharedIndexInformer).RunWithContext < k8s.io/client-go/tools/cache.(*sharedIndexInformer).Run",
    "main.(*Syncer).reload",
    "sync.WaitGroup.Wait",
    5,
    growing,
);
const LISTENERS: Crowd = (
    "k8s.io/client-go/tools/cache.(*processorListener).run < k8s.io/apimachinery/pkg/util/wait.(*Group).Start.func1",
    "k8s.io/apimachinery/pkg/util/wait.(*Group).Start",
    "chan receive",
    5,
    growing,
);
const POPS: Crowd = (
    "k8s.io/client-go/tools/cache.(*processorListener).pop < k8s.io/apimachinery/pkg/util/wait.(*Group).Start.func1",
    "k8s.io/apimachinery/pkg/util/wait.(*Group).Start",
    "select",
    5,
    growing,
);

#[test]
fn informers_handlers_and_watches_are_told_apart() {
    let rows = [STEADY, leaking(DECODE, 1280)];
    let diagnosis = series!(&rows, &[REFLECTORS, RECEIVERS, INFORMERS, LISTENERS, POPS]);
    is_named(
        &diagnosis,
        "informers-never-stopped",
        "main.(*Syncer).reload",
    );
    assert_eq!(diagnosis["findings"].as_array().unwrap().len(), 1);

    // The factory starts them: then whoever makes the informers is in the heap.
    let made = "k8s.io/client-go/tools/cache.NewIndexer < k8s.io/client-go/tools/cache.NewSharedIndexInformerWithOptions < k8s.io/client-go/informers/core/v1.NewFilteredPodInformer < k8s.io/client-go/informers.(*sharedInformerFactory).InformerFor < main.(*Syncer).follow < main.main";
    const STARTED: Crowd = (
        INFORMERS.0,
        "k8s.io/client-go/informers.(*sharedInformerFactory).StartWithContext",
        INFORMERS.2,
        5,
        growing,
    );
    let rows_made = [rows[0], rows[1], (made, 512, SLIGHT)];
    let diagnosis = series!(&rows_made, &[REFLECTORS, RECEIVERS, STARTED]);
    is_named(
        &diagnosis,
        "informers-never-stopped",
        "main.(*Syncer).follow",
    );

    let ring = "k8s.io/utils/buffer.NewRingGrowing < k8s.io/client-go/tools/cache.newProcessListener < k8s.io/client-go/tools/cache.(*sharedIndexInformer).AddEventHandlerWithOptions < k8s.io/client-go/tools/cache.(*sharedIndexInformer).AddEventHandler < main.(*Watcher).Follow < main.main";
    let rows = [STEADY, leaking(ring, 16384)];
    const ONE: Crowd = (REFLECTORS.0, REFLECTORS.1, REFLECTORS.2, 5, steady);
    let diagnosis = series!(&rows, &[LISTENERS, POPS, ONE]);
    is_named(
        &diagnosis,
        "handlers-never-removed",
        "main.(*Watcher).Follow",
    );
    // A handler that is too slow: the ring grows, the handlers do not.
    let full = "k8s.io/utils/buffer.(*RingGrowing).WriteOne < k8s.io/client-go/tools/cache.(*processorListener).pop";
    const SLOW: Crowd = (
        "time.Sleep < main.(*Syncer).onUpdate < k8s.io/client-go/tools/cache.ResourceEventHandlerFuncs.OnUpdate < k8s.io/client-go/tools/cache.(*processorListener).run.func1",
        LISTENERS.1,
        "sleep",
        0,
        |_| 1,
    );
    let rows = [STEADY, leaking(DECODE, 1280), (full, 32768, SLIGHT)];
    let diagnosis = series!(&rows, &[SLOW, ONE]);
    is_named(&diagnosis, "backed-up-informer", "main.(*Syncer).onUpdate");
}

#[test]
fn event_broadcasters() {
    let made = "k8s.io/apimachinery/pkg/watch.NewLongQueueBroadcaster < k8s.io/client-go/tools/record.NewBroadcaster < main.(*Reconciler).recorder < main.main";
    let cached = "github.com/golang/groupcache/lru.(*Cache).Add < k8s.io/client-go/tools/record.(*eventLogger).eventObserve < k8s.io/client-go/tools/record.recordToSink < k8s.io/client-go/tools/record.(*eventBroadcasterImpl).StartRecordingToSink.func1";
    const LOOPS: Crowd = (
        "k8s.io/apimachinery/pkg/watch.(*Broadcaster).loop",
        "k8s.io/apimachinery/pkg/watch.NewLongQueueBroadcaster",
        "chan receive",
        5,
        growing,
    );
    const SINKS: Crowd = (
        "k8s.io/client-go/tools/record.(*eventBroadcasterImpl).StartEventWatcher.func1",
        "k8s.io/client-go/tools/record.(*eventBroadcasterImpl).StartEventWatcher",
        "chan receive",
        5,
        growing,
    );
    let rows = [STEADY, leaking(made, 65536), (cached, 256, SLIGHT)];
    let diagnosis = series!(&rows, &[LOOPS, SINKS]);
    is_named(
        &diagnosis,
        "event-broadcaster-per-call",
        "main.(*Reconciler).recorder",
    );
    // One broadcaster whose cache fills.
    const ONE: Crowd = (LOOPS.0, LOOPS.1, LOOPS.2, 5, |_| 1);
    let diagnosis = series!(&[STEADY, leaking(cached, 256)], &[ONE]);
    is_not_named(&diagnosis, "event-broadcaster-per-call");
}

#[test]
fn loggers_that_carry_all_values_on() {
    let check = |stack: &str| {
        let diagnosis = diagnose(&[STEADY, leaking(stack, 4096)], None);
        is_named(
            &diagnosis,
            "logger-values-accumulate",
            "main.(*Service).Take",
        );
    };
    check(
        "log/slog/internal/buffer.(*Buffer).WriteString < log/slog.(*handleState).appendAttrs < log/slog.(*commonHandler).withAttrs < log/slog.(*JSONHandler).WithAttrs < log/slog.(*Logger).With < main.(*Service).Take < main.main",
    );
    check(
        "go.uber.org/zap/buffer.(*Buffer).Write < go.uber.org/zap/zapcore.(*jsonEncoder).Clone < go.uber.org/zap/zapcore.(*ioCore).clone < go.uber.org/zap/zapcore.(*ioCore).With < go.uber.org/zap.(*Logger).With < github.com/go-logr/zapr.(*zapLogger).WithValues < github.com/go-logr/logr.Logger.WithValues < main.(*Service).Take < main.main",
    );
    check(
        "k8s.io/klog/v2/internal/serialize.WithValues < k8s.io/klog/v2.(*klogger).WithValues < github.com/go-logr/logr.Logger.WithValues < main.(*Service).Take < main.main",
    );
    // Promises of controller-runtime are another fault.
    let promise = "sigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithValues < sigs.k8s.io/controller-runtime/pkg/log.(*DelegatingLogger).WithValues < main.(*Service).Take < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(promise, 96)], None);
    is_named(&diagnosis, "logger-promise-chain", "main.(*Service).Take");
    is_not_named(&diagnosis, "logger-values-accumulate");
}

#[test]
fn grpc_connections() {
    let buffer = "google.golang.org/grpc/internal/transport.newBufWriter < google.golang.org/grpc/internal/transport.newFramer < google.golang.org/grpc/internal/transport.newHTTP2Client < google.golang.org/grpc/internal/transport.NewHTTP2Client < google.golang.org/grpc.(*addrConn).createTransport";
    let made = "google.golang.org/grpc.newCCResolverWrapper < google.golang.org/grpc.NewClient < main.(*Probe).Check < main.main";
    const READERS: Crowd = (
        "internal/poll.runtime_pollWait < google.golang.org/grpc/internal/transport.(*framer).readFrame < google.golang.org/grpc/internal/transport.(*http2Client).reader",
        "google.golang.org/grpc/internal/transport.NewHTTP2Client",
        "IO wait",
        5,
        growing,
    );
    const LOOPS: Crowd = (
        "google.golang.org/grpc/internal/transport.(*controlBuffer).get < google.golang.org/grpc/internal/transport.(*loopyWriter).run < google.golang.org/grpc/internal/transport.NewHTTP2Client.func6",
        "google.golang.org/grpc/internal/transport.NewHTTP2Client",
        "select",
        5,
        growing,
    );
    let rows = [STEADY, leaking(buffer, 65536), (made, 256, SLIGHT)];
    let diagnosis = series!(&rows, &[READERS, LOOPS]);
    is_named(
        &diagnosis,
        "grpc-connection-per-call",
        "main.(*Probe).Check",
    );
    let evidence = diagnosis["findings"][0]["evidence"].to_string();
    assert!(evidence.contains("of 32 or 64 KiB"), "{evidence}");
    // The server's side of it.
    const SERVED: Crowd = (
        "internal/poll.runtime_pollWait < google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams",
        "google.golang.org/grpc.(*Server).handleRawConn",
        "IO wait",
        5,
        growing,
    );
    let server = "google.golang.org/grpc/internal/transport.newBufWriter < google.golang.org/grpc/internal/transport.newFramer < google.golang.org/grpc/internal/transport.NewServerTransport < google.golang.org/grpc.(*Server).newHTTP2Transport";
    let diagnosis = series!(&[STEADY, leaking(server, 65536)], &[SERVED]);
    is_not_named(&diagnosis, "grpc-connection-per-call");
}

#[test]
fn contexts_and_timers() {
    let child = "context.(*cancelCtx).propagateCancel < context.withCancel < context.WithCancel < main.(*Runner).Begin < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(child, 96)], None);
    is_named(
        &diagnosis,
        "context-children-never-cancelled",
        "main.(*Runner).Begin",
    );
    // A deadline has a timer: it is the context that is not cancelled.
    let deadline = "time.newTimer < time.AfterFunc < context.WithDeadlineCause < context.WithDeadline < context.WithTimeout < main.(*Runner).Begin < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(deadline, 96)], None);
    is_named(
        &diagnosis,
        "context-children-never-cancelled",
        "main.(*Runner).Begin",
    );
    is_not_named(&diagnosis, "timers-not-stopped");
    // Values do not hang on any parent.
    let value = "context.WithValue < main.(*Runner).Begin < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(value, 96)], None);
    is_not_named(&diagnosis, "context-children-never-cancelled");
    // Contexts that come and go, and a load that was higher for a while.
    let busy: (&str, i64, Path10) = (child, 96, |t| (400 * (t + 1), 30 + 6 * t));
    is_not_named(
        &diagnose(&[STEADY, busy], None),
        "context-children-never-cancelled",
    );

    let timer = "time.newTimer < time.AfterFunc < main.(*Keeper).Grant < main.serve < main.main";
    let lease = "main.(*Keeper).Grant < main.serve < main.main";
    let rows = [STEADY, (timer, 112, SLIGHT), leaking(lease, 512)];
    let diagnosis = diagnose(&rows, None);
    is_named(&diagnosis, "timers-not-stopped", "main.(*Keeper).Grant");
    let clock =
        "time.NewTimer < k8s.io/utils/clock.RealClock.NewTimer < main.(*Queue).after < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(clock, 96)], None);
    is_named(&diagnosis, "timers-not-stopped", "main.(*Queue).after");
    // Timers of connections go with them.
    let idle = "time.AfterFunc < net/http.(*Transport).tryPutIdleConn < net/http.(*persistConn).readLoop.func2 < net/http.(*persistConn).readLoop";
    is_not_named(
        &diagnose(&[STEADY, leaking(idle, 96)], None),
        "timers-not-stopped",
    );
}

#[test]
fn containers() {
    let check = |container: &str| {
        let map = format!("{container} < main.(*Table).Open < main.serve < main.main");
        let entry = "main.newSession < main.(*Table).Open < main.serve < main.main";
        let rows = [STEADY, leaking(&map, 4096), (entry, 512, LEAK)];
        let diagnosis = diagnose(&rows, None);
        is_named(&diagnosis, "container-without-delete", "main.(*Table).Open");
    };
    check(
        "internal/runtime/maps.newarray < internal/runtime/maps.(*table).grow < runtime.mapassign_faststr",
    );
    check(
        "internal/sync.newEntryNode[...] < internal/sync.(*HashTrieMap[...]).Swap < internal/sync.(*HashTrieMap[...]).Store < sync.(*Map).Store",
    );
    check("container/list.(*List).insertValue < container/list.(*List).PushFront");
    // Without the container in sight nothing is said of it.
    let entry = "main.newSession < main.(*Table).Open < main.serve < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(entry, 512)], None);
    assert_eq!(verdict_of_first(&diagnosis), "leak");
    assert_eq!(diagnosis["findings"][0]["pattern"], Value::Null);
    // A cache that fills, one whose entries are replaced, and a library's own.
    let map = "sync.(*Map).Store < main.(*Cache).Put < main.main";
    let fills: (&str, i64, Path10) = (map, 4096, |t| {
        let filled = [0, 79, 126, 155, 173, 184, 190, 194, 196, 198][t as usize];
        (20 + filled, 20 + filled)
    });
    is_not_named(
        &diagnose(&[STEADY, fills], None),
        "container-without-delete",
    );
    let renewed: (&str, i64, Path10) = (map, 4096, |t| (400 * (t + 1), 30 + 12 * t));
    is_not_named(
        &diagnose(&[STEADY, renewed], None),
        "container-without-delete",
    );
    let library = "sync.(*Map).Store < example.org/lib.(*Cache).Put < example.org/lib.Run";
    is_not_named(
        &diagnose(&[STEADY, leaking(library, 4096)], None),
        "container-without-delete",
    );
    // And a single snapshot is never suspected of it, however large the map.
    let diagnosis = single(&[(map, 65536, 500)], &[]);
    assert_eq!(diagnosis["findings"], serde_json::json!([]));
}

#[test]
fn notes_of_workqueues() {
    let failed = "k8s.io/client-go/util/workqueue.(*TypedItemExponentialFailureRateLimiter[...]).When < k8s.io/client-go/util/workqueue.(*TypedMaxOfRateLimiter[...]).When < k8s.io/client-go/util/workqueue.(*rateLimitingType[...]).AddRateLimited < main.(*Controller).process < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(failed, 128)], None);
    is_named(
        &diagnosis,
        "workqueue-bookkeeping",
        "main.(*Controller).process",
    );
    let old = "k8s.io/client-go/util/workqueue.(*ItemExponentialFailureRateLimiter).When < k8s.io/client-go/util/workqueue.(*MaxOfRateLimiter).When < k8s.io/client-go/util/workqueue.(*rateLimitingType).AddRateLimited < main.(*Controller).process < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(old, 128)], None);
    is_named(
        &diagnosis,
        "workqueue-bookkeeping",
        "main.(*Controller).process",
    );
    // Far in the future: the entry is made in AddAfter.
    let later = "k8s.io/client-go/util/workqueue.(*delayingType[...]).AddAfter < main.(*Controller).later < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(later, 128)], None);
    is_named(
        &diagnosis,
        "workqueue-bookkeeping",
        "main.(*Controller).later",
    );
    let title = diagnosis["findings"][0]["title"].as_str().unwrap();
    assert!(title.contains("delay"), "{title}");
    // A queue that is long: its workers are too slow.
    let long = "k8s.io/client-go/util/workqueue.(*queue[...]).Push < k8s.io/client-go/util/workqueue.(*Typed[...]).Add < main.(*Controller).enqueue < main.main";
    is_not_named(
        &diagnose(&[STEADY, leaking(long, 128)], None),
        "workqueue-bookkeeping",
    );
}

#[test]
fn spans_and_their_processors() {
    let span = "go.opentelemetry.io/otel/sdk/trace.(*tracer).newRecordingSpan < go.opentelemetry.io/otel/sdk/trace.(*tracer).newSpan < go.opentelemetry.io/otel/sdk/trace.(*tracer).Start < main.(*Worker).run < main.main";
    let diagnosis = diagnose(&[STEADY, leaking(span, 512)], None);
    is_named(&diagnosis, "spans-never-ended", "main.(*Worker).run");
    const PROCESSORS: Crowd = (
        "go.opentelemetry.io/otel/sdk/trace.(*batchSpanProcessor).processQueue < go.opentelemetry.io/otel/sdk/trace.NewBatchSpanProcessor.func1",
        "go.opentelemetry.io/otel/sdk/trace.NewBatchSpanProcessor",
        "select",
        5,
        growing,
    );
    let made = "go.opentelemetry.io/otel/sdk/trace.NewBatchSpanProcessor < go.opentelemetry.io/otel/sdk/trace.WithBatcher < main.newClient < main.main";
    let diagnosis = series!(&[STEADY, leaking(made, 32768)], &[PROCESSORS]);
    is_named(&diagnosis, "spans-never-ended", "main.newClient");
    let title = diagnosis["findings"][0]["title"].as_str().unwrap();
    assert!(title.starts_with("Tracer providers"), "{title}");
    // The contexts that carry spans are not spans.
    let context = "context.WithValue < go.opentelemetry.io/otel/trace.ContextWithSpan < main.(*Worker).run < main.main";
    is_not_named(
        &diagnose(&[STEADY, leaking(context, 48)], None),
        "spans-never-ended",
    );
}

#[test]
fn one_snapshot_of_a_busy_healthy_program_is_no_suspect() {
    let heap = [
        ("main.table < main.main", 8192, 600),
        (DIAL, 4096, 30),
        (
            "crypto/x509.parseCertificate < crypto/x509.(*CertPool).AppendCertsFromPEM < crypto/x509.loadSystemRoots < crypto/x509.initSystemRoots",
            2048,
            4,
        ),
        (
            "google.golang.org/grpc/internal/transport.newBufWriter < google.golang.org/grpc/internal/transport.newHTTP2Client",
            65536,
            20,
        ),
        (
            "context.withCancel < context.WithCancel < main.serve < main.main",
            96,
            10,
        ),
        (
            "time.newTimer < time.AfterFunc < main.serve < main.main",
            112,
            10,
        ),
        (
            "github.com/prometheus/client_golang/prometheus.newHistogram < github.com/prometheus/client_golang/prometheus.(*metricMap).getOrCreateMetricWithLabelValues < main.observe < main.main",
            2048,
            40,
        ),
        (DECODE, 1280, 200),
        (
            "k8s.io/utils/buffer.NewRingGrowing < k8s.io/client-go/tools/cache.newProcessListener < k8s.io/client-go/tools/cache.(*sharedIndexInformer).AddEventHandler < main.setup < main.main",
            16384,
            6,
        ),
    ];
    let many =
        |crowd: Crowd, count: fn(i64) -> i64| -> Crowd { (crowd.0, crowd.1, crowd.2, 600, count) };
    let crowds = [
        many(IDLE, |_| 150),
        many(WRITERS, |_| 150),
        many(REFLECTORS, |_| 60),
        many(RECEIVERS, |_| 60),
        many(LISTENERS, |_| 120),
        many(POPS, |_| 120),
        (
            "main.(*Pool).work",
            "main.NewPool",
            "chan receive",
            600,
            fast,
        ),
    ];
    let diagnosis = single(&heap, &crowds);
    assert_eq!(diagnosis["findings"], serde_json::json!([]));
}
