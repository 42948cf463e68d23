//! What the origin answers: an echo, or what the path or the request asks for.

use std::convert::Infallible;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Seen;

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The longest an answer is held back.
const LONGEST: Duration = Duration::from_secs(60);

/// What is in an answer.
#[derive(Clone, Debug)]
enum Content {
    /// What the request looked like.
    Echo,
    /// These bytes.
    Fixed(Bytes),
    /// Whom the answer was made for, by this header of the request.
    Customer(&'static str),
    /// Which execution it is the answer of, and of what.
    Receipt,
}

/// An answer of the origin.
#[derive(Clone, Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Content,
    trailers: Option<HeaderMap>,
    after: Duration,
    held: Option<watch::Receiver<bool>>,
}

/// What holds answers back until it is opened, or dropped.
#[derive(Debug)]
pub struct Gate(watch::Sender<bool>);

impl Default for Gate {
    fn default() -> Self {
        Self(watch::channel(false).0)
    }
}

impl Gate {
    /// Lets all answers go that it holds, and those to come.
    pub fn open(&self) {
        self.0.send_replace(true);
    }
}

impl Reply {
    /// An answer with this status; its body is the echo until [`Reply::body`] says otherwise.
    #[must_use]
    pub fn status(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Content::Echo,
            trailers: None,
            after: Duration::ZERO,
            held: None,
        }
    }

    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(HeaderName::from_static(name), value);
        }
        self
    }

    /// The body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Content::Fixed(body.into());
        self
    }

    /// A body that says whom it was made for, by this header of the request: `{"customer":"amy"}`, or `null` for nobody.
    #[must_use]
    pub fn customer(mut self, header: &'static str) -> Self {
        self.body = Content::Customer(header);
        self
    }

    /// A body, and a header `x-receipt`, that only one execution has ([`Seen::receipt`]): `{"receipt":"/v1/charges#3","of":BODY}`, where
    /// `BODY` is the request's, byte for byte.
    #[must_use]
    pub fn receipt(mut self) -> Self {
        self.body = Content::Receipt;
        self
    }

    /// Holds the answer back, for at most a minute.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.after = time.min(LONGEST);
        self
    }

    /// Holds the answer back until `gate` is opened, for at most a minute.
    #[must_use]
    pub fn held_by(mut self, gate: &Gate) -> Self {
        self.held = Some(gate.0.subscribe());
        self
    }

    /// Adds a trailer; over HTTP/1.1 it is lost.
    #[must_use]
    pub fn trailer(mut self, name: &'static str, value: &'static str) -> Self {
        self.trailers.get_or_insert_default().append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        self
    }

    /// What a request without an arranged answer gets:
    ///
    /// - path `/status/N`, or header `x-origin-respond-status: N`: status N;
    /// - content type `application/grpc`: an empty message and trailers that say OK;
    /// - header `x-origin-respond-headers: [["name", "value"], ...]`: these lines too;
    /// - header `x-origin-respond-body: TEXT`: this body;
    /// - header `x-origin-respond-after: MS`: not before so many milliseconds.
    pub(super) fn to(seen: &Seen) -> Self {
        let path = seen.path.split('?').next().unwrap_or_default();
        let status = text(seen, "x-origin-respond-status")
            .or_else(|| path.strip_prefix("/status/"))
            .and_then(|code| code.parse().ok())
            .unwrap_or(StatusCode::OK);
        let mut reply = Self::status(status);
        if text(seen, "content-type").is_some_and(|kind| kind.starts_with("application/grpc")) {
            reply = reply.header("content-type", "application/grpc");
            // One message of length 0, uncompressed.
            reply.body = Content::Fixed(Bytes::from_static(&[0; 5]));
            let ok = (
                HeaderName::from_static("grpc-status"),
                HeaderValue::from_static("0"),
            );
            reply.trailers = Some(HeaderMap::from_iter([ok]));
        }
        if let Some(lines) = text(seen, "x-origin-respond-headers") {
            let lines: Vec<(String, String)> = serde_json::from_str(lines).unwrap_or_default();
            for (name, value) in lines {
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                    reply.headers.append(name, value);
                }
            }
        }
        if let Some(body) = text(seen, "x-origin-respond-body") {
            reply.body = Content::Fixed(Bytes::copy_from_slice(body.as_bytes()));
        }
        if let Some(time) = text(seen, "x-origin-respond-after").and_then(|ms| ms.parse().ok()) {
            reply = reply.after(Duration::from_millis(time));
        }
        reply
    }

    pub(super) async fn respond(self, seen: &Seen) -> Response<Body> {
        if !self.after.is_zero() {
            tokio::time::sleep(self.after).await;
        }
        if let Some(mut held) = self.held {
            let _ = tokio::time::timeout(LONGEST, held.wait_for(|open| *open)).await;
        }
        let mut headers = self.headers;
        if let (Content::Receipt, Ok(receipt)) = (&self.body, seen.receipt().parse()) {
            headers.insert("x-receipt", receipt);
        }
        // Over HTTP/2 the server would send the body to HEAD too.
        let body = if seen.method == Method::HEAD {
            Bytes::new()
        } else {
            match self.body {
                Content::Echo => echo(seen),
                Content::Fixed(bytes) => bytes,
                Content::Customer(header) => {
                    json!({"customer": text(seen, header)}).to_string().into()
                }
                Content::Receipt => receipt(seen),
            }
        };
        let trailers = self.trailers;
        let body = Full::new(body);
        let mut response = Response::new(match trailers {
            None => body.boxed_unsync(),
            Some(trailers) => body
                .with_trailers(async { Some(Ok(trailers)) })
                .boxed_unsync(),
        });
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
            .headers_mut()
            .entry("content-type")
            .or_insert(HeaderValue::from_static("application/json"));
        response
    }
}

fn text<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    seen.headers.get(name)?.to_str().ok()
}

fn receipt(seen: &Seen) -> Bytes {
    let begin = format!("{{\"receipt\":{},\"of\":", json!(seen.receipt()));
    [begin.as_bytes(), &seen.body, b"}"].concat().into()
}

/// Method, path, length of the body, and the headers as pairs; bytes that are not UTF-8 are replaced.
fn echo(seen: &Seen) -> Bytes {
    let headers: Vec<Value> = seen
        .headers
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    let echo = json!({
        "method": seen.method.as_str(), "path": seen.path, "body_len": seen.body_len, "headers": headers,
    });
    Bytes::from(echo.to_string())
}
