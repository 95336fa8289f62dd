//! What can go wrong while a profile is fetched, and what to do about it.
//!
//! No message holds credentials: addresses come from [`super::target`], which shows none.

use crate::profile::ProfileError;
use std::time::Duration;
use thiserror::Error;

/// Why something could not be fetched.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{address}: {problem}")]
pub struct FetchError {
    /// What was asked, without what may be secret; untrusted text.
    pub address: String,
    /// What came of it.
    pub problem: FetchProblem,
    /// Advice of whoever knows the way there better than this module; else empty.
    pub advice: String,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FetchProblem {
    /// Nothing listens.
    #[error("connection refused: nothing listens there")]
    Refused,
    /// The name has no address.
    #[error("the host cannot be found: {0}")]
    UnknownHost(String),
    /// Any other failure before the first byte.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// A handshake that failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The proxy of the environment, not the target.
    #[error("the proxy: {0}")]
    Proxy(String),
    /// Too slow.
    #[error("no complete answer within {} s ({received} bytes came)", limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// Bytes of the body until then.
        received: u64,
    },
    /// The connection ended in the middle.
    #[error("the connection was cut after {received} bytes: {reason}")]
    Cut {
        /// Bytes of the body until then.
        received: u64,
        /// The system's words.
        reason: String,
    },
    /// More bytes than allowed.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A status other than 200.
    #[error("HTTP {status}{}", detail(.message))]
    Status {
        /// The number.
        status: u16,
        /// First line of the body or the reason of a Kubernetes status; untrusted text.
        message: String,
        /// `Retry-After`, when the server gave it in seconds.
        retry_after: Option<Duration>,
    },
    /// A redirect that would take credentials along.
    #[error("the server sends us to {to}; credentials do not follow there")]
    Redirected {
        /// Scheme, host and port only; untrusted text.
        to: String,
    },
    /// Too many redirects, or one to nowhere.
    #[error("redirects that lead nowhere: {0}")]
    Loop(String),
    /// The answer is no profile of memory or goroutines.
    #[error("the answer cannot be used: {0}")]
    Content(#[from] ProfileError),
    /// A profile, but not the one that was asked for.
    #[error("the answer is {found}, not a {wanted} profile")]
    OtherAnswer {
        /// What came.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// An address among the options that is none.
    #[error("no address of {0}")]
    NoAddress(&'static str),
    /// A file of credentials that cannot be read.
    #[error("{0}")]
    Credentials(String),
    /// The cluster's configuration, or the answer of its API.
    #[error("{0}")]
    Cluster(String),
    /// The pod is gone, or has ended.
    #[error("{0}")]
    Gone(String),
}

fn detail(message: &str) -> String {
    match message.is_empty() {
        true => String::new(),
        false => format!(": {message}"),
    }
}

impl FetchError {
    pub(super) fn new(address: impl Into<String>, problem: FetchProblem) -> Self {
        Self {
            address: address.into(),
            problem,
            advice: String::new(),
        }
    }

    /// One sentence on what to do next.
    pub fn hint(&self) -> &str {
        match self.advice.is_empty() {
            false => &self.advice,
            true => self.problem.hint(),
        }
    }

    /// Whether another try may go better: time-outs, cut connections, 429 and 502 to 504.
    pub fn is_transient(&self) -> bool {
        self.problem.is_transient()
    }

    /// Whether nothing else of this target can be fetched at the moment either.
    pub(super) fn is_of_the_way(&self) -> bool {
        match &self.problem {
            FetchProblem::Status { status, .. } => matches!(status, 401 | 403 | 429 | 502..=504),
            FetchProblem::Content(_)
            | FetchProblem::OtherAnswer { .. }
            | FetchProblem::TooLarge { .. }
            | FetchProblem::Cut { .. } => false,
            _ => true,
        }
    }
}

/// A shorter text is no secret, and would be found in words that have nothing to do with it.
const LEAST_SECRET: usize = 4;

impl FetchProblem {
    /// Without secrets that a server has repeated, as some do with addresses and headers.
    pub(super) fn without(self, secrets: &[String]) -> Self {
        let mut secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        secrets.retain(|secret| secret.len() >= LEAST_SECRET);
        // The longest first: one may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let scrub = |text: String| {
            let hide = |text: String, secret: &&str| text.replace(secret, "***");
            secrets.iter().fold(text, hide)
        };
        match self {
            Self::Status {
                status,
                message,
                retry_after,
            } => Self::Status {
                status,
                message: scrub(message),
                retry_after,
            },
            Self::Redirected { to } => Self::Redirected { to: scrub(to) },
            Self::Content(ProfileError::ErrorMessage { message }) => {
                Self::Content(ProfileError::ErrorMessage {
                    message: scrub(message),
                })
            }
            Self::Content(error) => {
                let text = error.to_string();
                let message = scrub(text.clone());
                match message == text {
                    true => Self::Content(error),
                    // Other errors quote a server's text only when it is no profile at all.
                    false => Self::Content(ProfileError::ErrorMessage { message }),
                }
            }
            other => other,
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Refused
            | Self::UnknownHost(_)
            | Self::NoConnection(_)
            | Self::Proxy(_)
            | Self::TimedOut { .. }
            | Self::Cut { .. } => true,
            Self::Status { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            // A body that ends in the middle of its gzip stream, though HTTP saw nothing wrong.
            Self::Content(ProfileError::Compression { .. } | ProfileError::Empty) => true,
            _ => false,
        }
    }

    /// The wait that the server asks for.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Refused => {
                "check the port; a program serves pprof after `import _ \"net/http/pprof\"` and `http.ListenAndServe(\"localhost:6060\", nil)`"
            }
            Self::UnknownHost(_) => "check the name of the host",
            Self::NoConnection(_) => "check the address and the network between",
            Self::Tls(_) => {
                "--cacert FILE trusts another authority, --cert and --key name a client certificate, --insecure checks nothing"
            }
            Self::Proxy(_) => {
                "proxies come from HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; NO_PROXY=HOST goes around them"
            }
            Self::TimedOut { .. } => "--timeout gives it longer",
            Self::Cut { .. } => {
                "the process may have been restarted, or something between ends long answers"
            }
            Self::TooLarge { .. } => "--max-size allows more",
            Self::Status { status, .. } => match status {
                401 => "--bearer-token-file, --basic-auth-file or --header give credentials",
                403 => {
                    "the server knows you and refuses: ask whoever runs it which right is needed"
                }
                404 | 405 => {
                    "no net/http/pprof at this path: add `import _ \"net/http/pprof\"`, and with a mux of your own also `mux.Handle(\"/debug/pprof/\", http.DefaultServeMux)`; or give the full path"
                }
                410 => "it is gone for good: check the address",
                429 => "the server asks for fewer requests: a longer --every",
                500..=599 => "see the log of the server or of what stands before it",
                _ => "check the address",
            },
            Self::NoAddress(_) => "write http://HOST:PORT/PATH",
            Self::Redirected { .. } => "if you trust it, give that address itself",
            Self::Loop(_) => "check the address",
            Self::Content(error) => error.hint(),
            Self::OtherAnswer { .. } => "give the address of /debug/pprof/",
            Self::Credentials(_) => "check the path and its permissions",
            Self::Cluster(_) => {
                "`kubectl get pods` with the same flags shows whether the cluster answers"
            }
            Self::Gone(_) => "`kubectl get pods` shows what runs now",
        }
    }
}
