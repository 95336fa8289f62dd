//! An HTTP proxy that knows CONNECT only.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub struct ConnectProxy {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    /// `HOST:PORT` of each tunnel so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Starts one. It ends with the test's process.
pub fn start() -> ConnectProxy {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let log = log.clone();
            // Either side may go at any time.
            std::thread::spawn(move || drop(tunnel(stream, &log)));
        }
    });
    ConnectProxy { port, asked }
}

fn tunnel(client: TcpStream, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let place = head.strip_prefix("CONNECT ").unwrap_or_default();
    let place = place.split(' ').next().unwrap_or_default().to_owned();
    log.lock().unwrap().push(place.clone());
    let server = TcpStream::connect(place)?;
    (&client).write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let mut back = server.try_clone()?;
    let mut to_client = client.try_clone()?;
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut to_client);
        to_client.shutdown(std::net::Shutdown::Both)
    });
    // The reader may hold bytes that came right behind the head.
    std::io::copy(&mut reader, &mut &server)?;
    server.shutdown(std::net::Shutdown::Write)
}
