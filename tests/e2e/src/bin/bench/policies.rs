//! The policies that are measured. All buckets are large and refill slowly, so that none is ever full again and each
//! request finds the entry that the last one left, as it is under real load.

use serde_json::{Value, json};

/// Never refuses here; and refills so slowly that no bucket is ever idle.
const WIDE: (&str, u32) = ("100/min", 1_000_000);

/// Admits one request and no other.
const DRAINED: (&str, u32) = ("1/day", 1);

/// What is limited, in the order asked: the first `count` of tenant, account, and route.
pub(crate) fn wide(count: usize, headers: &str) -> Value {
    policy(headers, &[WIDE; 3][..count])
}

/// One drained limit for each account.
pub(crate) fn drained_account() -> Value {
    let mut policy = policy("always", &[DRAINED]);
    policy["limits"]["tenant"]["per"] = json!(["tenant", "account"]);
    policy
}

/// A drained ceiling for each tenant above two wide limits.
pub(crate) fn drained_tenant() -> Value {
    policy("always", &[DRAINED, WIDE, WIDE])
}

/// One wide limit for each account.
pub(crate) fn account(headers: &str) -> Value {
    let mut policy = policy(headers, &[WIDE]);
    policy["limits"]["tenant"]["per"] = json!(["tenant", "account"]);
    policy
}

/// Copies for each account, under one wide limit for each account or under none.
pub(crate) fn scoped(limits: usize) -> Value {
    let mut policy = match limits {
        0 => wide(0, "always"),
        _ => account("always"),
    };
    policy["routes"][0]["cache"] = json!({"scope": ["tenant", "account"], "by": "path"});
    policy
}

/// Records of keys under no limit, each kept for so long.
pub(crate) fn keyed(execution: &str, ttl: &str) -> Value {
    let mut policy = unkeyed();
    // More room than a minute of records needs; what is over is given back in that time.
    policy["capacity"] = json!({"records": 262_144, "bytes": "1024MiB"});
    policy["routes"][0]["idempotency"] =
        json!({"key": "required", "execution": execution, "ttl": ttl, "lease": "1s"});
    if execution == "detached" {
        policy["routes"][0]["idempotency"]["timeout"] = json!("1s");
    }
    policy
}

/// The same route without records.
pub(crate) fn unkeyed() -> Value {
    let mut policy = wide(0, "always");
    policy["routes"][0]["match"]["methods"] = json!(["POST"]);
    policy
}

fn policy(headers: &str, quotas: &[(&str, u32)]) -> Value {
    let kinds = [
        ("tenant", json!(["tenant"])),
        ("account", json!(["tenant", "account"])),
        ("things", json!(["tenant", "account", "route"])),
    ];
    let mut limits = json!({});
    for ((name, per), (rate, burst)) in kinds.iter().zip(quotas) {
        limits[*name] = json!({"per": per, "rate": rate, "burst": burst});
    }
    let names = ["tenant", "account", "things"];
    let count = quotas.len();
    json!({
        "policy": "bench", "version": "1", "headers": headers,
        "identity": {
            "tenant": [{"header": "x-tenant-id"}],
            "account": [{"header": "x-account"}],
        },
        "limits": limits,
        "always": names[..count.min(2)],
        "routes": [{
            "name": "things", "match": {"methods": ["GET"], "path": "/v1/things"},
            "limits": names[count.min(2)..count],
        }],
    })
}
