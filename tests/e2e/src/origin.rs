//! The server behind Envoy: it remembers what reached it and answers as it was told.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use http::{HeaderMap, Method, Request, Response, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

mod raw;
mod reply;

pub use raw::{RawOrigin, RawSeen};
pub use reply::{Gate, Reply};

/// How many requests are remembered in full; all are counted.
const REMEMBERED: usize = 10_000;

/// How much of a body is remembered, in bytes.
const KEPT: usize = 64 << 10;

/// A request as it reached the origin.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method.
    pub method: Method,
    /// The path with its query.
    pub path: String,
    /// The protocol.
    pub version: Version,
    /// The headers.
    pub headers: HeaderMap,
    /// The length of the body in bytes.
    pub body_len: usize,
    /// The body, at most its first 64 KiB.
    pub body: Vec<u8>,
    /// Which execution of its path (without a query) this is, from 1 on.
    pub execution: u64,
}

impl Seen {
    /// A name that no other execution has: `/v1/charges#3` for the third of that path.
    #[must_use]
    pub fn receipt(&self) -> String {
        format!("{}#{}", bare(&self.path), self.execution)
    }
}

/// A server on a free port of 127.0.0.1 that speaks HTTP/1.1 and, without TLS, HTTP/2. It ends when it is dropped.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    seen: VecDeque<Seen>,
    counts: HashMap<String, u64>,
    replies: HashMap<String, Reply>,
}

impl Origin {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
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

    /// From now on, answers requests to `path` (without a query) by `reply`.
    pub fn answer(&self, path: &str, reply: Reply) {
        lock(&self.state).replies.insert(path.to_owned(), reply);
    }

    /// How often `path` (without a query) was executed.
    #[must_use]
    pub fn count(&self, path: &str) -> u64 {
        lock(&self.state).counts.get(path).copied().unwrap_or(0)
    }

    /// How many requests were executed.
    #[must_use]
    pub fn total(&self) -> u64 {
        lock(&self.state).counts.values().sum()
    }

    /// The requests that came to `path` (without a query), oldest first, at most the last 10,000 of all.
    #[must_use]
    pub fn seen(&self, path: &str) -> Vec<Seen> {
        let state = lock(&self.state);
        let same = state.seen.iter().filter(|s| bare(&s.path) == path);
        same.cloned().collect()
    }

    /// The last request to `path`, if there was one.
    #[must_use]
    pub fn last(&self, path: &str) -> Option<Seen> {
        self.seen(path).pop()
    }

    /// Forgets all requests and counts.
    pub fn forget(&self) {
        let mut state = lock(&self.state);
        state.seen.clear();
        state.counts.clear();
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Serves every connection until it is dropped.
async fn accept<S>(listener: TcpListener, serve: impl Fn(TcpStream) -> S)
where
    S: Future<Output: Send> + Send + 'static,
{
    // Dropped with this task, and every connection with it.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(serve(stream));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).max_headers(5_000);
    server.http2().max_header_list_size(2 << 20);
    let service = service_fn(move |request| execute(request, Arc::clone(&state)));
    // A client that goes away is no failure of the origin.
    let _gone = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn execute(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
) -> Result<Response<reply::Body>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let (execution, reply) = {
        let mut state = lock(&state);
        let count = state.counts.entry(path.clone()).or_insert(0);
        *count += 1;
        (*count, state.replies.get(&path).cloned())
    };
    let body = body.collect().await?.to_bytes();
    let seen = Seen {
        method: parts.method,
        path: parts.uri.path_and_query().map_or(path, ToString::to_string),
        version: parts.version,
        headers: parts.headers,
        body_len: body.len(),
        body: body.iter().copied().take(KEPT).collect(),
        execution,
    };
    let reply = reply.unwrap_or_else(|| Reply::to(&seen));
    {
        let mut state = lock(&state);
        if state.seen.len() == REMEMBERED {
            state.seen.pop_front();
        }
        state.seen.push_back(seen.clone());
    }
    Ok(reply.respond(&seen).await)
}

fn bare(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
