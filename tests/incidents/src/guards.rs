//! The guards that failed then, as filters of Envoy.

use serde_json::{Value, json};

use crate::run::AT;

/// A filter that runs this Lua.
pub(crate) fn lua(source: &str) -> Value {
    json!({
        "name": "envoy.filters.http.lua",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": {"inline_string": source},
        },
    })
}

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
    let always = json!({"default_value": {"numerator": 100, "denominator": "HUNDRED"}});
    let bucket = |tokens: u64| {
        json!({
            "max_tokens": tokens, "tokens_per_fill": tokens, "fill_interval": "86400s",
        })
    };
    json!({
        "name": "envoy.filters.http.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "by_address",
            "filter_enabled": always,
            "filter_enforced": always,
            "always_consume_default_token_bucket": false,
            "token_bucket": bucket(1_000_000_000),
            "max_dynamic_descriptors": 10_000,
            "rate_limits": [{"actions": [{"remote_address": {}}]}],
            // Without a value there is one bucket for each value that comes.
            "descriptors": [{"entries": [{"key": "remote_address"}], "token_bucket": bucket(tokens)}],
        },
    })
}
