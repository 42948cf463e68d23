//! Verified claims, as Envoy's `jwt_authn` leaves them: a `google.protobuf.Struct` in the dynamic metadata
//! of the request, which reaches the module as the bytes of `envoy.config.core.v3.Metadata`.
//!
//! Read from the message itself because Envoy's property paths drop the types on the way: there the text
//! `"7"` and a number look alike.

use std::borrow::Cow;

use crate::protobuf::{Field, Fields};
use crate::request::Claim;

/// The filter whose metadata holds verified tokens.
const JWT_AUTHN: &[u8] = b"envoy.filters.http.jwt_authn";

/// `Metadata.filter_metadata`, `Struct.fields`: both are maps in field 1.
const MAP: u64 = 1;

/// A claim of the token whose payload is kept under `payload`, from the bytes of a `Metadata` message.
/// Dots in `name` reach into nested objects, unless one claim has all of it as its name.
pub fn from_metadata<'a>(metadata: &'a [u8], payload: &str, name: &str) -> Claim<'a> {
    let claims = entry(metadata, JWT_AUTHN)
        .and_then(|filter| entry(filter, payload.as_bytes()))
        .map(Value::read);
    let Some(Value::Struct(claims)) = claims else {
        return Claim::Absent;
    };
    let value = entry(claims, name.as_bytes()).or_else(|| nested(claims, name));
    match value.map(Value::read) {
        None | Some(Value::Null) => Claim::Absent,
        Some(Value::Text(text)) => Claim::Text(Cow::Borrowed(text)),
        Some(Value::Struct(_) | Value::Other) => Claim::NotText,
    }
}

/// Whether a verified token left any claims, from the bytes of a `Metadata` message.
pub fn any(metadata: &[u8]) -> bool {
    entry(metadata, JWT_AUTHN).is_some_and(|filter| !filter.is_empty())
}

fn nested<'a>(claims: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut names = name.split('.');
    let mut value = entry(claims, names.next()?.as_bytes())?;
    for name in names {
        let Value::Struct(inner) = Value::read(value) else {
            return None;
        };
        value = entry(inner, name.as_bytes())?;
    }
    Some(value)
}

/// A `google.protobuf.Value`, as far as it matters here.
enum Value<'a> {
    Null,
    Text(&'a [u8]),
    Struct(&'a [u8]),
    Other,
}

impl<'a> Value<'a> {
    fn read(bytes: &'a [u8]) -> Self {
        match Fields(bytes).last() {
            None | Some((1, _)) => Self::Null,
            Some((3, Field::Bytes(text))) => Self::Text(text),
            Some((5, Field::Bytes(inner))) => Self::Struct(inner),
            Some(_) => Self::Other,
        }
    }
}

/// The value of `key` in the map that is field 1 of `message`.
fn entry<'a>(message: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    Fields(message).find_map(|(number, field)| match field {
        Field::Bytes(pair) if number == MAP => {
            let mut found = false;
            let mut value: &[u8] = &[];
            for (number, field) in Fields(pair) {
                match (number, field) {
                    (1, Field::Bytes(name)) => found = name == key,
                    (2, Field::Bytes(bytes)) => value = bytes,
                    _ => {}
                }
            }
            found.then_some(value)
        }
        _ => None,
    })
}
