//! `routes`.

use deserr::{DeserializeError, Deserr, IntoValue, Value, ValueKind, ValuePointerRef};

use super::wrong_kind;
use super::{Cache, Dedupe, Entries, Idempotency, List, Mode};

/// A route: which requests it takes, and what holds for them.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Route {
    /// The name, for metrics and for limits per `route`.
    #[cfg_attr(
        feature = "schema",
        schemars(required, regex(pattern = "^[a-z0-9][a-z0-9-]{0,63}$"))
    )]
    #[deserr(default)]
    pub(crate) name: Option<String>,
    /// Which requests it takes (default: all).
    #[deserr(rename = "match")]
    #[cfg_attr(feature = "schema", schemars(rename = "match"))]
    #[deserr(default)]
    pub(crate) matcher: Option<Match>,
    /// Its own limits, checked after `always`.
    #[deserr(default)]
    pub(crate) limits: Option<List<String>>,
    /// What a request costs (default 1).
    #[deserr(default)]
    pub(crate) cost: Option<Cost>,
    /// What happens when the account is absent (default `address`).
    #[deserr(default)]
    pub(crate) anonymous: Option<Anonymous>,
    /// The mode of this route, where it differs from the policy's.
    #[deserr(default)]
    pub(crate) mode: Option<Mode>,
    /// Who shares a cached copy.
    #[deserr(default)]
    pub(crate) cache: Option<Cache>,
    /// How a request that is sent again is recognised by its idempotency key.
    #[deserr(default)]
    pub(crate) idempotency: Option<Idempotency>,
    /// How an event that is delivered again is recognised.
    #[deserr(default)]
    pub(crate) dedupe: Option<Dedupe>,
}

/// Which requests a route takes: all that is given must hold.
#[derive(Debug, Clone, Default, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Match {
    /// One of these methods (default: every method).
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    #[deserr(default)]
    pub(crate) methods: Option<List<String>>,
    /// A path: exact, `/prefix/*`, or a template `/orders/{id}` (default: every path).
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 1024), regex(pattern = "^/"))
    )]
    #[deserr(default)]
    pub(crate) path: Option<String>,
    /// The authority, in lower case, without the port (default: every host).
    #[deserr(default)]
    pub(crate) host: Option<String>,
    /// Headers that stand there with exactly this value.
    #[deserr(default)]
    pub(crate) headers: Option<Entries<String>>,
}

/// What a request costs: a number, or the header that says it.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(untagged))]
pub(crate) enum Cost {
    /// The same for every request.
    Fixed(
        #[cfg_attr(
            feature = "schema",
            schemars(range(min = 1, max = 999_999_999_999_999_u64))
        )]
        u64,
    ),
    /// What a header says.
    Header(CostHeader),
}

/// The header that says what a request costs.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct CostHeader {
    /// The header's name.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[deserr(default)]
    pub(crate) header: Option<String>,
    /// The cost where the header is absent (default 1).
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 999_999_999_999_999_u64))
    )]
    #[deserr(default)]
    pub(crate) default: Option<u64>,
}

/// What happens when the account is absent.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Anonymous {
    /// The request is answered with a 401.
    Deny,
    /// In each limit its `otherwise` stands in for the account.
    Address,
    /// Limits that name the account are left out; the others hold.
    Allow,
}

impl<E: DeserializeError> Deserr<E> for Cost {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        match value {
            Value::Integer(cost) => Ok(Self::Fixed(cost)),
            value @ Value::Map(_) => {
                CostHeader::deserialize_from_value(value, at).map(Self::Header)
            }
            actual => {
                let accepted = &[ValueKind::Integer, ValueKind::Map];
                Err(wrong_kind(actual, accepted, at))
            }
        }
    }
}
