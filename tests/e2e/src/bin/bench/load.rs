//! The client: a fixed number of connections, each with one request on its way at a time.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use tidegate_e2e::Envoy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many connections there are: enough to keep Envoy's core busy.
const CONNECTIONS: u32 = 32;

/// What is asked for, without the query.
pub(crate) const PATH: &str = "/v1/things";

/// Who sends the requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callers {
    /// How many tenants take turns.
    pub(crate) tenants: u32,
    /// How many accounts take turns.
    pub(crate) accounts: u32,
    /// Whether each account asks for a page of its own, or all for the first.
    pub(crate) pages: bool,
}

/// The statuses of answers and how often each came.
#[derive(Debug, Default)]
pub(crate) struct Statuses(BTreeMap<u16, u32>);

impl Statuses {
    /// That there was no other than this one.
    pub(crate) fn all(&self, status: u16) -> Result<()> {
        let only = self.0.keys().all(|key| *key == status);
        ensure!(only, "expected {status} alone, got {:?}", self.0);
        Ok(())
    }
}

/// Connections to one Envoy.
pub(crate) struct Load {
    connections: Vec<Connection>,
}

impl Load {
    pub(crate) async fn connect(envoy: &Envoy, callers: Callers) -> Result<Self> {
        let mut connections = Vec::new();
        for first in 0..CONNECTIONS {
            let stream = TcpStream::connect(envoy.authority()).await?;
            stream.set_nodelay(true)?;
            connections.push(Connection {
                stream,
                callers,
                turn: first,
                request: Vec::with_capacity(512),
                answer: Vec::with_capacity(4_096),
            });
        }
        Ok(Self { connections })
    }

    /// Sends this many requests and reads the answers.
    pub(crate) async fn send(&mut self, requests: u32) -> Result<Statuses> {
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

struct Connection {
    stream: TcpStream,
    callers: Callers,
    turn: u32,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    async fn send(&mut self, requests: u32) -> Result<Statuses> {
        let mut statuses = Statuses::default();
        for _ in 0..requests {
            self.write_request();
            self.stream.write_all(&self.request).await?;
            let status = self.read_answer().await?;
            *statuses.0.entry(status).or_insert(0) += 1;
        }
        Ok(statuses)
    }

    fn write_request(&mut self) {
        use std::io::Write as _;

        let Callers {
            tenants,
            accounts,
            pages,
        } = self.callers;
        let account = self.turn % accounts;
        let tenant = account % tenants;
        let page = if pages { 1 + account } else { 1 };
        self.turn = self.turn.wrapping_add(CONNECTIONS);
        self.request.clear();
        // A vector takes whatever is written to it.
        let _ = write!(
            self.request,
            "GET {PATH}?page={page} HTTP/1.1\r\nhost: api.test\r\nuser-agent: bench\r\naccept: */*\r\n\
             x-tenant-id: tenant-{tenant:04}\r\nx-account: account-{account:08}\r\n\r\n"
        );
    }

    /// Reads one answer with a `content-length`, and gives its status.
    async fn read_answer(&mut self) -> Result<u16> {
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "Envoy closed the connection");
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
