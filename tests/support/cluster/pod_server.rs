//! What runs inside a fake pod: a small HTTP server with the pages of net/http/pprof.
//!
//! One thread a connection, one answer a connection. It ends with the test's process.

use crate::support::profiles::Pprof;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One answer.
#[derive(Debug, Clone)]
pub struct Page {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Wait so long after half of the body.
    pub pause: Duration,
}

impl Page {
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
            pause: Duration::ZERO,
        }
    }

    pub fn error(status: u16, body: &str) -> Self {
        Self {
            status,
            ..Self::ok(body)
        }
    }
}

/// A server of pages.
pub struct PodServer {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

/// The page for a path with its query.
pub type Pages = Arc<dyn Fn(&str) -> Page + Send + Sync>;

impl PodServer {
    /// The pages of a program with a heap and two goroutines.
    pub fn pprof() -> Self {
        Self::start(Arc::new(pprof_page))
    }

    /// Pages of the test.
    pub fn start(pages: Pages) -> Self {
        Self::start_with(pages, None)
    }

    /// The same over TLS.
    pub fn start_tls(pages: Pages, tls: Arc<ServerConfig>) -> Self {
        Self::start_with(pages, Some(tls))
    }

    fn start_with(pages: Pages, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let log = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (pages, tls, log) = (pages.clone(), tls.clone(), log.clone());
                std::thread::spawn(move || serve(stream, &pages, tls, &log));
            }
        });
        Self { port, heads }
    }

    /// Requests so far, as they came: request line and headers.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(
    stream: TcpStream,
    pages: &Pages,
    tls: Option<Arc<ServerConfig>>,
    log: &Mutex<Vec<String>>,
) {
    // The client may go at any time: what fails then is no failure of a test.
    let _ = match tls {
        None => exchange(stream, pages, log),
        Some(config) => {
            let connection = ServerConnection::new(config).unwrap();
            exchange(StreamOwned::new(connection, stream), pages, log)
        }
    };
}

fn exchange(
    stream: impl Read + Write,
    pages: &Pages,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    log.lock().unwrap().push(head);
    let page = pages(&target);
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 {} X\r\nconnection: close\r\n",
        page.status
    )?;
    for (name, value) in &page.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    // As Go answers: a length only where the page is small.
    let body = &page.body;
    if body.len() < 2048 {
        write!(stream, "content-length: {}\r\n\r\n", body.len())?;
        stream.write_all(body)?;
        return stream.flush();
    }
    write!(stream, "transfer-encoding: chunked\r\n\r\n")?;
    let half = body.len() / 2;
    for (index, part) in [&body[..half], &body[half..]].into_iter().enumerate() {
        write!(stream, "{:x}\r\n", part.len())?;
        stream.write_all(part)?;
        stream.write_all(b"\r\n")?;
        stream.flush()?;
        if index == 0 {
            std::thread::sleep(page.pause);
        }
    }
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()
}

/// A heap profile of some kilobytes.
pub fn heap() -> Vec<u8> {
    heap_of(200)
}

/// A heap profile of so many sites.
pub fn heap_of(sites: i64) -> Vec<u8> {
    (0..sites)
        .fold(Pprof::heap(0), |profile, index| {
            // Names that do not shrink well: the profile must not fit in one frame.
            let name = format!(
                "main.f{:x}",
                (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            );
            profile.sampled(&format!("{name} < main.main"), 4096, 100 + index, 50)
        })
        .gzip()
}

/// The pages of net/http/pprof and a page of metrics.
pub fn pprof_page(target: &str) -> Page {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match (path, query.contains("debug=")) {
        ("/debug/pprof/heap", false) => Page::ok(heap()),
        ("/debug/pprof/heap", true) => Page::ok(
            "heap profile: 1: 1024 [1: 1024] @ heap/1048576\n1: 1024 [1: 1024] @ 0x1 0x2\n\n# runtime.MemStats\n# Alloc = 1024\n# Sys = 4096\n",
        ),
        ("/debug/pprof/goroutine", true) => {
            Page::ok("goroutine profile: total 1\n1 @ 0x1\n#\t0x1\tmain.main+0x1\t/app/main.go:1\n")
        }
        ("/metrics", _) => Page::ok("process_resident_memory_bytes 5000\n"),
        _ => Page::error(404, "404 page not found\n"),
    }
}
