//! An origin that does as it is told, to the byte: it keeps what it was sent, and answers, waits or breaks off.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// What it does next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends nothing for so long.
    Wait(Duration),
    /// Resets the connection.
    Reset,
    /// Closes the connection.
    Close,
}

/// Sends this text.
pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// Sends nothing for so many milliseconds.
pub(crate) const fn wait(millis: u64) -> Step {
    Step::Wait(Duration::from_millis(millis))
}

/// An answer with this status line, these header lines (each with its line end) and this body.
pub(crate) fn answer(status: &str, lines: &str, body: &[u8]) -> Step {
    let head = format!(
        "HTTP/1.1 {status}\r\n{lines}content-length: {}\r\n\r\n",
        body.len()
    );
    Step::Send([head.as_bytes(), body].concat())
}

/// The begin of an answer: three bytes of ten.
pub(crate) fn half() -> Step {
    send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
}

/// A request as it came; the body without its chunks.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Sent {
    /// The first line of a header, in any case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }
}

/// The origin. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Script {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    sent: Vec<Sent>,
    /// For the next requests, one after the other.
    next: VecDeque<Vec<Step>>,
    /// For all others.
    steps: Vec<Step>,
}

impl Script {
    /// Starts it; it answers with an empty 200 until told otherwise.
    pub(crate) async fn start() -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// The same, at this address.
    pub(crate) async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            steps: vec![answer("200 OK", "", b"")],
            ..State::default()
        }));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self {
            address,
            state,
            accepting,
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on this is what a request gets.
    pub(crate) fn play(&self, steps: Vec<Step>) {
        lock(&self.state).steps = steps;
    }

    /// This is what one of the next requests gets, after those that were told before.
    pub(crate) fn then(&self, steps: Vec<Step>) {
        lock(&self.state).next.push_back(steps);
    }

    /// How many requests came as a whole.
    pub(crate) fn count(&self) -> usize {
        lock(&self.state).sent.len()
    }

    /// The requests so far.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        lock(&self.state).sent.clone()
    }

    /// Forgets the requests so far.
    pub(crate) fn forget(&self) {
        lock(&self.state).sent.clear();
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(serve(stream, Arc::clone(&state)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(sent) = read(&mut stream).await? {
        let steps = {
            let mut state = lock(&state);
            state.sent.push(sent);
            let next = state.next.pop_front();
            next.unwrap_or_else(|| state.steps.clone())
        };
        for step in steps {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes).await?,
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Reset => return stream.get_ref().set_zero_linger(),
                Step::Close => return stream.shutdown().await,
            }
        }
    }
    Ok(())
}

/// Reads a whole request; none when the other side has closed.
pub(crate) async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Sent>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let mut sent = Sent {
        head,
        body: Vec::new(),
    };
    if sent.header("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            if length == 0 {
                break;
            }
            (&mut *stream)
                .take(length)
                .read_to_end(&mut sent.body)
                .await?;
            stream.read_line(&mut line).await?;
        }
        // Trailers, up to the empty line.
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                break;
            }
        }
    } else if let Some(length) = sent.header("content-length") {
        let length = length.parse().map_err(io::Error::other)?;
        (&mut *stream)
            .take(length)
            .read_to_end(&mut sent.body)
            .await?;
    }
    Ok(Some(sent))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
