//! One request through a port-forward: a WebSocket to the API server, HTTP/1 over it.
//!
//! It reaches what listens on localhost inside the pod. Each request has a stream of its own:
//! the kubelet ends one with the first connection that is refused or closed. Knows streams;
//! must not know what is asked.

use super::trouble::{Trouble, quoted};
use crate::source::remote::answer::Answer;
use crate::source::remote::error::FetchProblem;
use crate::source::remote::web::{find, root_cause};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kube::api::Portforwarder;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// How long the reason may come after the stream has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// What a server inside the pod is called, as with `kubectl port-forward`.
const HOST: &str = "localhost";

type AnyError = Box<dyn Error + Send + Sync>;

/// What the node says when it gives a stream up; `None`: it ended without a word. May be asked
/// again after its end.
struct Reason(Option<Pin<Box<dyn Future<Output = Option<String>> + Send>>>);

impl Future for Reason {
    type Output = Option<String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Option<String>> {
        let Some(reason) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let said = reason.as_mut().poll(context);
        if said.is_ready() {
            self.0 = None;
        }
        said
    }
}

/// Ends the stream when the answer is read or given up: the library would wait for the server.
struct Guard {
    forwarder: Portforwarder,
    connection: Option<JoinHandle<()>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.abort();
        }
        self.forwarder.abort();
    }
}

/// TLS with a server inside the pod.
#[derive(Clone)]
pub(super) struct PodTls {
    pub(super) config: Arc<ClientConfig>,
    /// The name that its certificate must be for.
    pub(super) name: ServerName<'static>,
}

impl PodTls {
    /// `name` is `localhost` unless the user says otherwise.
    pub(super) fn new(config: ClientConfig, name: Option<&str>) -> Result<Self, Trouble> {
        let name = name.unwrap_or(HOST).to_owned();
        let parsed = ServerName::try_from(name.clone()).map_err(|_| {
            let message = format!("{name:?} is no name of a host");
            Trouble::new(
                FetchProblem::Tls(message),
                "--pod-server-name takes a name such as api.prod.svc",
            )
        })?;
        Ok(Self {
            config: Arc::new(config),
            name: parsed,
        })
    }
}

/// Sends one request to a port of a pod.
pub(super) async fn send(
    mut forwarder: Portforwarder,
    port: u16,
    tls: Option<PodTls>,
    path_and_query: &str,
    headers: HeaderMap,
) -> Result<Answer, Trouble> {
    let lost = || {
        let message = "the port-forward gave no stream".to_owned();
        Trouble::new(FetchProblem::NoConnection(message), "")
    };
    let stream = forwarder.take_stream(port).ok_or_else(lost)?;
    let reason = forwarder.take_error(port).ok_or_else(lost)?;
    let reason = Reason(Some(Box::pin(reason)));
    let guard = Guard {
        forwarder,
        connection: None,
    };
    let exchange = Exchange {
        guard,
        reason,
        request: request(port, path_and_query, headers)?,
    };
    match tls {
        None => exchange.run(stream).await,
        Some(PodTls { config, name }) => {
            let connecting = TlsConnector::from(config).connect(name, stream);
            let Exchange {
                guard,
                mut reason,
                request,
            } = exchange;
            let stream = tokio::select! {
                biased;
                said = until_said(&mut reason) => return Err(refusal(&said)),
                connected = connecting => match connected {
                    Ok(stream) => stream,
                    Err(error) => return Err(tls_failure(&error, &mut reason).await),
                },
            };
            let exchange = Exchange {
                guard,
                reason,
                request,
            };
            exchange.run(stream).await
        }
    }
}

fn request(
    port: u16,
    path_and_query: &str,
    headers: HeaderMap,
) -> Result<Request<Empty<Bytes>>, Trouble> {
    let mut request = Request::get(path_and_query)
        .header(header::HOST, format!("{HOST}:{port}"))
        .header(
            header::USER_AGENT,
            concat!("heapdrift/", env!("CARGO_PKG_VERSION")),
        )
        .body(Empty::new())
        .map_err(|_| {
            Trouble::new(
                FetchProblem::NoAddress("the path"),
                "--pprof-path takes /debug/pprof/",
            )
        })?;
    request.headers_mut().extend(headers);
    let close = HeaderValue::from_static("close");
    request.headers_mut().insert(header::CONNECTION, close);
    Ok(request)
}

struct Exchange {
    guard: Guard,
    reason: Reason,
    request: Request<Empty<Bytes>>,
}

impl Exchange {
    async fn run(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Answer, Trouble> {
        let Self {
            mut guard,
            mut reason,
            request,
        } = self;
        let exchange = async {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            guard.connection = Some(tokio::spawn(async move {
                // What goes wrong is told where the answer is read.
                let _ = connection.await;
            }));
            sender.send_request(request).await
        };
        let outcome = tokio::select! {
            biased;
            said = until_said(&mut reason) => return Err(refusal(&said)),
            outcome = exchange => outcome,
        };
        match outcome {
            Ok(answer) => Ok(answer.map(|body| {
                let body = Forwarded {
                    body,
                    reason,
                    _guard: guard,
                };
                body.boxed_unsync()
            })),
            Err(error) => Err(match last_words(&mut reason).await {
                Some(said) => refusal(&said),
                None => Trouble::new(
                    FetchProblem::Cut {
                        received: 0,
                        reason: leaf(&error),
                    },
                    "",
                ),
            }),
        }
    }
}

/// Waits for a reason; never ends when the stream ends without one.
async fn until_said(reason: &mut Reason) -> String {
    match reason.await {
        Some(said) => said,
        None => std::future::pending().await,
    }
}

/// The reason that comes with the end of a stream, if one does.
async fn last_words(reason: &mut Reason) -> Option<String> {
    tokio::time::timeout(LAST_WORDS, reason)
        .await
        .ok()
        .flatten()
}

/// What the node says of a port that it could not connect to.
fn refusal(said: &str) -> Trouble {
    let problem = if said.contains("refused") {
        FetchProblem::Refused
    } else {
        FetchProblem::NoConnection(format!("the port-forward: {}", quoted(said)))
    };
    Trouble::new(problem, "")
}

async fn tls_failure(error: &std::io::Error, reason: &mut Reason) -> Trouble {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    let tls: Option<&rustls::Error> = tls.or_else(|| find(error));
    if let Some(tls) = tls {
        return Trouble::new(FetchProblem::Tls(tls.to_string()), "");
    }
    match last_words(reason).await {
        Some(said) => refusal(&said),
        None => Trouble::new(
            FetchProblem::Tls(format!("the handshake ended: {error}")),
            "the port may not speak TLS: try it without --pod-tls",
        ),
    }
}

/// The words of an error, with what lies below it.
fn leaf(error: &(dyn Error + 'static)) -> String {
    match error.source() {
        Some(_) => root_cause(error),
        None => error.to_string(),
    }
}

/// A body that ended too early.
#[derive(Debug, Error)]
#[error("the port-forward broke")]
struct Broken(#[source] AnyError);

/// The body of an answer, with the stream that it comes by.
struct Forwarded {
    body: Incoming,
    reason: Reason,
    _guard: Guard,
}

impl Body for Forwarded {
    type Data = Bytes;
    type Error = AnyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, AnyError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Err(error))) => {
                // The node's reason, if it is there already, says more than the broken stream.
                let cause: AnyError = match Pin::new(&mut self.reason).poll(context) {
                    Poll::Ready(Some(said)) => quoted(&said).into(),
                    _ => Box::new(error),
                };
                Poll::Ready(Some(Err(Box::new(Broken(cause)))))
            }
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}
