//! What is told when a cluster or a pod is found and cannot be asked.

use crate::cluster::{
    ApiServer, BOTH, Certificates, FORBIDDEN, FakePod, Page, PodServer, Setup, Trick, User,
    base64_of, pprof_page, status_of, tells, told,
};
use heapdrift::source::remote::{FetchProblem, Via};
use std::sync::Arc;
use std::time::Duration;

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
    tells(&error, &["invalid peer certificate", "--cacert"]);
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
        &crate::cluster::target("pod/api-0"),
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
    tells(
        &error,
        &["invalid peer certificate", "certificate-authority"],
    );
}
