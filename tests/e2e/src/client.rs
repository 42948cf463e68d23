//! A client that sends exactly the headers it is given, over HTTP/1.1 or HTTP/2, with or without TLS.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client as Pool, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;

use crate::tls::{Authority, Identity};

mod answer;

pub use answer::Answer;

/// How long a call may take unless it says otherwise.
const CALL: Duration = Duration::from_secs(15);

/// A pool of connections; clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Client {
    /// Speaks HTTP/1.1, without TLS.
    #[must_use]
    pub fn h1() -> Self {
        Builder::default().build_plain()
    }

    /// Speaks HTTP/2 from the first byte, without TLS.
    #[must_use]
    pub fn h2() -> Self {
        Builder::default().h2().build_plain()
    }

    /// A client with something special about it.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Begins a GET of `url`.
    pub fn get(&self, url: impl AsRef<str>) -> Call {
        self.call(Method::GET, url)
    }

    /// Begins a POST to `url`.
    pub fn post(&self, url: impl AsRef<str>) -> Call {
        self.call(Method::POST, url)
    }

    /// Begins a request with any method.
    pub fn call(&self, method: Method, url: impl AsRef<str>) -> Call {
        Call {
            client: self.clone(),
            request: Request::builder()
                .method(method)
                .uri(url.as_ref())
                .body(Bytes::new())
                .context("the request line"),
            limit: CALL,
        }
    }
}

/// What is special about a client.
#[derive(Debug, Default)]
pub struct Builder {
    h2: bool,
    from: Option<IpAddr>,
}

impl Builder {
    /// Speaks HTTP/2 only.
    #[must_use]
    pub const fn h2(mut self) -> Self {
        self.h2 = true;
        self
    }

    /// Connects from this local address; every 127.x.y.z will do.
    #[must_use]
    pub const fn from(mut self, address: IpAddr) -> Self {
        self.from = Some(address);
        self
    }

    /// A client that trusts no certificate, for URLs without TLS.
    #[must_use]
    pub fn build_plain(self) -> Client {
        self.connect_by(crate::tls::client_config_without_trust())
    }

    /// A client that trusts `authority` and shows `identity`, if there is one.
    ///
    /// # Errors
    ///
    /// The certificates are not well formed.
    pub fn build_tls(self, authority: &Authority, identity: Option<&Identity>) -> Result<Client> {
        Ok(self.connect_by(crate::tls::client_config(authority, identity)?))
    }

    fn connect_by(self, tls: rustls::ClientConfig) -> Client {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_local_address(self.from);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http();
        let connector = if self.h2 {
            connector.enable_http2().wrap_connector(tcp)
        } else {
            connector.enable_http1().wrap_connector(tcp)
        };
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .http2_only(self.h2)
            .build(connector);
        Client { pool }
    }
}

/// A request on its way; [`Call::send`] sends it.
#[derive(Debug)]
pub struct Call {
    client: Client,
    request: Result<Request<Bytes>>,
    limit: Duration,
}

impl Call {
    /// Adds a header line; a name that is there already gets a second line. Values may hold any bytes but controls.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.request = self.request.and_then(|mut request| {
            let name = HeaderName::from_bytes(name.as_ref())?;
            let value = HeaderValue::from_bytes(value.as_ref())?;
            request.headers_mut().try_append(name, value)?;
            Ok(request)
        });
        self
    }

    /// Adds `authorization: Bearer TOKEN`.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// The body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        self.request = self.request.map(|request| request.map(|_| body));
        self
    }

    /// How long the whole call may take.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sends the request and reads the whole answer.
    ///
    /// # Errors
    ///
    /// The request cannot be written, the connection fails, or the time is over.
    pub async fn send(self) -> Result<Answer> {
        let request = self.request?.map(Full::new);
        let what = format!("{} {}", request.method(), request.uri());
        let exchange = async {
            let (parts, body) = self.client.pool.request(request).await?.into_parts();
            let body = body.collect().await?;
            Ok::<_, anyhow::Error>(Answer {
                status: parts.status,
                version: parts.version,
                headers: parts.headers,
                trailers: body.trailers().cloned().unwrap_or_default(),
                body: body.to_bytes(),
            })
        };
        timeout(self.limit, exchange)
            .await
            .with_context(|| format!("{what}: no answer within {:?}", self.limit))?
            .with_context(|| what)
    }
}
