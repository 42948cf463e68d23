//! A part of a JSON body, found without reading the rest into memory: a body of brackets takes eighty times its bytes as a tree.

use core::fmt;
use std::collections::BTreeMap;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The largest part that counts by what it means and not by how it is written, in bytes.
const MOST_BYTES: usize = 64 * 1024;

/// How deep such a part may be.
const MOST_DEEP: usize = 64;

/// A body as JSON.
///
/// # Errors
/// It is none.
pub(super) fn read(body: &[u8]) -> serde_json::Result<&RawValue> {
    serde_json::from_slice(body)
}

/// What a pointer (RFC 6901) points to in a value, as it is written there; `None` where that is nothing.
///
/// # Errors
/// A name on the way is no text.
pub(super) fn find<'b>(
    mut part: &'b RawValue,
    pointer: &str,
) -> serde_json::Result<Option<&'b RawValue>> {
    // What stands before the first is empty.
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        match step(part, &name)? {
            Some(inside) => part = inside,
            None => return Ok(None),
        }
    }
    Ok(Some(part))
}

/// The member of this name, or the item of this index.
fn step<'b>(part: &'b RawValue, name: &str) -> serde_json::Result<Option<&'b RawValue>> {
    let written = part.get().as_bytes();
    let mut json = serde_json::Deserializer::from_slice(written);
    match written.first() {
        Some(b'{') => json.deserialize_map(Member(name)),
        Some(b'[') => json.deserialize_seq(Item(name)),
        _ => Ok(None),
    }
}

/// A part in the spelling that all its spellings have: no space between, the names of objects in order, and texts without what
/// need not be escaped. Numbers stay as they are written, for two that differ in their last digits are one as doubles. Of a part that is
/// large or deep it is the digest, as it is written.
pub(super) fn spelled(part: &RawValue) -> Vec<u8> {
    let mut text = Vec::new();
    if part.get().len() > MOST_BYTES || spell(part, MOST_DEEP, &mut text).is_none() {
        return Sha256::digest(part.get()).to_vec();
    }
    text
}

fn spell(part: &RawValue, depth: usize, text: &mut Vec<u8>) -> Option<()> {
    let written = part.get();
    let depth = depth.checked_sub(1)?;
    match written.as_bytes().first()? {
        b'{' => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_slice(written.as_bytes()).ok()?;
            text.push(b'{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                divide(index, text);
                serde_json::to_writer(&mut *text, &name).ok()?;
                text.push(b':');
                spell(member, depth, text)?;
            }
            text.push(b'}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_slice(written.as_bytes()).ok()?;
            text.push(b'[');
            for (index, item) in items.into_iter().enumerate() {
                divide(index, text);
                spell(item, depth, text)?;
            }
            text.push(b']');
        }
        b'"' => {
            let plain: String = serde_json::from_slice(written.as_bytes()).ok()?;
            serde_json::to_writer(text, &plain).ok()?;
        }
        _ => text.extend_from_slice(written.as_bytes()),
    }
    Some(())
}

fn divide(index: usize, text: &mut Vec<u8>) {
    if index > 0 {
        text.push(b',');
    }
}

/// Finds the member of this name.
struct Member<'n>(&'n str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(wanted) = members.next_key_seed(Is(self.0))? {
            let member = members.next_value()?;
            if wanted {
                // Of two of one name the last one counts, as it does for most who read it.
                found = Some(member);
            }
        }
        Ok(found)
    }
}

/// Finds the item of this index.
struct Item<'n>(&'n str);

impl<'de> Visitor<'de> for Item<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        // An index has one spelling (section 4).
        let index: Option<usize> = self.0.parse().ok();
        let index = index.filter(|index| index.to_string() == self.0);
        let mut found = None;
        let mut number = 0_usize;
        while let Some(item) = items.next_element()? {
            if Some(number) == index {
                found = Some(item);
            }
            number = number.saturating_add(1);
        }
        Ok(found)
    }
}

/// Whether a member has this name.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'b>(body: &'b str, pointer: &str) -> Option<&'b str> {
        let json = read(body.as_bytes()).unwrap();
        find(json, pointer).unwrap().map(RawValue::get)
    }

    #[test]
    fn a_pointer_leads_through_objects_and_lists() {
        let body = r#"{"a": [1, {"b/c": {"~": "x"}}], "": 2, "a~1": 3, "n": null, "d": {"e": 1}, "d": 4.50}"#;
        for (pointer, found) in [
            ("", Some(body)),
            ("/a/0", Some("1")),
            ("/a/1/b~1c/~0", Some(r#""x""#)),
            ("/a/1", Some(r#"{"b/c": {"~": "x"}}"#)),
            ("/", Some("2")),
            ("/a~01", Some("3")),
            ("/n", Some("null")),
            ("/d", Some("4.50")),
            ("/d/e", None),
            ("/a/2", None),
            ("/a/01", None),
            ("/a/+1", None),
            ("/a/-", None),
            ("/n/x", None),
            ("/none", None),
        ] {
            assert_eq!(at(body, pointer), found, "{pointer}");
        }
    }

    #[test]
    fn what_is_no_json_has_no_parts() {
        for body in [
            "",
            "{",
            "{} {}",
            r#"{"a": 1,}"#,
            "not",
            r#"{"b": [1, "a": 1}"#,
        ] {
            assert!(read(body.as_bytes()).is_err(), "{body}");
        }
        assert!(read(b"{\"a\": \"\xff\"}").is_err());
    }

    #[test]
    fn spellings_of_one_part_are_one_and_numbers_are_as_written() {
        let spelled = |text: &str| spelled(serde_json::from_str::<&RawValue>(text).unwrap());
        let one = spelled(r#"{"b":[1,2.50],"a":"x/é"}"#);
        assert_eq!(one, r#"{"a":"x/é","b":[1,2.50]}"#.as_bytes());
        for other in [
            r#"{ "a" : "x\/\u00e9" , "b" : [ 1 , 2.50 ] }"#,
            "{\"b\":\n[1,\t2.50],\"a\":\"\\u0078/é\"}",
        ] {
            assert_eq!(spelled(other), one, "{other}");
        }
        for (one, other) in [
            ("123456789012345.67", "123456789012345.68"),
            ("20000000000000000001", "20000000000000000999"),
            ("1.5", "1.50"),
            ("1", r#""1""#),
            ("[1,2]", "[2,1]"),
        ] {
            assert_ne!(spelled(one), spelled(other), "{one} {other}");
        }
    }

    #[test]
    fn a_large_or_deep_part_is_as_written() {
        let deep = format!("{}1{}", "[ ".repeat(MOST_DEEP), "]".repeat(MOST_DEEP));
        let large = format!("[ {} 1]", "1, ".repeat(MOST_BYTES));
        for text in [&deep, &large] {
            let part: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(spelled(part), Sha256::digest(text).to_vec());
        }
    }

    /// As a tree this would be more than a gigabyte.
    #[test]
    fn a_body_of_brackets_is_passed_over() {
        const PAIRS: usize = 3 << 20;
        let body = format!(
            r#"{{"x": {}0{}, "amount": 5}}"#,
            r#"{"":"#.repeat(PAIRS),
            "}".repeat(PAIRS)
        );
        assert_eq!(at(&body, "/amount"), Some("5"));
        let list = format!(r#"{{"x": [{}0], "amount": 5}}"#, "0,".repeat(8 * PAIRS));
        assert_eq!(at(&list, "/amount"), Some("5"));
    }
}
