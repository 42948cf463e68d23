//! JSON text as a tree that keeps the order in which it was written, and keys that stand there twice.

use std::collections::BTreeSet;

use deserr::{IntoValue, Map, Value, ValueKind, ValuePointerRef};

use super::faults::Faults;
use super::pointer::{Pointer, Step};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    /// What `prune` leaves of an unknown key.
    Gone,
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Members),
}

/// The members of an object, in the order written.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Members(pub(crate) Vec<(String, Json)>);

/// Reports what no part of a document may hold: a key that stands there twice (the first one stays), and `null`.
pub(crate) fn audit(json: &mut Json, at: ValuePointerRef<'_>, faults: &mut Faults) {
    match json {
        Json::Null => faults.add(at, "`null` is no value here; leave the key out"),
        Json::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                audit(item, at.push_index(index), faults);
            }
        }
        Json::Object(Members(members)) => {
            let mut seen = BTreeSet::new();
            let first: Vec<bool> = members
                .iter()
                .map(|(key, _)| {
                    let first = seen.insert(key.as_str());
                    if !first {
                        faults.add(at.push_key(key), "this key stands here twice; keep one");
                    }
                    first
                })
                .collect();
            let mut first = first.into_iter();
            members.retain(|_| first.next().unwrap_or(true));
            for (key, value) in members {
                audit(value, at.push_key(key), faults);
            }
        }
        _ => {}
    }
}

impl Json {
    /// Replaces what stands at `pointer`.
    pub(crate) fn replace(&mut self, pointer: &Pointer, value: Json) {
        let mut here = self;
        for step in &pointer.0 {
            let next = match (here, step) {
                (Json::List(items), Step::Index(index)) => items.get_mut(*index),
                (Json::Object(Members(members)), Step::Key(key)) => members
                    .iter_mut()
                    .find(|(name, _)| name == key)
                    .map(|(_, value)| value),
                _ => None,
            };
            let Some(next) = next else { return };
            here = next;
        }
        *here = value;
    }

    /// Where `pointer` stands in the order written; sorts as the document reads.
    pub(crate) fn position(&self, pointer: &Pointer) -> Vec<usize> {
        let mut here = self;
        let mut position = Vec::new();
        for step in &pointer.0 {
            let next = match (here, step) {
                (Json::List(items), Step::Index(index)) => {
                    items.get(*index).map(|item| (*index, item))
                }
                (Json::Object(Members(members)), Step::Key(key)) => members
                    .iter()
                    .enumerate()
                    .find(|(_, (name, _))| name == key)
                    .map(|(index, (_, value))| (index, value)),
                _ => None,
            };
            let Some((index, next)) = next else { break };
            position.push(index);
            here = next;
        }
        position
    }
}

impl IntoValue for Json {
    type Sequence = Vec<Json>;
    type Map = Members;

    fn kind(&self) -> ValueKind {
        match self {
            Json::Gone | Json::Null => ValueKind::Null,
            Json::Bool(_) => ValueKind::Boolean,
            Json::Whole(_) => ValueKind::Integer,
            Json::Negative(_) => ValueKind::NegativeInteger,
            Json::Float(_) => ValueKind::Float,
            Json::Text(_) => ValueKind::String,
            Json::List(_) => ValueKind::Sequence,
            Json::Object(_) => ValueKind::Map,
        }
    }

    // Called once for each key of each object: kept out of line, as the module's size counts.
    #[inline(never)]
    fn into_value(self) -> Value<Self> {
        match self {
            Json::Gone | Json::Null => Value::Null,
            Json::Bool(value) => Value::Boolean(value),
            Json::Whole(value) => Value::Integer(value),
            Json::Negative(value) => Value::NegativeInteger(value),
            Json::Float(value) => Value::Float(value),
            Json::Text(value) => Value::String(value),
            Json::List(value) => Value::Sequence(value),
            Json::Object(value) => Value::Map(value),
        }
    }
}

impl Map for Members {
    type Value = Json;
    type Iter = std::vec::IntoIter<(String, Json)>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn remove(&mut self, key: &str) -> Option<Json> {
        let index = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(index).1)
    }

    fn into_iter(mut self) -> Self::Iter {
        self.0.retain(|(_, value)| *value != Json::Gone);
        self.0.into_iter()
    }
}
