//! What somebody outside is told.

use serde_json::{Value, json};
use tidegate_core::gcra::FullAt;
use tidegate_core::ledger::Kind;
use tidegate_core::ledger::event::{Event, Moment, SigningKey};
use tidegate_core::store::{MemoryStore, Store as _};

use crate::{NOW, S, Worker, known};

#[test]
fn the_signature_is_that_of_standard_webhooks() {
    // The example of its reference implementations.
    let key = SigningKey::read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let event = Event {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
        body: br#"{"test": 2432232314}"#.to_vec(),
    };
    assert_eq!(
        key.sign(&event, 1_614_265_330),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    );
    assert_eq!(format!("{key:?}"), "SigningKey(..)");
    for wrong in [
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_c2hvcnQ=",
        "whsec_%%",
    ] {
        assert!(SigningKey::read(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn an_event_says_whom_by_which_rule_since_when_and_nothing_secret() {
    let store = &mut MemoryStore::new();
    let secret = store.secret();
    let mut worker = Worker::new(|document| {
        document["identity"]["tenant"] = json!([{"header": "x-tenant"}]);
        document["notify"] = json!({
            "cluster": "alerts", "path": "/hook", "key_env": "NOTIFY_KEY",
            "docs": "https://docs.example/refused",
            "labels": {"account": {"sha256:1e5a86a0a4a5a1d2f3d6ffd4ab0f2d97b63dd8ae11d5bfb0e4dd6d11c9ce3a32": "nobody"}},
        });
    });
    for second in 0..=90 {
        worker.get(store, "sk_live_amy", NOW + second * S);
    }
    worker.tell(store, NOW + 90 * S);
    let [entry] = known(store).try_into().unwrap();
    let at = Moment {
        now: NOW + 100 * S,
        of_day: 1_764_500_000 * S,
    };
    let rule = worker.policy.notify.as_ref().unwrap();
    let event = |kind, now| {
        let state = Some(FullAt(NOW + 86_400 * S));
        let at = Moment { now, ..at };
        Event::of(&worker.policy, rule, kind, &entry, state, &secret, at)
    };
    let started = event(Kind::Started, at.now);
    let body: Value = serde_json::from_slice(&started.body).unwrap();
    assert_eq!(body["type"], "tidegate.refusals.started");
    assert_eq!(body["timestamp"], "2025-11-30T10:53:20Z");
    let data = &body["data"];
    assert_eq!(data["policy"], "strict");
    assert_eq!(data["rule"], "daily");
    assert_eq!(data["since"], "2025-11-30T10:51:41Z");
    assert_eq!(data["last"], "2025-11-30T10:53:10Z");
    assert_eq!(data["count"], 90);
    assert_eq!(data["docs"], "https://docs.example/refused");
    assert_eq!(
        data["bucket"],
        json!({"rate": "1/day", "burst": 1, "level": 0, "next_ms": 86_300_000})
    );
    assert!(data.get("label").is_none());
    let text = String::from_utf8(started.body.clone()).unwrap();
    assert!(!text.contains("sk_live"));
    // Each attempt has the same id, each event its own.
    assert_eq!(event(Kind::Started, at.now + S).id, started.id);
    assert_ne!(event(Kind::Over, at.now).id, started.id);
    assert!(started.id.starts_with("msg_"));
}

#[test]
fn a_label_is_what_the_policy_calls_them() {
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(|document| {
        document["identity"] = json!({"account": [{"header": "x-key"}]});
        document["notify"] = json!({
            "cluster": "alerts", "path": "/hook", "key_env": "NOTIFY_KEY",
            "labels": {"account": {"amy": "Amy's shop", "zoe": "Zoe"}},
        });
    });
    for account in [
        "amy", "amy", "zoe", "zoe", "zoe", "ben", "ben", "ben", "ben",
    ] {
        worker.get(store, account, NOW);
    }
    worker.tell(store, NOW);
    let labels: Vec<_> = known(store).into_iter().map(|entry| entry.label).collect();
    assert_eq!(labels, ["", "Zoe", "Amy's shop"]);
}
