//! The guards that failed then, as filters of Envoy.

use serde_json::{Value, json};
use tidegate_e2e::envoy::limiters::local_ratelimit;
pub(crate) use tidegate_e2e::envoy::limiters::lua;

use crate::run::AT;

/// So many requests for each key in each window of the clock. `key` is Lua. Each worker of Envoy would count for itself, so
/// give it one.
pub(crate) fn fixed_window(key: &str, limit: u64, window_ms: u64) -> Value {
    let source = include_str!("guards/fixed_window.lua")
        .replace("$KEY", key)
        .replace("$NOW", "handle:timestamp()")
        .replace("$WINDOW", &window_ms.to_string())
        .replace("$LIMIT", &limit.to_string());
    lua(&source)
}

/// De-duplication by `webhook-id`, and one limit for all of so many an hour.
pub(crate) fn by_event_id(limit: u64) -> Value {
    let source = include_str!("guards/by_event_id.lua")
        .replace("$AT", AT)
        .replace("$LIMIT", &limit.to_string());
    lua(&source)
}

/// Envoy's own `local_ratelimit`, a bucket of `tokens` for each address, which is not filled again within any run.
pub(crate) fn by_address(tokens: u64) -> Value {
    let bucket =
        json!({"max_tokens": tokens, "tokens_per_fill": tokens, "fill_interval": "86400s"});
    local_ratelimit(
        &json!({"remote_address": {}}),
        "remote_address",
        &bucket,
        10_000,
    )
}
