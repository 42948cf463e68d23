//! A policy that is enforced for a share of callers: the same ones each time, and nobody else is touched.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use serde_json::{Value, json};
use tidegate_core::cases::CaseFacts;
use tidegate_core::denial::Denial;
use tidegate_core::engine::{self, Decision};
use tidegate_core::idempotency::Turn;
use tidegate_core::policy::{Mode, Policy};
use tidegate_core::records::{Settled, drive};
use tidegate_core::request::Request;
use tidegate_core::store::MemoryStore;

const NOW: u64 = 1_000_000_000_000;

/// A policy that refuses everyone who is told apart, with this canary.
fn policy(canary: &Value, change: impl FnOnce(&mut Value)) -> Policy {
    let mut document = json!({
        "policy": "harsh", "version": "2", "canary": canary,
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "limits": {"account": {"per": ["account"], "rate": "1/day", "burst": 1}},
        "always": ["account"],
        "routes": [{"name": "all", "match": {"path": "/*"}, "cost": {"header": "x-cost"}}],
    });
    change(&mut document);
    Policy::parse(document.to_string().as_bytes()).unwrap_or_else(|wrong| panic!("{wrong:#?}"))
}

/// Shows a request to `then`.
fn with<T>(
    method: &str,
    lines: &[(&str, &str)],
    facts: &CaseFacts,
    then: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let headers: Vec<_> = lines
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    then(&Request {
        method: method.as_bytes(),
        path: b"/1",
        authority: b"api.test",
        headers: &headers,
        facts,
    })
}

/// What is decided about a request that no bucket holds.
fn ask<'p>(policy: &'p Policy, lines: &[(&str, &str)], address: &str) -> Decision<'p> {
    let facts = CaseFacts {
        address: address.to_owned(),
        ..CaseFacts::default()
    };
    let lines = [lines, &[("x-cost", "2")]].concat();
    with("GET", &lines, &facts, |request| {
        engine::decide(policy, request, &mut MemoryStore::new(), &mut (), NOW)
    })
}

fn touched(policy: &Policy, account: &str) -> bool {
    let decision = ask(policy, &[("x-account", account)], "192.0.2.1");
    assert_eq!(decision.denial, Some(Denial::CostExceedsBurst { cost: 2 }));
    assert_eq!(decision.canary, decision.enforced_denial().is_some());
    decision.canary
}

/// Which of a thousand accounts are touched.
fn share(policy: &Policy) -> Vec<usize> {
    (0..1_000)
        .filter(|n| touched(policy, &format!("account-{n}")))
        .collect()
}

#[test]
fn the_share_is_about_as_large_as_written_and_only_grows() {
    let mut inside: Vec<usize> = Vec::new();
    for percent in [0, 1, 5, 25, 50, 99, 100] {
        let now = share(&policy(&json!({"percent": percent}), |_| {}));
        let off = now.len().abs_diff(percent * 10);
        assert!(off <= 40, "{percent}: {}", now.len());
        assert!(inside.iter().all(|n| now.contains(n)), "{percent}");
        inside = now;
    }
    assert_eq!(inside.len(), 1_000);
}

#[test]
fn nobody_and_everybody_are_exact() {
    assert_eq!(share(&policy(&json!({"percent": 0}), |_| {})).len(), 0);
    let all = policy(&json!({"percent": 100}), |_| {});
    assert_eq!(share(&all).len(), 1_000);
    // Even those who cannot be told apart.
    let twice = [("x-account", "a"), ("x-account", "b")];
    assert!(ask(&all, &twice, "").enforced_denial().is_some());
}

#[test]
fn another_version_touches_the_same_callers_and_another_policy_others() {
    let canary = json!({"percent": 20});
    let first = share(&policy(&canary, |_| {}));
    let next = policy(&canary, |document| {
        document["version"] = json!("3");
        document["limits"]["account"]["burst"] = json!(1_000);
        document["limits"]["account"]["rate"] = json!("1/s");
        document["routes"][0]["cost"] = json!(1);
    });
    let same = |n: &usize| {
        let account = format!("account-{n}");
        ask(&next, &[("x-account", &account)], "192.0.2.1").canary
    };
    assert_eq!((0..1_000).filter(same).collect::<Vec<_>>(), first);
    let other = policy(&canary, |document| document["policy"] = json!("other"));
    assert_ne!(share(&other), first);
}

#[test]
fn the_tenant_may_be_what_goes_together() {
    let by_tenant = policy(&json!({"percent": 50, "by": ["tenant"]}), |_| {});
    for tenant in 0..20 {
        let tenant = format!("tenant-{tenant}");
        let inside = |account: &str| {
            let lines = [("x-tenant", tenant.as_str()), ("x-account", account)];
            ask(&by_tenant, &lines, "192.0.2.1").canary
        };
        let first = inside("0");
        assert!((1..20).all(|n| inside(&n.to_string()) == first), "{tenant}");
    }
}

#[test]
fn guests_go_by_their_address_and_who_is_nobody_is_outside() {
    let policy = policy(&json!({"percent": 50}), |_| {});
    let guest = |n: u8| ask(&policy, &[], &format!("192.0.2.{n}")).canary;
    let inside = (1..=100).filter(|n| guest(*n)).count();
    assert!((30..70).contains(&inside), "{inside}");
    assert!((1..=100).all(|n| guest(n) == guest(n)));
    // Nothing tells this one apart, and this one is told apart in two ways.
    let nobody = ask(&policy, &[], "");
    let twice = ask(
        &policy,
        &[("x-account", "a"), ("x-account", "b")],
        "192.0.2.1",
    );
    for decision in [nobody, twice] {
        assert!(decision.denial.is_some());
        assert_eq!(
            (decision.canary, decision.enforced_denial()),
            (false, None),
            "{decision:?}"
        );
    }
}

#[test]
fn a_route_that_is_in_shadow_stays_so_for_the_share() {
    let policy = policy(&json!({"percent": 100}), |document| {
        document["routes"][0]["mode"] = json!("shadow");
    });
    let decision = ask(&policy, &[("x-account", "a")], "192.0.2.1");
    assert_eq!((decision.canary, decision.mode), (true, Mode::Shadow));
}

/// A call of its own would go past the gate in force behind it, which would not know what ran.
#[test]
fn what_would_be_made_detached_runs_inline_in_a_canary() {
    for (fingerprint, reads) in [("body", true), ("key-only", false)] {
        let rule = json!({"key": "required", "execution": "detached", "fingerprint": fingerprint});
        let made = |canary: bool| {
            policy(&json!({"percent": 100}), |document| {
                if !canary {
                    document.as_object_mut().unwrap().remove("canary");
                }
                document["routes"] = json!([{"name": "once", "idempotency": rule}]);
            })
        };
        let facts = CaseFacts {
            has_body: true,
            ..CaseFacts::default()
        };
        let lines = [("x-account", "amy"), ("idempotency-key", "k")];
        let turn = |policy: &Policy| {
            let mut store = MemoryStore::new();
            let mut decision = with("POST", &lines, &facts, |request| {
                engine::decide(policy, request, &mut store, &mut (), NOW)
            });
            match core::mem::take(&mut decision.turn) {
                Turn::Read(mut pending) => {
                    pending.body.push(b"{}").unwrap();
                    let decision = engine::resume(policy, *pending, &mut store, &mut (), NOW);
                    (true, decision.turn)
                }
                turn => (false, turn),
            }
        };
        let (read, turn_of_canary) = turn(&made(true));
        assert_eq!(read, reads, "{fingerprint}");
        assert!(
            matches!(turn_of_canary, Turn::Run(running) if running.keeps),
            "{turn_of_canary:?}"
        );
        // In force it has to have the whole body, whatever it is told apart by.
        let (read, turn_in_force) = turn(&made(false));
        assert!(
            read && matches!(turn_in_force, Turn::Detach(_)),
            "{turn_in_force:?}"
        );
    }
}

/// The gate in force behind has the answer that the canary did not keep; one in force has nobody behind it.
#[test]
fn a_key_that_was_used_outside_the_share_passes_inside() {
    let of = |canary: &Value| {
        policy(canary, |document| {
            document["routes"] = json!([{"name": "once", "idempotency": {"key": "required"}}]);
            if canary.is_null() {
                document.as_object_mut().unwrap().remove("canary");
            }
        })
    };
    let (outside, inside) = (of(&json!({"percent": 0})), of(&json!({"percent": 100})));
    let in_force = of(&json!(null));
    let facts = CaseFacts {
        has_body: true,
        ..CaseFacts::default()
    };
    let lines = [("x-account", "amy"), ("idempotency-key", "k")];
    let ask = |policy: &Policy, store: &mut MemoryStore| {
        let mut decision = with("POST", &lines, &facts, |request| {
            engine::decide(policy, request, store, &mut (), NOW)
        });
        if let Turn::Read(pending) = &mut decision.turn {
            pending.body.push(b"{}").unwrap();
            decision = engine::resume(policy, *pending.clone(), store, &mut (), NOW);
        }
        (decision.denial, decision.turn)
    };
    let mut store = MemoryStore::new();
    let running = match ask(&outside, &mut store) {
        (None, Turn::Run(running)) => running,
        other => panic!("it does not run: {other:?}"),
    };
    // Its answer is kept nowhere, so the record says no more than that it was there.
    let settled = [
        (None, Denial::RequestInProgress),
        (Some(Settled::Unknown), Denial::OutcomeUnknown),
        (Some(Settled::TooLarge), Denial::ResponseNotStored),
    ];
    for (settled, denial) in settled {
        if let Some(settled) = settled {
            assert!(drive::settle(&mut store, &running.place, settled).unwrap());
        }
        // Again and again; a burst of one would be used up.
        for _ in 0..3 {
            let (refused, turn) = ask(&inside, &mut store);
            assert!(refused.is_none() && matches!(turn, Turn::Go), "{turn:?}");
        }
        let (refused, _) = ask(&in_force, &mut store);
        assert_eq!(refused, Some(denial));
    }
    // What the share runs itself is its own.
    let mut store = MemoryStore::new();
    assert!(matches!(ask(&inside, &mut store), (None, Turn::Run(running)) if running.keeps));
    let (refused, _) = ask(&inside, &mut store);
    assert_eq!(refused, Some(Denial::RequestInProgress));
}

#[test]
fn a_canary_leaves_caches_alone_and_the_share_has_its_records() {
    let policy = policy(&json!({"percent": 50}), |document| {
        document["routes"] = json!([
            {"name": "own", "match": {"methods": ["GET"]}, "cache": {"scope": ["account"]}},
            {"name": "once", "idempotency": {"key": "required"}},
        ]);
    });
    assert!(!policy.tells_caches());
    let mut store = MemoryStore::new();
    let mut seen = [false; 2];
    for n in 0..50 {
        let account = format!("account-{n}");
        assert!(
            ask(&policy, &[("x-account", &account)], "192.0.2.1")
                .cache
                .is_none()
        );
        let lines = [("x-account", account.as_str()), ("idempotency-key", "k")];
        let facts = CaseFacts {
            has_body: true,
            ..CaseFacts::default()
        };
        let mut decision = with("POST", &lines, &facts, |request| {
            engine::decide(&policy, request, &mut store, &mut (), NOW)
        });
        let inside = decision.canary;
        seen[usize::from(inside)] = true;
        match core::mem::take(&mut decision.turn) {
            Turn::Read(mut pending) => {
                assert!(inside);
                let given_up = engine::give_up(&policy, &pending, Denial::BodyTooLarge);
                assert_eq!(given_up.enforced_denial(), Some(&Denial::BodyTooLarge));
                pending.body.push(b"{}").unwrap();
                let decision = engine::resume(&policy, *pending, &mut store, &mut (), NOW);
                assert_eq!((decision.canary, decision.mode), (true, Mode::Enforce));
                assert!(matches!(decision.turn, Turn::Run(running) if running.keeps));
            }
            Turn::Run(running) => assert!(!inside && !running.keeps),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, [true; 2]);
}
