//! `store` and `capacity`.

use deserr::{DeserializeError, Deserr, IntoValue, Value, ValueKind, ValuePointerRef};

use super::wrong_kind;

/// Where state is kept.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(untagged))]
pub(crate) enum Store {
    /// In one Envoy.
    Word(StoreWord),
    /// In a fleet's Redis.
    Redis(RedisStore),
}

/// The store in one word.
#[derive(Debug, Clone, Copy, Deserr)]
#[deserr(rename_all = lowercase)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub(crate) enum StoreWord {
    /// In the shared data of one Envoy, for all its workers.
    Local,
}

/// A store in Redis.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct RedisStore {
    /// How Redis is reached.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[deserr(default)]
    pub(crate) redis: Option<Redis>,
}

/// How Redis is reached.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Redis {
    /// The name of the Envoy cluster.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[deserr(default)]
    pub(crate) cluster: Option<String>,
}

/// How much room records may take.
#[derive(Debug, Clone, Deserr)]
#[deserr(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct Capacity {
    /// How many records (default 4,096). Another number starts them anew.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16_777_216)))]
    #[deserr(default)]
    pub(crate) records: Option<u64>,
    /// How many bytes of stored answers, at most `4096MiB` (default `64MiB`).
    #[deserr(default)]
    pub(crate) bytes: Option<String>,
}

impl<E: DeserializeError> Deserr<E> for Store {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        match value {
            value @ Value::String(_) => {
                StoreWord::deserialize_from_value(value, at).map(Self::Word)
            }
            value @ Value::Map(_) => RedisStore::deserialize_from_value(value, at).map(Self::Redis),
            actual => {
                let accepted = &[ValueKind::String, ValueKind::Map];
                Err(wrong_kind(actual, accepted, at))
            }
        }
    }
}
