//! What Envoy's caches do when an origin breaks off within an answer that may be kept, which docs/caching.md warns of. The module is not mounted here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Client, Envoy, eventually};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How long a request may take that Envoy answers at once when it is well.
const SOON: Duration = Duration::from_secs(2);

/// An origin that resets its connection within the first answer for `/a`, sends no more than the head of the second, and answers
/// everything else.
struct Origin {
    address: SocketAddr,
    /// Lets it reset the connection.
    reset: Arc<Notify>,
    /// It has sent the second head.
    again: Arc<Notify>,
}

impl Origin {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = Self {
            address: listener.local_addr()?,
            reset: Arc::default(),
            again: Arc::default(),
        };
        let (reset, again) = (Arc::clone(&origin.reset), Arc::clone(&origin.again));
        tokio::spawn(async move {
            let mut first = true;
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                if !asks_for_a(&mut stream).await? {
                    stream.write_all(&answer(100, 100)).await?;
                } else if std::mem::take(&mut first) {
                    stream.write_all(&answer(100, 50)).await?;
                    reset.notified().await;
                    stream.get_ref().set_zero_linger()?;
                } else {
                    stream.write_all(&answer(100, 0)).await?;
                    again.notify_one();
                    tokio::spawn(async move { stream.read_u8().await });
                }
            }
            Ok::<_, std::io::Error>(())
        });
        Ok(origin)
    }
}

/// Reads a request; whether it is for `/a`.
async fn asks_for_a(stream: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await? > 0 {}
    Ok(head.starts_with("GET /a "))
}

/// An answer that may be kept, as far as it is sent.
fn answer(length: usize, sent: usize) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ndate: {}\r\ncache-control: max-age=60\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n",
        httpdate::fmt_http_date(std::time::SystemTime::now())
    );
    [head.into_bytes(), b"x".repeat(sent)].concat()
}

/// Whether an Envoy goes on answering others while it waits for the rest of an answer that broke off the time before.
async fn goes_on(cache: Cache) -> bool {
    let origin = Origin::start().await.unwrap();
    let builder = Envoy::builder().origin_at(origin.address).cache(cache);
    let envoy = builder.start().await.unwrap();
    let ask = async || {
        let mut caller = TcpStream::connect(envoy.authority()).await.unwrap();
        let request = b"GET /a HTTP/1.1\r\nhost: api.test\r\n\r\n";
        caller.write_all(request).await.unwrap();
        caller
    };
    let mut first = ask().await;
    let mut read = Vec::new();
    while !read.ends_with(&b"x".repeat(50)) {
        assert!(first.read_buf(&mut read).await.unwrap() > 0);
    }
    origin.reset.notify_one();
    // To the end of the connection, however it ends.
    let _ = first.read_to_end(&mut read).await;
    let _second = ask().await;
    origin.again.notified().await;
    let client = Client::h1();
    let other = || tokio::time::timeout(SOON, client.get(envoy.at("/other")).send());
    // The first of them may come before Envoy has read that head.
    let stopped = eventually(SOON * 2, async || {
        ensure!(other().await.is_err(), "it is answered");
        Ok(())
    });
    stopped.await.is_err()
}

#[tokio::test]
async fn cache_v2_loses_its_worker_to_an_answer_that_broke_off_the_time_before() {
    let goes_on = goes_on(Cache::V2).await;
    assert!(!goes_on, "it goes on now: say so in docs/caching.md");
}

#[tokio::test]
async fn the_older_cache_goes_on() {
    assert!(goes_on(Cache::V1).await);
}
