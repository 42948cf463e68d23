//! What stands behind the Envoys.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use http::StatusCode;
use tidegate_e2e::{Origin, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::requests;
use crate::rows::Kind;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// Longer than any run.
const LASTING: &str = "public, max-age=86400";

/// One origin for requests that are passed on, and one for those that copies answer.
pub(crate) struct Origins {
    lean: SocketAddr,
    passed: Arc<AtomicU64>,
    /// It dates its answers, which a cache needs, and counts them. It need not be lean: it rests while hits are measured.
    kept: Origin,
}

impl Origins {
    /// Starts both on free ports; they end with the program.
    pub(crate) async fn start() -> Result<Self> {
        let kept = Origin::start().await?;
        let reply = Reply::status(StatusCode::OK).header("cache-control", LASTING);
        kept.answer(requests::PATH, reply.body("{}"));
        let passed = Arc::default();
        Ok(Self {
            lean: lean(Arc::clone(&passed)).await?,
            passed,
            kept,
        })
    }

    /// Which one stands behind a row of this kind.
    pub(crate) const fn behind(&self, kind: Kind) -> SocketAddr {
        if kind.is_hit() {
            self.kept.address()
        } else {
            self.lean
        }
    }

    /// How many requests came so far, to either.
    pub(crate) fn asked(&self) -> u64 {
        self.passed.load(Ordering::Relaxed) + self.kept.total()
    }

    /// That so many have come since, and no other.
    pub(crate) fn expect(&self, requests: u32, before: u64) -> Result<()> {
        let asked = self.asked() - before;
        ensure!(
            asked == u64::from(requests),
            "{asked} requests reached the origin; {requests} were to"
        );
        Ok(())
    }
}

/// The leanest origin there can be: every request gets the same bytes.
async fn lean(passed: Arc<AtomicU64>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&passed)));
        }
    });
    Ok(address)
}

/// Answers until the other side is gone. Requests come one by one.
async fn serve(mut stream: TcpStream, passed: Arc<AtomicU64>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(4_096);
    while stream.read_buf(&mut request).await? > 0 {
        if is_whole(&request) {
            request.clear();
            passed.fetch_add(1, Ordering::Relaxed);
            stream.write_all(ANSWER).await?;
        }
    }
    Ok(())
}

/// Whether the body has come too, if there is one.
fn is_whole(request: &[u8]) -> bool {
    let end = b"\r\n\r\n";
    let Some(at) = request.windows(end.len()).position(|bytes| bytes == end) else {
        return false;
    };
    let (head, body) = request.split_at(at + end.len());
    let name = b"\r\ncontent-length: ";
    let length = head.windows(name.len()).position(|bytes| bytes == name);
    let digits = length.map_or(&[][..], |at| &head[at + name.len()..]);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| 10 * length + usize::from(digit - b'0'));
    body.len() >= length
}
