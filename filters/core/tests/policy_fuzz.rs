//! Whatever stands in the configuration, it becomes a policy or a list of mistakes, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "policy_documents/mod.rs"]
mod policy_documents;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tidegate_core::policy::Policy;

/// Reads a document in both ways and compares the answers.
fn read(text: &[u8]) {
    let parsed = Policy::parse(text);
    match Policy::check(text) {
        Ok(checked) if checked.not_enforced.is_empty() => assert_eq!(parsed, Ok(checked.policy)),
        Ok(checked) => assert_eq!(parsed, Err(checked.not_enforced)),
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            let refused = parsed.unwrap_err();
            assert!(
                refused.len() >= 256 || mistakes.iter().all(|mistake| refused.contains(mistake))
            );
        }
    }
}

/// Values that stand at an edge of some kind.
fn odd() -> impl Strategy<Value = Value> {
    select(vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(999_999_999_999_999_u64),
        json!(""),
        json!("/"),
        json!("%"),
        json!("/%e2%82"),
        json!("18446744073709551616/day"),
        json!("18446744073709551615d"),
        json!("1/"),
        json!("header:"),
        json!("é\u{0}\n`"),
        json!("a".repeat(2000)),
        json!([]),
        json!([null]),
        json!({}),
        json!({"rate": "1/s"}),
        json!({"": null}),
    ])
}

/// Every place of a document.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{key}"), all);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, &format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn bytes(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&text);
    }

    #[test]
    fn text_of_json_signs(text in "[\\[\\]{}\",:0-9a-z\\\\. -]{0,200}") {
        read(text.as_bytes());
    }

    #[test]
    fn a_good_document_with_other_bytes(
        text in select(policy_documents::GOOD.to_vec()),
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut text = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        read(&text);
    }

    #[test]
    fn a_good_document_with_other_values(
        text in select(policy_documents::GOOD.to_vec()),
        changes in proptest::collection::vec((any::<Index>(), odd()), 1..6),
    ) {
        let mut document: Value = serde_json::from_str(text).unwrap();
        for (at, value) in changes {
            let mut all = Vec::new();
            places(&document, "", &mut all);
            let place = &all[at.index(all.len())];
            *document.pointer_mut(place).unwrap() = value;
        }
        read(document.to_string().as_bytes());
    }

    #[test]
    fn a_mistake_in_one_part_hides_none_in_another(
        places in proptest::sample::subsequence(vec!["identity", "limits", "always", "routes", "mode", "headers"], 0..6),
    ) {
        let mut document: Value = serde_json::from_str(policy_documents::SMALLEST).unwrap();
        for place in &places {
            document[place] = json!(7);
        }
        let found = Policy::check(document.to_string().as_bytes()).err().unwrap_or_default();
        prop_assert_eq!(found.len(), places.len());
    }
}
