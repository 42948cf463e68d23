//! Clients over HTTP/1.1: they do what a plan says and write down what they got.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::history::{End, History};
use crate::plan::{Act, Plan};
use crate::read::Head;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(12);

/// The most of an answer that is read.
const MOST: usize = 1 << 20;

/// A connection, and what came on it that was not read yet.
struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
    over: bool,
}

/// Connects to Envoy from 127.0.0.`from`.
pub(crate) async fn connect(to: SocketAddr, from: u8) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(
        IpAddr::V4(Ipv4Addr::new(127, 0, 0, from)),
        0,
    ))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Does what a plan says. All of its requests come from where the first one does.
pub(crate) async fn run(plan: Plan, to: SocketAddr, history: &History) -> io::Result<()> {
    let from = plan.requests.first().map_or(1, |request| request.from);
    let mut wire = Wire {
        stream: connect(to, from).await?,
        read: Vec::new(),
        over: false,
    };
    let number = |index: usize| plan.requests.get(index).map_or(0, |r| r.told.number);
    for (index, request) in plan.requests.iter().enumerate() {
        let mut told = request.told.clone();
        told.follows = index > 0;
        told.protocol = "HTTP/1.1";
        history.tell(told);
    }
    let bodiless = |index: usize| {
        plan.requests
            .get(index)
            .is_some_and(|r| r.told.method == "HEAD")
    };
    for act in plan.acts {
        match act {
            Act::Send(bytes) => {
                // Envoy may have answered and closed before all was sent; what it said is read all the same.
                let sent = timeout(PATIENCE, wire.stream.write_all(&bytes)).await;
                if !matches!(sent, Ok(Ok(()))) {
                    wire.over = wire.read.is_empty() && sent.is_err();
                }
            }
            Act::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Act::HalfClose => {
                let _ = wire.stream.shutdown().await;
            }
            Act::Peek(bytes) => {
                let _ = timeout(PATIENCE, wire.fill(bytes)).await;
            }
            Act::Read(index) => {
                let end = match timeout(PATIENCE, wire.answer(bodiless(index))).await {
                    Ok(Ok(Some((head, body, whole)))) => {
                        End::Answered(head.answer(&body, whole, history.now()))
                    }
                    Ok(Ok(None)) => End::Cut("the connection was closed".to_owned()),
                    Ok(Err(error)) => End::Cut(error.to_string()),
                    Err(_) => End::Silent,
                };
                history.end(number(index), end);
            }
            Act::Leave(index, whence) => {
                history.end(number(index), End::Gone(whence));
                let _ = wire.stream.set_zero_linger();
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Wire {
    /// Reads until there are so many bytes; fewer if nothing more comes.
    async fn fill(&mut self, bytes: usize) -> io::Result<()> {
        while self.read.len() < bytes && !self.over {
            let mut buffer = [0; 16 << 10];
            let read = self.stream.read(&mut buffer).await?;
            self.over = read == 0 || self.read.len() > MOST;
            self.read.extend_from_slice(&buffer[..read]);
        }
        Ok(())
    }

    /// Reads an answer: its head, its body, and whether that came to its end. None if nothing came.
    async fn answer(&mut self, bodiless: bool) -> io::Result<Option<(Head, Vec<u8>, bool)>> {
        loop {
            let Some(head) = self.head().await? else {
                return Ok(None);
            };
            if head.status() / 100 == 1 {
                continue;
            }
            if bodiless || [204, 304].contains(&head.status()) {
                return Ok(Some((head, Vec::new(), true)));
            }
            let (body, whole) = self.body(&head).await;
            return Ok(Some((head, body, whole)));
        }
    }

    async fn head(&mut self) -> io::Result<Option<Head>> {
        loop {
            let end = self.read.windows(4).position(|w| w == b"\r\n\r\n");
            if let Some(end) = end {
                let rest = self.read.split_off(end + 4);
                let head = Head::read(&std::mem::replace(&mut self.read, rest));
                return Ok(Some(head));
            }
            if self.over {
                return Ok(None);
            }
            self.fill(self.read.len() + 1).await?;
        }
    }

    /// The body as far as it came.
    async fn body(&mut self, head: &Head) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        if head.one("transfer-encoding").is_none() {
            let Some(length) = head.length() else {
                // To the end of the connection.
                while !self.over && self.fill(self.read.len() + 1).await.is_ok() {}
                return (std::mem::take(&mut self.read), self.over);
            };
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(MOST);
            let filled = self.fill(length).await.is_ok();
            let rest = self.read.split_off(length.min(self.read.len()));
            let body = std::mem::replace(&mut self.read, rest);
            let whole = filled && body.len() == length;
            return (body, whole);
        }
        loop {
            let Some(line) = self.line().await else {
                return (body, false);
            };
            let Ok(size) = usize::from_str_radix(line.split(';').next().unwrap_or_default(), 16)
            else {
                return (body, false);
            };
            if size == 0 {
                // Trailers, up to the empty line.
                while let Some(line) = self.line().await {
                    if line.is_empty() {
                        return (body, true);
                    }
                }
                return (body, false);
            }
            if self.fill(size + 2).await.is_err() || self.read.len() < size + 2 {
                body.append(&mut self.read);
                return (body, false);
            }
            let rest = self.read.split_off(size + 2);
            let mut chunk = std::mem::replace(&mut self.read, rest);
            chunk.truncate(size);
            body.append(&mut chunk);
        }
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|w| w == b"\r\n") {
                let rest = self.read.split_off(end + 2);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.truncate(end);
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
            if self.over || self.fill(self.read.len() + 1).await.is_err() {
                return None;
            }
        }
    }
}
