//! One pod as the API shows it: which container and port are meant, what is known of it, and
//! whether it runs.
//!
//! Pure: reads what was fetched. Must not know how it was fetched, nor how the pod is reached.

use super::quantity::parse_quantity;
use super::trouble::Trouble;
use crate::source::remote::error::FetchProblem;
use crate::source::remote::facts::PodFacts;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStateTerminated, ContainerStatus, Pod};

/// Where pprof is served unless somebody says otherwise.
const DEFAULT_PORT: u16 = 6060;
/// What a container calls its port of profiles.
const PPROF_PORT: &str = "pprof";
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// What of a pod is meant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wish<'a> {
    /// `-c`.
    pub(super) container: Option<&'a str>,
    /// A number or the name of a container port.
    pub(super) port: Option<&'a str>,
}

/// A container and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) container: String,
    /// Whether the pod has no other.
    pub(super) is_only: bool,
    pub(super) port: u16,
}

/// What a pod or container is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// It can be asked.
    Running,
    /// Not now; why.
    Waiting(String),
    /// Never again; why.
    Ended(String),
}

/// Names of pods are needed for messages only; the API always gives one.
pub(super) fn name_of(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// Chooses a container and a port.
///
/// The container: the one wished for; else the one that declares the port wished for; else the
/// one with a port named `pprof`; else the annotated default of kubectl; else the only one.
pub(super) fn choose(pod: &Pod, wish: Wish) -> Result<Choice, Trouble> {
    let containers = containers_of(pod);
    let names: Vec<&str> = containers.iter().map(|c| c.name.as_str()).collect();
    let pod_name = name_of(pod);
    let only_owner = |has: &dyn Fn(&Container) -> bool| {
        let mut owners = containers.iter().filter(|container| has(container));
        match (owners.next(), owners.next()) {
            (Some(owner), None) => Some(*owner),
            _ => None,
        }
    };
    let named = |name: &str| containers.iter().find(|c| c.name == name).copied();
    let annotated = pod
        .metadata
        .annotations
        .as_ref()
        .and_then(|annotations| named(annotations.get(DEFAULT_CONTAINER)?));
    let container = match (wish.container, &containers[..]) {
        (Some(name), _) => named(name).ok_or_else(|| {
            Trouble::new(
                FetchProblem::Cluster(format!("pod {pod_name} has no container {name:?}")),
                format!("-c takes one of: {}", names.join(", ")),
            )
        })?,
        (None, [only]) => only,
        (None, _) => only_owner(&|c| wish.port.is_some_and(|port| find_port(c, port).is_some()))
            .or_else(|| only_owner(&|c| find_port(c, PPROF_PORT).is_some()))
            .or(annotated)
            .ok_or_else(|| {
                let count = containers.len();
                Trouble::new(
                    FetchProblem::Cluster(format!(
                        "pod {pod_name} has {count} containers, and none of them stands out"
                    )),
                    format!("-c takes one of: {}", names.join(", ")),
                )
            })?,
    };
    Ok(Choice {
        container: container.name.clone(),
        is_only: containers.len() == 1,
        port: choose_port(pod, container, wish.port)?,
    })
}

/// The number of a port: as wished, the one named `pprof`, or 6060. All containers of a pod
/// share its ports, so another's will do when the chosen one has none of that name.
pub(super) fn choose_port(
    pod: &Pod,
    container: &Container,
    wish: Option<&str>,
) -> Result<u16, Trouble> {
    let wanted = wish.unwrap_or(PPROF_PORT);
    let found = find_port(container, wanted)
        .or_else(|| containers_of(pod).iter().find_map(|c| find_port(c, wanted)));
    let number = wanted.parse().ok().filter(|number| *number != 0);
    match (number.or(found), wish) {
        (Some(port), _) => Ok(port),
        (None, None) => Ok(DEFAULT_PORT),
        (None, Some(name)) => Err(Trouble::new(
            FetchProblem::Cluster(format!("pod {} has no port named {name:?}", name_of(pod))),
            format!("{}; a number is understood as well", declared(pod)),
        )),
    }
}

/// A port of a container by its name or number.
fn find_port(container: &Container, wanted: &str) -> Option<u16> {
    let ports = container.ports.iter().flatten();
    let mut fitting = ports.filter(|port| {
        port.name.as_deref() == Some(wanted) || port.container_port.to_string() == wanted
    });
    u16::try_from(fitting.next()?.container_port).ok()
}

/// A container of a pod by its name.
pub(super) fn find_container<'a>(pod: &'a Pod, name: &str) -> Option<&'a Container> {
    containers_of(pod).into_iter().find(|c| c.name == name)
}

/// Those that run side by side: init containers that are restarted always are sidecars.
fn containers_of(pod: &Pod) -> Vec<&Container> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|c| c.restart_policy.as_deref() == Some("Always"));
    spec.containers.iter().chain(sidecars).collect()
}

/// A sentence on the ports that a pod declares.
pub(super) fn declared(pod: &Pod) -> String {
    let containers = containers_of(pod);
    let mut ports: Vec<String> = Vec::new();
    for container in &containers {
        for port in container.ports.iter().flatten() {
            let name = port.name.as_deref().map(|name| format!(" ({name})"));
            let owner = match containers.len() {
                1 => String::new(),
                _ => format!(" of {}", container.name),
            };
            ports.push(format!(
                "{}{}{owner}",
                port.container_port,
                name.unwrap_or_default()
            ));
        }
    }
    match ports.is_empty() {
        true => "the pod declares no ports".to_owned(),
        false => format!("the pod declares {}", ports.join(", ")),
    }
}

fn status_of<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let main = status.container_statuses.iter().flatten();
    let sidecars = status.init_container_statuses.iter().flatten();
    main.chain(sidecars).find(|status| status.name == container)
}

/// What is known of a container.
pub(super) fn facts_of(pod: &Pod, container: &str) -> PodFacts {
    let status = status_of(pod, container);
    let state = status.and_then(|status| status.state.as_ref());
    let started_at = state
        .and_then(|state| state.running.as_ref()?.started_at.as_ref())
        // The API's types have a `jiff` of their own.
        .and_then(|time| Timestamp::from_nanosecond(time.0.as_nanosecond()).ok());
    let last_end = status
        .and_then(|status| status.last_state.as_ref()?.terminated.as_ref())
        .map(describe_end);
    let restarts = status.map_or(0, |status| status.restart_count);
    PodFacts {
        namespace: pod.metadata.namespace.clone().unwrap_or_default(),
        pod: name_of(pod).to_owned(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        container: container.to_owned(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        restart_count: u64::try_from(restarts).unwrap_or(0),
        started_at,
        memory_limit_bytes: memory_limit(pod, container),
        last_end,
    }
}

/// The limit that is in force (it may be changed while the container runs), else the one that
/// was asked for, else that of the whole pod.
fn memory_limit(pod: &Pod, container: &str) -> Option<u64> {
    let in_force = status_of(pod, container).and_then(|status| status.resources.as_ref());
    let asked = find_container(pod, container).and_then(|c| c.resources.as_ref());
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    [in_force, asked, of_pod]
        .into_iter()
        .flatten()
        .find_map(|resources| parse_quantity(&resources.limits.as_ref()?.get("memory")?.0))
        // Kubernetes takes zero for no limit.
        .filter(|limit| *limit > 0)
}

/// `OOMKilled, exit code 137`.
fn describe_end(end: &ContainerStateTerminated) -> String {
    let code = match end.signal {
        Some(signal) if signal != 0 => format!("signal {signal}"),
        _ => format!("exit code {}", end.exit_code),
    };
    match end.reason.as_deref() {
        None | Some("" | "Error") => code,
        Some(reason) => format!("{reason}, {code}"),
    }
}

/// Whether a pod, and a container of it, can be asked.
pub(super) fn phase_of(pod: &Pod, container: Option<&str>) -> Phase {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    match phase {
        Some(phase @ ("Failed" | "Succeeded")) => {
            return Phase::Ended(match why_ended(pod, container) {
                Some(why) => format!("it has ended ({phase}): {why}"),
                None => format!("it has ended ({phase})"),
            });
        }
        _ if pod.metadata.deletion_timestamp.is_some() => {
            return Phase::Ended("it is being deleted".to_owned());
        }
        Some("Running") => {}
        phase => {
            let phase = phase.unwrap_or("Pending");
            return Phase::Waiting(match why_waiting(pod, container) {
                Some(why) => format!("it is {phase}: {why}"),
                None => format!("it is {phase}"),
            });
        }
    }
    let Some(status) = container.and_then(|container| status_of(pod, container)) else {
        return Phase::Running;
    };
    let state = status.state.as_ref();
    let last = status.last_state.as_ref();
    let last_end = last
        .and_then(|last| last.terminated.as_ref())
        .map(describe_end);
    let last_end = last_end.map_or_else(String::new, |end| format!("; it last ended: {end}"));
    let name = &status.name;
    match state {
        Some(state) if state.terminated.is_some() => {
            let end = state.terminated.as_ref().map(describe_end);
            let end = end.unwrap_or_default();
            Phase::Waiting(format!("its container {name} has ended: {end}"))
        }
        Some(state) if state.running.is_none() && state.waiting.is_some() => {
            let waiting = state.waiting.as_ref();
            let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
            let reason = reason.unwrap_or("no reason given");
            Phase::Waiting(format!(
                "its container {name} does not run: {reason}{last_end}"
            ))
        }
        _ => Phase::Running,
    }
}

/// Why a pod has ended: its container's own end, that of any that failed, or the cluster's
/// reason (`Evicted`).
fn why_ended(pod: &Pod, container: Option<&str>) -> Option<String> {
    let ended = |status: &ContainerStatus| {
        let end = status.state.as_ref()?.terminated.as_ref()?;
        Some(describe_end(end))
    };
    let status = pod.status.as_ref()?;
    let own = container.and_then(|container| ended(status_of(pod, container)?));
    let failed = || {
        let statuses = status.container_statuses.iter().flatten();
        let failed = statuses.filter(|status| {
            let end = status
                .state
                .as_ref()
                .and_then(|state| state.terminated.as_ref());
            end.is_some_and(|end| end.exit_code != 0)
        });
        failed.map(ended).next().flatten()
    };
    let evicted = || {
        let reason = status
            .reason
            .as_deref()
            .filter(|reason| !reason.is_empty())?;
        Some(match status.message.as_deref() {
            Some(message) => format!("{reason}, {message}"),
            None => reason.to_owned(),
        })
    };
    own.or_else(failed).or_else(evicted)
}

/// Why a pod does not run yet: a container's reason, or a condition that is not met.
fn why_waiting(pod: &Pod, container: Option<&str>) -> Option<String> {
    let status = pod.status.as_ref()?;
    let reason = |status: &ContainerStatus| {
        let waiting = status.state.as_ref()?.waiting.as_ref()?;
        waiting.reason.clone()
    };
    let own = container.and_then(|container| reason(status_of(pod, container)?));
    let any = || status.container_statuses.iter().flatten().find_map(reason);
    let condition = || {
        let mut unmet = status
            .conditions
            .iter()
            .flatten()
            .filter(|c| c.status == "False");
        unmet.find_map(|condition| condition.message.clone())
    };
    own.or_else(any).or_else(condition)
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
