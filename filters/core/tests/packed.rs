//! What the configuration of a mount may say to a module that carries its policy.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use tidegate_core::policy::{Canary, Dimension, Mode, Packed, Policy};

const PLAIN: &str = r#"{"policy": "shop", "version": "7",
    "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
    "routes": [{"name": "all", "mode": "enforce"}]}"#;

fn packed(document: &str, shadow: bool) -> Packed {
    Packed {
        document: document.as_bytes().to_vec(),
        shadow,
    }
}

fn with(document: &str, key: &str) -> String {
    document.replacen('{', &format!("{{{key}, "), 1)
}

fn mistakes(packed: &Packed, configuration: &str) -> Vec<String> {
    let mistakes = packed.policy(configuration.as_bytes()).unwrap_err();
    mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn without_a_configuration_it_is_the_policy_that_was_packed() {
    let plain = Policy::parse(PLAIN.as_bytes()).unwrap();
    for configuration in ["", " \n", "{}"] {
        let policy = packed(PLAIN, false).policy(configuration.as_bytes());
        assert_eq!(policy.unwrap(), plain);
    }
}

#[test]
fn it_can_be_put_in_shadow_whatever_its_routes_say() {
    let canary = with(PLAIN, r#""canary": {"percent": 5}"#);
    for (document, shadow, configuration) in [
        (PLAIN, true, ""),
        (PLAIN, false, r#"{"mode": "shadow"}"#),
        (PLAIN, true, r#"{"mode": "shadow"}"#),
        (&canary, true, ""),
        (&canary, false, r#"{"mode": "shadow"}"#),
    ] {
        let policy = packed(document, shadow).policy(configuration.as_bytes());
        let policy = policy.unwrap();
        assert_eq!((policy.mode, policy.canary), (Mode::Shadow, None));
    }
}

#[test]
fn the_share_of_a_canary_can_be_told() {
    let own = with(PLAIN, r#""canary": {"percent": 5, "by": ["tenant"]}"#);
    for (document, configuration, percent, by) in [
        (
            PLAIN,
            r#"{"canary": {"percent": 25}}"#,
            25,
            Dimension::Account,
        ),
        (&own, r#"{"canary": {"percent": 0}}"#, 0, Dimension::Tenant),
        (
            &own,
            r#"{"canary": {"percent": 100, "by": ["account"]}}"#,
            100,
            Dimension::Account,
        ),
    ] {
        let policy = packed(document, false).policy(configuration.as_bytes());
        let canary = policy.unwrap().canary;
        assert_eq!(
            canary,
            Some(Canary {
                percent,
                by: vec![by]
            })
        );
    }
    assert_eq!(
        mistakes(
            &packed(PLAIN, false),
            r#"{"canary": {"percent": 101, "by": ["plan"]}}"#
        ),
        [
            "`$.canary.percent`: `101` is out of range; write a whole number from 0 to 100",
            "`$.canary.by[0]`: `plan` is never known; name its sources in `identity.plan`, or use another dimension",
        ]
    );
    let in_shadow = with(
        r#"{"policy": "shop", "version": "7"}"#,
        r#""mode": "shadow""#,
    );
    for packed in [packed(PLAIN, true), packed(&in_shadow, false)] {
        assert_eq!(
            mistakes(&packed, r#"{"canary": {"percent": 5}}"#),
            [
                "`$.canary`: the policy in the module is in shadow, which is enforced for nobody; pack it without"
            ]
        );
    }
}

/// A promotion: whatever share the policy was packed with, caches are told and everybody is in.
#[test]
fn it_can_be_enforced_for_everybody() {
    let scoped = PLAIN.replace(
        r#""mode": "enforce""#,
        r#""mode": "enforce", "cache": {"scope": ["tenant"]}"#,
    );
    let plain = Policy::parse(scoped.as_bytes()).unwrap();
    for canary in [5, 100] {
        let own = with(&scoped, &format!(r#""canary": {{"percent": {canary}}}"#));
        let policy = packed(&own, false).policy(br#"{"mode": "enforce"}"#);
        assert_eq!(policy.unwrap(), plain);
    }
    assert!(plain.tells_caches());
    assert_eq!(
        packed(&scoped, false).policy(br#"{"mode": "enforce"}"#),
        Ok(plain)
    );
    // A step of the tool, before the gate in force, is a canary to its end.
    let all = packed(&scoped, false).policy(br#"{"canary": {"percent": 100}}"#);
    let all = all.unwrap();
    assert_eq!((all.tells_caches(), all.enforced_percent()), (false, 100));
    // What was packed to change nothing does not by a word beside it.
    let in_shadow = with(
        r#"{"policy": "shop", "version": "7"}"#,
        r#""mode": "shadow""#,
    );
    for packed in [packed(PLAIN, true), packed(&in_shadow, false)] {
        assert_eq!(
            mistakes(&packed, r#"{"mode": "enforce"}"#),
            [
                "`$.mode`: the policy in the module is in shadow, which is enforced for nobody; pack it without"
            ]
        );
    }
}

#[test]
fn another_policy_is_refused_and_so_is_whatever_else_stands_there() {
    for configuration in [
        PLAIN,
        "null",
        "[]",
        "shadow",
        r#"{"mode": "enforce", "canary": {"percent": 5}}"#,
        r#"{"mode": "shadow", "canary": {"percent": 5}}"#,
        r#"{"mode": "shadow", "policy": "shop"}"#,
        "\u{0}",
    ] {
        assert_eq!(
            mistakes(&packed(PLAIN, false), configuration),
            [
                "`$`: the module carries policy `shop` version `7` and takes no other; leave the configuration empty, or write `{\"mode\": \"shadow\"}`, `{\"mode\": \"enforce\"}` or `{\"canary\": {\"percent\": 5}}`"
            ],
            "{configuration}"
        );
    }
}

#[test]
fn what_is_written_wrong_beside_it_is_told_where_it_stands() {
    for (configuration, told) in [
        (
            r#"{"mode": "shdow"}"#,
            "`$.mode`: `shdow` is not known here; write `enforce` or `shadow`",
        ),
        (
            r#"{"mode": "shadow", "mode": "shadow"}"#,
            "`$.mode`: this key stands here twice; keep one",
        ),
        (
            r#"{"mode": null}"#,
            "`$.mode`: `null` is no value here; leave the key out",
        ),
        (
            r#"{"canary": {"percent": 5, "share": 5}}"#,
            "`$.canary.share`: unknown key `share`; write `percent` or `by`",
        ),
        (
            r#"{"canary": 5}"#,
            "`$.canary`: expected an object, found the number `5`",
        ),
    ] {
        assert_eq!(
            mistakes(&packed(PLAIN, false), configuration),
            [told],
            "{configuration}"
        );
    }
}

#[test]
fn a_document_with_a_mistake_is_refused_as_any_other() {
    let bad = PLAIN.replace("enforce", "enforced");
    assert_eq!(
        mistakes(&packed(&bad, false), ""),
        ["`$.routes[0].mode`: `enforced` is not known here; write `enforce` or `shadow`"]
    );
}
