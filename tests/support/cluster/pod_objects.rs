//! Pods for the fake API server: JSON as a cluster would give it.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// When each container began.
pub const STARTED_AT: &str = "2026-11-30T08:00:00Z";

/// A pod, and what listens behind its ports.
#[derive(Debug, Clone)]
pub struct FakePod {
    pub namespace: String,
    pub name: String,
    /// As the API gives it; free to be changed.
    pub object: Value,
    /// A port of the pod → a port of this machine.
    pub ports: BTreeMap<u16, u16>,
    /// Ports on which it listens on localhost only.
    pub localhost_only: BTreeSet<u16>,
}

impl FakePod {
    /// A pod in the namespace `prod` that runs, without containers yet.
    pub fn new(name: &str) -> Self {
        Self {
            namespace: "prod".to_owned(),
            name: name.to_owned(),
            object: json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": "prod",
                    "uid": format!("uid-of-{name}"),
                    "labels": {},
                    "annotations": {},
                },
                "spec": {"nodeName": "node-a", "containers": []},
                "status": {"phase": "Running", "containerStatuses": []},
            }),
            ports: BTreeMap::new(),
            localhost_only: BTreeSet::new(),
        }
    }

    /// The usual one: container `app` with a limit of 512Mi; 6060 leads to a local port.
    pub fn api(name: &str, local: u16) -> Self {
        Self::new(name)
            .label("app", "api")
            .container("app", &[("http", 8080)])
            .limit("512Mi")
            .serve(6060, local)
    }

    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["labels"][key] = value.into();
        self
    }

    pub fn annotate(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["annotations"][key] = value.into();
        self
    }

    /// Adds a container that runs, with ports that it declares.
    pub fn container(mut self, name: &str, ports: &[(&str, u16)]) -> Self {
        let ports: Vec<Value> = ports
            .iter()
            .map(|(name, port)| json!({"name": name, "containerPort": port}))
            .collect();
        push(
            &mut self.object["spec"]["containers"],
            json!({"name": name, "image": "app:1", "ports": ports, "resources": {}}),
        );
        push(
            &mut self.object["status"]["containerStatuses"],
            json!({
                "name": name,
                "image": "app:1",
                "imageID": "",
                "ready": true,
                "restartCount": 0,
                "state": {"running": {"startedAt": STARTED_AT}},
                "lastState": {},
            }),
        );
        self
    }

    /// The memory limit of the container added last.
    pub fn limit(mut self, quantity: &str) -> Self {
        let containers = self.object["spec"]["containers"].as_array_mut().unwrap();
        let last = containers.last_mut().unwrap();
        last["resources"] = json!({"limits": {"memory": quantity}});
        self
    }

    /// A port of the pod leads to one of this machine.
    pub fn serve(mut self, port: u16, local: u16) -> Self {
        self.ports.insert(port, local);
        self
    }

    /// Listens on localhost only there.
    pub fn on_localhost(mut self, port: u16) -> Self {
        self.localhost_only.insert(port);
        self
    }

    /// Changes what no method is there for.
    pub fn with(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.object);
        self
    }

    /// Its first container was killed for its memory and began anew.
    pub fn restart(&mut self, count: u64) {
        let status = &mut self.object["status"]["containerStatuses"][0];
        status["restartCount"] = count.into();
        status["lastState"] = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
        status["state"] = json!({"running": {"startedAt": "2026-11-30T09:00:00Z"}});
    }

    /// Whether `key=value,...` chooses it. Other selectors are not played.
    pub fn is_chosen_by(&self, selector: &str) -> bool {
        let terms = selector.split(',').filter(|term| !term.is_empty());
        terms.into_iter().all(|term| {
            let (key, value) = term.split_once('=').expect("key=value");
            self.object["metadata"]["labels"][key] == value
        })
    }
}

fn push(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}
