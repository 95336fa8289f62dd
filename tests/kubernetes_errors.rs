//! What is told when a pod cannot be found, reached or asked; and that no secret is told.
#![cfg(feature = "kube")]

#[path = "support/cluster/mod.rs"]
mod cluster;
mod support;

use cluster::{ApiServer, Certificates, FakePod, Page, PodServer, Setup, Trick, User, pprof_page};
use heapdrift::source::remote::{FetchError, FetchProblem, Via, parse_header};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const BOTH: [Via; 2] = [Via::PortForward, Via::ApiProxy];

/// The message and the hint, as a user sees them.
fn told(error: &FetchError) -> String {
    format!("{error}. {}", error.hint())
}

#[track_caller]
fn tells(error: &FetchError, parts: &[&str]) {
    let told = told(error);
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in: {told}");
    }
}

fn status_of(error: &FetchError) -> Option<u16> {
    match error.problem {
        FetchProblem::Status { status, .. } => Some(status),
        _ => None,
    }
}

const FORBIDDEN: Trick = Trick::Status(403, "Forbidden", "User \"u\" cannot do that");

#[tokio::test]
async fn a_right_that_is_missing_is_told_as_a_rule() {
    for (path, target, rule) in [
        (
            "/pods/api-0",
            "pod/api-0",
            r#"apiGroups: [""], resources: ["pods"], verbs: ["get"]"#,
        ),
        (
            "/prod/pods",
            "-l app=api",
            r#"apiGroups: [""], resources: ["pods"], verbs: ["list"]"#,
        ),
        (
            "/deployments/",
            "deploy/api",
            r#"apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"]"#,
        ),
        (
            "/jobs/",
            "job/api",
            r#"apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"]"#,
        ),
        (
            "/services/",
            "svc/api",
            r#"apiGroups: [""], resources: ["services"], verbs: ["get"]"#,
        ),
    ] {
        let setup = Setup::new();
        setup.server.trick(path, FORBIDDEN);
        let error = setup.refusal(target).await;
        assert_eq!(status_of(&error), Some(403), "{error}");
        tells(
            &error,
            &[rule, "a Role in namespace prod", "cannot do that"],
        );
        assert!(!error.is_transient());
    }
    for (via, path, rule) in [
        (
            Via::PortForward,
            "/portforward",
            r#"apiGroups: [""], resources: ["pods/portforward"], verbs: ["create", "get"] (create from Kubernetes 1.35 on, get before)"#,
        ),
        (
            Via::ApiProxy,
            "/proxy/",
            r#"apiGroups: [""], resources: ["pods/proxy"], verbs: ["get"]"#,
        ),
    ] {
        let setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", 1));
        setup.server.trick(path, FORBIDDEN);
        let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
        assert_eq!(status_of(&error), Some(403), "{error}");
        tells(&error, &[rule]);
    }
    let mut setup = Setup::new();
    setup.options.impersonate = Some("root".to_owned());
    let words = "users \"root\" is forbidden: User \"u\" cannot impersonate resource \"users\"";
    setup
        .server
        .trick("/pods", Trick::Status(403, "Forbidden", words));
    tells(
        &setup.refusal("pod/api-0").await,
        &[r#"verbs: ["impersonate"]"#],
    );
}

#[tokio::test]
async fn other_statuses_of_the_api_are_told() {
    for (code, reason, is_transient) in [
        (401, "Unauthorized", false),
        (410, "Expired", false),
        (429, "TooManyRequests", true),
        (500, "InternalError", false),
        (503, "ServiceUnavailable", true),
    ] {
        for via in BOTH {
            let setup = Setup::new().via(via);
            setup.server.put(FakePod::api("api-0", 1));
            let trick = Trick::Status(code, reason, "in its own words");
            setup.server.trick("/pods/api-0", trick);
            let error = setup.refusal("pod/api-0").await;
            assert_eq!(status_of(&error), Some(code), "{error}");
            assert_eq!(error.is_transient(), is_transient, "{error}");
            tells(&error, &["in its own words"]);
            setup.server.be_honest();
            let mut process = setup.find_one("pod/api-0").await;
            let trick = Trick::Status(code, reason, "in its own words");
            setup.server.trick("/pods/api-0", trick);
            let error = process.take().await.unwrap_err();
            assert_eq!(status_of(&error), Some(code), "{error}");
            assert_eq!(error.is_transient(), is_transient, "{error}");
        }
    }
    let setup = Setup::new();
    setup
        .server
        .trick("", Trick::Status(401, "Unauthorized", "Unauthorized"));
    tells(
        &setup.refusal("pod/api-0").await,
        &["HTTP 401", "kubectl auth whoami"],
    );
    // What stands before an API server may answer in its place.
    setup
        .server
        .trick("", Trick::Plain(200, "<html>Log in</html>"));
    tells(
        &setup.refusal("pod/api-0").await,
        &["does not answer as a Kubernetes API"],
    );
}

#[tokio::test]
async fn a_name_that_is_not_there_is_told_with_similar_ones() {
    let setup = Setup::new();
    for name in ["api-0", "api-1", "web-0"] {
        setup.server.put(FakePod::api(name, 1));
    }
    let error = setup.refusal("pod/api-9").await;
    tells(
        &error,
        &[
            "there is no pod \"api-9\" in namespace prod",
            "did you mean api-0, api-1?",
        ],
    );
    tells(
        &setup.refusal("pod/db-0").await,
        &["there are: api-0, api-1, web-0"],
    );
    setup
        .server
        .put_workload("apps/v1", "deployments", "api", json!({}));
    let error = setup.refusal("deploy/app").await;
    tells(&error, &["there is no deploy \"app\"", "did you mean api?"]);
    // Where listing is not allowed, nothing is said about others.
    setup.server.trick("/prod/pods", FORBIDDEN);
    setup.server.trick(
        "/pods/api-9",
        Trick::Status(404, "NotFound", "pods \"api-9\" not found"),
    );
    let error = setup.refusal("pod/api-9").await;
    tells(
        &error,
        &["there is no pod \"api-9\"", "listing them is not allowed"],
    );
    let mut setup = Setup::new();
    setup.options.namespace = Some("empty".to_owned());
    tells(
        &setup.refusal("pod/api-0").await,
        &["no pods in this namespace", "-n"],
    );
}

#[tokio::test]
async fn nothing_that_runs_is_told_with_the_reasons() {
    let setup = Setup::new();
    let server = &setup.server;
    let error = setup.refusal("-l app=none").await;
    tells(
        &error,
        &["chooses no pod in namespace prod", "--show-labels"],
    );
    let by_labels = json!({"matchLabels": {"app": "api"}});
    server.put_workload("apps/v1", "deployments", "api", by_labels);
    tells(
        &setup.refusal("deploy/api").await,
        &["deploy/api chooses no pod", "scaled to zero"],
    );
    server.put_workload("v1", "services", "out", Value::Null);
    tells(
        &setup.refusal("svc/out").await,
        &["svc/out chooses no pods: it has no selector"],
    );

    let status = |name: &str, state: Value, last: Value| {
        FakePod::api(name, 1).with(|object| {
            let status = &mut object["status"]["containerStatuses"][0];
            status["state"] = state;
            status["lastState"] = last;
        })
    };
    let oom = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
    let looping = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    server.put(status("api-0", looping, oom.clone()));
    let creating = json!({"waiting": {"reason": "ContainerCreating"}});
    server.put(status("api-1", creating, json!({})).with(|object| {
        object["status"]["phase"] = "Pending".into();
    }));
    let error = setup.refusal("pod/api-0").await;
    tells(
        &error,
        &[
            "CrashLoopBackOff; it last ended: OOMKilled, exit code 137",
            "kubectl logs -p api-0",
        ],
    );
    tells(
        &setup.refusal("pod/api-1").await,
        &["it is Pending: ContainerCreating"],
    );
    server.put(
        status("job-0", oom, json!({}))
            .label("app", "job")
            .with(|object| {
                object["status"]["phase"] = "Failed".into();
            }),
    );
    let error = setup.refusal("pod/job-0").await;
    assert!(matches!(error.problem, FetchProblem::Gone(_)), "{error:?}");
    tells(&error, &["it has ended (Failed): OOMKilled, exit code 137"]);
    let error = setup.refusal("-l app=job").await;
    tells(&error, &["none of the 1 pods of the selector", "OOMKilled"]);
    server.delete("prod", "api-1");
    tells(
        &setup.refusal("deploy/api").await,
        &["none of the 1 pods of deploy/api runs", "CrashLoopBackOff"],
    );
}

#[tokio::test]
async fn containers_that_cannot_be_told_apart_are_listed() {
    let mut setup = Setup::new();
    setup.server.put(
        FakePod::new("api-0")
            .container("app", &[])
            .container("mesh", &[("admin", 1)]),
    );
    tells(
        &setup.refusal("pod/api-0").await,
        &["2 containers", "-c takes one of: app, mesh"],
    );
    setup.options.container = Some("ap".to_owned());
    tells(
        &setup.refusal("pod/api-0").await,
        &["no container \"ap\"", "app, mesh"],
    );
    setup.options.container = None;
    tells(
        &setup.refusal("pod/api-0:web").await,
        &["-c takes one of: app, mesh"],
    );
    setup.options.container = Some("app".to_owned());
    tells(
        &setup.refusal("pod/api-0:web").await,
        &["no port named \"web\"", "1 (admin) of mesh"],
    );
}

#[tokio::test]
async fn a_port_where_nothing_listens_is_told_with_those_declared() {
    for via in BOTH {
        let setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", 1));
        let mut process = setup.find_one("pod/api-0:7777").await;
        let started = std::time::Instant::now();
        let error = process.take().await.unwrap_err();
        // The node keeps the stream open: its word is taken at once.
        assert!(
            started.elapsed() < Duration::from_secs(4),
            "{:?}",
            started.elapsed()
        );
        assert_eq!(error.problem, FetchProblem::Refused, "{error}");
        tells(
            &error,
            &[
                "prod/api-0:7777/debug/pprof/heap",
                "the pod declares 8080 (http)",
            ],
        );
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn pprof_on_localhost_is_out_of_the_api_servers_reach() {
    let pod = PodServer::pprof();
    let mut setup = Setup::new();
    setup
        .server
        .put(FakePod::api("api-0", pod.port).on_localhost(6060));
    setup.find_one("pod/api-0").await.take().await.unwrap();
    setup.options.via = Via::ApiProxy;
    let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
    assert_eq!(error.problem, FetchProblem::Refused);
    tells(&error, &["leave --via api-proxy away"]);
}

#[tokio::test]
async fn what_the_node_says_is_told() {
    let setup = Setup::new();
    setup.server.put(FakePod::api("api-0", 1));
    let mut process = setup.find_one("pod/api-0").await;
    setup.server.trick(
        "/portforward",
        Trick::Say("lost connection to the sandbox\nmore"),
    );
    let error = process.take().await.unwrap_err();
    tells(&error, &["lost connection to the sandbox"]);
    assert!(!told(&error).contains("more"), "{error}");
    setup
        .server
        .trick("/portforward", Trick::Plain(200, "hello"));
    tells(
        &process.take().await.unwrap_err(),
        &["does not switch to WebSocket", "--via api-proxy"],
    );
    let trick = Trick::Status(500, "InternalError", "error upgrading: pod does not exist");
    setup.server.trick("/portforward", trick);
    let error = process.take().await.unwrap_err();
    assert!(matches!(error.problem, FetchProblem::Gone(_)), "{error:?}");
}

#[tokio::test]
async fn a_pod_that_is_deleted_in_the_middle_is_gone() {
    let pod = PodServer::pprof();
    for via in BOTH {
        let setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", pod.port));
        let mut process = setup.find_one("pod/api-0").await;
        process.take().await.unwrap();
        setup.server.delete("prod", "api-0");
        let error = process.take().await.unwrap_err();
        assert!(matches!(error.problem, FetchProblem::Gone(_)), "{error:?}");
        assert!(!error.is_transient());
        tells(&error, &["it is gone", "kubectl get pods"]);
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_is_told_and_may_be_tried_again() {
    let pod = PodServer::pprof();
    for via in BOTH {
        for bytes in [0, 10, 4000] {
            let mut setup = Setup::new().via(via);
            setup.server.put(FakePod::api("api-0", pod.port));
            let path = match via {
                Via::PortForward => "/portforward",
                Via::ApiProxy => "/proxy/debug/pprof/heap",
            };
            setup.server.trick(path, Trick::CutAfter(bytes));
            setup.access.timeout = Duration::from_secs(5);
            let mut process = setup.find_one("pod/api-0").await;
            let error = match process.take().await {
                Err(error) => error,
                Ok(half) => half.missing[0].1.clone(),
            };
            assert!(error.is_transient(), "{via:?} {bytes}: {error:?}");
            let is_cut = matches!(error.problem, FetchProblem::Cut { .. });
            // The library's client to the API server cannot tell a cut from no connection.
            let is_unconnected = matches!(error.problem, FetchProblem::NoConnection(_));
            assert!(
                is_cut || (is_unconnected && via == Via::ApiProxy),
                "{error:?}"
            );
            setup.server.be_honest();
            process.take().await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_takes_too_long_is_given_up() {
    let slow = PodServer::start(Arc::new(|target: &str| Page {
        pause: Duration::from_secs(30),
        ..pprof_page(target)
    }));
    let silent = Duration::from_secs(30);
    for via in BOTH {
        let mut setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", slow.port));
        setup.access.timeout = Duration::from_millis(600);
        let mut process = setup.find_one("pod/api-0").await;
        let half = process.take().await;
        let error = half.map(|half| half.files.len()).unwrap_err();
        match error.problem {
            FetchProblem::TimedOut { received, .. } => assert!(received > 0, "{via:?}: {error}"),
            _ => panic!("{error:?}"),
        }
        setup.server.trick("/api-0", Trick::Wait(silent));
        let error = process.take().await.unwrap_err();
        assert!(
            matches!(error.problem, FetchProblem::TimedOut { received: 0, .. }),
            "{error:?}"
        );
        let error = setup.refusal("pod/api-0").await;
        assert!(
            matches!(error.problem, FetchProblem::TimedOut { received: 0, .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn tls_of_a_pod_that_does_not_fit_is_told() {
    let certificates = Certificates::new();
    let pod = PodServer::start_tls(Arc::new(pprof_page), certificates.server_config());
    let plain = PodServer::pprof();
    let mut setup = Setup::new();
    setup
        .server
        .put(FakePod::api("api-0", pod.port).serve(7070, plain.port));
    setup.options.pod_tls = true;
    let ca = setup.directory.path().join("ca.pem");
    std::fs::write(&ca, Certificates::new().ca).unwrap();
    setup.access.tls.cacert = Some(ca);
    let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
    assert!(matches!(error.problem, FetchProblem::Tls(_)), "{error:?}");
    tells(&error, &["UnknownIssuer", "--cacert"]);
    let error = setup
        .find_one("pod/api-0:7070")
        .await
        .take()
        .await
        .unwrap_err();
    assert!(matches!(error.problem, FetchProblem::Tls(_)), "{error:?}");
    setup.options.via = Via::ApiProxy;
    let error = setup
        .find_one("pod/api-0:7070")
        .await
        .take()
        .await
        .unwrap_err();
    tells(
        &error,
        &["TLS: ", "--pod-tls is for pods that serve pprof over TLS"],
    );
    setup.access.tls.cacert = Some("/nowhere/ca.pem".into());
    tells(&setup.refusal("pod/api-0").await, &["/nowhere/ca.pem"]);
}

#[tokio::test]
async fn a_redirect_leads_nowhere() {
    let pod = PodServer::start(Arc::new(|_: &str| Page {
        headers: vec![(
            "location".to_owned(),
            "https://elsewhere/x?token=sesame".to_owned(),
        )],
        ..Page::error(302, "")
    }));
    for via in BOTH {
        let setup = Setup::new().via(via);
        setup.server.put(FakePod::api("api-0", pod.port));
        let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
        tells(&error, &["https://elsewhere/x", "--pod-tls"]);
        assert!(!told(&error).contains("sesame"), "{error}");
    }
}

#[tokio::test]
async fn a_cluster_that_cannot_be_reached_is_told() {
    let setup = Setup::new();
    let address = setup.server.address;
    drop(setup.server);
    let error = heapdrift::source::remote::connect(
        &cluster::target("pod/api-0"),
        &setup.access,
        None,
        &setup.options,
    )
    .await
    .map(|found| found.len())
    .unwrap_err();
    let place = address.to_string();
    tells(
        &error,
        &[
            "the API server",
            &place,
            "connection refused",
            "kubectl cluster-info",
        ],
    );
    assert!(error.is_transient());

    let setup = Setup::with(ApiServer::start(), &User::Nobody, |object| {
        object["clusters"][0]["cluster"]["proxy-url"] = "http://me:sesame@127.0.0.1:1".into();
    });
    let error = setup.refusal("pod/api-0").await;
    tells(&error, &["by the proxy 127.0.0.1:1"]);
    assert!(!told(&error).contains("sesame"), "{error}");

    let server = ApiServer::start_tls(Certificates::new());
    let setup = Setup::with(server, &User::Nobody, |object| {
        let other = base64_of(&Certificates::new().ca);
        object["clusters"][0]["cluster"]["certificate-authority-data"] = other.into();
    });
    let error = setup.refusal("pod/api-0").await;
    assert!(matches!(error.problem, FetchProblem::Tls(_)), "{error:?}");
    tells(&error, &["UnknownIssuer", "certificate-authority"]);
}

fn base64_of(text: &str) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(text)
}

#[tokio::test]
async fn contexts_that_are_not_there_are_told_with_those_that_are() {
    let mut setup = Setup::new();
    setup.options.context = Some("nowhere".to_owned());
    let error = setup.refusal("pod/api-0").await;
    assert_eq!(error.address, "pod/api-0");
    tells(
        &error,
        &["no context \"nowhere\"", "--context takes one of: fake"],
    );
    let setup = Setup::with(ApiServer::start(), &User::Nobody, |object| {
        object["current-context"] = Value::Null;
    });
    tells(
        &setup.refusal("deploy/x").await,
        &["no current context", "fake"],
    );
}

#[tokio::test]
async fn a_plugin_that_fails_is_told_in_its_words() {
    let plugin =
        "echo 'session expired: sesame0123456789sesame0123456789' >&2; echo more >&2; exit 7";
    let setup = Setup::of(ApiServer::start(), &User::Plugin(plugin.to_owned()));
    let error = setup.refusal("pod/api-0").await;
    tells(
        &error,
        &[
            "credential plugin sh",
            "exit status: 7",
            "session expired: ***",
            "kubectl auth whoami",
        ],
    );
    let told = format!("{} {error:?}", told(&error));
    assert!(!told.contains("sesame") && !told.contains("more"), "{told}");
    assert!(setup.server.log().is_empty());
}

#[tokio::test]
async fn credentials_for_the_pod_do_not_go_by_the_api_servers_proxy() {
    let mut setup = Setup::new().via(Via::ApiProxy);
    setup.server.put(FakePod::api("api-0", 1));
    setup
        .access
        .headers
        .extend([parse_header("authorization: Bearer sesame").unwrap()]);
    let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
    tells(&error, &["does not take credentials on", "--via api-proxy"]);
    assert!(
        setup
            .server
            .log()
            .iter()
            .all(|request| request.authorization.is_none())
    );
}

/// Every way in which something goes wrong, with secrets in every place where they may be.
#[tokio::test]
async fn no_secret_is_ever_told() {
    let secret = "sesame0123456789";
    let certificates = Certificates::new();
    let (chain, key) = certificates.client.clone();
    let key_lines: Vec<String> = key.lines().skip(1).map(str::to_owned).take(1).collect();
    let pod = PodServer::pprof();
    let users = [
        User::Token(secret.to_owned()),
        User::plugin_with_token(secret),
        User::Certificate(chain, key.clone()),
        User::Plugin(format!(
            "echo '{{\"status\": {{\"token\": \"{secret}\"}}'; exit 1"
        )),
        User::Plugin(format!(
            "echo '{{\"status\": {{\"token\": \"{secret}\", }}'"
        )),
    ];
    for user in users {
        let mut setup = Setup::of(ApiServer::start_tls(certificates.clone()), &user);
        setup.server.put(FakePod::api("api-0", pod.port));
        setup
            .access
            .headers
            .extend([parse_header(&format!("x-key: {secret}")).unwrap()]);
        setup.options.path = Some(format!("/debug/pprof/?key={secret}"));
        let mut shown = String::new();
        match setup.find("pod/api-0").await {
            Err(error) => shown += &format!("{error} {} {error:?}", error.hint()),
            Ok(mut found) => {
                shown += &format!("{found:?}");
                for via in BOTH {
                    setup.options.via = via;
                    found.extend(setup.find("pod/api-0").await.unwrap());
                }
                for trick in [
                    Trick::Status(401, "Unauthorized", "no"),
                    FORBIDDEN,
                    Trick::Status(500, "InternalError", "no"),
                    Trick::Plain(502, "<html>"),
                    Trick::CutAfter(100),
                    Trick::Say("refused"),
                    Trick::Wait(Duration::from_secs(9)),
                ] {
                    setup.server.be_honest();
                    setup.server.trick("/api-0", trick);
                    for process in &mut found {
                        let timeout = Duration::from_millis(300);
                        let taken = tokio::time::timeout(timeout, process.take()).await;
                        match taken {
                            Err(_) => {}
                            Ok(Err(error)) => {
                                shown += &format!("{error} {} {error:?}", error.hint());
                            }
                            Ok(Ok(taken)) => {
                                shown += &format!("{:?} {:?}", taken.missing, taken.retried);
                                for file in &taken.files {
                                    shown += &String::from_utf8_lossy(&file.bytes);
                                }
                            }
                        }
                    }
                }
            }
        }
        shown += &format!("{:?} {:?}", setup.access, setup.options.kubeconfig);
        assert!(shown.len() > 100);
        assert!(!shown.contains(secret), "{user:?}: {shown}");
        for line in &key_lines {
            assert!(!shown.contains(line.as_str()), "{user:?}");
        }
        assert!(!shown.contains(&base64_of(&key)[..40]), "{user:?}");
    }
}
