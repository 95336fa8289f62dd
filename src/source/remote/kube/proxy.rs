//! One request through the API server's proxy to a pod.
//!
//! The API server dials the pod's address itself, so what listens on localhost is out of its
//! reach. Its own refusals come by the same way as the pod's answers: they are told apart here.
//! Bodies are streams of bytes: the library's text requests would break a profile.

use super::cluster::{Asked, Cluster};
use super::trouble::{Right, Trouble, explain, explain_status, quoted};
use crate::source::remote::answer::Answer;
use crate::source::remote::error::FetchProblem;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use thiserror::Error;

/// Bytes of a refusal that are read.
const MAX_REFUSAL: usize = 64 * 1024;

/// What a request came to nothing by.
enum Failure {
    Library(kube::Error),
    /// The API server itself refused.
    Refused(Box<Status>),
    Other(Trouble),
}

impl Asked for Failure {
    fn explain(self, host: &str, right: &Right) -> Trouble {
        match self {
            Self::Library(error) => explain(&error, host, right),
            Self::Refused(status) => explain_status(&status, right),
            Self::Other(trouble) => trouble,
        }
    }
}

/// A body that ended too early.
#[derive(Debug, Error)]
#[error("the API server's proxy")]
struct Broken(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Sends one request.
pub(super) async fn send(
    cluster: &Cluster,
    namespace: &str,
    path: &str,
    headers: &HeaderMap,
) -> Result<Answer, Trouble> {
    // Such a header is for the API server, which takes it away before the pod sees it.
    if headers.contains_key(header::AUTHORIZATION) {
        return Err(Trouble::new(
            FetchProblem::Credentials(
                "the API server's proxy does not take credentials on to the pod".to_owned(),
            ),
            "leave --via api-proxy away: a port-forward carries them",
        ));
    }
    let right = Right {
        verb: "get",
        group: "",
        resource: "pods/proxy",
        namespace,
    };
    cluster
        .ask(&right, async |client: Client| {
            let mut request = Request::get(path)
                .body(Body::empty())
                .map_err(|error| Failure::Library(kube::Error::HttpError(error)))?;
            request.headers_mut().extend(headers.clone());
            let response = client.send(request).await.map_err(Failure::Library)?;
            sort(response).await
        })
        .await
}

/// The pod's answer, or the API server's refusal.
async fn sort(response: Response<Body>) -> Result<Answer, Failure> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return Ok(response.map(|body| {
            let broken = |error: kube::Error| -> Box<dyn std::error::Error + Send + Sync> {
                Box::new(Broken(Box::new(error)))
            };
            body.map_err(broken).boxed_unsync()
        }));
    }
    let (parts, body) = response.into_parts();
    // More than this is no message of the API server, and a page of the pod says enough by its
    // status.
    let bytes = match Limited::new(body, MAX_REFUSAL).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    if let Some(status) = own_status(&bytes) {
        return Err(match undialled(&status.message) {
            Some(trouble) => Failure::Other(trouble),
            None => Failure::Refused(Box::new(status)),
        });
    }
    // Older API servers say it as a plain text.
    if let Some(trouble) = undialled(&String::from_utf8_lossy(&bytes)) {
        return Err(Failure::Other(trouble));
    }
    let body = Full::new(bytes).map_err(|never| match never {});
    Ok(Response::from_parts(parts, body.boxed_unsync()))
}

/// A status that the API server wrote. A pod could write one too, but none that serves pprof
/// does.
fn own_status(body: &[u8]) -> Option<Status> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let is_status = value["kind"] == "Status" && value["apiVersion"] == "v1";
    let status: Status = serde_json::from_value(value).ok()?;
    (is_status && status.code >= 400).then_some(status)
}

/// The API server could not connect to the pod.
fn undialled(message: &str) -> Option<Trouble> {
    let lower = message.to_ascii_lowercase();
    if !lower.contains("error trying to reach service") {
        return None;
    }
    Some(if lower.contains("connection refused") {
        Trouble::new(FetchProblem::Refused, "")
    } else if lower.contains("x509")
        || lower.contains("tls:")
        || lower.contains("http response to https")
    {
        Trouble::new(
            FetchProblem::Tls(quoted(message)),
            "--pod-tls is for pods that serve pprof over TLS, and only for them",
        )
    } else {
        Trouble::new(
            FetchProblem::NoConnection(quoted(message)),
            "the API server cannot reach the pod's address; a port-forward (without --via api-proxy) goes by its node",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_says_is_told_from_what_the_pod_says() {
        let status = br#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"x\" not found","reason":"NotFound","code":404}"#;
        assert_eq!(own_status(status).unwrap().code, 404);
        for body in [
            &b"404 page not found\n"[..],
            br#"{"kind":"Status","message":"mine"}"#,
            br#"{"kind":"Status","apiVersion":"v1","status":"Success","code":200}"#,
            br#"["kind"]"#,
            b"",
        ] {
            assert_eq!(own_status(body), None);
        }
    }

    #[test]
    fn a_pod_that_cannot_be_dialled_is_not_a_server_that_failed() {
        let problem = |message: &str| undialled(message).map(|trouble| trouble.problem);
        let dial = "error trying to reach service: dial tcp 10.1.2.3:6060: connect: ";
        assert_eq!(
            problem(&format!("{dial}connection refused")),
            Some(FetchProblem::Refused)
        );
        assert!(matches!(
            problem(&format!("{dial}i/o timeout")),
            Some(FetchProblem::NoConnection(_))
        ));
        assert!(matches!(
            problem(
                "Error trying to reach service: 'http: server gave HTTP response to HTTPS client'"
            ),
            Some(FetchProblem::Tls(_))
        ));
        assert_eq!(problem("service unavailable"), None);
    }
}
