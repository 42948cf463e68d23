//! The policy of the run, with everything in it, and what it lets through.

use serde_json::{Value, json};

use crate::Break;
use crate::history::{Kind, Record, Told};
use crate::people::{Person, TENANTS, Who};

/// The policy's name, and that of the one that is tried beside it.
pub(crate) const NAME: &str = "hostile";

/// For how long a run that nothing is heard of counts as running, in milliseconds.
pub(crate) const LEASE_MS: u64 = 4_000;

/// How long Envoy, and a detached call, wait for the origin.
pub(crate) const TIMEOUT_MS: u64 = 2_000;

/// How many buckets a limit's table has.
const MAX_KEYS: u64 = 1_024;

/// How many records there may be, and how many bytes of answers.
const RECORDS: u64 = 16_384;
const BYTES: u64 = 8 << 20;

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quota {
    pub(crate) per_second: u32,
    pub(crate) burst: u32,
}

const fn quota(per_second: u32, burst: u32) -> Quota {
    Quota { per_second, burst }
}

/// What an account may do, on the plan `paid`, and without one.
const PAID: Quota = quota(10, 16);
const FREE: Quota = quota(4, 8);

/// What each tenant may do; the last one has an override.
const TENANT: Quota = quota(24, 30);
const LAST_TENANT: Quota = quota(8, 16);

/// What an account may do on one route that does something.
const CHARGES: Quota = quota(1, 3);

/// What is written into the policy, beside what is checked.
fn written(quota: Quota, broken: Option<Break>) -> Value {
    let more = if broken == Some(Break::Limits) { 20 } else { 1 };
    json!({"rate": format!("{}/s", quota.per_second * more), "burst": quota.burst * more})
}

/// What an account, or a stranger's address, may do.
pub(crate) fn of_account(person: Option<&Person>) -> Quota {
    match person {
        Some(person) if person.paid => PAID,
        _ => FREE,
    }
}

/// What a tenant may do; where there is none, a stranger's address.
pub(crate) fn of_tenant(tenant: Option<usize>) -> Quota {
    if tenant == Some(TENANTS - 1) {
        LAST_TENANT
    } else {
        TENANT
    }
}

/// What an account may do on one of the routes that do something.
pub(crate) const fn of_charges() -> Quota {
    CHARGES
}

/// The status by which a request that has nothing hostile about it is refused for this reason, if the policy may refuse it so.
pub(crate) fn refuses(told: &Told, reason: &str) -> Option<u16> {
    let once = matches!(told.record, Some(Record::Once(_)));
    let recorded = told.record.is_some();
    let keyed = matches!(told.kind, Kind::Charges | Kind::Orders | Kind::Uploads);
    let stranger = matches!(told.who, Who::Stranger(_));
    let (status, may) = match reason {
        "quota-exceeded" => (429, true),
        "request-in-progress" | "response-not-stored" => (409, recorded),
        // What came of an event that is not known, the next delivery finds out.
        "outcome-unknown" => (409, once),
        // Of uploads it is the key alone that counts.
        "idempotency-key-reused" => (422, once && told.kind != Kind::Uploads),
        "idempotency-key-missing" => (400, keyed && !recorded),
        "body-too-large" => (413, told.large),
        // A key is somebody's.
        "identity-required" => (401, stranger && (keyed || told.kind == Kind::Private)),
        _ => return None,
    };
    may.then_some(status)
}

/// The policy in force, mis-set where that is asked for.
pub(crate) fn policy(broken: Option<Break>) -> Value {
    let limit = |per: &[&str], quota: Quota| {
        let mut limit = written(quota, broken);
        limit["per"] = json!(per);
        limit["max_keys"] = json!(MAX_KEYS);
        limit
    };
    let mut tenant = limit(&["tenant"], TENANT);
    tenant["overrides"] = json!({"tenant": {
        format!("tenant-{}", TENANTS - 1): written(LAST_TENANT, broken),
    }});
    let mut account = limit(&["tenant", "account"], FREE);
    account["plans"] = json!({"paid": written(PAID, broken)});
    let mut watched = limit(&["address"], quota(1, 1));
    watched["shadow"] = json!(true);
    let lease = format!("{LEASE_MS}ms");
    let timeout = format!("{TIMEOUT_MS}ms");
    let once = |mut more: Value| {
        more["key"] = json!("required");
        more["lease"] = json!(lease);
        more["max_body"] = json!("32KiB");
        more["max_key_length"] = json!(64);
        more
    };
    let mut routes = json!([
        {"name": "charges", "match": {"methods": ["POST"], "path": "/charges"}, "limits": ["charges"],
         "idempotency": once(json!({}))},
        {"name": "orders", "match": {"methods": ["POST"], "path": "/orders"}, "limits": ["charges"],
         "idempotency": once(json!({"execution": "detached", "timeout": timeout, "fingerprint": {"json": ["/amount"]}}))},
        {"name": "uploads", "match": {"methods": ["POST", "PUT"], "path": "/uploads"}, "limits": ["charges"],
         "idempotency": once(json!({"fingerprint": "key-only"}))},
        {"name": "events", "match": {"methods": ["POST"], "path": "/hooks/*"}, "limits": ["charges"],
         "dedupe": {"by": [{"header": "webhook-id"}, {"json": "/data/id"}, {"body": "digest"}], "lease": lease, "max_body": "32KiB"}},
        {"name": "mine", "match": {"methods": ["GET", "HEAD"], "path": "/mine/*"}, "cache": {"scope": ["tenant", "account"]}},
        {"name": "shared", "match": {"methods": ["GET", "HEAD"], "path": "/shared/*"}, "cache": {"scope": ["tenant"]}},
        {"name": "public", "match": {"methods": ["GET", "HEAD"], "path": "/public/*"}, "cache": {"scope": "public"}},
        {"name": "bulk", "match": {"path": "/bulk"}, "cost": {"header": "x-cost", "default": 2}},
        {"name": "private", "match": {"path": "/private"}, "anonymous": "deny"},
        {"name": "tried", "match": {"path": "/tried"}, "mode": "shadow"},
        {"name": "any"},
    ]);
    match broken {
        Some(Break::Once) => {
            for route in routes.as_array_mut().into_iter().flatten() {
                if let Some(route) = route.as_object_mut() {
                    route.remove("idempotency");
                    route.remove("dedupe");
                }
            }
        }
        Some(Break::Scope) => {
            routes[4]["cache"] = json!({"scope": "public"});
        }
        Some(Break::Refuse) => {
            for route in routes.as_array_mut().into_iter().flatten() {
                route["anonymous"] = json!("deny");
            }
        }
        _ => {}
    }
    json!({
        "policy": NAME, "version": "1",
        "identity": {
            "tenant": [{"jwt": "tenant"}, {"header": "x-tenant"}],
            "account": [{"jwt": "sub"}, {"header": "x-api-key", "secret": true}, {"cookie": "sid", "secret": true}, {"query": "key"}],
            "plan": [{"jwt": "plan"}, {"header": "x-plan"}],
        },
        "limits": {
            "tenant-ceiling": tenant, "account": account, "watched": watched,
            "charges": limit(&["tenant", "account", "route"], CHARGES),
        },
        "always": ["tenant-ceiling", "account", "watched"],
        "routes": routes,
        "legacy_headers": true,
        "capacity": {"records": RECORDS, "bytes": format!("{}KiB", BYTES >> 10)},
        "notify": {
            "cluster": "alerts", "path": "/hooks/tidegate", "key_env": "NOTIFY_KEY",
            "after": "1s", "quiet": "2s", "interval": "5s", "backoff": "100ms", "timeout": "1s",
        },
    })
}

/// A policy that is tried beside it, and changes nothing.
pub(crate) fn candidate() -> Value {
    json!({
        "policy": "candidate", "version": "2", "mode": "shadow",
        "identity": {"account": [{"header": "x-api-key", "secret": true}]},
        "limits": {"account": {"per": ["account"], "rate": "5/s", "burst": 5, "max_keys": MAX_KEYS}},
        "always": ["account"],
    })
}

/// The most that both may take of Envoy's heap, in bytes: the table of docs/operations.md, "Sizing".
pub(crate) fn bound() -> u64 {
    let name = NAME.len() as u64;
    // Each limit's name is at most 14 bytes long; five limits, of both policies.
    let tables = 5 * (MAX_KEYS / 16) * (491 + 148 + name + 14);
    let records = RECORDS * 128 + (RECORDS / 32) * (159 + name);
    let answers = BYTES + BYTES / 4 + RECORDS * (159 + name);
    let generations = 16_384 * (163 + name);
    let refused = 2 * 64 * (5_376 + name);
    tables + records + answers + generations + refused
}
