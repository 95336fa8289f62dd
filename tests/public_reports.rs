//! Public leak reports, as far as they can be told from what was pasted there.
//!
//! The texts are ours, written from the frames and figures that the reports quote. A row whose
//! pattern is not in the catalogue is skipped, and says so.

mod support;

use heapdrift::pattern::Catalogue;
use serde_json::Value;
use support::{diagnose, skipped};

struct Report {
    /// Where it was reported.
    from: &'static str,
    /// Texts of one moment each.
    texts: Vec<String>,
    pattern: &'static str,
}

/// `pprof top` of a heap: total, and rows of flat, cum (both MB) and name.
fn top(total: f64, rows: &[(f64, f64, &str)]) -> String {
    let shown: f64 = rows.iter().map(|(flat, ..)| flat).sum();
    let mut text = format!(
        "(pprof) top\nShowing nodes accounting for {shown:.2}MB, {:.2}% of {total:.2}MB total\n\
         flat  flat%   sum%        cum   cum%\n",
        100.0 * shown / total
    );
    let mut sum = 0.0;
    for (flat, cum, name) in rows {
        sum += flat;
        let share = |value: f64| 100.0 * value / total;
        text.push_str(&format!(
            "{flat:.2}MB {:.2}% {:.2}% {cum:.2}MB {:.2}% {name}\n",
            share(*flat),
            share(sum),
            share(*cum)
        ));
    }
    text
}

/// `goroutine?debug=2`: groups of number, header, frames (leaf first) and creator.
fn dump(groups: &[(u32, &str, &[&str], &str)]) -> String {
    let mut text = String::from("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n");
    let mut id = 2;
    for (count, state, frames, creator) in groups {
        for _ in 0..*count {
            text.push_str(&format!("goroutine {id} [{state}]:\n"));
            for frame in *frames {
                text.push_str(&format!(
                    "{frame}(0xc000{id:06x})\n\t/src/{}.go:41 +0x1d\n",
                    place_of(frame)
                ));
            }
            text.push_str(&format!(
                "created by {creator} in goroutine 1\n\t/src/x.go:7 +0x9d\n\n"
            ));
            id += 1;
        }
    }
    text
}

/// The path of a package, as a build from a module cache has it.
fn place_of(frame: &str) -> String {
    let slash = frame.rfind('/').map_or(0, |at| at + 1);
    let end = frame[slash..]
        .find('.')
        .map_or(frame.len(), |dot| slash + dot);
    let package = &frame[..end];
    match package.starts_with("k8s.io/") || package.starts_with("google.golang.org/") {
        true => format!("mod/{package}@v0.19.0/x"),
        false => format!("{package}/x"),
    }
}

/// `pprof -raw` of a heap profile: values (alloc objects and bytes, in-use objects and bytes),
/// object size, and the stack, leaf first.
fn raw(minute: u32, rows: &[([i64; 4], u64, &[&str])]) -> String {
    let mut samples = String::new();
    let mut locations = String::new();
    let mut id = 0;
    for ([a, b, c, d], size, stack) in rows {
        let ids: Vec<String> = stack
            .iter()
            .map(|name| {
                id += 1;
                locations.push_str(&format!(
                    "{id:>6}: {:#x} M=1 {name} /src/{}.go:41:0 s=7\n",
                    4096 + id,
                    place_of(name)
                ));
                id.to_string()
            })
            .collect();
        samples.push_str(&format!(
            " {a:>10} {b:>10} {c:>10} {d:>10}: {} \n{:16}bytes:[{size}]\n",
            ids.join(" "),
            ""
        ));
    }
    format!(
        "PeriodType: space bytes\nPeriod: 524288\nTime: 2026-01-02 03:{minute:02}:00 +0000 UTC\nSamples:\n\
         alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes\n\
         {samples}Locations\n{locations}Mappings\n1: 0x400000/0x800000/0x0 /app/server  [FN]\n"
    )
}

const RECEIVE: &str = "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive";
const LISTENER: &str = "k8s.io/client-go/tools/cache.(*processorListener).run";

fn reports() -> Vec<Report> {
    let one = |from, pattern, text| Report {
        from,
        texts: vec![text],
        pattern,
    };
    let mut all = vec![
        one(
            "kubernetes-sigs/controller-runtime#1122",
            "logger-promise-chain",
            top(
                66.56,
                &[
                    (
                        20.0,
                        40.44,
                        "sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).reconcileHandler",
                    ),
                    (
                        16.44,
                        16.44,
                        "sigs.k8s.io/controller-runtime/pkg/log.(*loggerPromise).WithValues",
                    ),
                    (
                        6.05,
                        6.05,
                        "k8s.io/apimachinery/pkg/runtime.(*RawExtension).UnmarshalJSON",
                    ),
                    (5.0, 5.0, "runtime.allocm"),
                    (
                        3.0,
                        19.44,
                        "sigs.k8s.io/controller-runtime/pkg/log.(*DelegatingLogger).WithValues",
                    ),
                ],
            ),
        ),
        one(
            "cloudnativelabs/kube-router#795",
            "backed-up-informer",
            top(
                310.0,
                &[
                    (96.5, 96.5, "reflect.unsafe_New"),
                    (71.0, 133.5, "k8s.io/api/core/v1.(*PodSpec).Unmarshal"),
                    (
                        60.0,
                        60.0,
                        "k8s.io/apimachinery/pkg/apis/meta/v1.(*ObjectMeta).Unmarshal",
                    ),
                    (
                        0.0,
                        268.0,
                        "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive",
                    ),
                ],
            ) + "\nand what the goroutines do:\n\n"
                + &dump(&[
                    (
                        1,
                        "syscall, 1 minutes",
                        &[
                            "os/exec.(*Cmd).Run",
                            "github.com/cloudnativelabs/kube-router/pkg/controllers/netpol.(*NetworkPolicyController).OnPodUpdate",
                            "k8s.io/client-go/tools/cache.ResourceEventHandlerFuncs.OnUpdate",
                            LISTENER,
                        ],
                        "k8s.io/apimachinery/pkg/util/wait.(*Group).Start",
                    ),
                    (
                        3,
                        "IO wait",
                        &["net/http.(*body).Read", RECEIVE],
                        "k8s.io/apimachinery/pkg/watch.NewStreamWatcher",
                    ),
                ]),
        ),
        one(
            "projectcalico/calico#1057",
            "stale-watchers",
            dump(&[
                (
                    412,
                    "chan send, 187 minutes",
                    &[RECEIVE],
                    "k8s.io/apimachinery/pkg/watch.NewStreamWatcher",
                ),
                (
                    412,
                    "select, 187 minutes",
                    &["net/http.(*persistConn).readLoop"],
                    "net/http.(*Transport).dialConn",
                ),
                (
                    412,
                    "select, 187 minutes",
                    &["net/http.(*persistConn).writeLoop"],
                    "net/http.(*Transport).dialConn",
                ),
            ]),
        ),
        one(
            "kuberhealthy/kuberhealthy#533",
            "goroutine-blocked-on-channel",
            dump(&[(
                230,
                "chan send, 312 minutes",
                &[
                    "github.com/kuberhealthy/kuberhealthy/pkg/checks/external.(*Checker).startWatcher.func1",
                ],
                "github.com/kuberhealthy/kuberhealthy/pkg/checks/external.(*Checker).startWatcher",
            )]),
        ),
        one(
            "kubernetes-sigs/controller-runtime#3441",
            "client-per-call",
            top(
                420.0,
                &[
                    (92.0, 92.0, "bufio.NewReaderSize"),
                    (88.0, 88.0, "bufio.NewWriterSize"),
                    (64.0, 70.0, "crypto/x509.parseCertificate"),
                    (31.0, 31.0, "crypto/tls.(*Config).Clone"),
                    (12.0, 290.0, "net/http.(*Transport).dialConn"),
                ],
            ) + "\n"
                + &dump(&[
                    (
                        640,
                        "select, 12 minutes",
                        &["net/http.(*persistConn).readLoop"],
                        "net/http.(*Transport).dialConn",
                    ),
                    (
                        640,
                        "select, 12 minutes",
                        &["net/http.(*persistConn).writeLoop"],
                        "net/http.(*Transport).dialConn",
                    ),
                ]),
        ),
        one(
            "kubernetes/kubernetes#109289",
            "tls-transport-cache",
            top(
                512.0,
                &[
                    (160.0, 160.0, "crypto/x509.(*CertPool).addCertFunc"),
                    (120.0, 130.0, "crypto/x509.parseCertificate"),
                    (60.0, 60.0, "crypto/tls.(*Config).Clone"),
                    (
                        8.0,
                        380.0,
                        "k8s.io/client-go/transport.(*tlsTransportCache).get",
                    ),
                    (2.0, 390.0, "k8s.io/client-go/rest.TransportFor"),
                ],
            ),
        ),
        one(
            "argoproj/argo-workflows#15194",
            "metric-label-cardinality",
            top(
                900.0,
                &[
                    (
                        310.0,
                        540.0,
                        "github.com/prometheus/client_golang/prometheus.(*metricMap).getOrCreateMetricWithLabelValues",
                    ),
                    (
                        180.0,
                        180.0,
                        "github.com/prometheus/client_golang/prometheus.MakeLabelPairs",
                    ),
                    (
                        120.0,
                        150.0,
                        "github.com/prometheus/client_golang/prometheus.newHistogram",
                    ),
                ],
            ),
        ),
        one(
            "kubernetes-sigs/descheduler#884",
            "event-broadcaster-per-call",
            top(
                260.0,
                &[
                    (
                        110.0,
                        110.0,
                        "k8s.io/apimachinery/pkg/watch.(*Broadcaster).Watch",
                    ),
                    (
                        60.0,
                        60.0,
                        "k8s.io/apimachinery/pkg/watch.NewLongQueueBroadcaster",
                    ),
                    (8.0, 190.0, "k8s.io/client-go/tools/record.NewBroadcaster"),
                ],
            ) + "\n"
                + &dump(&[
                    (
                        98,
                        "chan receive, 44 minutes",
                        &["k8s.io/apimachinery/pkg/watch.(*Broadcaster).loop"],
                        "k8s.io/apimachinery/pkg/watch.NewLongQueueBroadcaster",
                    ),
                    (
                        98,
                        "chan receive, 44 minutes",
                        &[
                            "k8s.io/client-go/tools/record.(*eventBroadcasterImpl).StartEventWatcher.func1",
                        ],
                        "k8s.io/client-go/tools/record.(*eventBroadcasterImpl).StartEventWatcher",
                    ),
                ]),
        ),
        one(
            "grpc/grpc-go#5570",
            "grpc-connection-per-call",
            // 526 buffers of 64 KiB, and a reader of 32 KiB for each.
            top(
                71.0,
                &[
                    (
                        32.88,
                        32.88,
                        "google.golang.org/grpc/internal/transport.newBufWriter",
                    ),
                    (16.44, 16.44, "bufio.NewReaderSize"),
                    (
                        4.0,
                        58.0,
                        "google.golang.org/grpc/internal/transport.newHTTP2Client",
                    ),
                ],
            ) + "\n"
                + &dump(&[
                    (
                        526,
                        "select, 30 minutes",
                        &[
                            "google.golang.org/grpc/internal/transport.(*controlBuffer).get",
                            "google.golang.org/grpc/internal/transport.(*loopyWriter).run",
                        ],
                        "google.golang.org/grpc/internal/transport.newHTTP2Client",
                    ),
                    (
                        526,
                        "IO wait, 30 minutes",
                        &["google.golang.org/grpc/internal/transport.(*http2Client).reader"],
                        "google.golang.org/grpc/internal/transport.newHTTP2Client",
                    ),
                ]),
        ),
        one(
            "temporalio/sdk-go#147",
            "context-children-never-cancelled",
            top(
                640.0,
                &[
                    (210.0, 210.0, "context.(*cancelCtx).propagateCancel"),
                    (170.0, 380.0, "context.WithCancel"),
                    (
                        20.0,
                        420.0,
                        "go.temporal.io/sdk/internal.(*workflowTaskPoller).poll",
                    ),
                ],
            ),
        ),
        one(
            "open-policy-agent/opa#6828",
            "regexp-per-call",
            top(
                480.0,
                &[
                    (140.0, 140.0, "regexp/syntax.(*compiler).inst"),
                    (90.0, 90.0, "regexp/syntax.(*parser).newRegexp"),
                    (60.0, 330.0, "regexp.compile"),
                    (
                        0.0,
                        360.0,
                        "github.com/open-policy-agent/opa/topdown.getRegexp",
                    ),
                ],
            ),
        ),
    ];
    // Churn shows only between two moments, and in profiles that hold what was allocated.
    let watch: &[&str] = &[
        "k8s.io/apimachinery/pkg/watch.NewStreamWatcher",
        "k8s.io/client-go/rest.(*Request).newStreamWatcher",
        "k8s.io/client-go/rest.(*Request).Watch",
        "github.com/projectcalico/libcalico-go/lib/backend/k8s.(*kubeSyncer).readFromKubernetesAPI",
    ];
    let goroutines = dump(&[(
        6,
        "IO wait",
        &[RECEIVE],
        "k8s.io/apimachinery/pkg/watch.NewStreamWatcher",
    )]);
    let mib = 1 << 20;
    let at = |minute, allocated: i64, kept: i64| {
        let sites = [(32_768, watch), (4096, &watch[1..])];
        let rows = sites.map(|(size, stack)| {
            let objects = |bytes: i64| bytes / size;
            (
                [objects(allocated), allocated, objects(kept), kept],
                size as u64,
                stack,
            )
        });
        raw(minute, &rows) + "\n" + &goroutines
    };
    all.push(Report {
        from: "projectcalico/calico#1057",
        texts: vec![at(1, 100 * mib, 2 * mib), at(31, 4000 * mib, 32 * mib)],
        pattern: "hot-rewatch-loop",
    });
    all
}

/// Reports whose one text is not enough for the pattern, and why. One that comes right is taken
/// off the list.
const MISSED: [(&str, &str); 1] = [(
    "kubernetes-sigs/controller-runtime#3441",
    "the read loops of the text stand in select, where they wait for a body to be read or closed: of one dump that is bodies left open",
)];

#[test]
fn public_reports_are_told_from_what_was_pasted() {
    let known = Catalogue::builtin();
    let mut checked = 0;
    let mut missed = Vec::new();
    for report in reports() {
        let Report {
            from,
            texts,
            pattern,
        } = report;
        if known.get(pattern).is_none() {
            skipped(&format!(
                "{from}: the pattern {pattern} is not in the catalogue yet"
            ));
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        for (number, text) in texts.iter().enumerate() {
            std::fs::write(dir.path().join(format!("{number}.heap.txt")), text).unwrap();
        }
        let (diagnosis, _) = diagnose(&[dir.path()]);
        let findings = diagnosis["findings"].as_array().unwrap();
        let named: Vec<&Value> = findings.iter().map(|finding| &finding["pattern"]).collect();
        if !named.contains(&&Value::from(pattern)) {
            missed.push(format!("{from}: {pattern} is not in {named:?}"));
            continue;
        }
        if texts.len() == 1 {
            let verdict = findings
                .iter()
                .find(|f| f["pattern"] == pattern)
                .map(|f| &f["verdict"]);
            assert_eq!(verdict, Some(&Value::from("suspect")), "{from}");
        }
        checked += 1;
    }
    let is_listed = |words: &String| MISSED.iter().any(|(from, _)| words.starts_with(from));
    let (listed, new): (Vec<String>, Vec<String>) = missed.into_iter().partition(is_listed);
    for (from, why) in MISSED {
        println!("known miss: {from}: {why}");
    }
    assert!(new.is_empty(), "{}", new.join("\n"));
    assert_eq!(listed.len(), MISSED.len(), "one came right: {listed:?}");
    assert!(checked >= 11);
}
