//! The containers of a document. A member or item that has a fault is `None`, and its name or place stays.

use std::ops::ControlFlow;

use deserr::{DeserializeError, Deserr, IntoValue, Map, Value, ValueKind, ValuePointerRef};

use super::wrong_kind;

/// A list.
pub(crate) type List<T> = Vec<Option<T>>;

/// An object whose keys are the author's own names, in the order written.
///
/// `BTreeMap` would not do: the one of `deserr` 0.6.4 drops the faults of its values.
#[derive(Debug, Clone)]
pub(crate) struct Entries<T>(pub(crate) Vec<(String, Option<T>)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Deserr<E>, E: DeserializeError> Deserr<E> for Entries<T> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        let map = match value {
            Value::Map(map) => map,
            actual => {
                let accepted = &[ValueKind::Map];
                return Err(wrong_kind(actual, accepted, at));
            }
        };
        let mut entries = Vec::new();
        let mut faults = None;
        for (key, value) in map.into_iter() {
            let at = at.push_key(&key);
            match Option::<T>::deserialize_from_value(value.into_value(), at) {
                Ok(value) => entries.push((key, value)),
                Err(fault) => match E::merge(faults, fault, at) {
                    ControlFlow::Continue(more) => faults = Some(more),
                    ControlFlow::Break(all) => return Err(all),
                },
            }
        }
        faults.map_or(Ok(Self(entries)), Err)
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Entries<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        <std::collections::BTreeMap<String, T>>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        <std::collections::BTreeMap<String, T>>::json_schema(generator)
    }
}
