//! Pods: found through the API of a cluster, reached by port-forward or the API's proxy.
//!
//! The only place that knows Kubernetes. Must not know what is asked of a pod.

use super::access::Access;
use super::answer::Answer;
use super::error::{FetchError, FetchProblem};
use super::process::Process;
use super::target::Object;
use super::{ClusterOptions, Via};
use reqwest::header::HeaderMap;

/// The way to one container.
#[derive(Debug)]
pub(super) struct PodWay {
    name: String,
}

impl PodWay {
    /// The address of what is asked, without what may be secret.
    pub(super) fn address(&self, path: &str, _query: &[(&str, &str)]) -> String {
        format!("{}/{path}", self.name)
    }

    /// Sends one request.
    pub(super) async fn send(
        &self,
        path: &str,
        query: &[(&str, &str)],
        _headers: HeaderMap,
    ) -> Result<Answer, FetchError> {
        let message = "not built yet".to_owned();
        Err(FetchError::new(
            self.address(path, query),
            FetchProblem::Cluster(message),
        ))
    }
}

/// Finds the pods that an object names.
pub(super) async fn connect(
    object: &Object,
    _access: &Access,
    _metrics: Option<&str>,
    cluster: &ClusterOptions,
) -> Result<Vec<Process>, FetchError> {
    let way = match cluster.via {
        Via::PortForward => "port-forward",
        Via::ApiProxy => "proxy",
    };
    let message = format!("{way} is not built yet");
    Err(FetchError::new(
        object.to_string(),
        FetchProblem::Cluster(message),
    ))
}
