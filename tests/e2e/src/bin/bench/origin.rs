//! What stands behind the Envoys.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use http::StatusCode;
use tidegate_e2e::{Origin, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::load;
use crate::rows::Kind;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// Longer than any run.
const LASTING: &str = "public, max-age=86400";

/// One origin for requests that are passed on, and one for those that copies answer.
pub(crate) struct Origins {
    lean: SocketAddr,
    /// It dates its answers, which a cache needs, and counts them. It need not be lean: it rests while hits are measured.
    kept: Origin,
}

impl Origins {
    /// Starts both on free ports; they end with the program.
    pub(crate) async fn start() -> Result<Self> {
        let kept = Origin::start().await?;
        let reply = Reply::status(StatusCode::OK).header("cache-control", LASTING);
        kept.answer(load::PATH, reply.body("{}"));
        Ok(Self {
            lean: lean().await?,
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

    /// How often a cache has asked so far.
    pub(crate) fn asked(&self) -> u64 {
        self.kept.total()
    }

    /// That no cache has asked since.
    pub(crate) fn rested(&self, before: u64) -> Result<()> {
        let asked = self.asked() - before;
        ensure!(asked == 0, "{asked} requests were no hits");
        Ok(())
    }
}

/// The leanest origin there can be: every request gets the same bytes.
async fn lean() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    Ok(address)
}

/// Answers until the other side is gone. Requests come one by one and have no body.
async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(4_096);
    while stream.read_buf(&mut request).await? > 0 {
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            stream.write_all(ANSWER).await?;
        }
    }
    Ok(())
}
