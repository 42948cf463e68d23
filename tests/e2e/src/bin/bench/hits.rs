//! What is compared of hits: one cache in front of warm copies, with this before it and that.
//!
//! Each account asks for a URL of its own, so that a cache without scopes has as many copies as one with them, and every
//! row gets the same requests.

use anyhow::Result;
use serde_json::{Value, json};
use tidegate_e2e::Envoy;
use tidegate_e2e::envoy::{Builder, Cache};

use crate::policies;
use crate::requests::{Asks, Callers};
use crate::rows::{self, Build, Kind, Row};

const CALLERS: Callers = Callers {
    tenants: 10,
    accounts: 1_000,
    asks: Asks::OwnPage,
};

/// All rows; the first is the one without the module.
pub(crate) fn all(detail: bool) -> Vec<Row> {
    let mut rows: Vec<(&str, Kind, Build)> = vec![
        ("bare `cache_v2`, hit", Kind::BareHit, || {
            Ok(Envoy::builder().cache(Cache::V2))
        }),
        (
            "hit, Tidegate without scope or limit",
            Kind::UnscopedHit,
            || gate(&policies::wide(0, "always")),
        ),
        ("hit, Tidegate with scope and seal", Kind::ScopedHit, || {
            scoped(&policies::scoped(0))
        }),
        (
            "hit, Tidegate with scope, seal, one limit and headers",
            Kind::Hit,
            || scoped(&policies::scoped(1)),
        ),
    ];
    if detail {
        let more: [(&str, Build); 3] = [
            ("detail: hit, wasm that does nothing", || {
                Ok(rows::module("tidegate_bench_noop")?.cache(Cache::V2))
            }),
            ("detail: hit, scope without seal", || {
                let mut policy = policies::scoped(0);
                policy["routes"][0]["cache"]["seal"] = json!("off");
                scoped(&policy)
            }),
            ("detail: hit, scope and seal without a key", || {
                Ok(gate(&policies::scoped(0))?.origin_role())
            }),
        ];
        rows.extend(more.map(|(name, build)| (name, Kind::Hit, build)));
    }
    let row = |(name, kind, build): (&str, Kind, Build)| Row {
        name: name.to_owned(),
        kind,
        build: Box::new(build),
        callers: CALLERS,
        status: 200,
    };
    rows.into_iter().map(row).collect()
}

/// A gate before the cache.
fn gate(policy: &Value) -> Result<Builder> {
    Ok(Envoy::builder().cache(Cache::V2).policy(policy))
}

/// The same, and behind the cache the role that seals what it keeps.
fn scoped(policy: &Value) -> Result<Builder> {
    let key = "known to this benchmark alone";
    Ok(gate(policy)?
        .origin_role()
        .environment("TIDEGATE_SCOPE_KEY", key))
}
