//! The way to one container: which pod, which port, and how a request gets there.

use super::cluster::Cluster;
use super::forward::PodTls;
use super::pod::{Phase, facts_of, phase_of};
use super::resolve::{get_pod, segment};
use super::trouble::Trouble;
use super::{forward, proxy};
use crate::source::remote::Via;
use crate::source::remote::answer::Answer;
use crate::source::remote::error::{FetchError, FetchProblem};
use crate::source::remote::facts::PodFacts;
use crate::source::remote::process::Change;
use crate::source::remote::target::Endpoint;
use http::{HeaderMap, header};
use k8s_openapi::api::core::v1::Pod;
use reqwest::Url;
use std::sync::Arc;

/// The way to one port of a pod.
#[derive(Clone)]
pub(in crate::source::remote) struct PodWay {
    pub(super) cluster: Arc<Cluster>,
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) port: u16,
    pub(super) via: Via,
    /// The pod serves TLS.
    pub(super) tls: Option<PodTls>,
    /// Where pprof is, on a host that is never dialled.
    pub(super) endpoint: Endpoint,
    /// A sentence on the ports that the pod declares.
    pub(super) declared: String,
}

impl std::fmt::Debug for PodWay {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self {
            namespace,
            pod,
            port,
            via,
            ..
        } = self;
        write!(f, "PodWay({namespace}/{pod}:{port} by {via:?})")
    }
}

impl PodWay {
    /// The address of what is asked, without what may be secret.
    pub(in crate::source::remote) fn address(&self, path: &str, query: &[(&str, &str)]) -> String {
        let url = self.endpoint.url_of(path, query);
        format!(
            "{}/{}:{}{}",
            self.namespace,
            self.pod,
            self.port,
            path_and_query(&url)
        )
    }

    /// Sends one request.
    pub(in crate::source::remote) async fn send(
        &self,
        path: &str,
        query: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<Answer, FetchError> {
        let url = self.endpoint.url_of(path, query);
        let url = self.endpoint.with_user_query(url);
        let answer = match self.via {
            Via::PortForward => self.send_by_forward(&url, headers).await,
            Via::ApiProxy => {
                let scheme = if self.tls.is_some() { "https:" } else { "" };
                let whole = format!(
                    "/api/v1/namespaces/{}/pods/{scheme}{}:{}/proxy{}",
                    segment(&self.namespace),
                    segment(&self.pod),
                    self.port,
                    path_and_query(&url)
                );
                proxy::send(&self.cluster, &self.namespace, &whole, &headers).await
            }
        };
        let answer = answer.and_then(|answer| match answer.status().is_redirection() {
            true => Err(redirected(&answer)),
            false => Ok(answer),
        });
        answer.map_err(|trouble| self.with_advice(trouble).at(self.address(path, query)))
    }

    async fn send_by_forward(&self, url: &Url, headers: HeaderMap) -> Result<Answer, Trouble> {
        let opened = self
            .cluster
            .forward(&self.namespace, &self.pod, self.port)
            .await?;
        forward::send(
            opened,
            self.port,
            self.tls.clone(),
            &path_and_query(url),
            headers,
        )
        .await
    }

    /// What only this pod's way knows.
    fn with_advice(&self, trouble: Trouble) -> Trouble {
        let Self { port, declared, .. } = self;
        match trouble.problem {
            FetchProblem::Refused if trouble.advice.is_empty() => Trouble::new(
                FetchProblem::Refused,
                match self.via {
                    Via::PortForward => format!(
                        "nothing in the pod listens on port {port}; {declared}: --port, or the target's :PORT, names another"
                    ),
                    Via::ApiProxy => format!(
                        "the API server reaches only what listens on the pod's address: leave --via api-proxy away if pprof is on localhost; {declared}"
                    ),
                },
            ),
            // The pod's own are told by the answer; these are the API's.
            FetchProblem::Status {
                status: 404,
                message,
                ..
            } if !trouble.advice.is_empty() => Trouble::new(
                FetchProblem::Gone(format!("pod {}: it is gone ({message})", self.pod)),
                "",
            ),
            FetchProblem::Status {
                status: 400 | 500,
                message,
                ..
            } if is_of_a_dead_pod(&message) => Trouble::new(
                FetchProblem::Gone(format!("pod {}: {message}", self.pod)),
                "",
            ),
            _ => trouble,
        }
    }

    /// Looks at the pod again; `facts` become those of now.
    pub(in crate::source::remote) async fn refresh(
        &self,
        facts: &mut PodFacts,
    ) -> Result<Option<Change>, FetchError> {
        let pod = match get_pod(&self.cluster, &self.namespace, &self.pod).await {
            Err(trouble) if trouble.is_not_found() => {
                return Ok(Some(Change::Ended("the pod is gone".to_owned())));
            }
            Err(trouble) => return Err(trouble.at(format!("{}/{}", self.namespace, self.pod))),
            Ok(pod) => pod,
        };
        Ok(change_of(&pod, facts))
    }
}

/// What a later look at a pod shows; `facts` become those of now while it is the same pod.
fn change_of(pod: &Pod, facts: &mut PodFacts) -> Option<Change> {
    let now = facts_of(pod, &facts.container);
    if now.uid != facts.uid {
        let why = "another pod has taken its name".to_owned();
        return Some(Change::Ended(why));
    }
    if let Phase::Ended(why) = phase_of(pod, Some(&facts.container)) {
        let why = why
            .strip_prefix("it ")
            .map_or(why.clone(), |rest| format!("the pod {rest}"));
        return Some(Change::Ended(why));
    }
    let has_restarted = now.restart_count > facts.restart_count;
    let reason = now.last_end.clone();
    *facts = now;
    has_restarted.then_some(Change::Restarted(reason))
}

/// What kubelets say of pods whose processes are no more.
fn is_of_a_dead_pod(message: &str) -> bool {
    [
        "pod does not exist",
        "pod not found",
        "is not running",
        "not running (",
        "container not found",
        "sandbox not found",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// A pod that sends us elsewhere: nowhere that this way leads.
fn redirected(answer: &Answer) -> Trouble {
    let place = answer
        .headers()
        .get(header::LOCATION)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    // What follows may be a token.
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let advice = match place.starts_with("https:") {
        true => "the pod wants TLS: --pod-tls speaks it",
        false => "--pprof-path names another place of pprof, --port another port",
    };
    Trouble::new(
        FetchProblem::Loop(format!("the pod sends us to {place:?}")),
        advice,
    )
}

fn path_and_query(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}
