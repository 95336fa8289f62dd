//! A small HTTP/1.1 server on loopback that answers as a test says, well or badly.
//!
//! One thread a connection, one request a connection. Every request is recorded. It knows nothing
//! of profiles: [`super::pprof_process`] does.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// No test may hang for longer, whatever its client does.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, or `CONNECT` at a proxy.
    pub method: String,
    /// As it stands in the request line, without the query.
    pub path: String,
    /// Behind the question mark.
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// How many requests came before it.
    pub number: usize,
    /// Whether a client certificate came with it.
    pub has_certificate: bool,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// `heap?gc=1`: what is asked of pprof, wherever it is.
    pub fn profile(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        match self.query.is_empty() {
            true => name.to_owned(),
            false => format!("{name}?{}", self.query),
        }
    }

    /// All of it, to look for secrets.
    pub fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As it should.
    Whole,
    /// Its length is announced, and the connection closed after so many bytes.
    CutAfter(usize),
    /// The same with a reset in place of an end.
    ResetAfter(usize),
    /// In chunks, and closed before the last one.
    ChunksCut,
    /// In chunks, all of them.
    Chunks,
    /// The body again and again, for as long as anybody reads.
    Endless,
    /// Nothing at all is sent, for as long as anybody waits.
    Silence,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Before the first byte.
    pub delay: Duration,
    pub ending: Ending,
}

impl Reply {
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200, body)
    }

    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            delay: Duration::ZERO,
            ending: Ending::Whole,
        }
    }

    pub fn redirect(to: impl Into<String>) -> Self {
        Self::status(302, "moved").header("Location", to)
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// A server that runs until it is dropped.
pub struct Server {
    /// `127.0.0.1:PORT`; empty for a socket.
    pub address: String,
    scheme: &'static str,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
}

/// Answers a request.
pub trait Script: Fn(&Request) -> Reply + Send + Sync + 'static {}
impl<F: Fn(&Request) -> Reply + Send + Sync + 'static> Script for F {}

impl Server {
    /// Serves over plain TCP.
    pub fn http(script: impl Script) -> Self {
        Self::tcp("http", script, |stream| Some((stream, false)))
    }

    /// Serves over TLS, as `config` says.
    pub fn https(config: rustls::ServerConfig, script: impl Script) -> Self {
        let config = Arc::new(config);
        Self::tcp("https", script, move |mut stream: TcpStream| {
            let mut connection = rustls::ServerConnection::new(config.clone()).ok()?;
            while connection.is_handshaking() {
                // A client that does not trust us goes away here.
                if connection.complete_io(&mut stream).is_err() {
                    let _ = connection.complete_io(&mut stream);
                    return None;
                }
            }
            let has_certificate = connection.peer_certificates().is_some();
            Some((
                rustls::StreamOwned::new(connection, stream),
                has_certificate,
            ))
        })
    }

    /// Serves on a Unix socket.
    #[cfg(unix)]
    pub fn unix(path: &Path, script: impl Script) -> Self {
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        let server = Self::new(String::new(), "unix");
        let (requests, script) = (server.requests.clone(), Arc::new(script));
        // It blocks until the test's process ends: there is nothing to wake it with.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, script) = (requests.clone(), script.clone());
                thread::spawn(move || serve(stream, false, &*script, &requests));
            }
        });
        server
    }

    fn new(address: String, scheme: &'static str) -> Self {
        Self {
            address,
            scheme,
            requests: Arc::default(),
            connections: Arc::default(),
            ended: Arc::default(),
        }
    }

    fn tcp<S: Read + Write + Send + 'static>(
        scheme: &'static str,
        script: impl Script,
        wrap: impl Fn(TcpStream) -> Option<(S, bool)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self::new(listener.local_addr().unwrap().to_string(), scheme);
        let (requests, ended) = (server.requests.clone(), server.ended.clone());
        let connections = server.connections.clone();
        let shared = Arc::new((script, wrap));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, shared) = (requests.clone(), shared.clone());
                thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(PATIENCE));
                    let _ = stream.set_write_timeout(Some(PATIENCE));
                    if let Some((stream, has_certificate)) = (shared.1)(stream) {
                        serve(stream, has_certificate, &shared.0, &requests);
                    }
                });
            }
        });
        server
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// All that was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// How many connections came over TCP, with a request or without.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// What was asked of pprof so far, as `heap?gc=1`.
    pub fn profiles(&self) -> Vec<String> {
        self.requests().iter().map(Request::profile).collect()
    }

    /// Waits until so many requests came.
    pub fn wait_for(&self, count: usize) {
        let start = Instant::now();
        while self.requests().len() < count {
            assert!(start.elapsed() < PATIENCE, "no {count} requests came");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts; after it nobody listens on the port.
        let _ = TcpStream::connect(&self.address);
    }
}

/// A port on which nobody listens.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn serve(
    mut stream: impl Read + Write,
    has_certificate: bool,
    script: &impl Script,
    requests: &Mutex<Vec<Request>>,
) {
    let Some(mut request) = read_request(&mut stream) else {
        return;
    };
    request.has_certificate = has_certificate;
    {
        let mut all = requests.lock().unwrap();
        request.number = all.len();
        all.push(request.clone());
    }
    let reply = script(&request);
    // A client that went away is what several tests are about.
    let _ = answer(&mut stream, &reply);
}

/// Reads up to the last byte of the head, which stays unread: a socket that is closed with
/// something unread resets its connection.
fn read_request(stream: &mut impl Read) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: headers.collect(),
        number: 0,
        has_certificate: false,
    })
}

fn answer(stream: &mut (impl Read + Write), reply: &Reply) -> std::io::Result<()> {
    if !matches!(reply.ending, Ending::ResetAfter(_)) {
        stream.read_exact(&mut [0])?;
    }
    thread::sleep(reply.delay);
    if reply.ending == Ending::Silence {
        // Until the client closes its side, or patience ends.
        let _ = stream.read(&mut [0]);
        return Ok(());
    }
    let is_chunked = matches!(
        reply.ending,
        Ending::Chunks | Ending::ChunksCut | Ending::Endless
    );
    let mut head = format!("HTTP/1.1 {} Said\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match is_chunked {
        true => head.push_str("Transfer-Encoding: chunked\r\n\r\n"),
        false => head.push_str(&format!("Content-Length: {}\r\n\r\n", reply.body.len())),
    }
    stream.write_all(head.as_bytes())?;
    match reply.ending {
        Ending::Whole => stream.write_all(&reply.body)?,
        Ending::CutAfter(bytes) => stream.write_all(&reply.body[..bytes])?,
        Ending::ResetAfter(bytes) => {
            stream.write_all(&reply.body[..bytes])?;
            stream.flush()?;
            // So that what was sent is read before the reset throws it away.
            thread::sleep(Duration::from_millis(50));
        }
        Ending::Chunks | Ending::ChunksCut => {
            for chunk in reply.body.chunks(1000) {
                write_chunk(stream, chunk)?;
            }
            if reply.ending == Ending::Chunks {
                stream.write_all(b"0\r\n\r\n")?;
            }
        }
        Ending::Endless => {
            let start = Instant::now();
            while start.elapsed() < PATIENCE {
                write_chunk(stream, &reply.body)?;
            }
        }
        Ending::Silence => {}
    }
    stream.flush()
}

fn write_chunk(stream: &mut impl Write, chunk: &[u8]) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
    stream.write_all(chunk)?;
    stream.write_all(b"\r\n")
}

/// A proxy that passes requests on to wherever they want to go, and counts them.
pub struct Proxy {
    pub address: String,
    /// The heads of all requests.
    pub heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = all.clone();
                thread::spawn(move || pass_on(stream, &all));
            }
        });
        Self { address, heads }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn pass_on(mut client: TcpStream, heads: &Mutex<Vec<String>>) -> Option<()> {
    client.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    heads.lock().unwrap().push(head.clone());
    let (method, rest) = head.split_once(' ')?;
    let target = rest.split(' ').next()?;
    if method == "CONNECT" {
        let server = TcpStream::connect(target).ok()?;
        client
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .ok()?;
        return tie(client, server);
    }
    let after = target.strip_prefix("http://")?;
    let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
    let mut server = TcpStream::connect(host).ok()?;
    let request = head.replacen(target, path, 1);
    server.write_all(request.as_bytes()).ok()?;
    tie(client, server)
}

/// Copies both ways until one side ends.
fn tie(client: TcpStream, server: TcpStream) -> Option<()> {
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    let (client_too, server_too) = (client.try_clone().ok()?, server.try_clone().ok()?);
    let up = thread::spawn(move || copy(client, server));
    copy(server_too, client_too);
    up.join().ok()
}
