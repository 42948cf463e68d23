//! Requests whose bodies come in parts.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tidegate_e2e::{Answer, Envoy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::KEY;
use crate::stand::SOON;

/// A body that comes in these frames, so that each is seen by itself.
pub(crate) struct Parts {
    frames: VecDeque<Frame<Bytes>>,
    pause: Pin<Box<tokio::time::Sleep>>,
}

/// How long a frame is ahead of the next: enough for Envoy to have read it.
const PAUSE: Duration = Duration::from_millis(3);

impl Parts {
    /// These parts, and trailers if there are some.
    pub(crate) fn new(parts: Vec<Vec<u8>>, trailers: Option<HeaderMap>) -> Self {
        let data = parts.into_iter().map(|part| Frame::data(part.into()));
        Self {
            frames: data.chain(trailers.map(Frame::trailers)).collect(),
            pause: Box::pin(sleep(PAUSE)),
        }
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pause.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.pause = Box::pin(sleep(PAUSE));
        Poll::Ready(self.frames.pop_front().map(Ok))
    }
}

/// Sends amy's request with this key and these parts, over HTTP/2 or HTTP/1.1, without saying how long it is.
pub(crate) async fn send(envoy: &Envoy, path: &str, key: &str, h2: bool, body: Parts) -> Answer {
    send_as("application/json", envoy, path, key, h2, body).await
}

/// The same with another type of content.
pub(crate) async fn send_as(
    kind: &str,
    envoy: &Envoy,
    path: &str,
    key: &str,
    h2: bool,
    body: Parts,
) -> Answer {
    let pool: Client<HttpConnector, Parts> = Client::builder(TokioExecutor::new())
        .http2_only(h2)
        .build_http();
    let request = Request::post(envoy.at(path))
        .header("content-type", kind)
        .header("x-account", "amy")
        .header(KEY, format!("\"{key}\""))
        .body(body)
        .unwrap();
    let (parts, body) = pool.request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap();
    Answer {
        status: parts.status,
        version: parts.version,
        headers: parts.headers,
        trailers: body.trailers().cloned().unwrap_or_default(),
        body: body.to_bytes(),
    }
}

/// The head of amy's request with this key, with these further lines, each with its line end.
pub(crate) fn head(path: &str, key: &str, lines: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: api.example\r\nx-account: amy\r\n\
         content-type: application/json\r\n{KEY}: \"{key}\"\r\n{lines}\r\n"
    )
}

/// A connection on which bytes are sent by hand.
pub(crate) struct Wire(TcpStream);

impl Wire {
    pub(crate) async fn open(envoy: &Envoy) -> Self {
        let stream = TcpStream::connect(envoy.authority()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads until these bytes have come, or the other side has closed; all that came.
    pub(crate) async fn until(&mut self, end: &[u8]) -> Vec<u8> {
        let mut read = Vec::new();
        let reading = async {
            let mut chunk = [0; 16_384];
            while !read.windows(end.len()).any(|window| window == end) {
                match self.0.read(&mut chunk).await {
                    Ok(length @ 1..) => read.extend_from_slice(&chunk[..length]),
                    Ok(0) | Err(_) => break,
                }
            }
        };
        timeout(SOON, reading).await.unwrap();
        read
    }
}
