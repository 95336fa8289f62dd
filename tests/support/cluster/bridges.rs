//! The two ways from the fake API server to what runs in a pod.

use super::apiserver::{Answer, AnyError, Head, Stream, Trick, status};
use super::pod_objects::FakePod;
use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// Switches to a WebSocket, and bridges it to the local port behind the pod's.
pub(super) async fn forward(
    mut stream: Box<dyn Stream>,
    head: &Head,
    pod: &FakePod,
    trick: Option<Trick>,
) -> Result<(), AnyError> {
    let (_, port) = head.target.split_once("ports=").ok_or("no port")?;
    let port: u16 = port.parse()?;
    let offered = head.header("sec-websocket-protocol").unwrap_or_default();
    if !offered.contains("v4.channel.k8s.io") {
        let answer = status(400, "BadRequest", "no protocol that is known");
        return Ok(answer.write(&mut stream).await?);
    }
    let key = head.header("sec-websocket-key").ok_or("no key")?;
    let accept = derive_accept_key(key.as_bytes());
    let answer = format!(
        "HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\nsec-websocket-protocol: v4.channel.k8s.io\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    bridge(socket, port, pod.ports.get(&port).copied(), trick).await
}

async fn bridge(
    mut socket: WebSocketStream<Box<dyn Stream>>,
    port: u16,
    local: Option<u16>,
    trick: Option<Trick>,
) -> Result<(), AnyError> {
    let [low, high] = port.to_le_bytes();
    socket.send(Message::binary(vec![0, low, high])).await?;
    socket.send(Message::binary(vec![1, low, high])).await?;
    let said = match (&trick, local) {
        (Some(Trick::Say(words)), _) => Err((*words).to_owned()),
        // In the words of containerd.
        (_, None) => Err(refused_words(port)),
        (_, Some(local)) => match TcpStream::connect(("127.0.0.1", local)).await {
            Ok(stream) => Ok(stream),
            Err(_) => Err(refused_words(port)),
        },
    };
    let tcp = match said {
        Ok(tcp) => tcp,
        Err(words) => {
            socket
                .send(Message::binary([&[1], words.as_bytes()].concat()))
                .await?;
            // A real node leaves the stream open for a while.
            tokio::time::sleep(Duration::from_secs(5)).await;
            return Ok(());
        }
    };
    let limit = match trick {
        Some(Trick::CutAfter(bytes)) => bytes,
        _ => usize::MAX,
    };
    let (mut from_pod, mut to_pod) = tcp.into_split();
    let (mut sender, mut receiver) = socket.split();
    let inward = tokio::spawn(async move {
        while let Some(Ok(message)) = receiver.next().await {
            let gone = match message {
                Message::Binary(bytes) if bytes.first() == Some(&0) => {
                    to_pod.write_all(&bytes[1..]).await.is_err()
                }
                message => message.is_close(),
            };
            if gone {
                break;
            }
        }
    });
    let mut sent = 0;
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let count = from_pod.read(&mut chunk[1..]).await?;
        let count = count.min(limit - sent);
        if count == 0 {
            break;
        }
        chunk[0] = 0;
        sent += count;
        sender
            .send(Message::binary(chunk[..=count].to_vec()))
            .await?;
    }
    inward.abort();
    sender.close().await?;
    Ok(())
}

fn refused_words(port: u16) -> String {
    format!(
        "an error occurred forwarding {port} -> {port}: error forwarding port {port} to pod 0123: failed to connect to localhost:{port} inside namespace, IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused"
    )
}

/// Connects to the local port behind the pod's, as the API server would to the pod's address.
pub(super) async fn dial(
    pod: &FakePod,
    port: u16,
    is_https: bool,
) -> Result<Box<dyn Stream>, Answer> {
    let unreachable = |why: &str| {
        let message = format!("error trying to reach service: {why}");
        status(503, "ServiceUnavailable", &message)
    };
    let refused = || {
        unreachable(&format!(
            "dial tcp 10.1.2.3:{port}: connect: connection refused"
        ))
    };
    // What listens on the pod's localhost cannot be dialled.
    let is_local_only = pod.localhost_only.contains(&port);
    let local = pod.ports.get(&port).copied().filter(|_| !is_local_only);
    let tcp = TcpStream::connect(("127.0.0.1", local.ok_or_else(refused)?))
        .await
        .map_err(|_| refused())?;
    if !is_https {
        return Ok(Box::new(tcp));
    }
    let connector = TlsConnector::from(super::kubeconfig::trusting_config());
    let name = "pod".try_into().unwrap();
    match connector.connect(name, tcp).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(_) => Err(unreachable(
            "http: server gave HTTP response to HTTPS client",
        )),
    }
}

/// Passes a request on, and the answer's bytes back.
pub(super) async fn proxy(
    mut stream: Box<dyn Stream>,
    head: &Head,
    mut inner: Box<dyn Stream>,
    trick: Option<Trick>,
) -> Result<(), AnyError> {
    let (_, rest) = head.target.split_once("/proxy").ok_or("no path")?;
    let mut request = format!("GET {rest} HTTP/1.1\r\nhost: pod\r\nconnection: close\r\n");
    for (name, value) in &head.headers {
        if !matches!(name.as_str(), "authorization" | "host" | "connection") {
            request += &format!("{name}: {value}\r\n");
        }
    }
    inner.write_all(format!("{request}\r\n").as_bytes()).await?;
    let limit = match trick {
        Some(Trick::CutAfter(bytes)) => bytes as u64,
        _ => u64::MAX,
    };
    tokio::io::copy(&mut inner.take(limit), &mut stream).await?;
    Ok(stream.shutdown().await?)
}
