//! The origin's answer, kept as it passes by.

use super::outcome::Outcome;
use crate::records::{Owner, Stored};
use crate::reserved;

/// Header fields of one exchange or of one connection, which belong to nobody who asks again: hop by hop (RFC 9110, section
/// 7.6.1), credentials, and what Envoy or we say of this exchange. The length is counted anew.
const NOT_KEPT: [&[u8]; 26] = [
    b"age",
    b"authentication-info",
    b"connection",
    b"content-length",
    b"date",
    b"idempotent-replayed",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-connection",
    b"ratelimit",
    b"ratelimit-policy",
    b"retry-after",
    b"server",
    b"set-cookie",
    b"set-cookie2",
    b"te",
    b"traceparent",
    b"tracestate",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"via",
    b"www-authenticate",
    b"x-request-id",
    b"x-correlation-id",
];

/// An answer, as far as it has come.
#[derive(Debug, Clone)]
pub struct Capture {
    status: u16,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
    max: usize,
    too_large: bool,
}

impl Capture {
    /// What is known of an answer with this status that is not to be kept.
    pub const fn nothing(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            max: 0,
            too_large: true,
        }
    }

    /// An answer with this status and these header lines, of which at most `max` bytes of body are kept.
    pub fn new(status: u16, headers: &[(&[u8], &[u8])], max: usize) -> Self {
        let named: Vec<Vec<u8>> = headers
            .iter()
            .filter(|(name, _)| *name == b"connection")
            .flat_map(|(_, value)| value.split(|byte| *byte == b','))
            .map(|name| name.trim_ascii().to_ascii_lowercase())
            .collect();
        let kept = |name: &[u8]| {
            !name.starts_with(b":")
                && !NOT_KEPT.contains(&name)
                && !name.starts_with(b"x-envoy-")
                && !name.starts_with(b"x-ratelimit-")
                && !reserved::is_header(name)
                && !named.iter().any(|named| named == name)
        };
        Self {
            status,
            headers: headers
                .iter()
                .filter(|(name, _)| kept(name))
                .map(|(name, value)| (name.to_vec(), value.to_vec()))
                .collect(),
            body: Vec::new(),
            max,
            too_large: false,
        }
    }

    /// Adds what came next of the body; what is too large is not kept at all.
    pub fn push(&mut self, chunk: &[u8]) {
        let length = self.body.len().saturating_add(chunk.len());
        if self.too_large || length > self.max {
            self.too_large = true;
            self.body = Vec::new();
            return;
        }
        self.body.extend_from_slice(chunk);
    }

    /// How many bytes of the body are kept.
    pub const fn held(&self) -> usize {
        self.body.len()
    }

    /// The status.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// What became of the call, by what came: a proxy's word is told from an answer.
    pub fn outcome(&self) -> Outcome {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_slice(), value.as_slice()));
        Outcome::of_call(self.status, headers, &self.body)
    }

    /// Whether it is known by now to be too large; the rest need not be read.
    pub const fn is_too_large(&self) -> bool {
        self.too_large
    }

    /// The answer as the store keeps it; `None` if it is too large.
    pub fn stored(&self, owner: Owner) -> Option<Vec<u8>> {
        if self.too_large {
            return None;
        }
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_slice(), value.as_slice()));
        let stored = Stored {
            owner,
            status: self.status,
            headers: headers.collect(),
            body: &self.body,
        };
        stored.write()
    }
}
