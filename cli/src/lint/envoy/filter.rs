//! HTTP filters, and which of them matter here.

use super::mount::Mount;
use super::node::Node;

/// A filter of a chain.
#[derive(Debug)]
pub(super) struct Filter<'e> {
    /// Where it stands in its chain.
    pub(super) at: Node<'e>,
    pub(super) kind: FilterKind,
    /// Its own configuration; `None` where it comes from elsewhere.
    pub(super) config: Option<Node<'e>>,
    /// What of Tidegate it is.
    pub(super) mount: Option<Mount<'e>>,
}

/// What a filter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterKind {
    Wasm,
    JwtAuthn,
    /// `cache_v2`.
    Cache,
    /// `cache`, which is older.
    OldCache,
    Router,
    Other,
}

impl FilterKind {
    /// Whether it keeps copies of answers.
    pub(super) const fn is_cache(self) -> bool {
        matches!(self, Self::Cache | Self::OldCache)
    }

    /// The filter whose configuration has this type.
    fn of(type_url: &str) -> Self {
        let name = type_url.rsplit('/').next().unwrap_or_default();
        match name.strip_prefix("envoy.extensions.filters.http.") {
            Some("wasm.v3.Wasm") => Self::Wasm,
            Some("jwt_authn.v3.JwtAuthentication") => Self::JwtAuthn,
            Some("cache_v2.v3.CacheV2Config") => Self::Cache,
            Some("cache.v3.CacheConfig") => Self::OldCache,
            Some("router.v3.Router") => Self::Router,
            _ => Self::Other,
        }
    }
}

impl<'e> Filter<'e> {
    /// The filter that stands at a place of a chain; `discovered` are the configurations that are sent apart.
    pub(super) fn new(at: Node<'e>, discovered: &[Node<'e>]) -> Self {
        let name = at.text_of("name").unwrap_or_default();
        let found = discovered
            .iter()
            .find(|resource| resource.text_of("name") == Some(name));
        let (config, kind) = match (at.get("typed_config"), at.get("config_discovery")) {
            (Some(config), _) => (Some(config), None),
            (None, Some(discovery)) => {
                let sent = found.and_then(|resource| resource.get("typed_config"));
                let types = discovery.get("type_urls").map(|types| types.items());
                let kind = types.and_then(|types| match types.as_slice() {
                    [only] => Some(FilterKind::of(only.text()?)),
                    _ => None,
                });
                (sent.or_else(|| discovery.get("default_config")), kind)
            }
            (None, None) => (None, None),
        };
        let kind = match &config {
            Some(config) => FilterKind::of(config.type_url()),
            None => kind.unwrap_or(FilterKind::Other),
        };
        let mount = match (&config, kind) {
            (Some(config), FilterKind::Wasm) => Mount::of(name, config),
            _ => None,
        };
        Self {
            at,
            kind,
            config,
            mount,
        }
    }

    /// Whether its configuration is sent apart, and not here.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.config.is_none() && self.at.get("config_discovery").is_some()
    }
}
