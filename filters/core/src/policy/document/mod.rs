//! How a policy looks in JSON. Nothing here is checked beyond its shape: every key is optional, so that
//! one fault hides no other; what is required, and what it means, is in [`super::compile`].

mod address;
mod admin;
mod cache;
mod canary;
mod dedupe;
mod entries;
mod idempotency;
mod identity;
mod limit;
mod notify;
mod route;
mod store;

use deserr::{
    DeserializeError, Deserr, ErrorKind, IntoValue, Value, ValueKind, ValuePointerRef,
    take_cf_content,
};

pub(crate) use address::{Address, Signed};
pub(crate) use admin::Admin;
pub(crate) use cache::{Cache, CacheBy, Scope, ScopeWord, Seal};
pub(crate) use canary::Canary;
pub(crate) use dedupe::{BodyEvent, Dedupe, EventSource};
pub(crate) use entries::{Entries, List};
pub(crate) use idempotency::{
    Execution, Fingerprint, FingerprintJson, FingerprintWord, Idempotency, KeyRule, Syntax, Unknown,
};
pub(crate) use identity::{Identity, San, Source};
pub(crate) use limit::{Limit, Overrides, Quota};
pub(crate) use notify::{Labels, Notify};
pub(crate) use route::{Anonymous, Cost, CostHeader, Match, Route};
pub(crate) use store::{Capacity, Redis, RedisStore, Store, StoreWord};

/// A Tidegate policy: how callers are told apart, how much each may do, and what holds for each route.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Document {
    /// The address of this schema, for editors; ignored.
    #[deserr(rename = "$schema")]
    #[cfg_attr(feature = "schema", schemars(rename = "$schema"))]
    #[deserr(default)]
    pub(crate) schema: Option<String>,
    /// The policy's stable name; the state of its limits is kept under it.
    #[cfg_attr(
        feature = "schema",
        schemars(required, regex(pattern = "^[a-z0-9][a-z0-9-]{0,63}$"))
    )]
    #[deserr(default)]
    pub(crate) policy: Option<String>,
    /// The version of this document, for people and metrics; a new one keeps all state.
    #[cfg_attr(
        feature = "schema",
        schemars(required, regex(pattern = "^[A-Za-z0-9._-]{1,64}$"))
    )]
    #[deserr(default)]
    pub(crate) version: Option<String>,
    /// Whether decisions change anything for callers (default `enforce`).
    #[deserr(default)]
    pub(crate) mode: Option<Mode>,
    /// For which share of callers the policy is enforced (default: for all).
    #[deserr(default)]
    pub(crate) canary: Option<Canary>,
    /// How callers are told apart.
    #[deserr(default)]
    pub(crate) identity: Option<Identity>,
    /// The limits by name, at most 64.
    #[deserr(default)]
    pub(crate) limits: Option<Entries<Limit>>,
    /// The limits that are checked on every request, in this order.
    #[deserr(default)]
    pub(crate) always: Option<List<String>>,
    /// The routes, at most 512; the first that matches decides.
    #[cfg_attr(feature = "schema", schemars(length(max = 512)))]
    #[deserr(default)]
    pub(crate) routes: Option<List<Route>>,
    /// What stands in front of a problem's name instead of `urn:tidegate:problem:`: an `http`, `https` or
    /// `urn` address that ends in `/` or `:`.
    #[cfg_attr(feature = "schema", schemars(length(max = 256)))]
    #[deserr(default)]
    pub(crate) problem_base: Option<String>,
    /// When `RateLimit` and `RateLimit-Policy` are sent (default `always`).
    #[deserr(default)]
    pub(crate) headers: Option<Headers>,
    /// Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` are sent too (default `false`).
    #[deserr(default)]
    pub(crate) legacy_headers: Option<bool>,
    /// Where state is kept (default `local`).
    #[deserr(default)]
    pub(crate) store: Option<Store>,
    /// What happens to a request whose limits cannot be read or written (default `reject`).
    #[deserr(default)]
    pub(crate) store_error: Option<OnFailure>,
    /// What happens to a request that needs a record when there is no room for one (default `reject`).
    #[deserr(default)]
    pub(crate) store_full: Option<OnFailure>,
    /// How much room records may take.
    #[deserr(default)]
    pub(crate) capacity: Option<Capacity>,
    /// Who outside is told that a caller is refused for long (default: nobody).
    #[deserr(default)]
    pub(crate) notify: Option<Notify>,
    /// Where the role `admin` answers beside the machine itself (default: nowhere).
    #[deserr(default)]
    pub(crate) admin: Option<Admin>,
}

/// Whether decisions change anything for callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Mode {
    /// Refusals are sent.
    Enforce,
    /// Everything is decided, counted and logged; nothing changes for the caller.
    Shadow,
}

/// When rate-limit headers are sent.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Headers {
    /// On allowed and refused responses.
    Always,
    /// On refusals only.
    Denied,
    /// Never; `Retry-After` is still sent.
    Off,
}

/// What happens to a request that the store fails.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum OnFailure {
    /// It is answered with a 503.
    Reject,
    /// It goes ahead.
    Pass,
}

/// The fault of a value that is none of the kinds that its key takes.
fn wrong_kind<E: DeserializeError, V: IntoValue>(
    actual: Value<V>,
    accepted: &[ValueKind],
    at: ValuePointerRef<'_>,
) -> E {
    let error = ErrorKind::IncorrectValueKind { actual, accepted };
    take_cf_content(E::error(None, error, at))
}
