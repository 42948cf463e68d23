//! The leanest origin there can be: every request gets the same bytes.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// Starts it on a free port; it ends with the program.
pub(crate) async fn start() -> Result<SocketAddr> {
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
