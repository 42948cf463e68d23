//! Listeners and the filters in them.

use serde_json::{Value, json};

use super::bootstrap::access_log;
use super::builder::{Builder, ClientCertificates, Tls};
use super::cache::Cache;
use super::routes::routes;
use crate::jwt::Issuer;

/// The listener without TLS.
pub(super) const PLAIN: &str = "plain";

/// The listener with TLS.
pub(super) const TLS: &str = "tls";

/// The listener of the role `admin`.
pub(super) const ADMIN: &str = "live";

/// All listeners of `builder`; `gate` is its Wasm filter, `log` the file for the access log.
pub(super) fn listeners(builder: &Builder, gate: Option<&Value>, log: &str) -> Vec<Value> {
    let one = |name: &str| {
        json!({
            "name": name,
            "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
            "filter_chains": [{"filters": [connection_manager(builder, name, gate, log)]}],
        })
    };
    let mut listeners = vec![one(PLAIN)];
    if let Some(tls) = &builder.tls {
        let mut listener = one(TLS);
        listener["filter_chains"][0]["transport_socket"] = transport_socket(tls);
        listeners.push(listener);
    }
    listeners
}

/// The listener of the role `admin`; `mount` is its Wasm filter.
pub(super) fn admin(address: &str, mount: &Value) -> Value {
    let mut manager = json!({
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": ADMIN,
            "http_filters": [mount, {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
            }],
        },
    });
    // Nothing comes that far.
    manager["typed_config"]["route_config"] = json!({"name": ADMIN, "virtual_hosts": [{
        "name": ADMIN, "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "direct_response": {"status": 404}}],
    }]});
    json!({
        "name": ADMIN,
        "address": {"socket_address": {"address": address, "port_value": 0}},
        "filter_chains": [{"filters": [manager]}],
    })
}

fn connection_manager(builder: &Builder, name: &str, gate: Option<&Value>, log: &str) -> Value {
    let mut filters = Vec::new();
    if !builder.issuers.is_empty() {
        filters.push(jwt_authn(&builder.issuers));
    }
    filters.extend(builder.before.iter().cloned());
    filters.extend(gate.cloned());
    filters.extend(builder.after.iter().cloned());
    filters.extend(builder.cache.map(Cache::filter));
    filters.push(json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    }));
    let mut manager = json!({
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": name,
            "use_remote_address": true,
            "xff_num_trusted_hops": builder.trusted_hops,
            "normalize_path": !builder.as_sent,
            "merge_slashes": !builder.as_sent,
            "path_with_escaped_slashes_action": if builder.as_sent { "KEEP_UNCHANGED" } else { "REJECT_REQUEST" },
            "max_request_headers_kb": builder.max_headers_kb,
            "common_http_protocol_options": {
                "headers_with_underscores_action": builder.underscores,
                "max_headers_count": builder.max_headers,
            },
            "access_log_options": {"flush_access_log_on_new_request": builder.log_beginnings},
            "access_log": builder.access_log.then(|| access_log(log)).into_iter().collect::<Vec<_>>(),
            "http_filters": filters,
            "route_config": {"name": "routes", "virtual_hosts": [{
                "name": "all", "domains": ["*"], "routes": routes(builder),
            }]},
        },
    });
    if let Some(config) = &builder.local_reply {
        manager["typed_config"]["local_reply_config"] = config.clone();
    }
    manager
}

/// Verifies tokens of these issuers and puts their payload where the module reads it. A request without a token passes;
/// one with a token that does not verify gets a 401.
fn jwt_authn(issuers: &[Issuer]) -> Value {
    let providers: serde_json::Map<String, Value> = issuers
        .iter()
        .map(|issuer| {
            let provider = json!({
                "issuer": issuer.name(),
                "local_jwks": {"inline_string": issuer.jwks().to_string()},
                "payload_in_metadata": "jwt_payload",
            });
            (issuer.name().to_owned(), provider)
        })
        .collect();
    let mut either: Vec<Value> = providers
        .keys()
        .map(|name| json!({"provider_name": name}))
        .collect();
    either.push(json!({"allow_missing": {}}));
    json!({
        "name": "envoy.filters.http.jwt_authn",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
            "providers": providers,
            "rules": [{
                "match": {"prefix": "/"},
                "requires": {"requires_any": {"requirements": either}},
            }],
        },
    })
}

fn transport_socket(tls: &Tls) -> Value {
    let mut context = json!({
        "tls_certificates": [{
            "certificate_chain": {"inline_string": tls.certificate},
            "private_key": {"inline_string": tls.key},
        }],
        "alpn_protocols": ["h2", "http/1.1"],
    });
    if tls.clients != ClientCertificates::Ignored {
        context["validation_context"] = json!({"trusted_ca": {"inline_string": tls.authority}});
    }
    json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": context,
            "require_client_certificate": tls.clients == ClientCertificates::Required,
        },
    })
}
