//! A cluster's API: requests with the credentials of the kubeconfig, renewed when they run out.

use super::config::Settings;
use super::exec;
use super::trouble::{Right, Trouble, explain};
use crate::source::remote::error::FetchProblem;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::api::Portforwarder;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Credentials are renewed this long before they run out.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// The API of one cluster. `Debug` shows its address only.
pub(super) struct Cluster {
    settings: Settings,
    /// The API server, and the proxy before it, for messages.
    host: String,
    /// For one answer.
    timeout: Duration,
    current: Mutex<Current>,
}

#[derive(Clone)]
struct Current {
    client: Client,
    expires_at: Option<Timestamp>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Cluster({})", self.host)
    }
}

impl Cluster {
    /// Prepares requests; runs a credential plugin where there is one.
    pub(super) async fn new(settings: Settings, timeout: Duration) -> Result<Self, Trouble> {
        let host = place_of(&settings);
        // The library's client asks for the provider of the whole process; another one that is
        // set already will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let current = build(&settings, &host).await?;
        Ok(Self {
            settings,
            host,
            timeout,
            current: Mutex::new(current),
        })
    }

    /// Where names without a namespace are looked up.
    pub(super) fn namespace(&self) -> &str {
        &self.settings.namespace
    }

    fn current(&self) -> Current {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    async fn renew(&self) -> Result<Current, Trouble> {
        let fresh = build(&self.settings, &self.host).await?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone_from(&fresh);
        Ok(fresh)
    }

    /// Makes a request in time, and once more with new credentials if the API server does not
    /// take those that a plugin gave: they may have run out without saying so.
    pub(super) async fn ask<T, E: Asked>(
        &self,
        right: &Right<'_>,
        request: impl AsyncFn(Client) -> Result<T, E>,
    ) -> Result<T, Trouble> {
        let mut current = self.current();
        if current
            .expires_at
            .is_some_and(|end| Timestamp::now() + MARGIN >= end)
        {
            current = self.renew().await?;
        }
        let answer = self.ask_once(right, &request, current.client).await;
        match answer {
            Err(trouble) if trouble.is_unauthorized() && self.settings.plugin.is_some() => {
                let current = self.renew().await?;
                self.ask_once(right, &request, current.client).await
            }
            answer => answer,
        }
    }

    async fn ask_once<T, E: Asked>(
        &self,
        right: &Right<'_>,
        request: &impl AsyncFn(Client) -> Result<T, E>,
        client: Client,
    ) -> Result<T, Trouble> {
        match tokio::time::timeout(self.timeout, request(client)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(error.explain(&self.host, right)),
            Err(_) => Err(Trouble::new(
                FetchProblem::TimedOut {
                    limit: self.timeout,
                    received: 0,
                },
                format!(
                    "the API server {} is slow; --timeout gives it longer",
                    self.host
                ),
            )),
        }
    }

    /// Gets an object or a list.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        right: &Right<'_>,
    ) -> Result<T, Trouble> {
        self.ask(right, async |client: Client| {
            let request = Request::get(path).body(Vec::new());
            client
                .request(request.map_err(kube::Error::HttpError)?)
                .await
        })
        .await
    }

    /// Opens a stream to a port of a pod.
    pub(super) async fn forward(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
    ) -> Result<Portforwarder, Trouble> {
        let right = Right {
            verb: "create",
            group: "",
            resource: "pods/portforward",
            namespace,
        };
        self.ask(&right, async |client: Client| {
            let pods: Api<Pod> = Api::namespaced(client, namespace);
            pods.portforward(pod, &[port]).await
        })
        .await
    }
}

/// What a request that failed can say about it.
pub(super) trait Asked {
    fn explain(self, host: &str, right: &Right) -> Trouble;
}

impl Asked for kube::Error {
    fn explain(self, host: &str, right: &Right) -> Trouble {
        explain(&self, host, right)
    }
}

impl Asked for Trouble {
    fn explain(self, _: &str, _: &Right) -> Trouble {
        self
    }
}

/// `HOST:PORT`, and the proxy where there is one; without users and passwords.
fn place_of(settings: &Settings) -> String {
    let place = |url: &http::Uri| {
        let port = url
            .port()
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        format!("{}{port}", url.host().unwrap_or("(no host)"))
    };
    let server = place(&settings.config.cluster_url);
    match &settings.config.proxy_url {
        Some(proxy) => format!("{server} (by the proxy {})", place(proxy)),
        None => server,
    }
}

async fn build(settings: &Settings, host: &str) -> Result<Current, Trouble> {
    let mut config = settings.config.clone();
    let mut expires_at = None;
    if let Some(plugin) = settings.plugin.clone() {
        let run = tokio::task::spawn_blocking(move || exec::run(&plugin));
        let credentials = run.await.unwrap_or_else(|_| {
            let message = "the credential plugin could not be run".to_owned();
            Err(Trouble::new(FetchProblem::Credentials(message), ""))
        })?;
        expires_at = credentials.expires_at;
        credentials.store_in(&mut config.auth_info);
    }
    let no_right = Right {
        verb: "get",
        group: "",
        resource: "pods",
        namespace: &settings.namespace,
    };
    let client = Client::try_from(config).map_err(|error| match &error {
        // What is told of a connection does not fit: nothing was sent yet.
        kube::Error::RustlsTls(_) | kube::Error::InferKubeconfig(_) => Trouble::new(
            FetchProblem::Tls(
                "the certificates or the client key of the kubeconfig cannot be used".to_owned(),
            ),
            "check certificate-authority, client-certificate and client-key of the kubeconfig",
        ),
        error => explain(error, host, &no_right),
    })?;
    Ok(Current { client, expires_at })
}
