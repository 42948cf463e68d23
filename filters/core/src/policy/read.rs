//! From text to JSON.

use std::fmt;

use deserr::ValuePointerRef;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::faults::Faults;
use super::json::{Json, Members};

/// The largest document: 1 MiB. Envoy hands it to every worker.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// U+FEFF in UTF-8, which JSON text must not begin with (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

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
    if text.starts_with(BYTE_ORDER_MARK) {
        faults.add(
            root,
            "the document begins with a byte order mark; save it as UTF-8 without one",
        );
        return None;
    }
    match serde_json::from_slice(text) {
        Ok(json) => Some(json),
        Err(error) => {
            faults.add(root, format!("cannot be read as JSON: {error}"));
            None
        }
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
