//! `idempotency` of a route.

use deserr::{DeserializeError, Deserr, IntoValue, Value, ValueKind, ValuePointerRef};

use super::List;
use super::wrong_kind;

/// How a request that is sent again is recognised by its `Idempotency-Key`, and answered.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Idempotency {
    /// Whether a request must carry a key.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[deserr(default)]
    pub(crate) key: Option<KeyRule>,
    /// How long an answer is kept, `1s` to `366d` (default `24h`).
    #[deserr(default)]
    pub(crate) ttl: Option<String>,
    /// How long a request may run before its outcome counts as unknown, at most `ttl` (default `60s`).
    #[deserr(default)]
    pub(crate) lease: Option<String>,
    /// What makes two requests the same (default `body`).
    #[deserr(default)]
    pub(crate) fingerprint: Option<Fingerprint>,
    /// How strictly the key's syntax is read (default `lenient`).
    #[deserr(default)]
    pub(crate) syntax: Option<Syntax>,
    /// The longest key, in bytes (default 255).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1024)))]
    #[deserr(default)]
    pub(crate) max_key_length: Option<u64>,
    /// The largest request body that is read and the largest answer that is stored, at most `64MiB` (default `1MiB`).
    #[deserr(default)]
    pub(crate) max_body: Option<String>,
    /// What happens when the first request's outcome is unknown (default `hold`).
    #[deserr(default)]
    pub(crate) unknown: Option<Unknown>,
    /// Whether the call outlives its client (default `inline`).
    #[deserr(default)]
    pub(crate) execution: Option<Execution>,
    /// How long a detached call may take, `1ms` to `1h` and at most `lease` (default `15s`).
    #[deserr(default)]
    pub(crate) timeout: Option<String>,
    /// The statuses by which the origin says that it did not take the request (default 429 and 503).
    #[deserr(default)]
    pub(crate) release_statuses: Option<List<u64>>,
}

/// Whether a request must carry a key.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum KeyRule {
    /// A request without a key is answered with a 400.
    Required,
    /// A request without a key goes ahead unrecorded.
    Optional,
}

/// What makes two requests the same.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(untagged))]
pub(crate) enum Fingerprint {
    /// In one word.
    Word(FingerprintWord),
    /// By parts of a JSON body.
    Json(FingerprintJson),
}

/// What makes two requests the same, in one word.
#[derive(Debug, Clone, Copy, Deserr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) enum FingerprintWord {
    /// Method, path, query, content type and encoding, and body.
    #[deserr(rename = "body")]
    #[cfg_attr(feature = "schema", schemars(rename = "body"))]
    Body,
    /// The key alone.
    #[deserr(rename = "key-only")]
    #[cfg_attr(feature = "schema", schemars(rename = "key-only"))]
    KeyOnly,
}

/// The parts of a JSON body that make two requests the same.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct FingerprintJson {
    /// JSON pointers, like `/amount`.
    #[cfg_attr(feature = "schema", schemars(required, length(min = 1, max = 16)))]
    #[deserr(default)]
    pub(crate) json: Option<List<String>>,
}

/// How strictly the key's syntax is read.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Syntax {
    /// A quoted string, or the bare text that most clients send.
    Lenient,
    /// A quoted string only.
    Strict,
}

/// What happens when the first request's outcome is unknown.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Unknown {
    /// At most once: later attempts are refused until the record ends or an operator releases it.
    Hold,
    /// After the lease the next attempt runs.
    Retry,
}

/// Whether the call outlives its client.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Execution {
    /// It ends with its client.
    Inline,
    /// It outlives its client and its result is stored.
    Detached,
}

impl<E: DeserializeError> Deserr<E> for Fingerprint {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        match value {
            value @ Value::String(_) => {
                FingerprintWord::deserialize_from_value(value, at).map(Self::Word)
            }
            value @ Value::Map(_) => {
                FingerprintJson::deserialize_from_value(value, at).map(Self::Json)
            }
            actual => {
                let accepted = &[ValueKind::String, ValueKind::Map];
                Err(wrong_kind(actual, accepted, at))
            }
        }
    }
}
