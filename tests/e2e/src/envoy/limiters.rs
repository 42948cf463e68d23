//! Filters of Envoy's own that people limit with, for what Tidegate is compared with.

use serde_json::{Value, json};

/// A filter that runs this Lua.
#[must_use]
pub fn lua(source: &str) -> Value {
    json!({
        "name": "envoy.filters.http.lua",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": {"inline_string": source},
        },
    })
}

/// `local_ratelimit` with a `bucket` for each value of what `action` describes under `key`, for `most` of them at a time.
#[must_use]
pub fn local_ratelimit(action: &Value, key: &str, bucket: &Value, most: u32) -> Value {
    let always = json!({"default_value": {"numerator": 100, "denominator": "HUNDRED"}});
    json!({
        "name": "envoy.filters.http.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "limiter",
            "filter_enabled": always,
            "filter_enforced": always,
            "always_consume_default_token_bucket": false,
            // The interval of a descriptor has to be a multiple of this one.
            "token_bucket": {"max_tokens": 1_000_000_000, "tokens_per_fill": 1_000_000_000, "fill_interval": bucket["fill_interval"]},
            "max_dynamic_descriptors": most,
            "rate_limits": [{"actions": [action]}],
            // Without a value there is one bucket for each value that comes.
            "descriptors": [{"entries": [{"key": key}], "token_bucket": bucket}],
        },
    })
}

/// The same, with a `bucket` for each account.
#[must_use]
pub fn local_ratelimit_by_account(bucket: &Value, most: u32) -> Value {
    let action =
        json!({"request_headers": {"header_name": "x-account", "descriptor_key": "account"}});
    local_ratelimit(&action, "account", bucket, most)
}
