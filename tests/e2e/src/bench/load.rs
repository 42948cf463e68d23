//! The client: a fixed number of connections, each with one request on its way at a time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many connections there are: enough to keep the proxy's core busy.
const CONNECTIONS: u32 = 32;

/// How many requests go before the first measurement: some of each account, so that what a cache or a record may keep it has.
const WARM: u32 = 3_000;

/// Writes the request of a turn; the flag says whether the measuring has begun.
type Write = dyn Fn(u32, bool, &mut Vec<u8>) + Send + Sync;

/// The statuses of answers and how often each came.
#[derive(Debug, Default)]
pub struct Statuses(BTreeMap<u16, u32>);

impl Statuses {
    /// That there was no other than this one.
    ///
    /// # Errors
    ///
    /// There was.
    pub fn all(&self, status: u16) -> Result<()> {
        let only = self.0.keys().all(|key| *key == status);
        ensure!(only, "expected {status} alone, got {:?}", self.0);
        Ok(())
    }

    /// How often this one came.
    #[must_use]
    pub fn of(&self, status: u16) -> u32 {
        self.0.get(&status).copied().unwrap_or(0)
    }
}

/// Connections to one proxy.
pub struct Load {
    connections: Vec<Connection>,
}

impl Load {
    /// Connects to `authority`; the n-th request is what `write` makes of n.
    ///
    /// # Errors
    ///
    /// Nobody listens there.
    pub async fn connect(
        authority: &str,
        write: impl Fn(u32, bool, &mut Vec<u8>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let write: Arc<Write> = Arc::new(write);
        let mut connections = Vec::new();
        for first in 0..CONNECTIONS {
            let stream = TcpStream::connect(authority).await?;
            stream.set_nodelay(true)?;
            connections.push(Connection {
                stream,
                write: Arc::clone(&write),
                turn: first,
                warm: false,
                request: Vec::with_capacity(512),
                answer: Vec::with_capacity(4_096),
            });
        }
        Ok(Self { connections })
    }

    /// Sends the requests that go before the first measurement.
    ///
    /// # Errors
    ///
    /// A connection failed.
    pub async fn warm(&mut self) -> Result<()> {
        self.send(WARM).await?;
        for connection in &mut self.connections {
            connection.warm = true;
        }
        Ok(())
    }

    /// Sends this many requests and reads the answers.
    ///
    /// # Errors
    ///
    /// A connection failed, or an answer has no `content-length`.
    pub async fn send(&mut self, requests: u32) -> Result<Statuses> {
        let mut running = tokio::task::JoinSet::new();
        for (index, mut connection) in (0..).zip(self.connections.drain(..)) {
            let share = requests / CONNECTIONS + u32::from(index < requests % CONNECTIONS);
            running.spawn(async move {
                let statuses = connection.send(share).await?;
                Ok::<_, anyhow::Error>((connection, statuses))
            });
        }
        let mut all = Statuses::default();
        while let Some(done) = running.join_next().await {
            let (connection, statuses) = done??;
            self.connections.push(connection);
            for (status, count) in statuses.0 {
                *all.0.entry(status).or_insert(0) += count;
            }
        }
        Ok(all)
    }
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load").finish_non_exhaustive()
    }
}

struct Connection {
    stream: TcpStream,
    write: Arc<Write>,
    turn: u32,
    warm: bool,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    async fn send(&mut self, requests: u32) -> Result<Statuses> {
        let mut statuses = Statuses::default();
        for _ in 0..requests {
            (self.write)(self.turn, self.warm, &mut self.request);
            // No two connections have a turn in common.
            self.turn = self.turn.wrapping_add(CONNECTIONS);
            self.stream.write_all(&self.request).await?;
            let status = self.read_answer().await?;
            *statuses.0.entry(status).or_insert(0) += 1;
        }
        Ok(statuses)
    }

    /// Reads one answer with a `content-length`, and gives its status.
    async fn read_answer(&mut self) -> Result<u16> {
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the proxy closed the connection");
            let end = b"\r\n\r\n";
            let Some(at) = self.answer.windows(4).position(|bytes| bytes == end) else {
                continue;
            };
            let (head, body) = self.answer.split_at(at + end.len());
            let head = std::str::from_utf8(head)?;
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then_some(value.trim())
            });
            let length: usize = length.context("no content-length")?.parse()?;
            if body.len() >= length {
                let status = head.split(' ').nth(1).context("no status")?;
                return Ok(status.parse()?);
            }
        }
    }
}
