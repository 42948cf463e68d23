//! JSON text as a tree that keeps the order in which it was written, and keys that stand there twice.

use std::collections::BTreeSet;
use std::fmt;

use deserr::{IntoValue, Map, Value, ValueKind, ValuePointerRef};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::faults::Faults;
use super::pointer::{Pointer, Step};

/// The largest document: 1 MiB. Envoy hands it to every worker.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

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

struct JsonVisitor;

/// Reads `text`; what is not JSON, or too large, is the only mistake then.
pub(crate) fn read(text: &[u8], faults: &mut Faults) -> Option<Json> {
    let root = ValuePointerRef::Origin;
    if text.len() > MAX_DOCUMENT_BYTES {
        let size = text.len();
        faults.add(
            root,
            format!("the document has {size} bytes; at most {MAX_DOCUMENT_BYTES} are read"),
        );
        return None;
    }
    match serde_json::from_slice(text) {
        Ok(json) => Some(json),
        Err(error) => {
            faults.add(root, format!("not JSON: {error}"));
            None
        }
    }
}

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

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or(Json::Negative(value), Json::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(Members(members)))
    }
}
