//! A connection that writes requests byte for byte and reads answers.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// An HTTP/1.1 connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
    /// How much of that was taken already.
    taken: usize,
}

/// What is read of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    /// The seconds of `Retry-After`.
    pub(crate) retry_after: Option<u64>,
    /// A stored answer.
    pub(crate) replayed: bool,
    /// The body of a refusal; others are left out.
    pub(crate) refusal: String,
}

impl Wire {
    /// Connects to `127.0.0.1:PORT`.
    pub(crate) async fn open(authority: &str) -> Result<Self> {
        Ok(Self::of(TcpStream::connect(authority).await?))
    }

    /// Connects from this address; every 127.x.y.z will do.
    pub(crate) async fn open_from(address: IpAddr, authority: &str) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((address, 0).into())?;
        Ok(Self::of(socket.connect(authority.parse()?).await?))
    }

    fn of(stream: TcpStream) -> Self {
        // Without it requests would wait for each other; where it cannot be set they do.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            read: Vec::with_capacity(64 << 10),
            taken: 0,
        }
    }

    /// Writes requests.
    pub(crate) async fn send(&mut self, requests: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(requests).await?)
    }

    /// Reads the next answer.
    pub(crate) async fn hear(&mut self) -> Result<Heard> {
        timeout(LIMIT, self.answer())
            .await
            .context("no answer within half a minute")?
    }

    async fn answer(&mut self) -> Result<Heard> {
        loop {
            if let Some((heard, length)) = parse(&self.read[self.taken..])? {
                self.taken += length;
                return Ok(heard);
            }
            self.read.drain(..self.taken);
            self.taken = 0;
            let more = self.stream.read_buf(&mut self.read).await?;
            ensure!(more > 0, "Envoy closed the connection");
        }
    }
}

/// Sends so many requests one after the other. `write` appends the request of a number; `each` gets the answers in the same
/// order. Returns how long it took.
///
/// Not pipelined: Envoy closes a connection on which it answered by itself before the request was whole, and what else was
/// on its way there would have to be sent again, without knowing how far it came.
pub(crate) async fn in_order(
    authority: &str,
    count: usize,
    mut write: impl FnMut(usize, &mut Vec<u8>),
    mut each: impl FnMut(usize, Heard),
) -> Result<Duration> {
    let begun = Instant::now();
    let mut wire = Wire::open(authority).await?;
    let mut request = Vec::with_capacity(1 << 10);
    for number in 0..count {
        request.clear();
        write(number, &mut request);
        wire.send(&request).await?;
        let heard = wire.hear().await?;
        if heard.status == 429 {
            // It takes Envoy a second to close the old one, in case that its client is still writing.
            wire = Wire::open(authority).await?;
        }
        each(number, heard);
    }
    Ok(begun.elapsed())
}

/// The first answer in these bytes and its length, if it is whole.
fn parse(bytes: &[u8]) -> Result<Option<(Heard, usize)>> {
    let end = b"\r\n\r\n";
    let Some(at) = bytes.windows(end.len()).position(|found| found == end) else {
        return Ok(None);
    };
    let (head, body) = bytes.split_at(at + end.len());
    let head = std::str::from_utf8(head)?;
    let status: u16 = head
        .split(' ')
        .nth(1)
        .context("an answer without a status")?
        .parse()?;
    let mut heard = Heard {
        status,
        retry_after: None,
        replayed: false,
        refusal: String::new(),
    };
    let mut length = None;
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        match name {
            "content-length" => length = Some(value.parse()?),
            "retry-after" => heard.retry_after = value.parse().ok(),
            "idempotent-replayed" => heard.replayed = value == "true",
            _ => {}
        }
    }
    let length: usize = match length {
        Some(length) => length,
        None if status == 204 || status == 304 => 0,
        None => anyhow::bail!("an answer without a content-length: {head}"),
    };
    let Some(body) = body.get(..length) else {
        return Ok(None);
    };
    if status >= 400 {
        heard.refusal = String::from_utf8_lossy(body).into_owned();
    }
    Ok(Some((heard, at + end.len() + length)))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn answers_are_taken_apart_one_after_the_other() {
        let two = b"HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 204 No Content\r\nidempotent-replayed: true\r\n\r\n";
        let (first, length) = parse(two).unwrap().unwrap();
        assert_eq!((first.status, first.retry_after), (429, Some(7)));
        assert_eq!(first.refusal, "{}");
        let (second, rest) = parse(&two[length..]).unwrap().unwrap();
        assert_eq!((second.status, second.replayed), (204, true));
        assert_eq!(length + rest, two.len());
        assert!(parse(&two[..length - 1]).unwrap().is_none());
    }
}
