//! A process that snapshots are taken of, again and again.
//!
//! Knows what earlier snapshots have shown of it. Must not know when the next one is due, nor
//! what any of them means.

use super::access::Access;
use super::error::{FetchError, FetchProblem};
use super::facts::PodFacts;
use super::fetcher::{Fetcher, Way};
use super::moment::{Captured, Served, take};
use super::target::{Endpoint, Target};
use super::web::Web;

/// A process and the way to it.
#[derive(Debug)]
pub struct Process {
    name: String,
    fetcher: Fetcher,
    metrics: Option<Metrics>,
    served: Served,
    pod: Option<PodFacts>,
}

/// Where a `/metrics` page is.
#[derive(Debug)]
pub(super) enum Metrics {
    /// On the server of the profiles.
    Beside(String),
    /// On another.
    Elsewhere(Box<Fetcher>),
}

/// What a refreshed look at a pod shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The container began anew; the reason why it ended, where the API tells one.
    Restarted(Option<String>),
    /// The pod is gone or has ended: no snapshot follows.
    Ended(String),
}

impl Process {
    /// Prepares the way to a URL or a Unix socket.
    ///
    /// # Errors
    /// Certificates that cannot be used; a metrics address that is none.
    pub(super) fn of_web(
        target: &Target,
        access: &Access,
        metrics: Option<&str>,
    ) -> Result<Self, FetchError> {
        let name = target.to_string();
        let (endpoint, socket) = match target {
            Target::Url(endpoint) => (endpoint, None),
            Target::Unix { socket, endpoint } => (endpoint, Some(socket.as_path())),
            Target::Kubernetes(_) => {
                let message = "not an address of a server".to_owned();
                return Err(FetchError::new(name, FetchProblem::NoConnection(message)));
            }
        };
        let fetcher = |endpoint: &Endpoint, access: &Access| {
            let mut access = access.clone();
            if let Some(user) = &endpoint.user
                && access.basic.is_none()
            {
                access.basic = Some(user.clone().into());
            }
            let web = Web::new(endpoint.clone(), socket, &access)
                .map_err(|problem| FetchError::new(name.as_str(), problem))?;
            Ok(Fetcher::new(Way::Web(web), access))
        };
        let metrics = match metrics {
            None => None,
            Some(path) if path.starts_with('/') => Some(Metrics::Beside(path.to_owned())),
            Some(url) => {
                let address = Endpoint::exact(url).map_err(|error| {
                    let mut told =
                        FetchError::new(error.to_string(), FetchProblem::NoAddress("metrics"));
                    told.advice = "--metrics takes a path such as /metrics, or a URL".to_owned();
                    told
                })?;
                // Another host is not told who we are to the first.
                let is_same = address.base.origin() == endpoint.base.origin();
                let access = match is_same {
                    true => access.clone(),
                    false => access.without_credentials(),
                };
                Some(Metrics::Elsewhere(Box::new(fetcher(&address, &access)?)))
            }
        };
        let fetcher = fetcher(endpoint, access)?;
        Ok(Self {
            name,
            fetcher,
            metrics,
            served: Served::default(),
            pod: None,
        })
    }

    /// A container whose way is known.
    #[cfg(feature = "kube")]
    pub(super) fn of_pod(
        name: String,
        fetcher: Fetcher,
        metrics: Option<Metrics>,
        pod: PodFacts,
    ) -> Self {
        Self {
            name,
            fetcher,
            metrics,
            served: Served::default(),
            pod: Some(pod),
        }
    }

    /// The way to its pod, when it is one.
    #[cfg(feature = "kube")]
    pub(super) fn pod_way(&self) -> Option<&super::kube::PodWay> {
        match &self.fetcher.way {
            Way::Pod(way) => Some(way),
            Way::Web(_) => None,
        }
    }

    /// As the user knows it; untrusted text, without anything secret.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its pod, when it is one.
    pub fn pod(&self) -> Option<&PodFacts> {
        self.pod.as_ref()
    }

    /// Takes a snapshot. After one that failed nothing is tried again: the next one is such a try.
    ///
    /// # Errors
    /// Nothing could be fetched; the next snapshot may go better when the error
    /// [is transient](FetchError::is_transient).
    pub async fn take(&mut self) -> Result<Captured, FetchError> {
        let metrics = self.metrics.as_ref().map(|metrics| match metrics {
            Metrics::Beside(path) => (&self.fetcher, path.as_str()),
            Metrics::Elsewhere(fetcher) => (&**fetcher, ""),
        });
        let taken = take(&self.fetcher, metrics, self.pod.as_ref(), &mut self.served).await;
        self.fetcher.is_impatient = taken.is_err();
        taken
    }

    /// Looks at the pod again, and says what has become of it since the last look. `None`: it
    /// goes on as before; what is known of it ([`Process::pod`]) is of now. Always `None` for a
    /// process that is no pod.
    ///
    /// # Errors
    /// The API cannot be asked, or refuses.
    pub async fn refresh(&mut self) -> Result<Option<Change>, FetchError> {
        #[cfg(feature = "kube")]
        if let (Way::Pod(way), Some(facts)) = (&self.fetcher.way, &mut self.pod) {
            return way.refresh(facts).await;
        }
        Ok(None)
    }
}
