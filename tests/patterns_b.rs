//! Patterns of the catalogue on made-up series whose stacks are those of the real libraries, each
//! beside the look-alike that is nearest to it.

mod support;

use serde_json::Value;
use support::heapdrift;
use support::series::{CHURN, Path10, STEADY, culprit_of_first, diagnose, write_series};

type Row = (&'static str, i64, Path10);

/// A group of goroutines: state, stack (leaf first), creator, how many.
type Group<'a> = (&'a str, &'a str, &'a str, i64);

/// Sampled objects that all stay.
const KEPT: Path10 = |t| (20 + 12 * t, 20 + 12 * t);

/// `goroutine?debug=2`.
fn dump(groups: &[Group]) -> String {
    let mut text = "goroutine 1 [select]:\nmain.main()\n\t/app/main.go:9 +0x1d\n".to_owned();
    let mut number = 1;
    for (state, stack, creator, count) in groups {
        let frames: String = stack
            .split(" < ")
            .map(|frame| format!("{frame}(0xc000010000)\n\t/app/main.go:31 +0x2a\n"))
            .collect();
        for _ in 0..*count {
            number += 1;
            text += &format!(
                "\ngoroutine {number} [{state}]:\n{frames}created by {creator} in goroutine 1\n\t/app/main.go:12 +0x4f\n"
            );
        }
    }
    text
}

fn pattern_of_first(diagnosis: &Value) -> &str {
    diagnosis["findings"][0]["pattern"]
        .as_str()
        .unwrap_or("none")
}

/// The pattern and the culprit of the worst finding.
fn check(rows: &[Row], goroutines: Option<fn(i64) -> String>, pattern: &str, culprit: &str) {
    let diagnosis = judged(rows, goroutines);
    let findings = &diagnosis["findings"];
    assert_eq!(pattern_of_first(&diagnosis), pattern, "{findings:#}");
    assert_eq!(culprit_of_first(&diagnosis), culprit, "{findings:#}");
    let fix = findings[0]["fix"].as_str().unwrap();
    assert!(!fix.is_empty());
}

/// None of the findings is given that pattern.
fn is_not(rows: &[Row], goroutines: Option<fn(i64) -> String>, pattern: &str) {
    let diagnosis = judged(rows, goroutines);
    for finding in diagnosis["findings"].as_array().unwrap() {
        assert_ne!(finding["pattern"], pattern, "{finding:#}");
    }
}

fn judged(rows: &[Row], goroutines: Option<fn(i64) -> String>) -> Value {
    diagnose(&[&[STEADY, CHURN], rows].concat(), goroutines)
}

/// What one snapshot, the last, says.
fn suspects(rows: &[Row], goroutines: Option<fn(i64) -> String>) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path(), &[&[STEADY, CHURN], rows].concat(), goroutines);
    let mut command = heapdrift();
    command
        .arg("diagnose")
        .arg(dir.path().join("09.heap.pb.gz"));
    if goroutines.is_some() {
        command.arg(dir.path().join("09.goroutine.txt"));
    }
    let output = command
        .args(["-f", "json", "--app-module", "example.com/app"])
        .output()
        .unwrap();
    let diagnosis = support::json(&output);
    diagnosis["findings"].as_array().unwrap().clone()
}

fn only_main(_: i64) -> String {
    dump(&[])
}

#[test]
fn compressors() {
    const WRITER: Row = (
        "compress/flate.NewWriter < compress/gzip.(*Writer).Write < main.(*hub).open < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve",
        663_552,
        KEPT,
    );
    const WINDOW: Row = (
        "compress/flate.(*compressor).initDeflate < compress/flate.(*compressor).init < compress/flate.NewWriter < compress/gzip.(*Writer).Write < main.(*hub).open < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve",
        65_536,
        KEPT,
    );
    check(
        &[WRITER, WINDOW],
        None,
        "compressor-per-request",
        "main.(*hub).open",
    );
    let found = suspects(&[WRITER, WINDOW], None);
    assert_eq!(found[0]["pattern"], "compressor-per-request");
    // Those of the profiler itself and of /metrics.
    const PROFILER: Row = (
        "compress/flate.NewWriter < compress/gzip.(*Writer).Write < runtime/pprof.(*profileBuilder).flush < runtime/pprof.writeHeapInternal < main.main",
        663_552,
        KEPT,
    );
    const METRICS: Row = (
        "compress/flate.NewWriter < compress/gzip.(*Writer).Write < github.com/prometheus/client_golang/prometheus/promhttp.HandlerForTransactional.func1 < net/http.HandlerFunc.ServeHTTP",
        663_552,
        KEPT,
    );
    is_not(&[PROFILER], None, "compressor-per-request");
    is_not(&[METRICS], None, "compressor-per-request");
    assert!(suspects(&[PROFILER, METRICS], None).is_empty());
    // Encoders that were not closed have goroutines, and another fix.
    const ENCODER: Row = (
        "github.com/klauspost/compress/zstd.(*fastBase).ensureHist < github.com/klauspost/compress/zstd.(*Encoder).Write < main.(*archive).put < main.main",
        1_048_576,
        KEPT,
    );
    let workers = |t: i64| {
        dump(&[(
            "chan receive",
            "github.com/klauspost/compress/zstd.(*Decoder).startStreamDecoder.func2",
            "github.com/klauspost/compress/zstd.(*Decoder).startStreamDecoder",
            4 + 12 * t,
        )])
    };
    let diagnosis = judged(&[ENCODER], Some(workers));
    assert_eq!(pattern_of_first(&diagnosis), "compressor-per-request");
    let title = diagnosis["findings"][0]["title"].as_str().unwrap();
    assert!(title.contains("never closed"), "{title}");
}

#[test]
fn regular_expressions() {
    const PROGRAM: Row = (
        "regexp/syntax.(*compiler).inst < regexp/syntax.(*compiler).compile < regexp/syntax.Compile < regexp.compile < regexp.Compile < main.(*filters).get < main.serve < main.main",
        4096,
        KEPT,
    );
    const ONE_PASS: Row = (
        "regexp.onePassCopy < regexp.compileOnePass < regexp.compile < regexp.MustCompile < main.(*filters).get < main.serve < main.main",
        3456,
        KEPT,
    );
    check(
        &[PROGRAM, ONE_PASS],
        None,
        "regexp-per-call",
        "main.(*filters).get",
    );
    let found = suspects(&[PROGRAM, ONE_PASS], None);
    assert_eq!(found[0]["pattern"], "regexp-per-call");
    // Package variables, and the working memory of matching.
    const AT_START: Row = (
        "regexp/syntax.(*compiler).inst < regexp/syntax.Compile < regexp.compile < regexp.MustCompile < example.com/app/rules.init < runtime.doInit1 < runtime.main",
        4096,
        |_| (200, 200),
    );
    const MATCHING: Row = (
        "regexp.(*bitState).reset < regexp.(*Regexp).backtrack < regexp.(*Regexp).doExecute < main.serve < main.main",
        32_768,
        KEPT,
    );
    assert!(suspects(&[AT_START], None).is_empty());
    is_not(&[MATCHING], None, "regexp-per-call");
}

#[test]
fn file_watchers() {
    const BUFFER: Row = (
        "github.com/fsnotify/fsnotify.(*inotify).readEvents",
        65_536,
        KEPT,
    );
    const MADE: Row = (
        "github.com/fsnotify/fsnotify.newBackend < github.com/fsnotify/fsnotify.NewWatcher < main.(*config).reload < main.main",
        512,
        |t| (3 + 2 * t, 3 + 2 * t),
    );
    let watchers = |t: i64| {
        dump(&[(
            "syscall",
            "syscall.Read < os.(*File).Read < github.com/fsnotify/fsnotify.(*inotify).readEvents",
            "github.com/fsnotify/fsnotify.newBackend",
            2 + 12 * t,
        )])
    };
    check(
        &[BUFFER, MADE],
        Some(watchers),
        "file-watcher-not-closed",
        "main.(*config).reload",
    );
    assert_eq!(
        suspects(&[BUFFER, MADE], Some(watchers))[0]["pattern"],
        "file-watcher-not-closed"
    );
    // One watcher with ever more paths.
    const PATHS: Row = (
        "github.com/fsnotify/fsnotify.(*inotify).AddWith < github.com/fsnotify/fsnotify.(*Watcher).Add < main.(*config).follow < main.main",
        512,
        KEPT,
    );
    let one = |_: i64| {
        dump(&[(
            "syscall",
            "syscall.Read < os.(*File).Read < github.com/fsnotify/fsnotify.(*inotify).readEvents",
            "github.com/fsnotify/fsnotify.newBackend",
            1,
        )])
    };
    is_not(&[PATHS], Some(one), "file-watcher-not-closed");
}

#[test]
fn exec_streams() {
    const FRAMES: Row = (
        "github.com/moby/spdystream.(*Stream).receiveData < github.com/moby/spdystream.(*Connection).handleDataFrame < github.com/moby/spdystream.(*Connection).Serve",
        32_768,
        KEPT,
    );
    fn sessions(count: i64) -> String {
        let copy = "io.copyBuffer < io.Copy < k8s.io/client-go/tools/remotecommand.(*streamProtocolV2).copyStdout.func1";
        let serve = "io.ReadFull < github.com/moby/spdystream/spdy.(*Framer).ReadFrame < github.com/moby/spdystream.(*Connection).Serve";
        dump(&[
            ("select", copy, "main.(*prober).exec", count),
            ("IO wait", serve, "main.(*prober).exec", count),
        ])
    }
    check(
        &[FRAMES],
        Some(|t| sessions(3 + 15 * t)),
        "exec-stream-goroutines",
        "main.(*prober).exec",
    );
    // Sessions in use: as many as before.
    is_not(&[FRAMES], Some(|_| sessions(30)), "exec-stream-goroutines");
    assert!(suspects(&[FRAMES], Some(|_| sessions(30))).is_empty());
}

/// A request that waits for a mutex.
const AT_LOCK: &str = "sync.runtime_SemacquireMutex < internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.(*cache).get < main.serve < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve";

#[test]
fn waiting_for_a_lock() {
    const BODY: Row = (
        "io.ReadAll < main.serve < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve",
        16_384,
        KEPT,
    );
    let waiting = |t: i64| {
        dump(&[(
            "sync.Mutex.Lock",
            AT_LOCK,
            "net/http.(*Server).Serve",
            5 + 40 * t,
        )])
    };
    let diagnosis = judged(&[BODY], Some(waiting));
    let findings = diagnosis["findings"].as_array().unwrap();
    let named: Vec<_> = findings.iter().map(|f| f["pattern"].as_str()).collect();
    assert_eq!(named, [Some("lock-pile-up")], "{findings:#?}");
    assert_eq!(
        culprit_of_first(&judged(&[], Some(waiting))),
        "main.(*cache).get"
    );
    assert_eq!(
        pattern_of_first(&judged(&[], Some(waiting))),
        "lock-pile-up"
    );
    // Contention: they come and go.
    let contention = |t: i64| {
        let count = [40, 90, 20, 70, 35, 95, 10, 60, 80, 45][t as usize];
        dump(&[(
            "sync.Mutex.Lock",
            AT_LOCK,
            "net/http.(*Server).Serve",
            count,
        )])
    };
    is_not(&[BODY], Some(contention), "lock-pile-up");
    assert!(suspects(&[BODY], Some(contention)).is_empty());
    // They wait on a channel.
    let blocked = |t: i64| {
        let stack = "main.(*hub).publish < main.serve < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve";
        dump(&[("chan send", stack, "net/http.(*Server).Serve", 5 + 40 * t)])
    };
    is_not(&[BODY], Some(blocked), "lock-pile-up");
    // A leak elsewhere is another finding.
    const KEEP: Row = ("main.keep < main.tick < main.main", 4096, KEPT);
    let diagnosis = judged(&[KEEP], Some(waiting));
    let keep = diagnosis["findings"].as_array().unwrap().iter();
    let keep: Vec<_> = keep
        .filter(|f| f["culprit"]["function"] == "main.keep")
        .collect();
    assert_eq!(keep.len(), 1, "{diagnosis:#}");
    assert_ne!(keep[0]["pattern"], "lock-pile-up");
}

#[test]
fn idle_connections() {
    const READER: Row = (
        "bufio.NewReaderSize < net/http.newBufioReader < net/http.(*conn).serve",
        4096,
        KEPT,
    );
    const WRITER: Row = (
        "bufio.NewWriterSize < net/http.newBufioWriterSize < net/http.(*conn).serve",
        4096,
        KEPT,
    );
    const IDLE: &str = "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < net/http.(*connReader).Read < bufio.(*Reader).fill < bufio.(*Reader).Peek < net/http.(*conn).serve";
    let idle = |t: i64| dump(&[("IO wait", IDLE, "net/http.(*Server).Serve", 10 + 40 * t)]);
    check(
        &[READER, WRITER],
        Some(idle),
        "idle-server-connections",
        "net/http.(*conn).serve",
    );
    assert!(suspects(&[READER, WRITER], Some(idle)).is_empty());
    // Of two servers it is the one that accepts more and more.
    const ACCEPTED: Row = (
        "net.sockaddrToTCP < net.(*netFD).accept < net.(*TCPListener).Accept < net/http.(*Server).Serve < main.(*edge).Run",
        48,
        KEPT,
    );
    const METRICS: Row = (
        "net.sockaddrToTCP < net.(*netFD).accept < net.(*TCPListener).Accept < net/http.(*Server).Serve < main.serveMetrics",
        48,
        |_| (40, 40),
    );
    check(
        &[READER, WRITER, METRICS, ACCEPTED],
        Some(idle),
        "idle-server-connections",
        "main.(*edge).Run",
    );
    check(
        &[READER, WRITER, METRICS],
        Some(idle),
        "idle-server-connections",
        "net/http.(*conn).serve",
    );
    // They are inside a handler that reads a body.
    let busy = |t: i64| {
        let stack = "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < net/http.(*connReader).Read < bufio.(*Reader).Read < net/http.(*body).Read < main.serve < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve";
        dump(&[("IO wait", stack, "net/http.(*Server).Serve", 10 + 40 * t)])
    };
    is_not(&[READER, WRITER], Some(busy), "idle-server-connections");
}

#[test]
fn an_array_that_is_only_appended_to() {
    // Full arrays are copied into ones of 1.5 times the size; one lives at a time.
    const SIZES: [(&str, i64, Path10); 5] = [
        ("main.(*trail).note < main.main", 8 << 20, |t| {
            (1, i64::from(t < 2))
        }),
        ("main.(*trail).note < main.main", 12 << 20, |t| {
            (i64::from(t >= 2), i64::from((2..4).contains(&t)))
        }),
        ("main.(*trail).note < main.main", 18 << 20, |t| {
            (i64::from(t >= 4), i64::from((4..6).contains(&t)))
        }),
        ("main.(*trail).note < main.main", 27 << 20, |t| {
            (i64::from(t >= 6), i64::from((6..8).contains(&t)))
        }),
        ("main.(*trail).note < main.main", 40 << 20, |t| {
            (i64::from(t >= 8), i64::from(t >= 8))
        }),
    ];
    check(&SIZES, None, "append-only-slice", "main.(*trail).note");
    assert!(suspects(&SIZES, None).is_empty());
    // Large blocks that are kept one by one are not copied.
    const BLOCKS: Row = ("main.(*store).load < main.main", 2 << 20, |t| {
        (2 + 3 * t, 2 + 3 * t)
    });
    is_not(&[BLOCKS], None, "append-only-slice");
    // A batch is dropped when it is full.
    const BATCH: [(&str, i64, Path10); 2] = [
        ("main.(*batch).add < main.main", 8 << 20, |t| {
            (1 + t / 2, (t + 1) % 2)
        }),
        ("main.(*batch).add < main.main", 16 << 20, |t| {
            ((t + 1) / 2, t % 2)
        }),
    ];
    is_not(&BATCH, None, "append-only-slice");
}

#[test]
fn entries_of_a_log_that_a_hook_keeps() {
    const LINES: Row = (
        "github.com/sirupsen/logrus.(*Entry).String < main.(*recorder).Fire < github.com/sirupsen/logrus.(*Entry).fireHooks < github.com/sirupsen/logrus.(*Entry).log < main.serve",
        896,
        KEPT,
    );
    check(&[LINES], None, "append-only-slice", "main.(*recorder).Fire");
    assert!(suspects(&[LINES], None).is_empty());
    // It hands them on, and lets go of them.
    const SENT: Row = (LINES.0, 896, |t| (800 * (t + 1), 20 + 12 * t));
    is_not(&[SENT], None, "append-only-slice");
    // Who keeps them may have a map for them.
    const KNOWN: Row = (
        "github.com/sirupsen/logrus.(*Entry).String < main.(*sessions).describe < main.serve",
        896,
        KEPT,
    );
    is_not(&[KNOWN], None, "append-only-slice");
}

#[test]
fn subscriptions() {
    const SUBSCRIPTION: Row = (
        "main.(*bus).Subscribe < main.(*session).run < main.main",
        1024,
        KEPT,
    );
    check(
        &[SUBSCRIPTION],
        None,
        "subscriptions-never-removed",
        "main.(*bus).Subscribe",
    );
    assert!(suspects(&[SUBSCRIPTION], None).is_empty());
    // What the subscribed function does when it is called is something else.
    const CALLED: Row = (
        "main.(*session).onPrice < main.(*bus).deliver < main.main",
        1024,
        KEPT,
    );
    is_not(&[CALLED], None, "subscriptions-never-removed");
    // All subscribe at once, and that is it.
    const ONCE: Row = (
        "main.(*bus).Subscribe < main.start < main.main",
        1024,
        |t| {
            let count = 20 + 90 * i64::from(t > 4);
            (count, count)
        },
    );
    is_not(&[ONCE], None, "subscriptions-never-removed");
}

#[test]
fn buffers_that_are_kept() {
    const BODY: Row = (
        "io.ReadAll < main.(*index).add < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve",
        12_288,
        |t| (60 * (t + 1), 20 + 12 * t),
    );
    check(
        &[BODY],
        Some(only_main),
        "retained-buffer",
        "main.(*index).add",
    );
    assert!(suspects(&[BODY], Some(only_main)).is_empty());
    // Requests that hang have goroutines that hang.
    let hanging = |t: i64| {
        let stack = "main.(*index).add < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve";
        dump(&[("select", stack, "net/http.(*Server).Serve", 5 + 40 * t)])
    };
    is_not(&[BODY], Some(hanging), "retained-buffer");
    // Small values that are read are no buffers, and a pool's buffers are reused.
    const SMALL: Row = ("io.ReadAll < main.(*index).add < main.main", 512, KEPT);
    is_not(&[SMALL], Some(only_main), "retained-buffer");
    const POOLED: Row = (
        "bytes.growSlice < bytes.(*Buffer).grow < main.newBuffer < sync.(*Pool).Get < main.serve < main.main",
        65_536,
        KEPT,
    );
    is_not(&[POOLED], Some(only_main), "retained-buffer");
    // Without a goroutine dump it cannot be said, and that is said.
    let diagnosis = judged(&[BODY], None);
    assert_eq!(pattern_of_first(&diagnosis), "none");
    let steps = diagnosis["next_steps"].to_string();
    assert!(steps.contains("retained-buffer"), "{steps}");
}

#[test]
fn a_queue_without_a_bound() {
    const JOB: Row = (
        "main.(*mailQueue).put < main.(*api).order < main.main",
        2048,
        |t| (40 * (t + 1), 20 + 12 * t),
    );
    const ENTRY: Row = (
        "container/list.(*List).insertValue < container/list.(*List).PushBack < main.(*mailQueue).put < main.(*api).order < main.main",
        48,
        |t| (t, t / 2),
    );
    check(
        &[JOB, ENTRY],
        None,
        "unbounded-work-queue",
        "main.(*mailQueue).put",
    );
    assert!(suspects(&[JOB, ENTRY], None).is_empty());
    // An LRU cache has a list as well, and puts new entries at its front.
    const LRU: Row = (
        "container/list.(*List).insertValue < container/list.(*List).PushFront < main.(*lru).add < main.main",
        48,
        KEPT,
    );
    is_not(&[LRU], None, "unbounded-work-queue");
    // client-go's queue has a pattern of its own.
    const WORKQUEUE: Row = (
        "k8s.io/client-go/util/workqueue.(*delayingType).AddAfter < main.(*controller).enqueue < main.main",
        512,
        KEPT,
    );
    is_not(&[WORKQUEUE], None, "unbounded-work-queue");
    // A burst that is worked off.
    const BURST: Row = ("main.(*mailQueue).put < main.main", 2048, |t| {
        let waiting = [20, 80, 140, 90, 30, 20, 80, 150, 80, 25][t as usize];
        (60 * (t + 1), waiting)
    });
    is_not(&[BURST], None, "unbounded-work-queue");
}

#[test]
fn websocket_connections() {
    const CONNECTION: Row = (
        "github.com/gorilla/websocket.newConn < github.com/gorilla/websocket.(*Upgrader).Upgrade < main.(*hub).serve < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve",
        4096,
        KEPT,
    );
    const READ: &str = "internal/poll.(*FD).Read < net.(*conn).Read < bufio.(*Reader).Peek < github.com/gorilla/websocket.(*Conn).advanceFrame < github.com/gorilla/websocket.(*Conn).NextReader < main.(*client).read < main.(*hub).serve < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve";
    let same = |t: i64| {
        let count = [30, 33, 28, 31, 30, 29, 32, 30, 31, 30][t as usize];
        dump(&[("IO wait", READ, "net/http.(*Server).Serve", count)])
    };
    check(
        &[CONNECTION],
        Some(same),
        "websocket-hub-not-unregistered",
        "main.(*hub).serve",
    );
    assert!(suspects(&[CONNECTION], Some(same)).is_empty());
    // There are more clients.
    let more = |t: i64| dump(&[("IO wait", READ, "net/http.(*Server).Serve", 30 + 12 * t)]);
    is_not(&[CONNECTION], Some(more), "websocket-hub-not-unregistered");
}

#[test]
fn pools_of_database_sql() {
    const POOL: Row = (
        "database/sql.OpenDB < database/sql.Open < main.(*store).count < main.main",
        1024,
        KEPT,
    );
    const OPENER: &str = "database/sql.(*DB).connectionOpener";
    let more = |t: i64| dump(&[("select", OPENER, "database/sql.OpenDB", 1 + 12 * t)]);
    check(
        &[POOL],
        Some(more),
        "sql-open-per-query",
        "main.(*store).count",
    );
    assert_eq!(
        suspects(&[POOL], Some(more))[0]["pattern"],
        "sql-open-per-query"
    );
    let tenants = |_: i64| dump(&[("select", OPENER, "database/sql.OpenDB", 40)]);
    is_not(&[POOL], Some(tenants), "sql-open-per-query");
    assert!(suspects(&[POOL], Some(tenants)).is_empty());
}

#[test]
fn rows_and_transactions_of_database_sql() {
    const CONNECTION: Row = (
        "github.com/go-sql-driver/mysql.newBuffer < github.com/go-sql-driver/mysql.(*connector).Connect < database/sql.(*DB).conn < database/sql.(*DB).query < database/sql.(*DB).QueryContext < main.(*store).names < main.main",
        4096,
        KEPT,
    );
    fn waiting(count: i64) -> Group<'static> {
        let stack = "database/sql.(*Rows).awaitDone";
        (
            "select",
            stack,
            "database/sql.(*Rows).initContextClose",
            count,
        )
    }
    let rows = |t: i64| dump(&[waiting(2 + 12 * t)]);
    check(
        &[CONNECTION],
        Some(rows),
        "sql-rows-not-closed",
        "main.(*store).names",
    );
    let busy = |_: i64| dump(&[waiting(60)]);
    is_not(&[CONNECTION], Some(busy), "sql-rows-not-closed");
    assert!(suspects(&[CONNECTION], Some(busy)).is_empty());
    let transactions = |t: i64| {
        let stack = "database/sql.(*Tx).awaitDone";
        dump(&[("select", stack, "database/sql.(*DB).beginDC", 2 + 12 * t)])
    };
    let diagnosis = judged(&[CONNECTION], Some(transactions));
    assert_eq!(pattern_of_first(&diagnosis), "sql-rows-not-closed");
    let fix = diagnosis["findings"][0]["fix"].as_str().unwrap();
    assert!(fix.contains("tx.Rollback"), "{fix}");
}

#[test]
fn statements_of_database_sql() {
    const STATEMENT: Row = (
        "database/sql.(*DB).prepareDC < database/sql.(*DB).prepare < database/sql.(*DB).PrepareContext < main.(*store).name < main.main",
        512,
        KEPT,
    );
    check(
        &[STATEMENT],
        None,
        "sql-statements-not-closed",
        "main.(*store).name",
    );
    assert_eq!(
        suspects(&[(STATEMENT.0, 16_384, KEPT)], None)[0]["pattern"],
        "sql-statements-not-closed"
    );
    const QUERY: Row = (
        "database/sql.(*DB).queryDC < database/sql.(*DB).QueryContext < main.(*store).name < main.main",
        512,
        KEPT,
    );
    is_not(&[QUERY], None, "sql-statements-not-closed");
}

#[test]
fn streams_of_grpc() {
    const STREAM: Row = (
        "google.golang.org/grpc.newClientStreamWithParams < google.golang.org/grpc.newClientStream < google.golang.org/grpc.(*ClientConn).NewStream < main.(*mirror).first < main.main",
        1024,
        KEPT,
    );
    const OPEN: &str = "google.golang.org/grpc.newClientStreamWithParams.func4";
    const MAKER: &str = "google.golang.org/grpc.newClientStreamWithParams";
    let more = |t: i64| dump(&[("select", OPEN, MAKER, 3 + 20 * t)]);
    check(
        &[STREAM],
        Some(more),
        "grpc-stream-not-finished",
        "main.(*mirror).first",
    );
    let watches = |_: i64| dump(&[("select", OPEN, MAKER, 200)]);
    is_not(&[STREAM], Some(watches), "grpc-stream-not-finished");
    assert!(suspects(&[STREAM], Some(watches)).is_empty());
}

#[test]
fn leases_of_etcd() {
    const LEASE: Row = (
        "go.etcd.io/etcd/client/v3.(*lessor).KeepAlive < main.(*agent).renew < main.main",
        512,
        KEPT,
    );
    const CLOSER: &str = "go.etcd.io/etcd/client/v3.(*lessor).keepAliveCtxCloser";
    const LESSOR: &str = "go.etcd.io/etcd/client/v3.(*lessor).KeepAlive";
    let more = |t: i64| dump(&[("select", CLOSER, LESSOR, 2 + 15 * t)]);
    check(
        &[LEASE],
        Some(more),
        "etcd-lease-kept-alive",
        "main.(*agent).renew",
    );
    let same = |_: i64| dump(&[("select", CLOSER, LESSOR, 40)]);
    is_not(&[LEASE], Some(same), "etcd-lease-kept-alive");
    assert!(suspects(&[LEASE], Some(same)).is_empty());
    // A session for each lock: another fix.
    let sessions = |t: i64| {
        let session = "go.etcd.io/etcd/client/v3/concurrency.NewSession.func1";
        let maker = "go.etcd.io/etcd/client/v3/concurrency.NewSession";
        dump(&[
            ("select", CLOSER, LESSOR, 2 + 15 * t),
            ("chan receive", session, maker, 2 + 15 * t),
        ])
    };
    let diagnosis = judged(&[LEASE], Some(sessions));
    let title = diagnosis["findings"][0]["title"].as_str().unwrap();
    assert!(title.contains("Sessions of etcd"), "{title}");
}

#[test]
fn schemas_of_kubernetes() {
    const SCHEMA: Row = (
        "github.com/google/gnostic/openapiv2.NewDocument < k8s.io/kube-openapi/pkg/util/proto.NewOpenAPIData < k8s.io/client-go/discovery.(*DiscoveryClient).OpenAPISchema < main.(*reconciler).apply < main.main",
        4096,
        KEPT,
    );
    check(
        &[SCHEMA],
        None,
        "openapi-per-reconcile",
        "main.(*reconciler).apply",
    );
    // One schema, parsed at the first apply.
    const ONCE: Row = (SCHEMA.0, 4096, |_| (30, 30));
    assert!(suspects(&[ONCE], None).is_empty());
    is_not(&[ONCE], None, "openapi-per-reconcile");
}

#[test]
fn whole_objects() {
    const FIELDS: Row = (
        "k8s.io/apimachinery/pkg/apis/meta/v1.(*FieldsV1).Unmarshal < k8s.io/apimachinery/pkg/apis/meta/v1.(*ManagedFieldsEntry).Unmarshal < k8s.io/apimachinery/pkg/apis/meta/v1.(*ObjectMeta).Unmarshal < k8s.io/api/core/v1.(*Pod).Unmarshal < k8s.io/client-go/tools/cache.(*Reflector).list",
        1024,
        KEPT,
    );
    check(
        &[FIELDS],
        Some(only_main),
        "whole-object-cache",
        "k8s.io/client-go/tools/cache.(*Reflector).list",
    );
    // The store grows by what is used.
    const SPEC: Row = (
        "k8s.io/api/core/v1.(*PodSpec).Unmarshal < k8s.io/api/core/v1.(*Pod).Unmarshal < k8s.io/client-go/tools/cache.(*Reflector).list",
        1024,
        KEPT,
    );
    is_not(&[SPEC], Some(only_main), "whole-object-cache");
    // The cluster's size, which is reached.
    const FILLED: Row = (FIELDS.0, 1024, |t| {
        let filled = [0, 79, 126, 155, 173, 184, 190, 194, 196, 198][t as usize];
        (20 + filled, 20 + filled)
    });
    is_not(&[FILLED], Some(only_main), "whole-object-cache");
}

#[test]
fn copies_of_whole_objects() {
    const COPIES: Row = (
        "k8s.io/api/core/v1.(*Pod).DeepCopy < main.(*history).remember < main.main",
        1280,
        KEPT,
    );
    check(
        &[COPIES],
        Some(only_main),
        "whole-object-cache",
        "main.(*history).remember",
    );
    assert!(suspects(&[COPIES], Some(only_main)).is_empty());
    // Copies to work on are dropped; a few are in use at a time, more as the load rises.
    const WORK: Row = (COPIES.0, 1280, |t| (900 * (t + 1), 20 + 12 * t));
    is_not(&[WORK], Some(only_main), "whole-object-cache");
    // One for each object: it ends when there is one of each.
    const FILLED: Row = (COPIES.0, 1280, |t| {
        let filled = [0, 79, 126, 155, 173, 184, 190, 194, 196, 198][t as usize];
        (20 + filled, 20 + filled)
    });
    is_not(&[FILLED], Some(only_main), "whole-object-cache");
    // What was decoded meanwhile is no part of that, and does not make it last.
    const DECODED: Row = (
        "k8s.io/api/core/v1.(*PodSpec).Unmarshal < k8s.io/api/core/v1.(*Pod).Unmarshal < k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
        1024,
        |t| (40 * (t + 1), 40),
    );
    is_not(&[FILLED, DECODED], Some(only_main), "whole-object-cache");
}

/// Copies level off in this window by chance; the strings that they share with what was decoded
/// grow on, and both together do.
#[test]
fn a_general_pattern_goes_by_all_the_growth_that_it_explains() {
    const COPIES: Row = (
        "k8s.io/api/core/v1.(*Pod).DeepCopy < main.(*history).remember < main.main",
        1280,
        |t| {
            let copies = [0, 6, 12, 18, 30, 42, 54, 56, 57, 58][t as usize];
            (20 + copies, 20 + copies)
        },
    );
    is_not(&[COPIES], Some(only_main), "whole-object-cache");
    const STRINGS: Row = (
        "k8s.io/api/core/v1.(*EnvVar).Unmarshal < k8s.io/api/core/v1.(*Pod).Unmarshal < k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
        16,
        KEPT,
    );
    check(
        &[COPIES, STRINGS],
        Some(only_main),
        "whole-object-cache",
        "main.(*history).remember",
    );
}

#[test]
fn old_generations() {
    const ROUTES: Row = (
        "main.newServerGroup < main.(*proxy).reload < main.main",
        2048,
        KEPT,
    );
    fn generations(count: i64, senders: i64) -> String {
        let run = "github.com/prometheus/prometheus/discovery.(*Manager).Run";
        let sender = "github.com/prometheus/prometheus/discovery.(*Manager).sender";
        dump(&[
            ("chan receive", run, "main.(*proxy).reload", count),
            ("select", sender, run, senders),
        ])
    }
    check(
        &[ROUTES],
        Some(|t| generations(1 + 10 * t, 1 + 10 * t)),
        "old-generation-running",
        "main.(*proxy).reload",
    );
    // Targets become more, the managers do not.
    is_not(
        &[ROUTES],
        Some(|t| generations(3, 3 + 10 * t)),
        "old-generation-running",
    );
    assert!(suspects(&[ROUTES], Some(|_| generations(60, 60))).is_empty());
}

#[test]
fn what_a_reload_started() {
    const TABLE: Row = (
        "main.newTable < main.(*proxy).Reload < main.main",
        2048,
        KEPT,
    );
    fn loops(health: i64, refresh: i64, creator: &str) -> String {
        dump(&[
            (
                "select",
                "main.every < main.(*proxy).checkHealth",
                creator,
                health,
            ),
            (
                "select",
                "main.every < main.(*proxy).refresh",
                creator,
                refresh,
            ),
        ])
    }
    check(
        &[TABLE],
        Some(|t| loops(2 + 10 * t, 2 + 10 * t, "main.(*proxy).Reload")),
        "old-generation-running",
        "main.(*proxy).Reload",
    );
    // Of a backend there are several.
    check(
        &[TABLE],
        Some(|t| loops(3 * (2 + 10 * t), 2 + 10 * t, "main.(*proxy).Reload")),
        "old-generation-running",
        "main.(*proxy).Reload",
    );
    // One loop alone waits for something of its own.
    is_not(
        &[TABLE],
        Some(|t| loops(2 + 10 * t, 1, "main.(*proxy).Reload")),
        "old-generation-running",
    );
    // Not as many of the one as of the other.
    is_not(
        &[TABLE],
        Some(|t| loops(2 + 10 * t, 20 + 3 * t, "main.(*proxy).Reload")),
        "old-generation-running",
    );
    // They come with connections, not with configurations.
    is_not(
        &[TABLE],
        Some(|t| loops(2 + 10 * t, 2 + 10 * t, "main.(*proxy).accept")),
        "old-generation-running",
    );
    assert!(suspects(&[TABLE], Some(|_| loops(90, 90, "main.(*proxy).Reload"))).is_empty());
}

#[test]
fn managers_of_controller_runtime() {
    const MANAGER: &str = "sigs.k8s.io/controller-runtime/pkg/manager";
    fn managers(count: i64, informers: i64) -> String {
        let group = format!("{MANAGER}.(*runnableGroup).reconcile");
        let start = format!("{MANAGER}.(*controllerManager).Start");
        let cache = "sigs.k8s.io/controller-runtime/pkg/cache/internal.(*Informers).Start";
        let reflector = "k8s.io/client-go/tools/cache.(*Reflector).ListAndWatchWithContext";
        let receive = "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive";
        let group_start = format!("{MANAGER}.(*runnableGroup).Start");
        dump(&[
            ("select", &start, "main.(*supervisor).reload", count),
            ("chan receive", &group, &group_start, 6 * count),
            (
                "chan receive",
                cache,
                "golang.org/x/sync/errgroup.(*Group).Go",
                2 * count,
            ),
            (
                "select",
                reflector,
                "k8s.io/apimachinery/pkg/util/wait.(*Group).Start",
                informers,
            ),
            (
                "select",
                receive,
                "k8s.io/apimachinery/pkg/watch.NewStreamWatcher",
                informers,
            ),
        ])
    }
    let (pattern, culprit) = ("old-generation-running", "main.(*supervisor).reload");
    check(&[], Some(|t| managers(3 + t, 3 + t)), pattern, culprit);
    // Each has informers, which are to be stopped with it.
    check(
        &[],
        Some(|t| managers(3 + 5 * t, 3 + 5 * t)),
        pattern,
        culprit,
    );
    // One manager whose informers become more.
    is_not(&[], Some(|t| managers(1, 3 + 5 * t)), pattern);
}

/// Goroutines of a connection that no pattern names come with those that one does.
#[test]
fn goroutines_in_step_with_a_pattern_belong_to_it() {
    fn connections(count: i64, other: &str, creator: &str, others: i64) -> String {
        let transport = "google.golang.org/grpc/internal/transport";
        let reader = format!("{transport}.(*http2Client).reader");
        let new_client = format!("{transport}.newHTTP2Client");
        dump(&[
            ("IO wait", &reader, &new_client, count),
            ("select", other, creator, others),
        ])
    }
    fn found(goroutines: fn(i64) -> String) -> usize {
        let diagnosis = judged(&[], Some(goroutines));
        let findings = diagnosis["findings"].as_array().unwrap();
        let is_named = |finding: &&Value| finding["pattern"] == "grpc-connection-per-call";
        assert_eq!(findings.iter().filter(is_named).count(), 1, "{findings:#?}");
        findings.len()
    }
    const SERIALIZER: &str = "google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run";
    const NEW: &str = "google.golang.org/grpc/internal/grpcsync.NewCallbackSerializer";
    // Three for each.
    assert_eq!(
        found(|t| connections(5 + 10 * t, SERIALIZER, NEW, 15 + 30 * t)),
        1
    );
    // As often in the end, but not all the way.
    assert_eq!(
        found(|t| connections(5 + 10 * t, SERIALIZER, NEW, 60 + 25 * t)),
        2
    );
    // The program's own are a finding of their own: it says whose they are.
    assert_eq!(
        found(|t| connections(
            5 + 10 * t,
            "main.(*feed).run",
            "main.(*feed).Start",
            15 + 30 * t
        )),
        2
    );
}
