//! Writes `google.protobuf.Struct` in the wire format, as Envoy does.

use serde_json::Value;

fn varint(mut n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(u8::try_from(n % 0x80).unwrap() | 0x80);
        n /= 0x80;
    }
    out.push(u8::try_from(n).unwrap());
    out
}

/// A field of bytes.
pub(crate) fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2], &varint(bytes.len())[..], bytes].concat()
}

fn value(json: &Value) -> Vec<u8> {
    match json {
        Value::Null => vec![8, 0],
        Value::Bool(b) => vec![32, u8::from(*b)],
        Value::Number(n) => [&[17], &n.as_f64().unwrap().to_le_bytes()[..]].concat(),
        Value::String(s) => field(3, s.as_bytes()),
        Value::Array(items) => field(
            6,
            &items
                .iter()
                .flat_map(|item| field(1, &value(item)))
                .collect::<Vec<_>>(),
        ),
        Value::Object(_) => field(5, &structure(json)),
    }
}

/// A map from text to messages, in field 1.
pub(crate) fn map(entries: impl Iterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    entries
        .flat_map(|(k, v)| field(1, &[field(1, k.as_bytes()), field(2, &v)].concat()))
        .collect()
}

/// A `Struct`.
pub(crate) fn structure(json: &Value) -> Vec<u8> {
    map(json
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), value(v))))
}
