//! `pod/NAME`, a workload or a selector → the pods that run now.
//!
//! Knows which object chooses pods, and how. Must not know how a pod is reached.

use super::cluster::Cluster;
use super::config::listed;
use super::pod::{Phase, name_of, phase_of};
use super::trouble::{Right, Trouble};
use crate::source::remote::error::FetchProblem;
use crate::source::remote::target::{ObjectName, WorkloadKind};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Similar names, or pods that do not run, which a message tells of.
const MAX_TOLD: usize = 5;
/// Names that are looked at for similar ones.
const MAX_NAMES: usize = 500;

#[derive(Deserialize)]
struct Pods {
    items: Vec<Pod>,
}

/// Finds the pods that an object names, sorted by name: at least one, and all of them run.
///
/// # Errors
/// There is no such object, none of its pods runs, or the API refuses to tell.
pub(super) async fn running_pods(
    cluster: &Cluster,
    namespace: &str,
    name: &ObjectName,
) -> Result<Vec<Pod>, Trouble> {
    let (what, selector) = match name {
        ObjectName::Pod(pod) => {
            return running_pod(cluster, namespace, pod)
                .await
                .map(|pod| vec![pod]);
        }
        ObjectName::Selector(selector) => (format!("the selector {selector:?}"), selector.clone()),
        ObjectName::Workload(kind, name) => {
            let selector = selector_of(cluster, namespace, *kind, name).await?;
            (format!("{}/{name}", kind.short_name()), selector)
        }
    };
    let pods = list(cluster, namespace, &selector).await?;
    if pods.is_empty() {
        return Err(Trouble::new(
            FetchProblem::Cluster(format!("{what} chooses no pod in namespace {namespace}")),
            match name {
                ObjectName::Selector(_) => {
                    "`kubectl get pods --show-labels` shows what can be chosen; -n names another namespace".to_owned()
                }
                _ => format!(
                    "it is scaled to zero, or its selector {selector} fits nothing: `kubectl describe {what}`"
                ),
            },
        ));
    }
    let mut waiting = Vec::new();
    let mut running = Vec::new();
    for pod in pods {
        match phase_of(&pod, None) {
            Phase::Running => running.push(pod),
            Phase::Waiting(why) | Phase::Ended(why) => {
                waiting.push(format!("{}: {why}", name_of(&pod)));
            }
        }
    }
    if running.is_empty() {
        return Err(none_runs(&what, &waiting));
    }
    running.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    Ok(running)
}

/// A message on pods of which none can be asked.
pub(super) fn none_runs(what: &str, reasons: &[String]) -> Trouble {
    let count = reasons.len();
    let told = reasons[..count.min(MAX_TOLD)].join("; ");
    Trouble::new(
        FetchProblem::Cluster(format!("none of the {count} pods of {what} runs: {told}")),
        "`kubectl describe pod NAME` and `kubectl logs -p NAME` tell more",
    )
}

async fn running_pod(cluster: &Cluster, namespace: &str, name: &str) -> Result<Pod, Trouble> {
    let pod = match get_pod(cluster, namespace, name).await {
        Err(trouble) if trouble.is_not_found() => {
            return Err(not_there(cluster, namespace, "pod", "/api/v1", "pods", name).await);
        }
        pod => pod?,
    };
    match phase_of(&pod, None) {
        Phase::Running => Ok(pod),
        phase => Err(cannot_be_asked(name, phase)),
    }
}

/// A message on one pod that cannot be asked.
pub(super) fn cannot_be_asked(name: &str, phase: Phase) -> Trouble {
    match phase {
        Phase::Ended(why) => Trouble::new(
            FetchProblem::Gone(format!("pod {name}: {why}")),
            "`kubectl get pods` shows what runs now; a workload (deploy/NAME) or -l finds it by itself",
        ),
        Phase::Waiting(why) => Trouble::new(
            FetchProblem::Cluster(format!("pod {name}: {why}")),
            format!("`kubectl describe pod {name}` and `kubectl logs -p {name}` tell more"),
        ),
        Phase::Running => Trouble::new(FetchProblem::Cluster(format!("pod {name}: it runs")), ""),
    }
}

/// One pod as it is now.
pub(super) async fn get_pod(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
) -> Result<Pod, Trouble> {
    let right = Right {
        verb: "get",
        group: "",
        resource: "pods",
        namespace,
    };
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}",
        segment(namespace),
        segment(name)
    );
    cluster.get(&path, &right).await
}

async fn list(cluster: &Cluster, namespace: &str, selector: &str) -> Result<Vec<Pod>, Trouble> {
    let right = Right {
        verb: "list",
        group: "",
        resource: "pods",
        namespace,
    };
    let path = format!(
        "/api/v1/namespaces/{}/pods?labelSelector={}",
        segment(namespace),
        segment(selector)
    );
    let pods: Pods = cluster.get(&path, &right).await?;
    Ok(pods.items)
}

/// How the API files a kind: its group, the path of the group and the plural.
fn resource_of(kind: WorkloadKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        WorkloadKind::Deployment => ("apps", "/apis/apps/v1", "deployments"),
        WorkloadKind::StatefulSet => ("apps", "/apis/apps/v1", "statefulsets"),
        WorkloadKind::DaemonSet => ("apps", "/apis/apps/v1", "daemonsets"),
        WorkloadKind::ReplicaSet => ("apps", "/apis/apps/v1", "replicasets"),
        WorkloadKind::Job => ("batch", "/apis/batch/v1", "jobs"),
        WorkloadKind::Service => ("", "/api/v1", "services"),
    }
}

/// The label selector by which a workload or service chooses its pods.
async fn selector_of(
    cluster: &Cluster,
    namespace: &str,
    kind: WorkloadKind,
    name: &str,
) -> Result<String, Trouble> {
    #[derive(Deserialize)]
    struct Of<S> {
        spec: Option<Spec<S>>,
    }
    #[derive(Deserialize)]
    struct Spec<S> {
        selector: Option<S>,
    }
    let (group, base, resource) = resource_of(kind);
    let right = Right {
        verb: "get",
        group,
        resource,
        namespace,
    };
    let path = format!(
        "{base}/namespaces/{}/{resource}/{}",
        segment(namespace),
        segment(name)
    );
    let selector = if kind == WorkloadKind::Service {
        let service: Result<Of<BTreeMap<String, String>>, Trouble> =
            cluster.get(&path, &right).await;
        service.map(|service| {
            service.spec.and_then(|spec| spec.selector).map(|labels| {
                text_of(&LabelSelector {
                    match_labels: Some(labels),
                    match_expressions: None,
                })
            })
        })
    } else {
        let workload: Result<Of<LabelSelector>, Trouble> = cluster.get(&path, &right).await;
        workload.map(|workload| {
            let selector = workload.spec.and_then(|spec| spec.selector);
            selector.as_ref().map(text_of)
        })
    };
    let short = kind.short_name();
    match selector {
        Ok(Some(selector)) if !selector.is_empty() => Ok(selector),
        Ok(_) => Err(Trouble::new(
            FetchProblem::Cluster(format!(
                "{short}/{name} chooses no pods: it has no selector"
            )),
            "name the pods themselves, or choose them with -l",
        )),
        Err(trouble) if trouble.is_not_found() => {
            Err(not_there(cluster, namespace, short, base, resource, name).await)
        }
        Err(trouble) => Err(trouble),
    }
}

/// A selector as the API takes it in a query.
fn text_of(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten();
    let mut terms: Vec<String> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    for term in selector.match_expressions.iter().flatten() {
        let key = &term.key;
        let values = term.values.as_deref().unwrap_or_default().join(",");
        terms.push(match term.operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            _ => format!("!{key}"),
        });
    }
    terms.join(",")
}

/// A message on a name that is not there, with similar ones where we may list them.
async fn not_there(
    cluster: &Cluster,
    namespace: &str,
    kind: &str,
    base: &str,
    resource: &'static str,
    name: &str,
) -> Trouble {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: String,
    }
    let right = Right {
        verb: "list",
        group: "",
        resource,
        namespace,
    };
    let path = format!(
        "{base}/namespaces/{}/{resource}?limit={MAX_NAMES}",
        segment(namespace)
    );
    let problem = FetchProblem::Cluster(format!(
        "there is no {kind} {name:?} in namespace {namespace}"
    ));
    let Ok(list) = cluster.get::<List>(&path, &right).await else {
        let advice =
            "check the name and -n; listing them is not allowed, so no similar name is known";
        return Trouble::new(problem, advice);
    };
    let names: Vec<&str> = list
        .items
        .iter()
        .map(|item| item.metadata.name.as_str())
        .collect();
    let similar = similar_names(name, &names);
    let advice = match (names.is_empty(), similar.is_empty()) {
        (true, _) => format!("there are no {resource} in this namespace: -n names another"),
        (false, true) => format!("there are: {}; -n names another namespace", listed(&names)),
        (false, false) => format!("did you mean {}?", similar.join(", ")),
    };
    Trouble::new(problem, advice)
}

/// Names that begin alike, the most alike first; at least half of the wanted one.
fn similar_names<'a>(wanted: &str, names: &[&'a str]) -> Vec<&'a str> {
    let alike = |name: &str| {
        let pairs = wanted.bytes().zip(name.bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let mut similar: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| alike(name) * 2 >= wanted.len() || name.contains(wanted))
        .collect();
    similar.sort_by_key(|name| (usize::MAX - alike(name), *name));
    similar.truncate(MAX_TOLD);
    similar
}

/// One segment of a path, or one value of a query.
pub(super) fn segment(text: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_written_as_the_api_takes_them() {
        let selector: LabelSelector = serde_json::from_value(json!({
            "matchLabels": {"app": "api", "tier": "web"},
            "matchExpressions": [
                {"key": "env", "operator": "In", "values": ["a", "b"]},
                {"key": "old", "operator": "NotIn", "values": ["x"]},
                {"key": "has", "operator": "Exists"},
                {"key": "hasnt", "operator": "DoesNotExist"},
            ],
        }))
        .unwrap();
        assert_eq!(
            text_of(&selector),
            "app=api,tier=web,env in (a,b),old notin (x),has,!hasnt"
        );
    }

    #[test]
    fn names_that_begin_alike_are_offered() {
        let names = ["web-1", "api-1", "api-0", "apiserver", "x-api-9-y"];
        assert_eq!(
            similar_names("api-9", &names),
            ["api-0", "api-1", "apiserver", "x-api-9-y"]
        );
        assert!(similar_names("db-0", &names).is_empty());
    }

    #[test]
    fn a_name_cannot_leave_its_segment() {
        assert_eq!(segment("a/../b?c=d"), "a%2F..%2Fb%3Fc%3Dd");
        assert_eq!(segment("api-0.x"), "api-0.x");
    }
}
