//! `identity`.

use deserr::Deserr;

use super::{Address, List};

/// How callers are told apart: each list is tried in order, the first source present wins.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Identity {
    /// Where the tenant stands: who the caller works for.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 8)))]
    #[deserr(default)]
    pub(crate) tenant: Option<List<Source>>,
    /// Where the account stands: who the caller is.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 8)))]
    #[deserr(default)]
    pub(crate) account: Option<List<Source>>,
    /// Where the plan stands: what the caller pays for.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 8)))]
    #[deserr(default)]
    pub(crate) plan: Option<List<Source>>,
    /// How the client address is read.
    #[deserr(default)]
    pub(crate) address: Option<Address>,
}

/// One place where a part of the identity may stand: exactly one of `jwt`, `header`, `query`, `cookie`, `san`.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Source {
    /// A claim of a token that Envoy's `jwt_authn` verified; dots reach nested claims, unless one claim has all
    /// of it as its name.
    #[deserr(default)]
    pub(crate) jwt: Option<String>,
    /// A request header of exactly one line.
    #[deserr(default)]
    pub(crate) header: Option<String>,
    /// A parameter of the query.
    #[deserr(default)]
    pub(crate) query: Option<String>,
    /// A cookie.
    #[deserr(default)]
    pub(crate) cookie: Option<String>,
    /// A subject alternative name of the validated client certificate.
    #[deserr(default)]
    pub(crate) san: Option<San>,
    /// The key under which `jwt_authn` puts the payload (default `jwt_payload`); only beside `jwt`.
    #[deserr(default)]
    pub(crate) payload: Option<String>,
    /// Whether only a digest of the value is ever stored, logged or shown (default `false`).
    #[deserr(default)]
    pub(crate) secret: Option<bool>,
}

/// The kinds of subject alternative name.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum San {
    /// The first `uniformResourceIdentifier`.
    Uri,
    /// The first `dNSName`.
    Dns,
}
