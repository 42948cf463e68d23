//! `identity.address`.

use deserr::Deserr;

/// How the client address is read.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Address {
    /// How many leading bits of an IPv6 address tell callers apart (default 64): one customer has a whole `/64`.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 128)))]
    #[deserr(default)]
    pub(crate) ipv6_prefix: Option<u64>,
    /// The header in which a front that hides the client address passes it, signed.
    #[deserr(default)]
    pub(crate) signed: Option<Signed>,
}

/// A header in which a front passes the client address, signed with HMAC-SHA-256.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Signed {
    /// The header's name.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[deserr(default)]
    pub(crate) header: Option<String>,
    /// The environment variable of the VM that holds the key.
    #[cfg_attr(
        feature = "schema",
        schemars(required, regex(pattern = "^[A-Z_][A-Z0-9_]{0,127}$"))
    )]
    #[deserr(default)]
    pub(crate) key_env: Option<String>,
    /// How old a signature may be, `1s` to `1h` (default `60s`).
    #[deserr(default)]
    pub(crate) max_age: Option<String>,
}
