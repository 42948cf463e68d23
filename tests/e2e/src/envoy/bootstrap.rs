//! The whole configuration, but for the listeners.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use super::mount::text;

/// The access log in the folder of an Envoy.
pub(super) const ACCESS_LOG: &str = "access.log";

/// The configuration that Envoy starts with; the listeners in it, or in the file `lds`.
pub(super) fn bootstrap(listeners: &[Value], lds: Option<&Path>, clusters: &[Value]) -> Value {
    let mut bootstrap = json!({
        "node": {"id": "tidegate-e2e", "cluster": "tidegate-e2e"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "stats_config": {"stats_tags": stats_tags()},
        "static_resources": {
            "clusters": clusters,
        },
    });
    match lds {
        None => bootstrap["static_resources"]["listeners"] = json!(listeners),
        Some(file) => {
            bootstrap["dynamic_resources"]["lds_config"] = json!({
                "path_config_source": {"path": text(file)},
                "resource_api_version": "V3",
            });
        }
    }
    bootstrap
}

/// A cluster of the module's own calls.
pub(super) fn receiver(name: &str, at: SocketAddr) -> Value {
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {
                "address": at.ip().to_string(), "port_value": at.port(),
            }}}}]}],
        },
    })
}

/// Turns names into labels: `wasmcustom.tidegate_NAME.policy.X.rule.Y.outcome.Z` becomes
/// `tidegate_NAME{policy,rule,outcome}`, and so on. The same rules stand in the configurations under envoy/.
pub(super) fn stats_tags() -> Value {
    let names = [
        "policy",
        "rule",
        "outcome",
        "version",
        "direction",
        "digest",
        "enforced",
    ];
    let any = names.join("|");
    let tag = |name: &str| {
        json!({
            "tag_name": name,
            "regex": format!(r"^wasmcustom\.tidegate_.*?(\.{name}\.(.+?))(?:\.(?:{any})\.|$)"),
        })
    };
    json!(names.map(tag))
}

/// What the file `lds` holds.
pub(super) fn listener_discovery(listeners: &[Value], version: u64) -> Value {
    let resources: Vec<Value> = listeners
        .iter()
        .cloned()
        .map(|mut listener| {
            listener["@type"] = json!("type.googleapis.com/envoy.config.listener.v3.Listener");
            listener
        })
        .collect();
    json!({"version_info": version.to_string(), "resources": resources})
}

/// One JSON object per request.
pub(super) fn access_log(file: &str) -> Value {
    json!({
        "name": "envoy.access_loggers.file",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": file,
            "log_format": {"json_format": {
                "method": "%REQ(:METHOD)%",
                "path": "%REQ(:PATH)%",
                "protocol": "%PROTOCOL%",
                "status": "%RESPONSE_CODE%",
                "details": "%RESPONSE_CODE_DETAILS%",
                "flags": "%RESPONSE_FLAGS%",
                "connection": "%CONNECTION_ID%",
                // Where requests are written down when they begin, too (`Builder::log_beginnings`), what tells the lines apart.
                "line": "%ACCESS_LOG_TYPE%",
                // When it came, in seconds since 1970, and when it was to come back.
                "at": "%START_TIME(%s.%6f)%",
                "retry_after": "%RESP(RETRY-AFTER)%",
                "agent": "%REQ(USER-AGENT)%",
                "request_id": "%REQ(X-REQUEST-ID)%",
                "number": "%REQ(X-NUMBER)%",
                "client": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
                "client_uri": "%DOWNSTREAM_PEER_URI_SAN%",
                "subject": "%DYNAMIC_METADATA(envoy.filters.http.jwt_authn:jwt_payload:sub)%",
                "decision": "%FILTER_STATE(wasm.tidegate.decision:PLAIN)%",
            }},
        },
    })
}

/// The origin, spoken to in the protocol that the client chose unless `h1` says otherwise, through these upstream filters.
pub(super) fn cluster(origin: SocketAddr, h1: bool, filters: &[Value]) -> Value {
    let endpoint = json!({"endpoint": {"address": {"socket_address": {
        "address": origin.ip().to_string(), "port_value": origin.port(),
    }}}});
    let mut options = json!({
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    });
    if h1 {
        options["explicit_http_config"] = json!({"http_protocol_options": {}});
    } else {
        options["use_downstream_protocol_config"] =
            json!({"http_protocol_options": {}, "http2_protocol_options": {}});
    }
    if !filters.is_empty() {
        options["http_filters"] = json!(filters);
    }
    json!({
        "name": "origin",
        "type": "STATIC",
        "connect_timeout": "2s",
        "load_assignment": {
            "cluster_name": "origin",
            "endpoints": [{"lb_endpoints": [endpoint]}],
        },
        // Envoy's own limit of 1,024 requests at once would show in tests of bursts.
        "circuit_breakers": {"thresholds": [{
            "max_connections": 100_000, "max_pending_requests": 100_000, "max_requests": 100_000,
        }]},
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::stats_tags;
    use crate::envoy::examples;

    #[test]
    fn the_configurations_to_copy_have_the_same_tags() {
        let tags = stats_tags();
        let tags = tags.as_array().unwrap();
        assert_eq!(tags.len(), 7);
        let mut files = 0;
        for file in examples("yaml").unwrap() {
            let text = std::fs::read_to_string(&file).unwrap();
            // Without an interface to read metrics by, a file has no metrics to name.
            if !text.contains("\nadmin:") && !text.starts_with("admin:") {
                continue;
            }
            files += 1;
            let shown = file.display();
            assert_eq!(text.matches("- tag_name: ").count(), tags.len(), "{shown}");
            for tag in tags {
                let regex = tag["regex"].as_str().unwrap();
                assert!(
                    text.contains(&format!("regex: '{regex}'")),
                    "{shown}: {regex}"
                );
            }
        }
        assert!(files > 1, "{files} files");
    }
}
