//! Requests over HTTP to a URL or a Unix socket.
//!
//! Knows redirects, proxies (those of the environment) and what a failed connection means. Must
//! not know what a profile is, nor when to try again.

use super::access::Access;
use super::answer::Answer;
use super::error::FetchProblem;
use super::target::Endpoint;
use super::tls::client_config;
use http_body_util::BodyExt;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// More are a loop.
const MAX_REDIRECTS: usize = 5;
/// A host that does not answer at all is given up earlier than one that is slow.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP server and how it is reached.
#[derive(Debug)]
pub(super) struct Web {
    endpoint: Endpoint,
    /// Where requests go in place of the endpoint's host.
    socket: Option<PathBuf>,
    client: Client,
    has_credentials: bool,
    is_proxied: bool,
}

impl Web {
    /// Prepares requests to `endpoint`, through `socket` where there is one.
    ///
    /// # Errors
    /// Certificates that cannot be used, in a sentence.
    pub(super) fn new(
        endpoint: Endpoint,
        socket: Option<&Path>,
        access: &Access,
    ) -> Result<Self, FetchProblem> {
        let tls = client_config(&access.tls).map_err(FetchProblem::Credentials)?;
        let builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .http1_only()
            // A connection that idles until the next snapshot is often cut unseen.
            .pool_max_idle_per_host(0)
            .redirect(Policy::none())
            .connect_timeout(access.timeout.min(CONNECT_TIMEOUT))
            .user_agent(concat!("heapdrift/", env!("CARGO_PKG_VERSION")));
        let builder = match socket {
            None => builder,
            #[cfg(unix)]
            Some(path) => builder.no_proxy().unix_socket(path.to_owned()),
            #[cfg(not(unix))]
            Some(_) => {
                let message = "Unix sockets are not to be had on this system".to_owned();
                return Err(FetchProblem::NoConnection(message));
            }
        };
        let client = builder
            .build()
            .map_err(|error| FetchProblem::NoConnection(root_cause(&error)))?;
        Ok(Self {
            has_credentials: access.has_credentials() || endpoint.user.is_some(),
            is_proxied: socket.is_none() && has_proxy(&endpoint.base),
            endpoint,
            socket: socket.map(Path::to_owned),
            client,
        })
    }

    /// The address of a profile, without what may be secret.
    pub(super) fn address(&self, profile: &str, query: &[(&str, &str)]) -> String {
        let url = self.endpoint.url_of(profile, query);
        match &self.socket {
            None => url.to_string(),
            // As the user writes it; the host is made up.
            Some(socket) => {
                let query = url.query().map(|query| format!("?{query}"));
                let query = query.unwrap_or_default();
                format!("unix:{}:{}{query}", socket.display(), url.path())
            }
        }
    }

    /// Values of the user's own parameters, as they are and as they stand in an address.
    pub(super) fn query_values(&self) -> Vec<String> {
        self.endpoint.query_values()
    }

    /// Sends one request, and follows where it leads.
    pub(super) async fn send(
        &self,
        profile: &str,
        query: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<Answer, FetchProblem> {
        let mut url = self
            .endpoint
            .with_user_query(self.endpoint.url_of(profile, query));
        for _ in 0..=MAX_REDIRECTS {
            let request = self.client.get(url.clone()).headers(headers.clone());
            let response = request.send().await.map_err(|error| self.explain(&error))?;
            let Some(next) = redirect_of(&response)? else {
                let answer: http::Response<reqwest::Body> = response.into();
                return Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()));
            };
            if self.has_credentials && !is_same_place(&url, &next) {
                return Err(FetchProblem::Redirected {
                    to: next.origin().ascii_serialization(),
                });
            }
            url = next;
        }
        let message = format!("more than {MAX_REDIRECTS}");
        Err(FetchProblem::Loop(message))
    }

    /// What a request that brought no answer means. The library's own text is not used: it
    /// repeats the URL, which may hold a token.
    fn explain(&self, error: &reqwest::Error) -> FetchProblem {
        let cause = root_cause(error);
        if let Some(tls) = find::<rustls::Error>(error) {
            return FetchProblem::Tls(tls.to_string());
        }
        let io = find::<std::io::Error>(error).map(std::io::Error::kind);
        match io {
            Some(ErrorKind::ConnectionRefused) if self.is_proxied => {
                FetchProblem::Proxy("connection refused".to_owned())
            }
            Some(ErrorKind::ConnectionRefused) => FetchProblem::Refused,
            Some(ErrorKind::NotFound) => {
                FetchProblem::NoConnection("there is no such socket".to_owned())
            }
            Some(ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe)
                if !error.is_connect() =>
            {
                FetchProblem::Cut {
                    received: 0,
                    reason: cause,
                }
            }
            _ if has_words(error, "dns error") => FetchProblem::UnknownHost(cause),
            _ if has_words(error, "tunnel") => FetchProblem::Proxy(cause),
            _ if error.is_timeout() => {
                FetchProblem::NoConnection("the host does not answer".to_owned())
            }
            _ if error.is_connect() => FetchProblem::NoConnection(cause),
            _ => FetchProblem::Cut {
                received: 0,
                reason: cause,
            },
        }
    }
}

/// Where a redirect leads; `None`: it is none.
fn redirect_of(response: &Response) -> Result<Option<Url>, FetchProblem> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    if !is_redirect {
        return Ok(None);
    }
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| response.url().join(text).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    match location {
        Some(url) => Ok(Some(url)),
        None => Err(FetchProblem::Loop("no usable Location".to_owned())),
    }
}

/// Whether what one may know the other may know too: the same host and port, or the same host
/// behind TLS from then on.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let is_same_host = from.host_str() == to.host_str();
    let is_upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port_or_known_default() == Some(80)
        && to.port_or_known_default() == Some(443);
    is_same_host && (from.origin() == to.origin() || is_upgrade)
}

/// Whether a request to this address goes through a proxy: then a refused connection is its.
fn has_proxy(url: &Url) -> bool {
    let address = url.as_str().parse::<http::Uri>();
    address.is_ok_and(|address| Matcher::from_system().intercept(&address).is_some())
}

fn sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    // The source of an `io::Error` is that of the error inside it, which would be left out; and
    // a failed handshake is such an error inside another.
    let below = |error: &'a (dyn Error + 'static)| -> Option<&'a (dyn Error + 'static)> {
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    };
    std::iter::successors(below(error), move |error| below(*error))
}

/// The first error of a type beneath another, also inside an [`std::io::Error`].
pub(super) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    sources(error).find_map(|error| error.downcast_ref::<E>())
}

fn has_words(error: &(dyn Error + 'static), words: &str) -> bool {
    sources(error).any(|error| error.to_string().contains(words))
}

/// The words of the innermost error: the outer ones may repeat a URL.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    match sources(error).last() {
        Some(cause) => cause.to_string(),
        None => "no reason given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_with_their_host() {
        let same = |from: &str, to: &str| {
            is_same_place(&Url::parse(from).unwrap(), &Url::parse(to).unwrap())
        };
        assert!(same("http://a/x", "http://a/y"));
        assert!(same("http://a/x", "https://a/x"));
        assert!(same("https://a:8443/x", "https://a:8443/y"));
        assert!(!same("https://a/x", "http://a/x"));
        assert!(!same("http://a/x", "http://b/x"));
        assert!(!same("http://a/x", "http://a:8080/x"));
        assert!(!same("http://a:8080/x", "https://a/x"));
        assert!(!same("http://a/x", "http://a.b/x"));
    }
}
