//! What is compared of hits: one cache in front of warm copies, with this before it and that.
//!
//! Each account asks for a URL of its own, so that a cache without scopes has as many copies as one with them, and every
//! row gets the same requests.

use anyhow::Result;
use serde_json::Value;
use tidegate_e2e::Envoy;
use tidegate_e2e::envoy::{Builder, Cache};

use crate::load::Callers;
use crate::policies;
use crate::rows::{Build, Kind, Row};

const CALLERS: Callers = Callers {
    tenants: 10,
    accounts: 1_000,
    pages: true,
};

/// All rows; the first is the one without the module.
pub(crate) fn all() -> Vec<Row> {
    let rows: [(&str, Kind, Build); 4] = [
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
    let row = |(name, kind, build): (&str, Kind, Build)| Row {
        name: name.to_owned(),
        kind,
        build: Box::new(build),
        callers: CALLERS,
        status: 200,
    };
    rows.map(row).into()
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
