//! Requests that no well-behaved client would send: bytes in, bytes out.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an exchange may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The most bytes that are read of an answer.
const MOST: u64 = 1 << 20;

/// Sends `bytes` to `authority` (`127.0.0.1:PORT`) and returns all that comes back until the other side closes.
/// The request should hold `connection: close`.
///
/// # Errors
///
/// The connection fails, or stays open for more than ten seconds.
pub async fn exchange(authority: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let talk = async {
        let mut stream = TcpStream::connect(authority).await?;
        stream.write_all(bytes).await?;
        let mut answer = Vec::new();
        stream.take(MOST).read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    timeout(LIMIT, talk)
        .await
        .context("the connection stayed open")?
        .context("the raw exchange")
}

/// The status of a raw HTTP/1.1 answer.
#[must_use]
pub fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(line).ok()?.parse().ok()
}
