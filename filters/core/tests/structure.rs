//! A policy as Envoy hands it over when it was written as a `google.protobuf.Struct`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod wire;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::policy::{Policy, json_of_struct};

fn read(document: &Value) -> Option<Value> {
    let json = json_of_struct(&wire::structure(document))?;
    Some(serde_json::from_slice(&json).unwrap())
}

#[test]
fn a_struct_is_the_json_that_it_stands_for() {
    let document = json!({
        "text": "a \"quoted\" \u{1} é", "yes": true, "no": false, "nothing": null, "n": 999_999_999_999_999_u64,
        "minus": -7, "list": [1, "two", [3], {}], "deep": {"er": {"still": "x"}}, "": "",
    });
    assert_eq!(read(&document), Some(document));
}

#[test]
fn every_policy_is_the_same_either_way() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut seen = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let Ok(text) = std::fs::read(entry.unwrap().path().join("policy.json")) else {
            continue;
        };
        let document: Value = serde_json::from_slice(&text).unwrap();
        let json = json_of_struct(&wire::structure(&document)).unwrap();
        assert_eq!(Policy::parse(&json).unwrap(), Policy::parse(&text).unwrap());
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn a_number_with_a_fraction_is_still_a_mistake() {
    let document = json!({"policy": "p", "version": "1", "limits": {"a": {"per": ["address"], "rate": "1/s", "burst": 1.25}}});
    let json = json_of_struct(&wire::structure(&document)).unwrap();
    let mistakes = Policy::parse(&json).unwrap_err();
    assert_eq!(mistakes[0].path, "$.limits.a.burst");
    assert!(mistakes[0].message.contains("fraction"));
}

#[test]
fn what_is_nested_too_deep_is_none() {
    let deep = |levels| (0..levels).fold(json!("x"), |inner, _| json!({"a": inner}));
    assert!(read(&deep(60)).is_some());
    assert_eq!(read(&deep(100)), None);
}

proptest! {
    /// JSON text is never taken for a message, also where it begins with a line feed, the first byte of one.
    #[test]
    fn json_text_is_no_struct(text in "[ -~\n\t\r]{0,200}") {
        prop_assert_eq!(json_of_struct(text.as_bytes()), None);
        prop_assert_eq!(json_of_struct(format!("\n{{{text}").as_bytes()), None);
    }

    #[test]
    fn any_bytes_are_a_struct_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..300_usize) {
        json_of_struct(&bytes);
        let whole = wire::structure(&json!({"a": {"b": [1, 2, {"c": "d"}]}, "e": null}));
        json_of_struct(&whole[..cut.min(whole.len())]);
    }
}
