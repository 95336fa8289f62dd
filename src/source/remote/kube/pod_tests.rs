//! What is read of a pod.

use super::*;
use serde_json::{Value, json};

fn pod(spec: Value, status: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "api-0", "namespace": "prod", "uid": "u1"},
        "spec": spec,
        "status": status,
    }))
    .unwrap()
}

fn container(name: &str, ports: &[(&str, i32)]) -> Value {
    let ports: Vec<Value> = ports
        .iter()
        .map(|(name, port)| json!({"name": name, "containerPort": port}))
        .collect();
    json!({"name": name, "ports": ports})
}

fn with_containers(containers: &[Value]) -> Pod {
    pod(
        json!({"containers": containers}),
        json!({"phase": "Running"}),
    )
}

fn choice(pod: &Pod, container: Option<&str>, port: Option<&str>) -> Result<(String, u16), String> {
    match choose(pod, Wish { container, port }) {
        Ok(choice) => Ok((choice.container, choice.port)),
        Err(trouble) => Err(format!("{}. {}", trouble.problem, trouble.advice)),
    }
}

fn is(container: &str, port: u16) -> Result<(String, u16), String> {
    Ok((container.to_owned(), port))
}

#[test]
fn the_only_container_is_meant() {
    let pod = with_containers(&[container("app", &[("http", 8080)])]);
    assert_eq!(choice(&pod, None, None), is("app", 6060));
    assert_eq!(choice(&pod, None, Some("9")), is("app", 9));
    assert_eq!(choice(&pod, None, Some("http")), is("app", 8080));
    assert!(choose(&pod, Wish::default()).unwrap().is_only);
}

#[test]
fn a_port_of_profiles_points_at_its_container() {
    let mut pod = with_containers(&[
        container("app", &[("http", 8080)]),
        container("worker", &[("pprof", 7070)]),
    ]);
    pod.metadata.annotations = Some([(DEFAULT_CONTAINER.to_owned(), "app".to_owned())].into());
    assert_eq!(choice(&pod, None, None), is("worker", 7070));
    // The containers of a pod share its ports.
    assert_eq!(choice(&pod, Some("app"), None), is("app", 7070));
    assert_eq!(choice(&pod, None, Some("8080")), is("app", 8080));
    assert_eq!(choice(&pod, None, Some("http")), is("app", 8080));
    assert!(!choose(&pod, Wish::default()).unwrap().is_only);
}

#[test]
fn kubectls_default_container_is_ours() {
    let mut pod = with_containers(&[container("app", &[]), container("proxy", &[])]);
    let told = choice(&pod, None, None).unwrap_err();
    assert!(told.contains("2 containers"), "{told}");
    assert!(told.contains("-c takes one of: app, proxy"), "{told}");
    pod.metadata.annotations = Some([(DEFAULT_CONTAINER.to_owned(), "proxy".to_owned())].into());
    assert_eq!(choice(&pod, None, None), is("proxy", 6060));
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let pod = with_containers(&[
        container("app", &[("http", 8080)]),
        container("worker", &[("pprof", 7070)]),
    ]);
    let told = choice(&pod, Some("sidecar"), None).unwrap_err();
    assert!(told.contains("no container \"sidecar\""), "{told}");
    assert!(told.contains("app, worker"), "{told}");
    let told = choice(&pod, None, Some("debug")).unwrap_err();
    assert!(told.contains("no port named \"debug\""), "{told}");
    assert!(
        told.contains("8080 (http) of app, 7070 (pprof) of worker"),
        "{told}"
    );
}

#[test]
fn sidecars_among_the_init_containers_count() {
    let pod = pod(
        json!({
            "containers": [{"name": "app"}],
            "initContainers": [
                {"name": "once"},
                {"name": "mesh", "restartPolicy": "Always", "ports": [{"name": "pprof", "containerPort": 1}]},
            ],
        }),
        json!({"phase": "Running"}),
    );
    assert_eq!(choice(&pod, None, None), is("mesh", 1));
    let told = choice(&pod, Some("once"), None).unwrap_err();
    assert!(told.contains("app, mesh"), "{told}");
}

#[test]
fn facts_are_those_of_the_container() {
    let pod = pod(
        json!({
            "nodeName": "node-a",
            "containers": [
                {"name": "proxy", "resources": {"limits": {"memory": "1Gi"}}},
                {"name": "app", "resources": {"limits": {"memory": "1.5Gi"}}},
            ],
        }),
        json!({
            "phase": "Running",
            "containerStatuses": [
                {"name": "proxy", "image": "", "imageID": "", "ready": true, "restartCount": 0},
                {
                    "name": "app", "image": "", "imageID": "", "ready": true, "restartCount": 3,
                    "state": {"running": {"startedAt": "2026-11-30T08:00:00Z"}},
                    "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                },
            ],
        }),
    );
    let facts = facts_of(&pod, "app");
    assert_eq!(
        facts,
        PodFacts {
            namespace: "prod".to_owned(),
            pod: "api-0".to_owned(),
            uid: "u1".to_owned(),
            container: "app".to_owned(),
            node: Some("node-a".to_owned()),
            restart_count: 3,
            started_at: "2026-11-30T08:00:00Z".parse().ok(),
            memory_limit_bytes: Some(3 << 29),
            last_end: Some("OOMKilled, exit code 137".to_owned()),
        }
    );
}

#[test]
fn the_limit_in_force_wins_over_the_one_asked_for() {
    let limits = |quantity: &str| json!({"limits": {"memory": quantity}});
    let status = |resources: Value| {
        json!({"phase": "Running", "containerStatuses": [
            {"name": "app", "image": "", "imageID": "", "ready": true, "restartCount": 0, "resources": resources},
        ]})
    };
    let limit = |spec, status| memory_limit(&pod(spec, status), "app");
    let spec = json!({"containers": [{"name": "app", "resources": limits("1G")}]});
    assert_eq!(
        limit(spec.clone(), status(limits("2G"))),
        Some(2_000_000_000)
    );
    assert_eq!(limit(spec, status(json!({}))), Some(1_000_000_000));
    let of_pod = json!({"containers": [{"name": "app"}], "resources": limits("3G")});
    assert_eq!(limit(of_pod, status(json!({}))), Some(3_000_000_000));
    let none = json!({"containers": [{"name": "app", "resources": limits("0")}]});
    assert_eq!(limit(none, status(json!({}))), None);
}

#[test]
fn a_pod_that_cannot_be_asked_says_why() {
    let status = |state: Value, last: Value| json!({"name": "app", "image": "", "imageID": "", "ready": false, "restartCount": 1, "state": state, "lastState": last});
    let oom = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
    let phase = |name: &str, statuses: Value| {
        let status = json!({"phase": name, "containerStatuses": statuses});
        phase_of(
            &pod(json!({"containers": [{"name": "app"}]}), status),
            Some("app"),
        )
    };
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    assert_eq!(
        phase("Running", json!([status(waiting, oom.clone())])),
        Phase::Waiting(
            "its container app does not run: CrashLoopBackOff; it last ended: OOMKilled, exit code 137"
                .to_owned()
        )
    );
    assert_eq!(
        phase("Failed", json!([status(oom, json!({}))])),
        Phase::Ended("it has ended (Failed): OOMKilled, exit code 137".to_owned())
    );
    let error = json!({"terminated": {"reason": "Error", "exitCode": 2}});
    assert_eq!(
        phase("Running", json!([status(error, json!({}))])),
        Phase::Waiting("its container app has ended: exit code 2".to_owned())
    );
    let creating = json!({"waiting": {"reason": "ContainerCreating"}});
    assert_eq!(
        phase("Pending", json!([status(creating, json!({}))])),
        Phase::Waiting("it is Pending: ContainerCreating".to_owned())
    );
    let running = json!({"running": {"startedAt": "2026-11-30T08:00:00Z"}});
    assert_eq!(
        phase("Running", json!([status(running, json!({}))])),
        Phase::Running
    );
}

#[test]
fn the_clusters_own_reasons_are_told() {
    let evicted = pod(
        json!({"containers": [{"name": "app"}]}),
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}),
    );
    assert_eq!(
        phase_of(&evicted, None),
        Phase::Ended("it has ended (Failed): Evicted, The node was low on memory.".to_owned())
    );
    let unscheduled = pod(
        json!({"containers": [{"name": "app"}]}),
        json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"},
        ]}),
    );
    assert_eq!(
        phase_of(&unscheduled, None),
        Phase::Waiting("it is Pending: 0/3 nodes are available".to_owned())
    );
}
