//! Two policies, request by request.

use serde_json::json;

use crate::run::{BY_ACCOUNT, BY_ADDRESS, at, folder, report};

/// Ten callers behind one address, each once.
const OFFICE: &str = r#"{"groups": [{"callers": 10, "account": "a-{n}", "address": "192.0.2.1",
    "rate": [{"for": "1s", "total": 10}], "requests": [{"headers": {"x-account": "a-{n}"}}]}]}"#;

#[test]
fn a_policy_by_address_is_stricter_on_an_office_than_one_by_account() {
    let files = folder(&[("address.json", BY_ADDRESS), ("account.json", BY_ACCOUNT)]);
    let (address, account) = (at(&files, "address.json"), at(&files, "account.json"));
    let found = report(&[&address, "--against", &account, "--load", OFFICE]);
    let differences = &found["differences"];
    assert_eq!(
        (&differences["stricter"], &differences["looser"]),
        (&json!(8), &json!(0))
    );
    assert_eq!(
        (&differences["other"], &differences["same"]),
        (&json!(0), &json!(2))
    );
    let kinds = json!([{"here": "address", "there": "allowed", "requests": 8}]);
    assert_eq!(differences["kinds"], kinds);
    let top = differences["top"].as_array().unwrap();
    assert_eq!(top.len(), 1, "the policy by address knows one caller");
    assert_eq!(found["against"]["refused"], 0);
    let example = &differences["examples"][0];
    assert_eq!(
        (&example["direction"], &example["time"]),
        (&json!("stricter"), &json!("2026-01-01T00:00:00.200Z"))
    );

    let found = report(&[&account, "--against", &address, "--load", OFFICE]);
    let differences = &found["differences"];
    assert_eq!(
        (&differences["stricter"], &differences["looser"]),
        (&json!(0), &json!(8))
    );
    assert_eq!(differences["top"].as_array().unwrap().len(), 8);
    assert_eq!(differences["top"][0]["looser"], 1);
    let spans = differences["timeline"]["spans"].as_array().unwrap();
    let looser: u64 = spans.iter().map(|span| span[1].as_u64().unwrap()).sum();
    assert_eq!(looser, 8);
}

#[test]
fn refusals_by_different_limits_are_another_kind_of_difference() {
    let renamed = BY_ADDRESS
        .replace("\"address\": {\"per\"", "\"guest\": {\"per\"")
        .replace("[\"address\"]}", "[\"guest\"]}")
        .replace("\"per\": [\"guest\"]}", "\"per\": [\"address\"]}");
    let files = folder(&[("one.json", BY_ADDRESS), ("other.json", &renamed)]);
    let (one, other) = (at(&files, "one.json"), at(&files, "other.json"));
    let found = report(&[&one, "--against", &other, "--load", OFFICE]);
    assert_eq!(
        (
            &found["differences"]["other"],
            &found["differences"]["same"]
        ),
        (&json!(8), &json!(2))
    );
    let found = report(&[&one, "--against", &one, "--load", OFFICE]);
    assert_eq!(
        (
            &found["differences"]["same"],
            &found["differences"]["kinds"]
        ),
        (&json!(10), &json!([]))
    );
}
