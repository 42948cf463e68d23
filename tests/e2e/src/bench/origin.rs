//! The leanest origin there can be: every request gets the same bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// The pause after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(10);

/// A server on a free port of 127.0.0.1 that answers `{}` and counts. It ends with the program.
#[derive(Debug)]
pub struct LeanOrigin {
    address: SocketAddr,
    served: Arc<AtomicU64>,
}

impl LeanOrigin {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let served = Arc::<AtomicU64>::default();
        let serving = Arc::clone(&served);
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&serving)))),
                    // A connection that is gone before it was taken is the other side's affair.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        });
        Ok(Self { address, served })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests came so far.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }
}

/// Answers until the other side is gone. Requests come one by one.
async fn serve(mut stream: TcpStream, served: Arc<AtomicU64>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(4_096);
    while stream.read_buf(&mut request).await? > 0 {
        if is_whole(&request) {
            request.clear();
            served.fetch_add(1, Ordering::Relaxed);
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
