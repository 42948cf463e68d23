//! A blocking client, as lean as [`tidegate_e2e::bench::Load`], for threads of their own: its requests go out at the time
//! they are due, or many in one write.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A connection to a proxy.
pub(crate) struct Connection {
    stream: TcpStream,
    /// What was read and not yet taken.
    bytes: Vec<u8>,
    taken: usize,
}

impl Connection {
    pub(crate) fn open(authority: &str) -> Result<Self> {
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        Ok(Self {
            stream,
            bytes: Vec::with_capacity(1 << 16),
            taken: 0,
        })
    }

    pub(crate) fn send(&mut self, requests: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(requests)?)
    }

    /// Reads the next answer, and gives its status.
    pub(crate) fn status(&mut self) -> Result<u16> {
        loop {
            if let Some((status, length)) = whole(&self.bytes[self.taken..])? {
                self.taken += length;
                return Ok(status);
            }
            self.bytes.drain(..self.taken);
            self.taken = 0;
            let mut more = [0; 1 << 14];
            let read = self.stream.read(&mut more)?;
            ensure!(read > 0, "the proxy closed the connection");
            self.bytes.extend(&more[..read]);
        }
    }
}

/// The status and the length of the answer that `bytes` begins with, if it is there as a whole.
fn whole(bytes: &[u8]) -> Result<Option<(u16, usize)>> {
    let end = b"\r\n\r\n";
    let Some(at) = bytes.windows(end.len()).position(|b| b == end) else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..at])?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then_some(value.trim())
    });
    let length: usize = length.context("no content-length")?.parse()?;
    let all = at + end.len() + length;
    let status = status.context("no status")?.parse()?;
    Ok((bytes.len() >= all).then_some((status, all)))
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn an_answer_ends_where_its_length_says() {
        let two = b"HTTP/1.1 429 Too Many\r\nContent-Length: 3\r\n\r\nno\nHTTP/1.1 200 OK\r\n";
        assert_eq!(whole(two).unwrap(), Some((429, two.len() - 17)));
        assert_eq!(whole(&two[..45]).unwrap(), None);
        assert_eq!(whole(&two[two.len() - 17..]).unwrap(), None);
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
