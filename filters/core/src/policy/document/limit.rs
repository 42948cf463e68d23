//! `limits`.

use deserr::Deserr;

use super::{Entries, List};

/// A limit: one bucket for each combination of its dimensions.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Limit {
    /// What tells its buckets apart, each of `tenant`, `account`, `plan`, `address`, `route`, `method`, `host` or
    /// `header:NAME`.
    #[cfg_attr(feature = "schema", schemars(required, length(min = 1, max = 8)))]
    #[deserr(default)]
    pub(crate) per: Option<List<String>>,
    /// The dimension that stands in for one that is absent (default `address`).
    #[deserr(default)]
    pub(crate) otherwise: Option<String>,
    /// How fast a bucket refills: a number and a unit, `60/min` (`s`, `min`, `h`, `day`).
    #[cfg_attr(
        feature = "schema",
        schemars(required, regex(pattern = "^[1-9][0-9]*/(s|min|h|day)$"))
    )]
    #[deserr(default)]
    pub(crate) rate: Option<String>,
    /// How much a full bucket holds (default: what comes back in one minute, at least 1).
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 999_999_999_999_999_u64))
    )]
    #[deserr(default)]
    pub(crate) burst: Option<u64>,
    /// What a bucket is worth for callers on a plan, by the plan's name.
    #[deserr(default)]
    pub(crate) plans: Option<Entries<Quota>>,
    /// What a bucket is worth for one tenant or one account.
    #[deserr(default)]
    pub(crate) overrides: Option<Overrides>,
    /// Whether the limit counts and never denies (default `false`).
    #[deserr(default)]
    pub(crate) shadow: Option<bool>,
    /// How many buckets its table holds (default 65536).
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 1_048_576)))]
    #[deserr(default)]
    pub(crate) max_keys: Option<u64>,
}

/// What a bucket is worth.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Quota {
    /// How fast a bucket refills: a number and a unit, `600/min` (`s`, `min`, `h`, `day`).
    #[cfg_attr(
        feature = "schema",
        schemars(required, regex(pattern = "^[1-9][0-9]*/(s|min|h|day)$"))
    )]
    #[deserr(default)]
    pub(crate) rate: Option<String>,
    /// How much a full bucket holds (default: what comes back in one minute, at least 1).
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 999_999_999_999_999_u64))
    )]
    #[deserr(default)]
    pub(crate) burst: Option<u64>,
}

/// What a bucket is worth for one caller. An account goes before a tenant, a tenant before a plan.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Overrides {
    /// By tenant.
    #[deserr(default)]
    pub(crate) tenant: Option<Entries<Quota>>,
    /// By account; for a secret source the name is `sha256:` and 64 hexadecimal digits.
    #[deserr(default)]
    pub(crate) account: Option<Entries<Quota>>,
}
