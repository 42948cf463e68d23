//! reqwest, with middleware that tries again.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;

use crate::ask::{Ask, Told};

/// A client with one middleware.
#[derive(Debug)]
pub(super) struct Sender(ClientWithMiddleware);

impl Sender {
    /// reqwest-retry as its documentation sets it up.
    pub(super) fn backoff() -> Result<Self> {
        let policy = ExponentialBackoff::builder().build_with_max_retries(4);
        Self::with(RetryTransientMiddleware::new_with_policy(policy))
    }

    /// A middleware that waits as it is told.
    pub(super) fn waits() -> Result<Self> {
        Self::with(WaitAsTold { retries: 4 })
    }

    fn with(middleware: impl Middleware) -> Result<Self> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self(ClientBuilder::new(client).with(middleware).build()))
    }

    pub(super) async fn ask(&self, ask: &Ask) -> Result<Told> {
        let mut request = self.0.request(ask.method.parse()?, &ask.url);
        for (name, value) in ask.lines() {
            request = request.header(name, value);
        }
        if let Some(body) = ask.body() {
            request = request.body(body);
        }
        let answer = request.send().await?;
        let replayed = answer.headers().get("idempotent-replayed");
        Ok(Told {
            status: Some(answer.status().as_u16()),
            replayed: replayed.is_some_and(|value| value == "true"),
            error: None,
        })
    }
}

// The page shows what is between these lines.
// begin: wait
/// Sends a request again when it was refused with a `Retry-After`, after that many seconds.
struct WaitAsTold {
    retries: u32,
}

#[async_trait]
impl Middleware for WaitAsTold {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        for _ in 0..self.retries {
            // A body that is a stream cannot be sent twice.
            let Some(again) = request.try_clone() else {
                break;
            };
            let answer = next.clone().run(again, extensions).await?;
            let seconds = answer.headers().get("retry-after");
            let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
            match (answer.status().as_u16(), seconds) {
                (409 | 429 | 503, Some(seconds)) => {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
                _ => return Ok(answer),
            }
        }
        next.run(request, extensions).await
    }
}
// end: wait
