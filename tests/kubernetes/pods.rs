//! Pods that are found, reached both ways, and looked at again.

use crate::cluster::pod_server::heap;
use crate::cluster::{
    ApiServer, BOTH, Certificates, FakePod, Page, PodServer, Setup, User, pprof_page,
};
use heapdrift::source::remote::{
    Captured, Change, FetchProblem, Kind, Via, parse_header, reconnect,
};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;

fn kinds(captured: &Captured) -> Vec<Kind> {
    captured.files.iter().map(|file| file.kind).collect()
}

/// The memory figures of a snapshot.
fn memory(captured: &Captured) -> Value {
    let mut files = captured.files.iter();
    let file = files.find(|file| file.kind == Kind::Memory).unwrap();
    serde_json::from_slice(&file.bytes).unwrap()
}

#[tokio::test]
async fn a_pod_gives_a_snapshot_both_ways() {
    let pod = PodServer::pprof();
    for via in BOTH {
        let setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", pod.port));
        let mut process = setup.find_one("pod/api-0:6060").await;
        assert_eq!(process.name(), "prod/api-0");
        let captured = process.take().await.unwrap();
        assert_eq!(
            kinds(&captured),
            [Kind::Heap, Kind::Goroutines, Kind::Memory],
            "{via:?}: {:?}",
            captured.missing
        );
        assert!(!captured.is_half());
        assert_eq!(captured.files[0].bytes, heap());
    }
}

#[tokio::test]
async fn a_snapshot_says_which_pod_it_is_of() {
    let pod = PodServer::pprof();
    let setup = Setup::new();
    setup
        .server
        .put(FakePod::api("api-0", pod.port).with(|object| {
            object["status"]["containerStatuses"][0]["restartCount"] = 2.into();
        }));
    let captured = setup.find_one("pod/api-0").await.take().await.unwrap();
    assert_eq!(
        memory(&captured)["pod"],
        json!({
            "namespace": "prod",
            "pod": "api-0",
            "uid": "uid-of-api-0",
            "container": "app",
            "node": "node-a",
            "restart_count": 2,
            "started_at": "2026-11-30T08:00:00Z",
            "memory_limit_bytes": 512 << 20,
            "last_end": null,
        })
    );
}

#[tokio::test]
async fn a_large_profile_comes_whole_both_ways() {
    let large = crate::cluster::pod_server::heap_of(20_000);
    assert!(large.len() > 300_000, "{}", large.len());
    let served = large.clone();
    let pod = PodServer::start(Arc::new(move |target: &str| match target {
        "/debug/pprof/heap?gc=1" => Page::ok(served.clone()),
        target => pprof_page(target),
    }));
    for via in BOTH {
        let setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", pod.port));
        let captured = setup.find_one("pod/api-0").await.take().await.unwrap();
        assert!(captured.files[0].bytes == large, "{via:?}");
    }
}

#[tokio::test]
async fn workloads_and_selectors_are_fleets() {
    let pods = [PodServer::pprof(), PodServer::pprof()];
    let setup = Setup::new();
    for (index, pod) in pods.iter().enumerate() {
        setup
            .server
            .put(FakePod::api(&format!("api-{index}"), pod.port));
    }
    setup
        .server
        .put(FakePod::api("other-0", 1).label("app", "other"));
    // One that is on its way out, and one that has not begun.
    setup.server.put(FakePod::api("api-8", 1).with(|object| {
        object["metadata"]["deletionTimestamp"] = "2026-11-30T09:00:00Z".into();
    }));
    setup.server.put(FakePod::api("api-9", 1).with(|object| {
        object["status"] = json!({"phase": "Pending"});
    }));
    let by_labels = json!({"matchLabels": {"app": "api"}});
    for plural in ["deployments", "statefulsets", "daemonsets", "replicasets"] {
        setup
            .server
            .put_workload("apps/v1", plural, "api", by_labels.clone());
    }
    setup
        .server
        .put_workload("batch/v1", "jobs", "api", by_labels);
    setup
        .server
        .put_workload("v1", "services", "api", json!({"app": "api"}));
    for target in [
        "deploy/api",
        "sts/api",
        "ds/api",
        "rs/api",
        "job/api",
        "svc/api",
        "-l app=api",
    ] {
        let found = setup.find(target).await.unwrap();
        let names: Vec<&str> = found.iter().map(|process| process.name()).collect();
        assert_eq!(names, ["prod/api-0", "prod/api-1"], "{target}");
    }
    let mut found = setup.find("deploy/api").await.unwrap();
    let [one, two] = &mut found[..] else {
        panic!("two pods")
    };
    let (one, two) = tokio::join!(one.take(), two.take());
    assert_eq!(memory(&one.unwrap())["pod"]["pod"], "api-0");
    assert_eq!(memory(&two.unwrap())["pod"]["pod"], "api-1");
}

#[tokio::test]
async fn a_container_and_its_port_are_chosen() {
    let pod = PodServer::pprof();
    let mut setup = Setup::new();
    setup.server.put(
        FakePod::new("api-0")
            .container("mesh", &[("admin", 15000)])
            .container("app", &[("pprof", 7070)])
            .limit("1.5Gi")
            .serve(7070, pod.port),
    );
    // The named port points at the container, and the other way round.
    for target in ["pod/api-0", "pod/api-0:pprof", "pod/api-0:7070"] {
        let mut process = setup.find_one(target).await;
        assert_eq!(process.name(), "prod/api-0/app", "{target}");
        process.take().await.unwrap();
        let facts = process.pod().unwrap();
        assert_eq!(facts.memory_limit_bytes, Some(3 << 29));
    }
    setup.options.container = Some("mesh".to_owned());
    let mut process = setup.find_one("pod/api-0").await;
    assert_eq!(process.name(), "prod/api-0/mesh");
    assert_eq!(process.pod().unwrap().memory_limit_bytes, None);
    process.take().await.unwrap();
    setup.options.port = Some("admin".to_owned());
    let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
    assert!(error.address.contains("api-0:15000/"), "{error}");
    // A target's own port wins.
    setup.find_one("pod/api-0:7070").await.take().await.unwrap();
}

#[tokio::test]
async fn pprof_may_be_at_another_path() {
    let pod = PodServer::start(Arc::new(|target: &str| {
        match target.strip_prefix("/admin/") {
            Some(rest) => pprof_page(&format!("/debug/pprof/{rest}")),
            None => Page::error(404, "404 page not found\n"),
        }
    }));
    for via in BOTH {
        let mut setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", pod.port));
        let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
        // The pod's own answer, not the API's: the hint is about pprof.
        assert!(
            matches!(&error.problem, FetchProblem::Status { status: 404, message, .. } if message == "404 page not found"),
            "{error}"
        );
        assert!(error.hint().contains("net/http/pprof"), "{}", error.hint());
        for path in ["/admin/", "admin", "/admin/heap"] {
            setup.options.path = Some(path.to_owned());
            setup.find_one("pod/api-0").await.take().await.unwrap();
        }
    }
}

#[tokio::test]
async fn metrics_are_on_this_port_or_another() {
    let pod = PodServer::pprof();
    let other = PodServer::start(Arc::new(|_: &str| {
        Page::ok("process_resident_memory_bytes 7000\n")
    }));
    let mut setup = Setup::new();
    setup.server.put(
        FakePod::api("api-0", pod.port)
            .container("metrics", &[("metrics", 9090)])
            .serve(9090, other.port),
    );
    setup.options.container = Some("app".to_owned());
    for (metrics, bytes) in [
        ("/metrics", "5000"),
        (":9090/metrics", "7000"),
        (":metrics/x", "7000"),
    ] {
        setup.metrics = Some(metrics.to_owned());
        let captured = setup.find_one("pod/api-0").await.take().await.unwrap();
        let figures = &memory(&captured)["metrics"];
        assert_eq!(figures["process_resident_memory_bytes"], bytes, "{metrics}");
    }
    for metrics in ["http://127.0.0.1:9/metrics", "metrics", ":9090"] {
        setup.metrics = Some(metrics.to_owned());
        let error = setup.refusal("pod/api-0").await;
        assert_eq!(error.problem, FetchProblem::NoAddress("metrics in a pod"));
        assert!(error.hint().contains(":9090/metrics"), "{}", error.hint());
    }
}

#[tokio::test]
async fn a_pod_may_speak_tls() {
    let certificates = Certificates::new();
    let pod = PodServer::start_tls(Arc::new(pprof_page), certificates.server_config());
    for via in BOTH {
        let mut setup = Setup::new().via(via);
        let ca = setup.directory.path().join("ca.pem");
        std::fs::write(&ca, &certificates.ca).unwrap();
        setup.server.put(FakePod::api("api-0", pod.port));
        setup.options.pod_tls = true;
        setup.access.tls.cacert = Some(ca);
        let captured = setup.find_one("pod/api-0").await.take().await.unwrap();
        assert_eq!(captured.files[0].bytes, heap(), "{via:?}");
    }
}

#[tokio::test]
async fn the_name_on_a_pods_certificate_may_be_another() {
    let certificates = Certificates::new();
    let pod = PodServer::start_tls(Arc::new(pprof_page), certificates.server_config());
    let mut setup = Setup::new();
    let ca = setup.directory.path().join("ca.pem");
    std::fs::write(&ca, &certificates.ca).unwrap();
    setup.server.put(FakePod::api("api-0", pod.port));
    setup.access.tls.cacert = Some(ca);
    for (name, fits) in [("127.0.0.1", true), ("api.prod.svc", false)] {
        setup.options.pod_server_name = Some(name.to_owned());
        let taken = setup.find_one("pod/api-0").await.take().await;
        assert_eq!(taken.is_ok(), fits, "{name}: {taken:?}");
    }
}

#[tokio::test]
async fn what_is_for_the_pod_gets_there() {
    let pod = PodServer::pprof();
    for via in BOTH {
        let mut setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", pod.port));
        setup
            .access
            .headers
            .extend([parse_header("x-key: for the pod").unwrap()]);
        setup.find_one("pod/api-0").await.take().await.unwrap();
        let head = pod.heads().pop().unwrap();
        assert!(head.to_lowercase().contains("x-key: for the pod"), "{head}");
        assert!(head.to_lowercase().contains("connection: close"), "{head}");
    }
    let mut setup = Setup::new();
    setup.server.put(FakePod::api("api-0", pod.port));
    let token = setup.directory.path().join("token");
    std::fs::write(&token, "sesame").unwrap();
    setup.access.bearer_token_file = Some(token);
    setup.find_one("pod/api-0").await.take().await.unwrap();
    let head = pod.heads().pop().unwrap();
    assert!(head.contains("Bearer sesame"), "{head}");
    // The cluster is not told who we are to the pod.
    assert!(
        setup
            .server
            .log()
            .iter()
            .all(|request| request.authorization.is_none())
    );
}

#[tokio::test]
async fn we_come_as_the_kubeconfig_says() {
    let pod = PodServer::pprof();
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, "sesame").unwrap();
    for user in [
        User::Token("sesame".to_owned()),
        User::TokenFile(token),
        User::plugin_with_token("sesame"),
    ] {
        let mut setup = Setup::of(ApiServer::start(), &user);
        setup.server.require_token("sesame");
        setup.server.put(FakePod::api("api-0", pod.port));
        setup.options.impersonate = Some("somebody".to_owned());
        setup.find_one("pod/api-0").await.take().await.unwrap();
        let log = setup.server.log();
        assert!(
            log.iter()
                .all(|request| request.impersonate.as_deref() == Some("somebody"))
        );
        assert!(log.iter().all(|request| request.method == "GET"), "{log:?}");
    }
}

#[tokio::test]
async fn a_cluster_is_reached_over_tls_with_a_client_certificate() {
    let pod = PodServer::pprof();
    let certificates = Certificates::new();
    let (chain, key) = certificates.client.clone();
    let server = ApiServer::start_tls(certificates);
    let setup = Setup::of(server, &User::Certificate(chain, key));
    setup.server.put(FakePod::api("api-0", pod.port));
    let captured = setup.find_one("pod/api-0").await.take().await.unwrap();
    assert_eq!(captured.files[0].bytes, heap());
}

#[tokio::test]
async fn a_plugin_is_run_again_when_its_token_is_no_longer_taken() {
    let pod = PodServer::pprof();
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    let runs = directory.path().join("runs");
    let plugin = format!(
        r#"echo >> {}; printf '{{"status": {{"token": "%s"}}}}' "$(cat {})""#,
        runs.display(),
        token.display()
    );
    std::fs::write(&token, "first").unwrap();
    let setup = Setup::of(ApiServer::start(), &User::Plugin(plugin));
    setup.server.put(FakePod::api("api-0", pod.port));
    setup.server.require_token("first");
    let mut process = setup.find_one("pod/api-0").await;
    process.take().await.unwrap();
    let count = || std::fs::read_to_string(&runs).unwrap().lines().count();
    assert_eq!(count(), 1);
    setup.server.require_token("second");
    std::fs::write(&token, "second").unwrap();
    process.take().await.unwrap();
    assert_eq!(count(), 2);
    setup.server.require_token("third");
    let error = process.take().await.unwrap_err();
    assert!(
        matches!(error.problem, FetchProblem::Status { status: 401, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_restart_is_noticed_with_its_reason() {
    let pod = PodServer::pprof();
    let setup = Setup::new();
    setup.server.put(FakePod::api("api-0", pod.port));
    let mut process = setup.find_one("pod/api-0").await;
    assert_eq!(process.refresh().await.unwrap(), None);
    setup.server.change("prod", "api-0", |pod| pod.restart(1));
    let reason = Some("OOMKilled, exit code 137".to_owned());
    assert_eq!(
        process.refresh().await.unwrap(),
        Some(Change::Restarted(reason.clone()))
    );
    assert_eq!(process.refresh().await.unwrap(), None);
    let facts = process.pod().unwrap();
    assert_eq!(facts.restart_count, 1);
    assert_eq!(facts.last_end, reason);
    assert_eq!(facts.started_at, "2026-11-30T09:00:00Z".parse().ok());
}

#[tokio::test]
async fn an_end_is_noticed_with_its_reason() {
    let setup = Setup::new();
    let server = &setup.server;
    for (change, why) in [
        (
            json!({"metadata": {"deletionTimestamp": "2026-11-30T09:00:00Z"}}),
            "the pod is being deleted",
        ),
        (
            json!({"metadata": {"uid": "another"}}),
            "another pod has taken its name",
        ),
        (
            json!({"status": {"phase": "Failed", "containerStatuses": [{
                "name": "app", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
            }]}}),
            "the pod has ended (Failed): OOMKilled, exit code 137",
        ),
        (
            json!({"status": {"phase": "Succeeded"}}),
            "the pod has ended (Succeeded)",
        ),
    ] {
        server.put(FakePod::api("api-0", 1));
        let mut process = setup.find_one("pod/api-0").await;
        server.change("prod", "api-0", |pod| {
            for (part, fields) in change.as_object().unwrap() {
                for (name, value) in fields.as_object().unwrap() {
                    pod.object[part][name] = value.clone();
                }
            }
        });
        assert_eq!(
            process.refresh().await.unwrap(),
            Some(Change::Ended(why.to_owned()))
        );
    }
    server.put(FakePod::api("api-0", 1));
    let mut process = setup.find_one("pod/api-0").await;
    server.delete("prod", "api-0");
    let gone = Some(Change::Ended("the pod is gone".to_owned()));
    assert_eq!(process.refresh().await.unwrap(), gone);
}

#[tokio::test]
async fn replacements_are_found() {
    let pod = PodServer::pprof();
    let setup = Setup::new();
    let by_labels = json!({"matchLabels": {"app": "api"}});
    setup
        .server
        .put_workload("apps/v1", "deployments", "api", by_labels);
    for name in ["api-0", "api-1"] {
        setup.server.put(FakePod::api(name, pod.port));
    }
    let target = crate::cluster::target("deploy/api");
    let known = setup.find("deploy/api").await.unwrap();
    let known: Vec<_> = known.iter().collect();
    let again = async || {
        let found = reconnect(&target, &setup.access, None, &setup.options, &known).await;
        let found = found.unwrap();
        let names: Vec<String> = found
            .iter()
            .map(|process| process.name().to_owned())
            .collect();
        names
    };
    assert!(again().await.is_empty());
    setup.server.delete("prod", "api-1");
    setup.server.put(FakePod::api("api-2", pod.port));
    assert_eq!(again().await, ["prod/api-2"]);
    // The same name is another pod when its uid is.
    setup.server.change("prod", "api-0", |pod| {
        pod.object["metadata"]["uid"] = "new".into()
    });
    assert_eq!(again().await, ["prod/api-0", "prod/api-2"]);
    let url = crate::cluster::target("http://127.0.0.1:9");
    let none = reconnect(&url, &setup.access, None, &setup.options, &known).await;
    assert!(none.unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_of_the_kubeconfig_is_gone_through() {
    let pod = PodServer::pprof();
    let proxy = crate::cluster::connect_proxy::start();
    let setup = Setup::with(ApiServer::start(), &User::Nobody, |object| {
        let url = format!("http://127.0.0.1:{}", proxy.port);
        object["clusters"][0]["cluster"]["proxy-url"] = url.into();
    });
    setup.server.put(FakePod::api("api-0", pod.port));
    setup.find_one("pod/api-0").await.take().await.unwrap();
    let tunnels = proxy.asked();
    let address = setup.server.address.to_string();
    assert!(!tunnels.is_empty());
    assert!(tunnels.iter().all(|asked| *asked == address), "{tunnels:?}");
}

#[tokio::test]
async fn kubectl_reads_the_same() {
    let pod = PodServer::pprof();
    let setup = Setup::new();
    setup.server.put(FakePod::api("api-0", pod.port));
    let run = |path: &str| {
        Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(setup.options.kubeconfig.as_ref().unwrap())
            .args(["get", "--raw", path])
            .env("HOME", setup.directory.path())
            .output()
    };
    let pods = "/api/v1/namespaces/prod/pods/api-0";
    let output = match run(&format!("{pods}:6060/proxy/debug/pprof/heap?gc=1")) {
        Err(_) => {
            return crate::support::skipped(
                "kubectl is not installed: no peer for the fake API server",
            );
        }
        Ok(output) => output,
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let setup = setup.via(Via::ApiProxy);
    let captured = setup.find_one("pod/api-0").await.take().await.unwrap();
    assert!(captured.files[0].bytes == output.stdout);
}
