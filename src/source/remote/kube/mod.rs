//! Pods: found through the API of a cluster, reached by port-forward or the API's proxy.
//!
//! The only place that knows Kubernetes. `config` and `exec` say which cluster and as whom,
//! `cluster` asks its API, `resolve` finds pods, `pod` reads what is known of one, `way` sends
//! requests there by `forward` or `proxy`, `trouble` explains what fails. Must not know what is
//! asked of a pod.

mod cluster;
mod config;
mod exec;
mod forward;
mod pod;
mod proxy;
mod quantity;
mod resolve;
mod trouble;
mod way;

pub(super) use way::PodWay;

use super::ClusterOptions;
use super::access::Access;
use super::error::{FetchError, FetchProblem};
use super::fetcher::{Fetcher, Way};
use super::process::{Metrics, Process};
use super::target::{Endpoint, Object, ObjectName};
use super::tls::client_config;
use cluster::Cluster;
use config::{Surroundings, load};
use forward::PodTls;
use k8s_openapi::api::core::v1::Pod;
use pod::{
    Phase, Wish, choose, choose_port, declared, facts_of, find_container, name_of, phase_of,
};
use std::sync::Arc;
use trouble::Trouble;

/// Finds the pods that an object names.
pub(super) async fn connect(
    object: &Object,
    access: &Access,
    metrics: Option<&str>,
    options: &ClusterOptions,
) -> Result<Vec<Process>, FetchError> {
    let address = object.to_string();
    let cluster = async {
        let settings = load(options, &Surroundings::read()).await?;
        Cluster::new(settings, access.timeout).await
    };
    let cluster = cluster
        .await
        .map_err(|trouble| trouble.at(address.as_str()))?;
    let request = Request {
        object,
        access,
        metrics,
        options,
    };
    request
        .find(&Arc::new(cluster))
        .await
        .map_err(|trouble| trouble.at(address))
}

/// Finds the pods that an object names now, in the cluster of processes that it named before;
/// those that are known already are left out.
pub(super) async fn reconnect(
    object: &Object,
    access: &Access,
    metrics: Option<&str>,
    options: &ClusterOptions,
    known: &[&Process],
) -> Result<Vec<Process>, FetchError> {
    let ways = known.iter().filter_map(|process| process.pod_way());
    let cluster = ways.map(|way| way.cluster.clone()).next();
    let found = match cluster {
        None => connect(object, access, metrics, options).await?,
        Some(cluster) => {
            let request = Request {
                object,
                access,
                metrics,
                options,
            };
            let found = request.find(&cluster).await;
            found.map_err(|trouble| trouble.at(object.to_string()))?
        }
    };
    let is_known = |process: &Process| {
        let known = known.iter().filter_map(|process| process.pod());
        process
            .pod()
            .is_some_and(|pod| known.into_iter().any(|other| other.uid == pod.uid))
    };
    Ok(found
        .into_iter()
        .filter(|process| !is_known(process))
        .collect())
}

/// What is looked for, and how it will be asked.
struct Request<'a> {
    object: &'a Object,
    access: &'a Access,
    metrics: Option<&'a str>,
    options: &'a ClusterOptions,
}

impl Request<'_> {
    async fn find(&self, cluster: &Arc<Cluster>) -> Result<Vec<Process>, Trouble> {
        let namespace = self.options.namespace.as_deref();
        let namespace = namespace.unwrap_or(cluster.namespace());
        let pods = resolve::running_pods(cluster, namespace, &self.object.name).await?;
        let mut processes = Vec::new();
        let mut not_now = Vec::new();
        for pod in &pods {
            let wish = Wish {
                container: self.options.container.as_deref(),
                port: self.object.port.as_deref().or(self.options.port.as_deref()),
            };
            let choice = choose(pod, wish)?;
            match phase_of(pod, Some(&choice.container)) {
                Phase::Running => processes.push(self.process(cluster, namespace, pod, &choice)?),
                phase if matches!(self.object.name, ObjectName::Pod(_)) => {
                    return Err(resolve::cannot_be_asked(name_of(pod), phase));
                }
                Phase::Waiting(why) | Phase::Ended(why) => {
                    not_now.push(format!("{}: {why}", name_of(pod)));
                }
            }
        }
        match processes.is_empty() {
            true => Err(resolve::none_runs(&self.object.to_string(), &not_now)),
            false => Ok(processes),
        }
    }

    fn process(
        &self,
        cluster: &Arc<Cluster>,
        namespace: &str,
        pod: &Pod,
        choice: &pod::Choice,
    ) -> Result<Process, Trouble> {
        let server_name = self.options.pod_server_name.as_deref();
        let tls = match self.options.pod_tls || server_name.is_some() {
            false => None,
            true => {
                let config = client_config(&self.access.tls);
                let wrong = |message| Trouble::new(FetchProblem::Credentials(message), "");
                Some(PodTls::new(config.map_err(wrong)?, server_name)?)
            }
        };
        let way = PodWay {
            cluster: cluster.clone(),
            namespace: namespace.to_owned(),
            pod: name_of(pod).to_owned(),
            port: choice.port,
            via: self.options.via,
            tls,
            endpoint: self.endpoint()?,
            declared: declared(pod),
        };
        let metrics = self
            .metrics
            .map(|text| self.metrics_of(text, pod, choice, &way));
        let metrics = metrics.transpose()?;
        let mut facts = facts_of(pod, &choice.container);
        if facts.namespace.is_empty() {
            namespace.clone_into(&mut facts.namespace);
        }
        let name = match choice.is_only {
            true => format!("{namespace}/{}", way.pod),
            false => format!("{namespace}/{}/{}", way.pod, choice.container),
        };
        Ok(Process::of_pod(name, self.fetcher(way), metrics, facts))
    }

    fn fetcher(&self, way: PodWay) -> Fetcher {
        Fetcher::new(Way::Pod(way), self.access.clone())
    }

    /// Where pprof is. The host is there because a URL has one.
    fn endpoint(&self) -> Result<Endpoint, Trouble> {
        let path = self.options.path.as_deref().unwrap_or("/");
        let slash = if path.starts_with('/') { "" } else { "/" };
        Endpoint::parse(&format!("http://localhost{slash}{path}")).map_err(|error| {
            let hint = error.hint();
            Trouble::new(
                FetchProblem::Cluster(format!("--pprof-path: {error}")),
                hint,
            )
        })
    }

    /// `/metrics` beside pprof, or `:PORT/metrics` on another port of the pod.
    fn metrics_of(
        &self,
        text: &str,
        pod: &Pod,
        choice: &pod::Choice,
        way: &PodWay,
    ) -> Result<Metrics, Trouble> {
        if text.starts_with('/') {
            return Ok(Metrics::Beside(text.to_owned()));
        }
        let wrong = || {
            Trouble::new(
                FetchProblem::NoAddress("metrics in a pod"),
                "for pods --metrics takes a path (/metrics), or a port and a path (:9090/metrics); a URL is for targets that are URLs",
            )
        };
        let (port, path) = text
            .strip_prefix(':')
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(wrong)?;
        let container = find_container(pod, &choice.container).ok_or_else(wrong)?;
        let port = choose_port(pod, container, Some(port))?;
        let url = format!("http://localhost/{path}");
        let endpoint = Endpoint::exact(&url).map_err(|_| wrong())?;
        Ok(Metrics::Elsewhere(Box::new(self.fetcher(PodWay {
            port,
            endpoint,
            ..way.clone()
        }))))
    }
}
