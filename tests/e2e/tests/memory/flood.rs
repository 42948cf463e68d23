//! Many requests at little cost: a few HTTP/2 connections, on each a batch of requests that goes out in one write.
//!
//! The frames are written and read by hand, for the same few bytes each time; a client that can do more takes longer
//! than Envoy does.

use std::collections::BTreeMap;
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use tidegate_e2e::Envoy;

const CONNECTIONS: usize = 8;

/// How many requests are on their way on one connection.
const BATCH: usize = 64;

/// How long a batch may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Kinds of frame, and the flags that are used.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// How often each status came.
pub(crate) type Statuses = BTreeMap<u16, u32>;

/// Connections to one Envoy.
pub(crate) struct Flood(Vec<Connection>);

impl Flood {
    pub(crate) fn connect(envoy: &Envoy) -> Result<Self> {
        let connections = (0..CONNECTIONS).map(|_| Connection::open(&envoy.authority()));
        Ok(Self(connections.collect::<Result<_>>()?))
    }

    /// Sends `requests` of them, the n-th by `account(n)`.
    pub(crate) async fn send(
        self,
        account: fn(u32) -> String,
        requests: u32,
    ) -> Result<(Self, Statuses)> {
        let mut running = Vec::new();
        for (first, mut connection) in (0..).zip(self.0) {
            running.push(tokio::task::spawn_blocking(move || {
                let numbers = (first..requests).step_by(CONNECTIONS);
                let accounts: Vec<u32> = numbers.collect();
                let mut statuses = Statuses::new();
                for batch in accounts.chunks(BATCH) {
                    connection.exchange(batch, account, &mut statuses)?;
                }
                Ok::<_, anyhow::Error>((connection, statuses))
            }));
        }
        let (mut connections, mut all) = (Vec::new(), Statuses::new());
        for done in running {
            let (connection, statuses) = done.await??;
            connections.push(connection);
            for (status, count) in statuses {
                *all.entry(status).or_default() += count;
            }
        }
        Ok((Self(connections), all))
    }
}

struct Connection {
    stream: BufReader<TcpStream>,
    next: u32,
    bytes: Vec<u8>,
}

impl Connection {
    fn open(authority: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // No table of headers (setting 1), so that every answer spells its status out; and a window that never closes.
        frame(&mut bytes, (SETTINGS, 0, 0), &[0, 1, 0, 0, 0, 0]);
        frame(
            &mut bytes,
            (WINDOW_UPDATE, 0, 0),
            &0x7fff_0000_u32.to_be_bytes(),
        );
        stream.write_all(&bytes)?;
        Ok(Self {
            stream: BufReader::with_capacity(1 << 16, stream),
            next: 1,
            bytes,
        })
    }

    /// Sends a batch and reads its answers.
    fn exchange(
        &mut self,
        batch: &[u32],
        account: fn(u32) -> String,
        statuses: &mut Statuses,
    ) -> Result<()> {
        self.bytes.clear();
        let mut block = Vec::new();
        for n in batch {
            block.clear();
            // GET, http and / are in the static table; the others are literals that enter no table.
            block.extend_from_slice(&[0x82, 0x86, 0x84]);
            literal(&mut block, ":authority", "e2e");
            literal(&mut block, "x-account", &account(*n));
            let kind = (HEADERS, END_STREAM | END_HEADERS, self.next);
            frame(&mut self.bytes, kind, &block);
            self.next += 2;
        }
        self.stream.get_mut().write_all(&self.bytes)?;
        let mut open = batch.len();
        while open > 0 {
            let (kind, flags, payload) = self.read()?;
            match kind {
                HEADERS => *statuses.entry(status(&payload)?).or_default() += 1,
                DATA | WINDOW_UPDATE => {}
                SETTINGS | PING if flags & ACK != 0 => {}
                SETTINGS => self.acknowledge(SETTINGS, &[])?,
                PING => self.acknowledge(PING, &payload)?,
                other => bail!("a frame of kind {other}: {payload:?}"),
            }
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                open -= 1;
            }
        }
        Ok(())
    }

    fn acknowledge(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        let mut bytes = Vec::new();
        frame(&mut bytes, (kind, ACK, 0), payload);
        Ok(self.stream.get_mut().write_all(&bytes)?)
    }

    fn read(&mut self) -> Result<(u8, u8, Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]);
        let mut payload = vec![0; usize::try_from(length)?];
        self.stream.read_exact(&mut payload)?;
        Ok((kind, flags, payload))
    }
}

fn frame(bytes: &mut Vec<u8>, (kind, flags, stream): (u8, u8, u32), payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap();
    bytes.extend_from_slice(length.to_be_bytes().get(1..).unwrap());
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
}

/// A header line in HPACK, as a literal without indexing. Both texts are shorter than 127 bytes.
fn literal(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        block.push(u8::try_from(text.len()).unwrap());
        block.extend_from_slice(text.as_bytes());
    }
}

/// The status of an answer: the first field of its block, which may begin with an update of the table's size.
fn status(block: &[u8]) -> Result<u16> {
    let block = match block {
        [0x20, rest @ ..] => rest,
        all => all,
    };
    match block {
        [0x88, ..] => Ok(200),
        // A literal whose name is entry 8 of the static table; three digits are not worth a compression.
        [0x08 | 0x18 | 0x48, 3, digits @ ..] => {
            let digits = digits.get(..3).unwrap_or_default();
            Ok(std::str::from_utf8(digits)?.parse()?)
        }
        other => {
            ensure!(!other.is_empty(), "an answer without headers");
            bail!("an answer that begins with {:?}", other.get(..8))
        }
    }
}
