//! Envoy's own caches.

use serde_json::{Value, json};

use super::Builder;

/// Which of Envoy's cache filters; both keep their entries in memory (`simple_http_cache`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// `envoy.filters.http.cache_v2`.
    V2,
    /// `envoy.filters.http.cache`, the older one.
    V1,
}

impl Cache {
    /// The filter in the chain.
    pub(super) fn filter(self) -> Value {
        let extensions = "type.googleapis.com/envoy.extensions";
        let (name, config, storage) = match self {
            Self::V2 => (
                "envoy.filters.http.cache_v2",
                "filters.http.cache_v2.v3.CacheV2Config",
                "http.cache_v2.simple_http_cache.v3.SimpleHttpCacheV2Config",
            ),
            Self::V1 => (
                "envoy.filters.http.cache",
                "filters.http.cache.v3.CacheConfig",
                "http.cache.simple_http_cache.v3.SimpleHttpCacheConfig",
            ),
        };
        json!({
            "name": name,
            "typed_config": {
                "@type": format!("{extensions}.{config}"),
                "typed_config": {"@type": format!("{extensions}.{storage}")},
            },
        })
    }
}

impl Builder {
    /// Puts one of Envoy's own caches directly before the router: after the gate and every [`Builder::filter_after`].
    #[must_use]
    pub const fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }
}
