//! What a refusal looks like: the B statements of the conformance list, by number.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use sfv::{BareItem, List, ListEntry, Parser};
use tidegate_core::answer::{Answer, GrpcStatus, answer, fields, retry_after};
use tidegate_core::cases::CaseFacts;
use tidegate_core::denial::Denial;
use tidegate_core::engine::{Decision, decide};
use tidegate_core::identity::Ambiguity;
use tidegate_core::policy::Policy;
use tidegate_core::request::Request;
use tidegate_core::store::MemoryStore;

const NOW: u64 = 1_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn policy(change: impl FnOnce(&mut Value)) -> Policy {
    let mut document = json!({
        "policy": "answers", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {
            "small": {"per": ["account"], "rate": "30/min", "burst": 2},
            "large": {"per": ["account"], "rate": "7/s", "burst": 5},
            "quiet": {"per": ["account"], "rate": "1/h", "burst": 1, "shadow": true},
        },
        "always": ["large", "small", "quiet"],
        "routes": [{"name": "bulk", "match": {"path": "/bulk"}, "cost": {"header": "x-cost"}},
                   {"name": "closed", "match": {"path": "/closed"}, "anonymous": "deny"}],
    });
    change(&mut document);
    Policy::parse(document.to_string().as_bytes()).unwrap()
}

fn ask<'p>(
    policy: &'p Policy,
    store: &mut MemoryStore,
    path: &str,
    headers: &[(&str, &str)],
    now: u64,
) -> Decision<'p> {
    let facts = CaseFacts {
        address: "192.0.2.1".into(),
        ..CaseFacts::default()
    };
    let headers: Vec<_> = headers
        .iter()
        .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
        .collect();
    let request = Request {
        method: b"GET",
        path: path.as_bytes(),
        authority: b"a.test",
        headers: &headers,
        facts: &facts,
    };
    decide(policy, &request, store, &mut (), now)
}

/// The answer to the third request of an account: `small` refuses it.
fn refused(policy: &Policy) -> Answer {
    let mut store = MemoryStore::new();
    for _ in 0..2 {
        assert_eq!(
            ask(policy, &mut store, "/", &[("x-account", "a")], NOW).denial,
            None
        );
    }
    let decision = ask(policy, &mut store, "/", &[("x-account", "a")], NOW);
    answer(
        policy,
        &decision,
        decision.denial.as_ref().unwrap(),
        Some(b"req-1"),
    )
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let mut lines = answer.headers.iter().filter(|(n, _)| *n == name);
    let line = lines.next().map(|(_, value)| value.as_ref());
    assert!(lines.next().is_none(), "{name} twice");
    line
}

fn body(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn b1_b2_b12_b34_retry_after_is_whole_seconds_rounded_up_and_at_least_one() {
    for (wait, seconds) in [
        (1, 1),
        (1_000_000, 1),
        (999_000_000, 1),
        (SECOND, 1),
        (SECOND + 1, 2),
        (1_001_000_000, 2),
        (3_600 * SECOND, 3_600),
    ] {
        assert_eq!(
            retry_after(&Denial::QuotaExceeded { wait }),
            Some(seconds),
            "{wait} ns"
        );
    }
    let answer = refused(&policy(|_| {}));
    assert_eq!(header(&answer, "retry-after"), Some("2"));
    let policy = policy(|_| {});
    for denial in [
        Denial::QuotaExceeded { wait: 1 },
        Denial::QuotaExceeded {
            wait: 400 * 86_400 * SECOND,
        },
        Denial::StoreUnavailable,
        Denial::RequestInProgress,
    ] {
        let decision = Decision::unread(&policy, denial.clone());
        let answer = crate::answer(&policy, &decision, &denial, None);
        let said = header(&answer, "retry-after").unwrap();
        // Digits alone, as `int()`, `Number()` and `strconv.ParseInt()` read them.
        assert!(said.bytes().all(|byte| byte.is_ascii_digit()), "{said}");
        assert!(said.parse::<i64>().unwrap() >= 1, "{said}");
        assert_eq!(said.parse().ok(), retry_after(&denial));
    }
}

/// A policy with one limit, of `30/min`.
fn one(burst: u64) -> Policy {
    policy(|document| {
        document["limits"] =
            json!({"small": {"per": ["account"], "rate": "30/min", "burst": burst}});
        document["always"] = json!(["small"]);
        document["routes"] = json!([{"name": "bulk", "cost": {"header": "x-cost"}}]);
    })
}

/// The denial of a request that costs so much, and its `Retry-After`.
fn told(policy: &Policy, store: &mut MemoryStore, cost: &str, now: u64) -> Option<u64> {
    let headers = [("x-account", "a"), ("x-cost", cost)];
    let decision = ask(policy, store, "/", &headers, now);
    let denial = decision.denial.as_ref()?;
    let answer = answer(policy, &decision, denial, None);
    assert_eq!(answer.status, 429);
    header(&answer, "retry-after").unwrap().parse().ok()
}

#[test]
fn b5_three_of_five_and_one_back_in_two_seconds_make_four() {
    let (policy, mut store) = (one(5), MemoryStore::new());
    assert_eq!(told(&policy, &mut store, "2", NOW), None);
    assert_eq!(told(&policy, &mut store, "5", NOW), Some(4));
    assert_eq!(told(&policy, &mut store, "3", NOW), None);
}

#[test]
fn b11_who_has_used_more_than_a_lowered_quota_is_told_when_to_come_back() {
    let mut store = MemoryStore::new();
    assert_eq!(told(&one(100), &mut store, "100", NOW), None);
    let lowered = one(3);
    for cost in [1, 3] {
        let seconds = told(&lowered, &mut store, &cost.to_string(), NOW);
        // Never more than an empty bucket of the new quota takes.
        assert_eq!(seconds, Some(cost * 2));
    }
    assert_eq!(told(&lowered, &mut store, "3", NOW + 5 * SECOND), Some(1));
    assert_eq!(told(&lowered, &mut store, "3", NOW + 6 * SECOND), None);
}

#[test]
fn b6_a_cost_above_the_burst_has_no_retry_after() {
    let policy = policy(|_| {});
    let decision = ask(
        &policy,
        &mut MemoryStore::new(),
        "/bulk",
        &[("x-account", "a"), ("x-cost", "3")],
        NOW,
    );
    let answer = answer(&policy, &decision, decision.denial.as_ref().unwrap(), None);
    assert_eq!((answer.status, header(&answer, "retry-after")), (400, None));
    let body = body(&answer);
    assert_eq!(body["type"], "urn:tidegate:problem:cost-exceeds-burst");
    assert_eq!(body["violated-policies"], json!(["small"]));
    assert_eq!(
        body["limits"],
        json!([{"name": "small", "per": ["account"], "rate": "30/min", "burst": 2}])
    );
    assert_eq!(body.get("retry_after_ms"), None);
}

#[test]
fn b14_b15_b16_b17_b19_the_body_is_a_problem_document_that_a_program_can_act_on() {
    let answer = refused(&policy(|_| {}));
    assert_eq!(
        header(&answer, "content-type"),
        Some("application/problem+json")
    );
    assert_eq!(
        body(&answer),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "too many requests",
            "status": 429,
            "detail": "the quota of `small` is used up; try again in 2 s",
            "instance": "req-1",
            "violated-policies": ["small"],
            "limits": [{"name": "small", "per": ["account"], "rate": "30/min", "burst": 2, "wait_ms": 2000}],
            "retry_after_ms": 2000,
        })
    );
    assert_eq!(answer.grpc_status, GrpcStatus::ResourceExhausted);
}

#[test]
fn b17_every_limit_that_refuses_is_listed() {
    let policy = policy(|d| d["limits"]["large"]["burst"] = json!(2));
    let body = body(&refused(&policy));
    assert_eq!(body["violated-policies"], json!(["large", "small"]));
    assert_eq!(body["limits"][0]["wait_ms"], 143);
    assert_eq!(body["retry_after_ms"], 2000);
}

#[test]
fn b19_a_title_is_that_of_the_type_and_not_of_the_occasion() {
    let one = body(&refused(&policy(|_| {})));
    let other = body(&refused(&policy(|document| {
        document["limits"]["large"]["burst"] = json!(2);
    })));
    assert_ne!(one["detail"], other["detail"]);
    assert_eq!(
        (&one["type"], &one["title"]),
        (&other["type"], &other["title"])
    );
}

#[test]
fn b16_b18_b28_every_denial_has_its_status_and_type() {
    let policy = policy(|_| {});
    let unread = |denial: Denial| Decision::unread(&policy, denial);
    let ambiguity = Ambiguity {
        source: "header x".into(),
        fault: "is present twice; send it once",
    };
    let table = [
        (
            Denial::QuotaExceeded { wait: 1 },
            429,
            "https://iana.org/assignments/http-problem-types#quota-exceeded",
            8,
        ),
        (
            Denial::CostExceedsBurst { cost: 9 },
            400,
            "urn:tidegate:problem:cost-exceeds-burst",
            3,
        ),
        (
            Denial::CostInvalid {
                header: "x-cost".into(),
            },
            400,
            "urn:tidegate:problem:cost-invalid",
            3,
        ),
        (
            Denial::IdentityAmbiguous(ambiguity),
            400,
            "urn:tidegate:problem:identity-ambiguous",
            3,
        ),
        (
            Denial::HeadersUnreadable,
            400,
            "urn:tidegate:problem:identity-ambiguous",
            3,
        ),
        (
            Denial::IdentityRequired,
            401,
            "urn:tidegate:problem:identity-required",
            16,
        ),
        (
            Denial::ReservedName {
                name: "x-tidegate-a".into(),
            },
            400,
            "urn:tidegate:problem:reserved-name",
            3,
        ),
        (
            Denial::StoreUnavailable,
            503,
            "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            14,
        ),
    ];
    for (denial, status, kind, grpc) in table {
        let decision = unread(denial.clone());
        let answer = answer(&policy, &decision, &denial, None);
        let body = body(&answer);
        assert_eq!(
            (answer.status, answer.grpc_status as u8),
            (status, grpc),
            "{denial:?}"
        );
        assert_eq!(
            (&body["type"], &body["status"]),
            (&json!(kind), &json!(status)),
            "{denial:?}"
        );
        assert_eq!(header(&answer, "cache-control"), Some("no-store"), "b28");
        assert!(!answer.grpc_message.is_empty() && !answer.grpc_message.contains('\n'));
        assert_eq!(
            header(&answer, "retry-after").is_some(),
            matches!(status, 429 | 503),
            "b18"
        );
        assert_eq!(
            header(&answer, "www-authenticate").is_some(),
            status == 401,
            "RFC 9110, section 11.6.1"
        );
    }
}

#[test]
fn a_problem_base_replaces_our_urn_and_no_registered_type() {
    let policy = policy(|d| d["problem_base"] = json!("https://errors.example/"));
    let kind = |denial: Denial| {
        body(&answer(
            &policy,
            &Decision::unread(&policy, denial.clone()),
            &denial,
            None,
        ))["type"]
            .clone()
    };
    assert_eq!(
        kind(Denial::IdentityRequired),
        "https://errors.example/identity-required"
    );
    assert_eq!(
        kind(Denial::QuotaExceeded { wait: 1 }),
        "https://iana.org/assignments/http-problem-types#quota-exceeded"
    );
}

#[test]
fn b15_what_a_client_sends_is_escaped_and_bounded() {
    let policy = policy(|_| {});
    let denial = Denial::ReservedName {
        name: "x-tidegate-\"}\u{1}<script>".into(),
    };
    let decision = Decision::unread(&policy, denial.clone());
    let long = vec![b'a'; 129];
    for (id, shown) in [
        (&b"id-1"[..], true),
        (b"\"},\\\"{", true),
        (b"a b", false),
        (b"\xff", false),
        (b"", false),
        (&long, false),
    ] {
        let answer = answer(&policy, &decision, &denial, Some(id));
        let instance = shown.then(|| json!(str::from_utf8(id).unwrap()));
        assert_eq!(body(&answer).get("instance"), instance.as_ref(), "{id:?}");
        assert_eq!(
            header(&answer, "content-type"),
            Some("application/problem+json")
        );
        let detail = body(&answer)["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("x-tidegate-\"}\u{1}<script>"), "{detail}");
    }
    // What stands in `violated-policies` needs no escape: no other names are taken.
    for name in ["a\"b", "a\\b", "a\nb", "\u{e4}", "A"] {
        let limit = json!({"per": ["account"], "rate": "1/s"});
        let document = json!({"policy": "p", "version": "1", "limits": {name: limit}, "always": [name],
            "identity": {"account": [{"header": "x-account"}]}});
        let mistakes = Policy::parse(document.to_string().as_bytes()).unwrap_err();
        assert!(
            mistakes[0].message.contains("is not a name"),
            "{mistakes:?}"
        );
    }
}

/// A `RateLimit` or `RateLimit-Policy` value as an RFC 9651 parser reads it.
fn items(value: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let list: List = Parser::new(value)
        .parse()
        .unwrap_or_else(|e| panic!("{value}: {e}"));
    list.into_iter()
        .map(|entry| {
            let ListEntry::Item(item) = entry else {
                panic!("an inner list")
            };
            let BareItem::String(name) = item.bare_item else {
                panic!("no string")
            };
            let params = item.params.into_iter().map(|(key, value)| {
                let BareItem::Integer(number) = value else {
                    panic!("no integer")
                };
                (key.to_string(), i64::from(number))
            });
            (name.to_string(), params.collect())
        })
        .collect()
}

#[test]
fn b20_b21_b27_the_fields_are_structured_and_say_what_is_left() {
    let answer = refused(&policy(|_| {}));
    let pair = |key: &str, value: i64| (key.to_owned(), value);
    assert_eq!(
        items(header(&answer, "ratelimit-policy").unwrap()),
        [
            ("large".to_owned(), vec![pair("q", 5), pair("w", 1)]),
            ("small".to_owned(), vec![pair("q", 2), pair("w", 4)]),
        ]
    );
    assert_eq!(
        items(header(&answer, "ratelimit").unwrap()),
        [
            ("large".to_owned(), vec![pair("r", 3), pair("t", 1)]),
            ("small".to_owned(), vec![pair("r", 0), pair("t", 2)]),
        ]
    );
}

#[test]
fn b24_the_policy_field_is_the_same_on_every_response() {
    let policy = policy(|_| {});
    let mut store = MemoryStore::new();
    let said: Vec<_> = (0..5)
        .map(|_| {
            fields(
                &policy,
                &ask(&policy, &mut store, "/", &[("x-account", "a")], NOW),
            )
            .policy
        })
        .collect();
    assert!(said.iter().all(|policy| *policy == said[0]), "{said:?}");
}

#[test]
fn b26_no_field_says_who_the_caller_is() {
    let policy = policy(|_| {});
    let mut store = MemoryStore::new();
    for account in ["alice@example.test", "192.0.2.1"] {
        for _ in 0..4 {
            let decision = ask(&policy, &mut store, "/", &[("x-account", account)], NOW);
            let mut shown = String::new();
            for (name, value) in fields(&policy, &decision).lines() {
                let _ = writeln!(shown, "{name}: {value}");
            }
            if let Some(denial) = &decision.denial {
                let answer = answer(&policy, &decision, denial, None);
                let _ = writeln!(
                    shown,
                    "{:?} {}",
                    answer.headers,
                    String::from_utf8_lossy(&answer.body)
                );
            }
            assert!(!shown.contains(account) && !shown.contains("pk"), "{shown}");
        }
    }
}

#[test]
fn b32_legacy_headers_are_opt_in_and_count_seconds() {
    let names = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ];
    let silent = refused(&policy(|_| {}));
    assert_eq!(names.map(|name| header(&silent, name)), [None; 3]);
    let told = refused(&policy(|d| d["legacy_headers"] = json!(true)));
    assert_eq!(
        names.map(|name| header(&told, name)),
        [Some("2"), Some("0"), Some("2")]
    );
}

#[test]
fn headers_can_be_left_out() {
    let denied = refused(&policy(|d| d["headers"] = json!("denied")));
    assert!(header(&denied, "ratelimit").is_some());
    let off = refused(&policy(|d| d["headers"] = json!("off")));
    assert_eq!(
        (header(&off, "ratelimit"), header(&off, "ratelimit-policy")),
        (None, None)
    );
    assert_eq!(header(&off, "retry-after"), Some("2"));
}

proptest! {
    /// B3, B4, B7, B20, B21, B23: a client that waits exactly `Retry-After` is admitted, whatever limits refuse it; it is
    /// not told to wait a second too long; and no `t` is later.
    #[test]
    fn b3_b4_b7_b20_b21_b23_waiting_exactly_that_long_is_enough(
        rates in prop::collection::vec((1..200_u64, prop::sample::select(vec!["s", "min", "h"]), 1..9_u64), 1..5),
        gaps in prop::collection::vec(0..3_000_000_000_u64, 1..40),
        costs in prop::collection::vec(1..4_u64, 40),
    ) {
        let limits: serde_json::Map<_, _> = rates.iter().enumerate()
            .map(|(i, (n, unit, burst))| (format!("l{i}"), json!({"per": ["account"], "rate": format!("{n}/{unit}"), "burst": burst})))
            .collect();
        let always: Vec<_> = limits.keys().cloned().collect();
        let policy = policy(|d| {
            d["limits"] = limits.into();
            d["always"] = json!(always);
        });
        let (mut store, mut now) = (MemoryStore::new(), NOW);
        for (gap, cost) in gaps.iter().zip(costs) {
            now += gap;
            let cost = cost.to_string();
            let headers = [("x-account", "a"), ("x-cost", cost.as_str())];
            let decision = ask(&policy, &mut store, "/bulk", &headers, now);
            let told = fields(&policy, &decision);
            for (_, params) in items(&told.limit) {
                prop_assert!(params.iter().all(|(_, value)| *value >= 0));
            }
            for (_, params) in items(&told.policy) {
                let [(q, quota), (w, window)] = &params[..] else {
                    return Err(TestCaseError::fail("not one `q` and one `w`"));
                };
                prop_assert_eq!((q.as_str(), w.as_str()), ("q", "w"));
                prop_assert!(*quota >= 0 && *window > 0, "{} {}", quota, window);
            }
            let Some(Denial::QuotaExceeded { wait }) = decision.denial else { continue };
            let seconds = retry_after(decision.denial.as_ref().unwrap()).unwrap();
            for (_, params) in items(&told.limit) {
                prop_assert!(params.iter().all(|(key, t)| key != "t" || *t <= i64::try_from(seconds).unwrap()));
            }
            prop_assert!(seconds * SECOND >= wait && seconds.saturating_sub(1) * SECOND < wait);
            let later = ask(&policy, &mut store, "/bulk", &headers, now + seconds * SECOND);
            prop_assert_eq!(later.denial, None);
            now += seconds * SECOND;
        }
    }
}
