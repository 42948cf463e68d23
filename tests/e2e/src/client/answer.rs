//! An answer and what a test asks of it.

use anyhow::{Context, Result, ensure};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, StatusCode, Version};
use hyper::body::Bytes;
use serde_json::Value;

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The protocol it came by.
    pub version: Version,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The trailers, empty if there were none.
    pub trailers: HeaderMap,
}

impl Answer {
    /// The first line of a header, if it is there and text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as text, for people to read.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// The body is not JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("body `{}`", self.text()))
    }

    /// The body as a problem document (RFC 9457).
    ///
    /// # Errors
    ///
    /// The content type or the body is something else, or its `status` is not the answer's.
    pub fn problem(&self) -> Result<Value> {
        let kind = self.header(CONTENT_TYPE.as_str());
        ensure!(
            kind == Some("application/problem+json"),
            "content-type is {kind:?}"
        );
        let problem = self.json()?;
        ensure!(
            problem["status"] == self.status.as_u16(),
            "status {} with problem {problem}",
            self.status
        );
        Ok(problem)
    }

    /// The seconds of `Retry-After`, if it is there and a number.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        self.header(RETRY_AFTER.as_str())?.parse().ok()
    }
}
