//! `canary`.

use deserr::Deserr;

use super::List;

/// For which share of callers the policy is enforced; for all others it is in shadow.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Canary {
    /// How many callers of a hundred.
    #[cfg_attr(feature = "schema", schemars(required, range(max = 100)))]
    #[deserr(default)]
    pub(crate) percent: Option<u64>,
    /// What tells callers apart: those who agree in all of it are in the share together, or out of it (default
    /// `["account"]`).
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 8)))]
    #[deserr(default)]
    pub(crate) by: Option<List<String>>,
}
