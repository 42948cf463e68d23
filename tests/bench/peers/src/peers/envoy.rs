//! Envoys: without a limiter, with two of its own, and with Tidegate.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tidegate_e2e::Envoy;
use tidegate_e2e::envoy::{Builder, Reload, limiters};

use super::Peer;
use crate::limit::{Limit, Unit};

const BUCKET: &str = include_str!("bucket.lua");
const WINDOW: &str = include_str!("window.lua");

/// The Envoy of a peer.
pub(super) fn builder(peer: Peer, limit: Limit) -> Builder {
    let builder = Envoy::builder().without_access_log().lds();
    match peer {
        Peer::Native => builder.filter_before(local_ratelimit(limit)),
        Peer::Lua => builder.filter_before(lua(BUCKET, limit)),
        Peer::LuaWindow => builder.filter_before(lua(WINDOW, limit)),
        Peer::Tidegate => builder.ecds().policy(&policy(limit, "1")),
        Peer::TidegateThree => builder.ecds().policy(&three(limit)),
        _ => builder,
    }
}

/// Changes something about the listener that has nothing to do with limits.
pub(super) async fn change_listener(envoy: &Envoy) -> Result<()> {
    let changed = envoy
        .update_listeners(|listeners| {
            let manager = &mut listeners[0]["filter_chains"][0]["filters"][0];
            manager["typed_config"]["stat_prefix"] = json!("changed");
        })
        .await?;
    ensure!(changed == Reload::Accepted, "the listener was refused");
    Ok(())
}

/// Ships the next version of Tidegate's policy.
pub(super) async fn ship(envoy: &Envoy, limit: Limit) -> Result<()> {
    let shipped = envoy.update_policy(&policy(limit, "2")).await?;
    ensure!(shipped == Reload::Accepted, "the policy was refused");
    Ok(())
}

fn local_ratelimit(limit: Limit) -> Value {
    let interval = format!("{}s", limit.interval.as_secs_f64());
    let bucket =
        json!({"max_tokens": limit.burst, "tokens_per_fill": 1, "fill_interval": interval});
    let mut filter = limiters::local_ratelimit_by_account(&bucket, limit.accounts);
    filter["typed_config"]["enable_retry_after_header"] = json!(true);
    filter
}

fn lua(source: &str, limit: Limit) -> Value {
    let source = source
        .replace("BURST", &limit.burst.to_string())
        .replace("INTERVAL", &limit.interval.as_millis().to_string());
    limiters::lua(&source)
}

fn policy(limit: Limit, version: &str) -> Value {
    json!({
        "policy": "peers", "version": version,
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": quota(limit, &["account"])},
        "always": ["account"],
    })
}

fn three(limit: Limit) -> Value {
    json!({
        "policy": "peers", "version": "1",
        "identity": {"tenant": [{"header": "x-tenant-id"}], "account": [{"header": "x-account"}]},
        "limits": {
            "tenant": quota(limit, &["tenant"]),
            "account": quota(limit, &["tenant", "account"]),
            "things": quota(limit, &["tenant", "account", "route"]),
        },
        "always": ["tenant", "account"],
        "routes": [{"name": "things", "match": {"path": "/v1/things"}, "limits": ["things"]}],
    })
}

fn quota(limit: Limit, per: &[&str]) -> Value {
    let (count, unit) = limit.rate();
    let unit = match unit {
        Unit::Second => "s",
        Unit::Minute => "min",
    };
    json!({"per": per, "rate": format!("{count}/{unit}"), "burst": limit.burst, "max_keys": limit.accounts})
}
