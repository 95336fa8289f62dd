//! What is told when a pod, a container or a context cannot be found.

use crate::cluster::{ApiServer, FORBIDDEN, FakePod, Setup, Trick, User, tells, told};
use heapdrift::source::remote::FetchProblem;
use serde_json::{Value, json};

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
