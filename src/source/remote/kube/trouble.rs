//! What went wrong in a cluster, and the advice that belongs to it.
//!
//! Knows errors of the client library, statuses of the API and the rights behind them. No text
//! of the library is shown as it stands where it could hold a credential.

use crate::source::remote::error::{FetchError, FetchProblem};
use crate::source::remote::web::root_cause;
use kube::client::{AuthError, UpgradeConnectionError};
use kube::core::Status;
use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

/// Longest text of the cluster that is quoted, in characters.
const MAX_QUOTED: usize = 300;

/// A problem without the address that it is told with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trouble {
    pub(super) problem: FetchProblem,
    /// What to do about it; empty: the problem's own hint.
    pub(super) advice: String,
}

/// What the API is asked to do, as its rules of access name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Right<'a> {
    pub(super) verb: &'static str,
    /// Empty for the core group.
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    pub(super) namespace: &'a str,
}

impl Trouble {
    pub(super) fn new(problem: FetchProblem, advice: impl Into<String>) -> Self {
        Self {
            problem,
            advice: advice.into(),
        }
    }

    /// Told with the address of what was asked.
    pub(super) fn at(self, address: impl Into<String>) -> FetchError {
        FetchError {
            address: address.into(),
            problem: self.problem,
            advice: self.advice,
        }
    }

    /// Whether the API says that there is no such thing.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self.problem, FetchProblem::Status { status: 404, .. })
    }

    /// Whether the API does not know us: a token may have run out.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self.problem, FetchProblem::Status { status: 401, .. })
    }
}

impl Right<'_> {
    /// The rule that would grant it.
    pub(super) fn rule(&self) -> String {
        let Self {
            group,
            resource,
            namespace,
            ..
        } = self;
        let (verbs, note) = match *resource {
            // Which of the two is checked depends on the version of the cluster.
            "pods/portforward" => (
                "\"create\", \"get\"",
                " (create from Kubernetes 1.35 on, get before)",
            ),
            _ if self.verb == "list" => ("\"list\"", ""),
            _ => ("\"get\"", ""),
        };
        format!(
            "a Role in namespace {namespace} must allow it: apiGroups: [\"{group}\"], resources: [\"{resource}\"], verbs: [{verbs}]{note}"
        )
    }
}

/// What an error of the client library means, for a request that needs a right.
pub(super) fn explain(error: &kube::Error, host: &str, right: &Right) -> Trouble {
    match error {
        kube::Error::Api(status) => explain_status(status, right),
        kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)) => {
            Trouble::new(
                FetchProblem::Cluster(format!(
                    "{host} does not switch to WebSocket (HTTP {})",
                    status.as_u16()
                )),
                "a proxy before the API server may not let it pass; --via api-proxy needs none",
            )
        }
        kube::Error::UpgradeConnection(error) => Trouble::new(
            FetchProblem::Cluster(format!("{host}: the WebSocket was not opened: {error}")),
            "--via api-proxy needs none",
        ),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Trouble::new(
            FetchProblem::Cluster(format!("{host} does not answer as a Kubernetes API")),
            "check the server of the context: `kubectl cluster-info` with the same flags",
        ),
        kube::Error::ProxyProtocolUnsupported { .. } => Trouble::new(
            FetchProblem::Proxy("its scheme is not one of http, https and socks5".to_owned()),
            "check proxy-url of the kubeconfig, or HTTPS_PROXY",
        ),
        error => explain_connection(error, host),
    }
}

/// What a status of the API means.
pub(super) fn explain_status(status: &Status, right: &Right) -> Trouble {
    let message = quoted(&status.message);
    let wait = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    let advice = match status.code {
        401 => "the cluster does not take the credentials of the kubeconfig: log in anew, and check with `kubectl auth whoami`".to_owned(),
        403 if message.contains("cannot impersonate") => {
            "--as needs the right to impersonate: apiGroups: [\"\"], resources: [\"users\"], verbs: [\"impersonate\"] in a ClusterRole".to_owned()
        }
        403 => right.rule(),
        404 => "check the name and -n; `kubectl get pods -A` shows all".to_owned(),
        410 | 429 => "the API server asks to come again later".to_owned(),
        _ => "see the log of the API server, or that of the node's kubelet".to_owned(),
    };
    let problem = FetchProblem::Status {
        status: status.code,
        message,
        retry_after: (wait > 0).then(|| Duration::from_secs(wait.min(60).into())),
    };
    Trouble::new(problem, advice)
}

/// An error and all that lie below it, also inside [`std::io::Error`]s, outermost first.
fn layers<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut found = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        found.push(error);
        let io: Option<&std::io::Error> = error.downcast_ref();
        next = match io.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    found
}

/// A connection to the API server that did not come about, or broke.
fn explain_connection(error: &kube::Error, host: &str) -> Trouble {
    let layers = layers(error);
    if let Some(error) = layers.iter().find_map(|layer| layer.downcast_ref()) {
        return explain_credentials(error);
    }
    if let Some(tls) = layers.iter().find_map(|layer| layer.downcast_ref()) {
        let tls: &rustls::Error = tls;
        return Trouble::new(
            FetchProblem::Tls(format!("{host}: {tls}")),
            "check certificate-authority, tls-server-name and the client certificate of the kubeconfig",
        );
    }
    let says = |words: &str| layers.iter().any(|layer| layer.to_string().contains(words));
    if says("tunnel") {
        return Trouble::new(
            FetchProblem::Proxy(format!("on the way to {host}: {}", root_cause(error))),
            "it comes from proxy-url of the kubeconfig, or from HTTPS_PROXY; NO_PROXY=HOST goes around it",
        );
    }
    let is = |kind: ErrorKind| {
        let mut io = layers.iter().filter_map(|layer| layer.downcast_ref());
        io.any(|io: &std::io::Error| io.kind() == kind)
    };
    let what = if is(ErrorKind::ConnectionRefused) {
        "connection refused".to_owned()
    } else if is(ErrorKind::TimedOut) {
        "it does not answer".to_owned()
    } else if says("dns error") {
        "its name has no address".to_owned()
    } else {
        quoted(&root_cause(error))
    };
    Trouble::new(
        FetchProblem::NoConnection(format!("the API server {host} cannot be reached: {what}")),
        "check the context and the network (a VPN?); `kubectl cluster-info` with the same flags tells the same",
    )
}

/// Credentials that could not be prepared. The library's text may hold what a command printed.
fn explain_credentials(error: &AuthError) -> Trouble {
    let what = match error {
        AuthError::ReadTokenFile(error, path) => {
            format!("the token file {} cannot be read: {error}", path.display())
        }
        AuthError::InvalidBearerToken(_) => "its token holds bytes that HTTP forbids".to_owned(),
        AuthError::Oidc(_) => "its OpenID token could not be renewed".to_owned(),
        AuthError::AuthExecRun { .. } => "its command for credentials failed".to_owned(),
        AuthError::AuthExecStart(error) => {
            format!("its command for credentials cannot be run: {error}")
        }
        _ => "they could not be prepared".to_owned(),
    };
    Trouble::new(
        FetchProblem::Credentials(format!("the user of the kubeconfig: {what}")),
        "`kubectl auth whoami` with the same flags shows whether kubectl can use them",
    )
}

/// The first line, not too long.
pub(super) fn quoted(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(MAX_QUOTED).collect()
}
