//! `notify`.

use deserr::Deserr;

use super::Entries;

/// Who outside is told that a scope is refused for long, and that it is over.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Notify {
    /// The Envoy cluster of the receiver.
    #[cfg_attr(feature = "schema", schemars(required, length(min = 1, max = 256)))]
    #[deserr(default)]
    pub(crate) cluster: Option<String>,
    /// The path to which events are sent.
    #[cfg_attr(feature = "schema", schemars(required, regex(pattern = "^/")))]
    #[deserr(default)]
    pub(crate) path: Option<String>,
    /// The authority of the receiver (default: the cluster's name).
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256)))]
    #[deserr(default)]
    pub(crate) host: Option<String>,
    /// The environment variable of the VM that holds the secret to sign with, `whsec_` and 24 to 64 bytes in base64.
    #[cfg_attr(feature = "schema", schemars(required, length(min = 1, max = 256)))]
    #[deserr(default)]
    pub(crate) key_env: Option<String>,
    /// For how long a scope is refused until somebody is told (default `1min`).
    #[deserr(default)]
    pub(crate) after: Option<String>,
    /// For how long it is not refused until that is over (default `1min`).
    #[deserr(default)]
    pub(crate) quiet: Option<String>,
    /// How often somebody is told of one scope at most (default `1h`).
    #[deserr(default)]
    pub(crate) interval: Option<String>,
    /// How long to wait after the first attempt that failed; three times as long after each one more (default `5s`).
    #[deserr(default)]
    pub(crate) backoff: Option<String>,
    /// How long one attempt may take (default `5s`).
    #[deserr(default)]
    pub(crate) timeout: Option<String>,
    /// An address that events name, where people read on.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256)))]
    #[deserr(default)]
    pub(crate) docs: Option<String>,
    /// What callers are called in events and logs; at most 256 of each.
    #[deserr(default)]
    pub(crate) labels: Option<Labels>,
}

/// What callers are called. An account's label goes before its tenant's.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Labels {
    /// By tenant.
    #[deserr(default)]
    pub(crate) tenant: Option<Entries<String>>,
    /// By account.
    #[deserr(default)]
    pub(crate) account: Option<Entries<String>>,
}
