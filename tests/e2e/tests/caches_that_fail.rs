//! What takes down an Envoy with one of its own caches, which docs/caching.md warns of. The module is not mounted here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::ensure;
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Client, Envoy, eventually};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How long a request may take that Envoy answers at once when it is well.
const SOON: Duration = Duration::from_secs(2);

/// How long something may take that comes to pass.
const LATER: Duration = Duration::from_secs(10);

/// What an origin does when it has sent half of its first answer for `/a`.
#[derive(Clone, Copy, Debug)]
enum Conduct {
    /// Resets the connection.
    BreaksOff,
    /// Sends the rest.
    GoesOn,
}

/// An origin that sends half of its first answer for `/a`, no more than the head of the second, and everything else at once.
struct Origin {
    address: SocketAddr,
    /// Lets it go on after the half.
    go: Arc<Notify>,
    /// It has sent the second head.
    again: Arc<Notify>,
}

impl Origin {
    async fn start(conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = Self {
            address: listener.local_addr().unwrap(),
            go: Arc::default(),
            again: Arc::default(),
        };
        let (go, again) = (Arc::clone(&origin.go), Arc::clone(&origin.again));
        tokio::spawn(async move {
            let mut first = true;
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                if !asks_for_a(&mut stream).await? {
                    stream.write_all(&answer(100)).await?;
                } else if std::mem::take(&mut first) {
                    stream.write_all(&answer(50)).await?;
                    go.notified().await;
                    match conduct {
                        Conduct::BreaksOff => stream.get_ref().set_zero_linger()?,
                        Conduct::GoesOn => stream.write_all(&b"x".repeat(50)).await?,
                    }
                } else {
                    stream.write_all(&answer(0)).await?;
                    again.notify_one();
                    tokio::spawn(async move { stream.read_u8().await });
                }
            }
            Ok::<_, std::io::Error>(())
        });
        origin
    }

    /// An Envoy before it, and a caller of `/a` that has got the half.
    async fn halfway(&self, cache: Cache) -> (Envoy, TcpStream) {
        let builder = Envoy::builder().origin_at(self.address).cache(cache);
        let envoy = builder.start().await.unwrap();
        let mut caller = ask(&envoy).await;
        let mut read = Vec::new();
        while !read.ends_with(&b"x".repeat(50)) {
            assert!(caller.read_buf(&mut read).await.unwrap() > 0, "{read:?}");
        }
        (envoy, caller)
    }
}

/// Reads a request; whether it is for `/a`.
async fn asks_for_a(stream: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await? > 0 {}
    Ok(head.starts_with("GET /a "))
}

/// An answer of 100 bytes that may be kept, as far as it is sent.
fn answer(sent: usize) -> Vec<u8> {
    let now = httpdate::fmt_http_date(SystemTime::now());
    let head = format!(
        "HTTP/1.1 200 OK\r\ndate: {now}\r\ncache-control: max-age=60\r\nconnection: close\r\ncontent-length: 100\r\n\r\n"
    );
    [head.into_bytes(), b"x".repeat(sent)].concat()
}

/// A caller that has asked for `/a`.
async fn ask(envoy: &Envoy) -> TcpStream {
    let mut caller = TcpStream::connect(envoy.authority()).await.unwrap();
    let request = b"GET /a HTTP/1.1\r\nhost: api.test\r\n\r\n";
    caller.write_all(request).await.unwrap();
    caller
}

/// Whether an Envoy goes on answering others while it waits for the rest of an answer that broke off the time before.
async fn goes_on(cache: Cache) -> bool {
    let origin = Origin::start(Conduct::BreaksOff).await;
    let (envoy, mut first) = origin.halfway(cache).await;
    origin.go.notify_one();
    // To the end of the connection, however it ends.
    let _ = first.read_to_end(&mut Vec::new()).await;
    let _second = ask(&envoy).await;
    origin.again.notified().await;
    let client = Client::h1();
    let other = || tokio::time::timeout(SOON, client.get(envoy.at("/other")).send());
    // The first of them may come before Envoy has read that head.
    let stopped = eventually(LATER, async || {
        ensure!(other().await.is_err(), "it is answered");
        Ok(())
    });
    stopped.await.is_err()
}

#[tokio::test]
async fn an_origin_that_breaks_off_costs_cache_v2_its_worker() {
    let goes_on = goes_on(Cache::V2).await;
    assert!(!goes_on, "it goes on now: say so in docs/caching.md");
}

#[tokio::test]
async fn it_costs_the_older_cache_nothing() {
    assert!(goes_on(Cache::V1).await);
}

/// Whether an Envoy lives on when a caller leaves within an answer that may be kept, and the rest of it comes.
async fn lives_on(cache: Cache) -> bool {
    let origin = Origin::start(Conduct::GoesOn).await;
    let (envoy, caller) = origin.halfway(cache).await;
    drop(caller);
    let gone = eventually(LATER, async || {
        let callers = envoy.stat("http.plain.downstream_cx_active").await?;
        ensure!(callers == 0, "{callers} connections");
        Ok(())
    });
    gone.await.unwrap();
    origin.go.notify_one();
    let crashed = eventually(SOON, async || {
        let crashed = envoy.log().contains("Caught Segmentation fault");
        ensure!(crashed, "there is no word of it");
        Ok(())
    });
    crashed.await.is_err() && Client::h1().get(envoy.at("/other")).send().await.is_ok()
}

#[tokio::test]
async fn a_caller_who_leaves_costs_the_older_cache_its_envoy() {
    let lives_on = lives_on(Cache::V1).await;
    assert!(!lives_on, "it lives on now: say so in docs/caching.md");
}

#[tokio::test]
async fn he_costs_cache_v2_nothing() {
    assert!(lives_on(Cache::V2).await);
}
