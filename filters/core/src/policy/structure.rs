//! A policy that is written into Envoy's configuration as a `google.protobuf.Struct` reaches the module as the
//! bytes of that message. Here it becomes the JSON text that it stands for.

use crate::protobuf::{Field, Fields};

/// How deep objects and lists may lie in each other.
const MOST_NESTED: u32 = 64;

/// The whole numbers that a double holds without loss.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The JSON text of a `google.protobuf.Struct`; `None` where the bytes are no such message. JSON text never is
/// one: a `Struct` that is not empty holds the byte 0x12, which no JSON text has outside of an escape.
pub fn json_of_struct(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut json = Vec::with_capacity(bytes.len());
    if bytes.is_empty() {
        return None;
    }
    object(bytes, MOST_NESTED, &mut json)?;
    Some(json)
}

/// `Struct`: `map<string, Value> fields = 1`.
fn object(bytes: &[u8], nested: u32, json: &mut Vec<u8>) -> Option<()> {
    list(bytes, b"{}", json, |entry, json| {
        let mut fields = Fields(entry);
        let (Some((1, Field::Bytes(name))), Some((2, Field::Bytes(inner)))) =
            (fields.next(), fields.next())
        else {
            return None;
        };
        text(name, json)?;
        json.push(b':');
        value(inner, nested, json)?;
        fields.0.is_empty().then_some(())
    })
}

/// A message that is nothing but a repeated field 1.
fn list(
    bytes: &[u8],
    [open, close]: &[u8; 2],
    json: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], &mut Vec<u8>) -> Option<()>,
) -> Option<()> {
    json.push(*open);
    let mut fields = Fields(bytes);
    let mut first = true;
    for field in fields.by_ref() {
        let (1, Field::Bytes(item)) = field else {
            return None;
        };
        if !core::mem::take(&mut first) {
            json.push(b',');
        }
        each(item, json)?;
    }
    json.push(*close);
    fields.0.is_empty().then_some(())
}

/// `Value`: exactly one of null 1, number 2, string 3, bool 4, struct 5, list 6.
fn value(bytes: &[u8], nested: u32, json: &mut Vec<u8>) -> Option<()> {
    let deeper = nested.checked_sub(1);
    let mut fields = Fields(bytes);
    match fields.next()? {
        (1, Field::Number(_)) => json.extend_from_slice(b"null"),
        (2, Field::Eight(number)) => self::number(f64::from_le_bytes(number), json),
        (3, Field::Bytes(string)) => text(string, json)?,
        (4, Field::Number(0)) => json.extend_from_slice(b"false"),
        (4, Field::Number(_)) => json.extend_from_slice(b"true"),
        (5, Field::Bytes(inner)) => object(inner, deeper?, json)?,
        (6, Field::Bytes(inner)) => {
            let deeper = deeper?;
            list(inner, b"[]", json, |item, json| value(item, deeper, json))?;
        }
        _ => return None,
    }
    fields.0.is_empty().then_some(())
}

/// A whole number as itself. Any other as one with a fraction, whichever: a policy has no place for it, and the
/// formatting of doubles would be a twentieth of the module.
fn number(number: f64, json: &mut Vec<u8>) {
    if number.trunc() == number && number.abs() < EXACT {
        json.extend_from_slice((number as i64).to_string().as_bytes());
    } else {
        json.extend_from_slice(b"0.5");
    }
}

fn text(bytes: &[u8], json: &mut Vec<u8>) -> Option<()> {
    let text = core::str::from_utf8(bytes).ok()?;
    serde_json::to_writer(json, text).ok()
}
