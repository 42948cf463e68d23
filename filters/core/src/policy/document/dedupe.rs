//! `dedupe` of a route.

use deserr::Deserr;

use super::{List, Unknown};

/// How an event that is delivered again is recognised.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Dedupe {
    /// Where the event's identity stands; the first source present wins.
    #[cfg_attr(feature = "schema", schemars(required, length(min = 1, max = 8)))]
    #[deserr(default)]
    pub(crate) by: Option<List<EventSource>>,
    /// How long an event is remembered, `1s` to `366d` (default `80h`: longer than senders try again).
    #[deserr(default)]
    pub(crate) ttl: Option<String>,
    /// How long a delivery may run before its outcome counts as unknown, at most `ttl` (default `60s`).
    #[deserr(default)]
    pub(crate) lease: Option<String>,
    /// The largest request body that is read and the largest answer that is stored, at most `64MiB` (default `1MiB`).
    #[deserr(default)]
    pub(crate) max_body: Option<String>,
    /// What happens when the first delivery's outcome is unknown (default `retry`: an event that is delivered twice is
    /// better than one that is not delivered).
    #[deserr(default)]
    pub(crate) unknown: Option<Unknown>,
    /// The status that answers a duplicate, without a body (default: the stored answer does).
    #[cfg_attr(feature = "schema", schemars(range(min = 200, max = 299)))]
    #[deserr(default)]
    pub(crate) status: Option<u64>,
}

/// One place where an event's identity may stand: exactly one of `header`, `json`, `body`.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct EventSource {
    /// A request header.
    #[deserr(default)]
    pub(crate) header: Option<String>,
    /// A JSON pointer into the body, like `/data/id`.
    #[deserr(default)]
    pub(crate) json: Option<String>,
    /// The body itself.
    #[deserr(default)]
    pub(crate) body: Option<BodyEvent>,
}

/// How a body identifies an event.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum BodyEvent {
    /// By its digest.
    Digest,
}
