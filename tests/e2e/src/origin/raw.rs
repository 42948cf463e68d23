//! An origin that shows the bytes: what a request looked like before anyone parsed it.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::accept;

/// The longest head that is read, and how many are remembered: together they bound the memory.
const LONGEST: usize = 256 << 10;
const REMEMBERED: usize = 256;

/// A request, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSeen {
    /// The request line and the header lines, without the empty line that ends them.
    pub head: Vec<u8>,
    /// The length of the body in bytes.
    pub body_len: u64,
}

impl RawSeen {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        self.line().split(|b| *b == b' ').next().unwrap_or_default()
    }

    /// The request target: the path with its query.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        let line = self.line();
        let line = line.strip_suffix(b" HTTP/1.1").unwrap_or(line);
        let start = self.method().len() + 1;
        line.get(start..).unwrap_or_default()
    }

    /// The header lines in order, each as name and value.
    #[must_use]
    pub fn headers(&self) -> Vec<(&[u8], &[u8])> {
        lines(&self.head).skip(1).map(field).collect()
    }

    /// The values of the header `name`, in order.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<&[u8]> {
        let mut headers = self.headers();
        headers.retain(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()));
        headers.into_iter().map(|(_, value)| value).collect()
    }

    fn line(&self) -> &[u8] {
        lines(&self.head).next().unwrap_or_default()
    }
}

/// A server on a free port of 127.0.0.1 that speaks HTTP/1.1 as far as a proxy needs it: requests in a row on one connection,
/// with bodies of a stated length or none. It ends when it is dropped.
#[derive(Debug)]
pub struct RawOrigin {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    seen: VecDeque<RawSeen>,
    status: u16,
    headers: Vec<u8>,
    body: Vec<u8>,
}

impl RawOrigin {
    /// Starts it; it answers 200 with no body until [`RawOrigin::answer`] says otherwise.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State {
            seen: VecDeque::new(),
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
        }));
        let serving = Arc::clone(&state);
        let serve = move |stream| serve(stream, Arc::clone(&serving));
        let accepting = tokio::spawn(accept(listener, serve));
        Ok(Self {
            address,
            state,
            accepting,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, answers every request by this. Header lines are sent as they are, in this order, before `content-length`.
    pub fn answer(&self, status: u16, headers: &[(&str, &[u8])], body: impl Into<Vec<u8>>) {
        let mut state = lock(&self.state);
        state.status = status;
        state.headers.clear();
        for (name, value) in headers {
            let line = [name.as_bytes(), b": ", value, b"\r\n"].concat();
            state.headers.extend(line);
        }
        state.body = body.into();
    }

    /// The requests so far, oldest first, at most the last 256.
    #[must_use]
    pub fn seen(&self) -> Vec<RawSeen> {
        lock(&self.state).seen.iter().cloned().collect()
    }

    /// The last request, if there was one.
    #[must_use]
    pub fn last(&self) -> Option<RawSeen> {
        lock(&self.state).seen.back().cloned()
    }

    /// Forgets all requests.
    pub fn forget(&self) {
        lock(&self.state).seen.clear();
    }
}

impl Drop for RawOrigin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(head) = head(&mut stream).await? {
        let mut seen = RawSeen { head, body_len: 0 };
        if !seen.values("transfer-encoding").is_empty() {
            let refusal =
                b"HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            return stream.write_all(refusal).await;
        }
        let length = seen.values("content-length").first().copied().map(number);
        if let Some(length) = length.flatten() {
            let mut body = (&mut stream).take(length);
            seen.body_len = tokio::io::copy(&mut body, &mut tokio::io::sink()).await?;
        }
        let is_head = seen.method() == b"HEAD";
        let answer = {
            let mut state = lock(&state);
            if state.seen.len() == REMEMBERED {
                state.seen.pop_front();
            }
            state.seen.push_back(seen);
            answer(&state, is_head)
        };
        stream.write_all(&answer).await?;
    }
    Ok(())
}

/// Reads up to the empty line, which is left out; none when the other side has closed.
async fn head(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    loop {
        let left = LONGEST.saturating_sub(head.len()) as u64;
        let start = head.len();
        let read = (&mut *stream)
            .take(left)
            .read_until(b'\n', &mut head)
            .await?;
        if head.get(start..) == Some(b"\r\n") && start > 0 {
            head.truncate(start - 2);
            return Ok(Some(head));
        }
        if read == 0 || !head.ends_with(b"\n") {
            return Ok(None);
        }
    }
}

fn answer(state: &State, is_head: bool) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {} Raw\r\n", state.status).into_bytes();
    answer.extend(&state.headers);
    if ![204, 304].contains(&state.status) {
        answer.extend(format!("content-length: {}\r\n", state.body.len()).as_bytes());
    }
    answer.extend(b"\r\n");
    if !is_head && ![204, 304].contains(&state.status) {
        answer.extend(&state.body);
    }
    answer
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = line.splitn(2, |b| *b == b':');
    let name = parts.next().unwrap_or_default();
    (name, parts.next().unwrap_or_default().trim_ascii())
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
