//! `cache` of a route.

use deserr::{DeserializeError, Deserr, IntoValue, Value, ValueKind, ValuePointerRef};

use super::List;
use super::wrong_kind;

/// Who shares a cached copy.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Cache {
    /// The dimensions whose callers share a copy, or `public`; there is no default.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[deserr(default)]
    pub(crate) scope: Option<Scope>,
    /// How the cache is told (default `path`).
    #[deserr(default)]
    pub(crate) by: Option<CacheBy>,
    /// Whether a response must carry the seal of its caller (default `required`).
    #[deserr(default)]
    pub(crate) seal: Option<Seal>,
    /// The response header in which the origin says whose copy it is.
    #[deserr(default)]
    pub(crate) owner_header: Option<String>,
}

/// Whose copy it is.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(untagged))]
pub(crate) enum Scope {
    /// Everybody's.
    Word(ScopeWord),
    /// That of the callers with the same dimensions.
    Dimensions(#[cfg_attr(feature = "schema", schemars(length(min = 1, max = 8)))] List<String>),
}

/// The scope in one word.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum ScopeWord {
    /// Everybody's.
    Public,
}

/// How the cache is told the scope.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum CacheBy {
    /// By a parameter of the path, removed again before the origin: for Envoy's own caches.
    Path,
    /// By the header `x-tidegate-scope`: for caches that key on a header.
    Header,
}

/// Whether a response must carry its caller's seal.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum Seal {
    /// It must.
    Required,
    /// Nothing behind the cache can stamp responses.
    Off,
}

impl<E: DeserializeError> Deserr<E> for Scope {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        match value {
            value @ Value::String(_) => {
                ScopeWord::deserialize_from_value(value, at).map(Self::Word)
            }
            value @ Value::Sequence(_) => {
                List::deserialize_from_value(value, at).map(Self::Dimensions)
            }
            actual => {
                let accepted = &[ValueKind::Sequence, ValueKind::String];
                Err(wrong_kind(actual, accepted, at))
            }
        }
    }
}
