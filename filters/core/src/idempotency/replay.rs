//! What a caller gets who asks again.

use crate::records::Stored;

/// The header that marks a replay.
pub const REPLAYED: &str = "idempotent-replayed";

/// A stored answer, sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The status.
    pub status: u16,
    /// The header lines, in order.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Replay {
    /// The replay of a stored answer.
    pub(super) fn new(stored: &Stored<'_>) -> Self {
        let lines = stored.headers.iter();
        let lines = lines.map(|(name, value)| (name.to_vec(), value.to_vec()));
        Self {
            status: stored.status,
            headers: lines.chain([mark()]).collect(),
            body: stored.body.to_vec(),
        }
    }

    /// The replay of an answer of which no more than a status is told.
    pub(super) fn of_status(status: u16) -> Self {
        Self {
            status,
            headers: vec![mark()],
            body: Vec::new(),
        }
    }
}

fn mark() -> (Vec<u8>, Vec<u8>) {
    (REPLAYED.as_bytes().to_vec(), b"true".to_vec())
}

/// Whether a caller who sends these lines of `Accept-Encoding` takes an answer in this coding (RFC 9110, section 12.5.3).
/// Who has no such line takes every coding, and who has an empty one takes none.
pub(super) fn accepts<'a>(lines: impl Iterator<Item = &'a [u8]>, coding: &[u8]) -> bool {
    let identity = coding.eq_ignore_ascii_case(b"identity");
    let mut any = None;
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return true;
    }
    for member in lines.flat_map(|line| line.split(|byte| *byte == b',')) {
        let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        let refused = parts.any(|part| {
            let weight = part
                .strip_prefix(b"q=")
                .or_else(|| part.strip_prefix(b"Q="));
            weight.is_some_and(|q| !q.is_empty() && q.iter().all(|b| matches!(b, b'0' | b'.')))
        });
        if name.eq_ignore_ascii_case(coding) {
            return !refused;
        }
        if name == b"*" {
            any = Some(!refused);
        }
    }
    any.unwrap_or(identity)
}
