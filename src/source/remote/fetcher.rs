//! One request to its end: sent, timed, read, checked, and tried again where that may help.

use super::access::Access;
use super::answer::{self, Answer, Keep, Wanted};
use super::error::{FetchError, FetchProblem};
#[cfg(feature = "kube")]
use super::kube::PodWay;
use super::web::Web;
use backon::{ExponentialBuilder, Retryable};
use reqwest::header::HeaderMap;
use std::time::Duration;

/// The first wait before another try; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How a server is reached.
#[derive(Debug)]
pub(super) enum Way {
    /// By a URL or a Unix socket.
    Web(Web),
    /// Through the API of a cluster.
    #[cfg(feature = "kube")]
    Pod(PodWay),
}

/// A server of profiles, and how it is asked.
#[derive(Debug)]
pub(super) struct Fetcher {
    pub(super) way: Way,
    pub(super) access: Access,
    /// Nothing is tried again: the server has just failed for good, and others wait.
    pub(super) is_impatient: bool,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    /// `heap`, below the endpoint's path; or an absolute path.
    pub(super) path: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) keep: Keep,
    pub(super) wanted: Wanted,
}

/// A try that failed before one that did not.
#[derive(Debug, Clone, PartialEq)]
pub struct Retried {
    /// Why.
    pub error: FetchError,
    /// How long was waited then.
    pub wait: Duration,
}

impl Fetcher {
    pub(super) fn new(way: Way, access: Access) -> Self {
        Self {
            way,
            access,
            is_impatient: false,
        }
    }

    /// Fetches one profile; what failed on the way is added to `retried`.
    pub(super) async fn get(
        &self,
        ask: &Ask<'_>,
        retried: &mut Vec<Retried>,
    ) -> Result<Vec<u8>, FetchError> {
        let waits = ExponentialBuilder::new()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(if self.is_impatient {
                0
            } else {
                self.access.retries
            })
            .with_jitter();
        (|| self.attempt(ask))
            .retry(waits)
            .when(FetchError::is_transient)
            .adjust(|error, wait| wait.map(|wait| error.problem.retry_after().unwrap_or(wait)))
            .notify(|error, wait| {
                retried.push(Retried {
                    error: error.clone(),
                    wait,
                })
            })
            .await
    }

    async fn attempt(&self, ask: &Ask<'_>) -> Result<Vec<u8>, FetchError> {
        let headers = self.access.request_headers(&self.address(ask))?;
        let mut secrets = self.access.secrets(&headers);
        match &self.way {
            Way::Web(web) => secrets.extend(web.query_values()),
            // A pod is named without parameters.
            #[cfg(feature = "kube")]
            Way::Pod(_) => {}
        }
        let outcome = self.exchange(ask, headers).await;
        // Whatever a server says may repeat what it was told.
        outcome.map_err(|error| FetchError {
            problem: error.problem.without(&secrets),
            ..error
        })
    }

    async fn exchange(&self, ask: &Ask<'_>, headers: HeaderMap) -> Result<Vec<u8>, FetchError> {
        let address = self.address(ask);
        let limit = self.access.timeout;
        let mut received = 0;
        let exchange = async {
            let answer = self.send(ask, headers).await?;
            let bytes = answer::read(answer, ask.keep, self.access.max_bytes, &mut received)
                .await
                .map_err(|problem| FetchError::new(address.as_str(), problem))?;
            Ok(bytes)
        };
        let outcome = match tokio::time::timeout(limit, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::new(
                address.as_str(),
                FetchProblem::TimedOut { limit, received },
            )),
        };
        let bytes = outcome?;
        if ask.keep == Keep::All {
            answer::check(bytes.clone(), ask.wanted, self.access.max_bytes)
                .map_err(|problem| FetchError::new(address, problem))?;
        }
        Ok(bytes)
    }

    /// The address of what is asked, without what may be secret.
    pub(super) fn address(&self, ask: &Ask<'_>) -> String {
        match &self.way {
            Way::Web(web) => web.address(ask.path, ask.query),
            #[cfg(feature = "kube")]
            Way::Pod(pod) => pod.address(ask.path, ask.query),
        }
    }

    async fn send(&self, ask: &Ask<'_>, headers: HeaderMap) -> Result<Answer, FetchError> {
        match &self.way {
            Way::Web(web) => web
                .send(ask.path, ask.query, headers)
                .await
                .map_err(|problem| FetchError::new(self.address(ask), problem)),
            #[cfg(feature = "kube")]
            Way::Pod(pod) => pod.send(ask.path, ask.query, headers).await,
        }
    }
}
