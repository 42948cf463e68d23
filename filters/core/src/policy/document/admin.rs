//! `admin`.

use deserr::Deserr;

use super::List;

/// Where the role `admin` answers beside the machine itself.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Admin {
    /// Addresses of our own on which it answers beside loopback, or networks of such; at most 16.
    #[cfg_attr(feature = "schema", schemars(length(max = 16)))]
    #[deserr(default)]
    pub(crate) addresses: Option<List<String>>,
    /// Names by which it may be asked for beside IP addresses and `localhost`; at most 16.
    #[cfg_attr(feature = "schema", schemars(length(max = 16)))]
    #[deserr(default)]
    pub(crate) hosts: Option<List<String>>,
}
