//! What a request was: its body, read chunk by chunk.

use serde_json::Number;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::part;
use crate::key::Parts;
use crate::policy::{By, EventSource, Execution, Fingerprint, Idempotency};
use crate::records::Digest;

/// The body is larger than may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// A request's body, as far as it has come.
#[derive(Debug, Clone)]
pub struct Body {
    digest: Sha256,
    /// The body itself, where parts of it are asked for.
    kept: Option<Vec<u8>>,
    length: usize,
    max: usize,
}

impl Body {
    /// A body of which nothing has come, to be read for `rule` and a call that is made in this way.
    pub fn new(rule: &Idempotency, execution: Execution) -> Self {
        let json = match &rule.by {
            By::Key { fingerprint, .. } => matches!(fingerprint, Fingerprint::Json(_)),
            By::Event { sources, .. } => {
                let json = |source: &EventSource| matches!(source, EventSource::Json(_));
                sources.iter().any(json)
            }
        };
        // Who makes the call in the client's place has to have all of it.
        let sent = matches!(execution, Execution::Detached { .. });
        Self {
            digest: Sha256::new(),
            kept: (json || sent).then(Vec::new),
            length: 0,
            max: rule.max_body,
        }
    }

    /// Adds what came next.
    ///
    /// # Errors
    /// [`TooLarge`]: the rest need not be read.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), TooLarge> {
        self.length = self.length.saturating_add(chunk.len());
        if self.length > self.max {
            return Err(TooLarge);
        }
        self.digest.update(chunk);
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// The digest of the whole body.
    pub fn digest(&self) -> Digest {
        Digest::from_bytes(self.digest.clone().finalize().into())
    }

    /// The body itself, where it was kept.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.kept.unwrap_or_default()
    }

    /// How many bytes of it are kept.
    pub fn held(&self) -> usize {
        self.kept.as_ref().map_or(0, Vec::len)
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The fingerprint of a request with this body; `head` says what the rest of it was. `None` where only the key counts.
    pub fn fingerprint(&self, fingerprint: &Fingerprint, head: &Parts) -> Option<Digest> {
        let mut parts = head.clone();
        match fingerprint {
            Fingerprint::KeyOnly => return None,
            Fingerprint::Body => parts.push(BODY, &self.digest().to_bytes()),
            Fingerprint::Json(pointers) => match self.parts(pointers) {
                // What is no JSON has no parts; all of it counts.
                None => parts.push(BODY, &self.digest().to_bytes()),
                Some(found) => {
                    for (pointer, part) in pointers.iter().zip(found) {
                        parts.push(POINTER, pointer.as_bytes());
                        parts.push(PART, &part.map(part::spelled).unwrap_or_default());
                    }
                }
            },
        }
        Some(Digest::of(&parts))
    }

    /// What these pointers point to, in their order; `None` if the body is no JSON.
    fn parts(&self, pointers: &[String]) -> Option<Vec<Option<&RawValue>>> {
        let json = part::read(self.kept.as_deref()?).ok()?;
        let found = pointers.iter().map(|pointer| part::find(json, pointer));
        found.collect::<Result<_, _>>().ok()
    }

    /// The text or whole number that a pointer points to, as an event's identity; `None` if there is none. A number that is
    /// read as a double is none: two events that differ in its last digits would be one.
    pub fn event(&self, pointer: &str) -> Option<Vec<u8>> {
        let json = part::read(self.kept.as_deref()?).ok()?;
        let part = part::find(json, pointer).ok()??.get();
        if part.starts_with('"') {
            let text: String = serde_json::from_slice(part.as_bytes()).ok()?;
            return (!text.trim().is_empty()).then(|| text.into_bytes());
        }
        let number: Number = serde_json::from_slice(part.as_bytes()).ok()?;
        (!number.is_f64()).then(|| number.to_string().into_bytes())
    }
}

/// Tags of a fingerprint's parts.
const BODY: u8 = 1;
const POINTER: u8 = 2;
const PART: u8 = 3;
