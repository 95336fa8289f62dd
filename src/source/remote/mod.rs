//! Snapshots of processes that run: over HTTP, a Unix socket, or through a cluster's API.
//!
//! A target is connected to once ([`connect`]); each [`Process`] that it names then gives
//! snapshots ([`Process::take`]), which a [`Store`] keeps. One request: `web` or `kube` sends
//! it, `answer` reads it, `fetcher` times it and tries again.
//!
//! Knows the network and secrets; no message shows one. Must not know what growth means, nor
//! how anything is shown.

mod access;
mod answer;
mod error;
mod facts;
mod fetcher;
#[cfg(feature = "kube")]
mod kube;
mod moment;
mod process;
mod recorder;
mod store;
mod target;
mod tls;
mod web;

pub use access::{Access, AccessError, Basic, TlsFiles, parse_header};
pub use error::{FetchError, FetchProblem};
pub use facts::PodFacts;
pub use fetcher::Retried;
pub use moment::{Captured, CapturedFile, Kind};
pub use process::{Change, Process};
pub use recorder::{Event, Member, Recorder};
pub(super) use store::target_of;
pub use store::{Store, StoreError};
pub use target::{Endpoint, Object, ObjectName, Target, TargetError, WorkloadKind};

use std::path::PathBuf;

/// How a cluster is reached, and what of its pods is meant: kubectl's own flags.
#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    /// `--kubeconfig`; else `KUBECONFIG`, the home directory, or the pod we are in.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`.
    pub context: Option<String>,
    /// `-n`; else that of the context.
    pub namespace: Option<String>,
    /// `--as`.
    pub impersonate: Option<String>,
    /// `-c`; else the container with a port named `pprof`, the annotated default, or the only one.
    pub container: Option<String>,
    /// `--port`, for targets that name none.
    pub port: Option<String>,
    /// How requests get to the pod.
    pub via: Via,
    /// The pod serves pprof over TLS.
    pub pod_tls: bool,
    /// The name on its certificate; else `localhost`. By port-forward alone: the API server
    /// checks none.
    pub pod_server_name: Option<String>,
    /// Where pprof is in the pod; else `/debug/pprof/`.
    pub path: Option<String>,
}

/// How requests get to a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Via {
    /// Into its network namespace: reaches a pprof that listens on localhost only.
    #[default]
    PortForward,
    /// The API server dials the pod's address.
    ApiProxy,
}

/// Finds the processes that a target names.
///
/// # Errors
/// The target is not there, or cannot be reached for a reason that no later try would mend.
pub async fn connect(
    target: &Target,
    access: &Access,
    metrics: Option<&str>,
    cluster: &ClusterOptions,
) -> Result<Vec<Process>, FetchError> {
    match target {
        Target::Url(_) | Target::Unix { .. } => Ok(vec![Process::of_web(target, access, metrics)?]),
        #[cfg(feature = "kube")]
        Target::Kubernetes(object) => kube::connect(object, access, metrics, cluster).await,
        #[cfg(not(feature = "kube"))]
        Target::Kubernetes(object) => {
            let _ = cluster;
            Err(FetchError::new(
                object.to_string(),
                FetchProblem::Cluster("this heapdrift is built without Kubernetes".to_owned()),
            ))
        }
    }
}

/// Finds the processes that a target names now and that are not among the `known` ones: pods
/// that have taken the place of others. Never any for a URL or a Unix socket.
///
/// Names whose pods have all ended are an error until others run; a long watch asks again.
///
/// # Errors
/// As [`connect`].
pub async fn reconnect(
    target: &Target,
    access: &Access,
    metrics: Option<&str>,
    cluster: &ClusterOptions,
    known: &[&Process],
) -> Result<Vec<Process>, FetchError> {
    match target {
        Target::Url(_) | Target::Unix { .. } => Ok(Vec::new()),
        #[cfg(feature = "kube")]
        Target::Kubernetes(object) => {
            kube::reconnect(object, access, metrics, cluster, known).await
        }
        #[cfg(not(feature = "kube"))]
        Target::Kubernetes(_) => {
            let _ = known;
            connect(target, access, metrics, cluster).await
        }
    }
}
