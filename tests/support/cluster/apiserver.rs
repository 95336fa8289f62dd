//! A fake Kubernetes API server on loopback: pods, workloads, port-forward and the pod proxy.
//!
//! Port-forward speaks `v4.channel.k8s.io`: channel 0 is data, channel 1 the error; the first
//! frame of each is the port, little endian. A server lives in a thread of its own with its own
//! runtime, and ends when it is dropped. What it answers is set by the test, also while it runs.
//! One request a connection, written by hand: a pod's bytes are passed on as they come.

use super::bridges::{dial, forward, proxy};
use super::kubeconfig::Certificates;
use super::pod_objects::FakePod;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

pub(super) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// What happens to requests instead of an answer.
#[derive(Debug, Clone)]
pub enum Trick {
    /// A Kubernetes status: code, reason, message.
    Status(u16, &'static str, &'static str),
    /// Any answer, as a proxy before the API server would give: code and body.
    Plain(u16, &'static str),
    /// Nothing for so long, then the answer.
    Wait(Duration),
    /// The answer of the pod ends after so many bytes, without a word.
    CutAfter(usize),
    /// The pod's data is not passed on; the node says this instead.
    Say(&'static str),
}

#[derive(Default)]
struct State {
    pods: BTreeMap<(String, String), FakePod>,
    /// By path: workloads and services.
    objects: BTreeMap<String, Value>,
    /// The only one that is let in.
    token: Option<String>,
    /// For requests whose path holds a text; the first that fits.
    tricks: Vec<(String, Trick)>,
    log: Vec<Logged>,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Logged {
    pub method: String,
    pub path_and_query: String,
    pub impersonate: Option<String>,
    pub authorization: Option<String>,
}

/// The server. Its state may be changed at any time.
pub struct ApiServer {
    pub address: SocketAddr,
    pub certificates: Option<Certificates>,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ApiServer {
    /// Starts one that speaks plain HTTP.
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts one that speaks TLS and asks for the client certificate of `certificates`, or
    /// takes clients without one.
    pub fn start_tls(certificates: Certificates) -> Self {
        Self::start_with(Some(certificates))
    }

    fn start_with(certificates: Option<Certificates>) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (stop, stopped) = oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let shared = state.clone();
        let acceptor = certificates
            .as_ref()
            .map(|c| TlsAcceptor::from(c.server_config()));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = accept(listener, acceptor, shared) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self {
            address: address.recv().unwrap(),
            certificates,
            state,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let scheme = if self.certificates.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Adds a pod, or puts another in its place.
    pub fn put(&self, pod: FakePod) {
        let key = (pod.namespace.clone(), pod.name.clone());
        self.state().pods.insert(key, pod);
    }

    /// Takes a pod away.
    pub fn delete(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.state().pods.remove(&key).expect("a pod to delete");
    }

    /// Changes a pod.
    pub fn change(&self, namespace: &str, name: &str, change: impl FnOnce(&mut FakePod)) {
        let key = (namespace.to_owned(), name.to_owned());
        change(self.state().pods.get_mut(&key).expect("a pod to change"));
    }

    /// Adds a workload with a label selector: `("apps/v1", "deployments", "api", json!({...}))`.
    pub fn put_workload(&self, version: &str, plural: &str, name: &str, selector: Value) {
        let root = if version.contains('/') { "apis" } else { "api" };
        let path = format!("/{root}/{version}/namespaces/prod/{plural}/{name}");
        let object = json!({
            "apiVersion": version,
            "metadata": {"name": name, "namespace": "prod"},
            "spec": {"selector": selector},
        });
        self.state().objects.insert(path, object);
    }

    /// From now on only requests with this token are answered.
    pub fn require_token(&self, token: &str) {
        self.state().token = Some(token.to_owned());
    }

    /// Plays a trick on requests whose path holds a text.
    pub fn trick(&self, path_holds: &str, trick: Trick) {
        self.state()
            .tricks
            .insert(0, (path_holds.to_owned(), trick));
    }

    /// No tricks any more.
    pub fn be_honest(&self) {
        self.state().tricks.clear();
    }

    /// The requests so far.
    pub fn log(&self) -> Vec<Logged> {
        self.state().log.clone()
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, state: Arc<Mutex<State>>) {
    while let Ok((tcp, _)) = listener.accept().await {
        let state = state.clone();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let stream: Box<dyn Stream> = match acceptor {
                None => Box::new(tcp),
                Some(acceptor) => match acceptor.accept(tcp).await {
                    Ok(stream) => Box::new(stream),
                    Err(_) => return,
                },
            };
            // A client may go at any time.
            let _ = serve(stream, &state).await;
        });
    }
}

/// The head of a request.
pub(super) struct Head {
    method: String,
    /// Path and query, as they came.
    pub(super) target: String,
    pub(super) headers: BTreeMap<String, String>,
}

impl Head {
    async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            text.push(stream.read_u8().await?);
        }
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        let mut lines = text.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let mut word = || first.next().unwrap_or_default().to_owned();
        let headers = lines.filter_map(|line| line.split_once(": "));
        Ok(Self {
            method: word(),
            target: word(),
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
        })
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).cloned()
    }
}

/// An answer of the API server itself.
pub(super) struct Answer {
    code: u16,
    body: String,
}

impl Answer {
    pub(super) async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let Self { code, body } = self;
        let text = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    }
}

async fn serve(mut stream: Box<dyn Stream>, state: &Mutex<State>) -> Result<(), AnyError> {
    let head = Head::read(&mut stream).await?;
    let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
    let path = percent_decode_str(path).decode_utf8()?.into_owned();
    let logged = Logged {
        method: head.method.clone(),
        path_and_query: head.target.clone(),
        impersonate: head.header("impersonate-user"),
        authorization: head.header("authorization"),
    };
    let (trick, token) = {
        let mut state = state.lock().unwrap();
        state.log.push(logged.clone());
        let mut tricks = state.tricks.iter();
        let trick = tricks.find(|(text, _)| path.contains(text.as_str()));
        (trick.map(|(_, trick)| trick.clone()), state.token.clone())
    };
    if let Some(token) = token
        && logged.authorization != Some(format!("Bearer {token}"))
    {
        let answer = status(401, "Unauthorized", "Unauthorized");
        return Ok(answer.write(&mut stream).await?);
    }
    match &trick {
        Some(Trick::Status(code, reason, message)) => {
            return Ok(status(*code, reason, message).write(&mut stream).await?);
        }
        Some(Trick::Plain(code, body)) => {
            let body = (*body).to_owned();
            return Ok(Answer { code: *code, body }.write(&mut stream).await?);
        }
        Some(Trick::Wait(time)) => tokio::time::sleep(*time).await,
        _ => {}
    }
    let segments: Vec<&str> = path.split('/').collect();
    let answer = match segments[..] {
        ["", "api", "v1", "namespaces", namespace, "pods"] => {
            list_pods(&state.lock().unwrap(), namespace, query)
        }
        ["", "api", "v1", "namespaces", namespace, "pods", name] => {
            match find_pod(state, namespace, name) {
                Some(pod) => object(&pod.object),
                None => no_pod(name),
            }
        }
        [
            "",
            "api",
            "v1",
            "namespaces",
            namespace,
            "pods",
            name,
            "portforward",
        ] => match find_pod(state, namespace, name) {
            Some(pod) => return forward(stream, &head, &pod, trick).await,
            None => no_pod(name),
        },
        [
            "",
            "api",
            "v1",
            "namespaces",
            namespace,
            "pods",
            place,
            "proxy",
            ..,
        ] => {
            let (name, port) = match place
                .strip_prefix("https:")
                .unwrap_or(place)
                .split_once(':')
            {
                Some((name, port)) => (name, port.parse()?),
                None => (place, 80),
            };
            match find_pod(state, namespace, name) {
                Some(pod) => {
                    let is_https = place.starts_with("https:");
                    match dial(&pod, port, is_https).await {
                        Ok(inner) => return proxy(stream, &head, inner, trick).await,
                        Err(answer) => answer,
                    }
                }
                None => no_pod(name),
            }
        }
        _ => other_object(&state.lock().unwrap(), &path),
    };
    Ok(answer.write(&mut stream).await?)
}

fn find_pod(state: &Mutex<State>, namespace: &str, name: &str) -> Option<FakePod> {
    let key = (namespace.to_owned(), name.to_owned());
    state.lock().unwrap().pods.get(&key).cloned()
}

/// A workload by its path, or the list that the path names.
fn other_object(state: &State, path: &str) -> Answer {
    if let Some(found) = state.objects.get(path) {
        return object(found);
    }
    let below = format!("{path}/");
    let items: Vec<&Value> = state
        .objects
        .iter()
        .filter(|(other, _)| other.starts_with(&below))
        .map(|(_, object)| object)
        .collect();
    match items.is_empty() {
        true => status(
            404,
            "NotFound",
            "the server could not find the requested resource",
        ),
        false => {
            object(&json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}))
        }
    }
}

fn list_pods(state: &State, namespace: &str, query: &str) -> Answer {
    let selector = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("labelSelector="))
        .map(|text| percent_decode_str(text).decode_utf8().unwrap().into_owned());
    let items: Vec<&Value> = state
        .pods
        .values()
        .filter(|pod| pod.namespace == namespace)
        .filter(|pod| {
            selector
                .as_ref()
                .is_none_or(|selector| pod.is_chosen_by(selector))
        })
        .map(|pod| &pod.object)
        .collect();
    object(&json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
}

fn object(value: &Value) -> Answer {
    Answer {
        code: 200,
        body: value.to_string(),
    }
}

fn no_pod(name: &str) -> Answer {
    status(404, "NotFound", &format!("pods {name:?} not found"))
}

pub(super) fn status(code: u16, reason: &str, message: &str) -> Answer {
    let value = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    });
    Answer {
        code,
        ..object(&value)
    }
}
