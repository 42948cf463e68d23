//! What both write: a listener, its filters, a cluster. And a real Envoy to judge it.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_e2e::envoy::{default_module, validate};
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::{Envoy, Origin};

const MANAGER: &str = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

pub(crate) const WASM: &str = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";

/// Who signs the tokens that are taken.
pub(crate) fn issuer() -> &'static Issuer {
    static ISSUER: OnceLock<Issuer> = OnceLock::new();
    ISSUER.get_or_init(|| Issuer::new("https://idp.example.com").unwrap())
}

/// The filter that verifies tokens, with the claims under `payload`.
pub(crate) fn jwt_authn(payload: &str) -> Value {
    let keys = issuer().jwks().to_string();
    json!({"name": "envoy.filters.http.jwt_authn", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
        "providers": {"idp": {
            "issuer": issuer().name(),
            "payload_in_metadata": payload,
            "local_jwks": {"inline_string": keys},
        }},
        "rules": [{"match": {"prefix": "/"}, "requires": {"requires_any": {"requirements": [
            {"provider_name": "idp"}, {"allow_missing": {}},
        ]}}},],
    }})
}

pub(crate) fn router() -> Value {
    json!({"name": "envoy.filters.http.router", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
    }})
}

/// The manager of HTTP connections with these filters; its one route goes to `cluster`.
pub(crate) fn manager(filters: Vec<Value>, cluster: &str) -> Value {
    json!({"name": "envoy.filters.network.http_connection_manager", "typed_config": {
        "@type": MANAGER,
        "stat_prefix": "ingress",
        "use_remote_address": true,
        "normalize_path": true,
        "http_filters": filters,
        "route_config": {"name": "routes", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"name": "all", "match": {"prefix": "/"}, "route": {"cluster": cluster}},
        ]}]},
    }})
}

pub(crate) fn address(port: u16) -> Value {
    json!({"socket_address": {"address": "127.0.0.1", "port_value": port}})
}

pub(crate) fn cluster(name: &str) -> Value {
    let endpoint = json!({"endpoint": {"address": address(8080)}});
    json!({
        "name": name, "type": "STATIC", "connect_timeout": "2s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http_protocol_options": {}},
        }},
    })
}

pub(crate) fn bootstrap(listener: &Value, cluster: &Value) -> Value {
    json!({
        "node": {"id": "edge", "cluster": "edge"},
        "admin": {"address": address(0)},
        "static_resources": {"listeners": [listener], "clusters": [cluster]},
    })
}

/// A whole configuration in a folder, every module of it the one under test.
pub(crate) struct Written {
    folder: TempDir,
    config: Value,
}

impl Written {
    pub(crate) fn new(mut config: Value) -> Self {
        fetched(&mut config);
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::to_string_pretty(&config).unwrap();
        fs::write(folder.path().join("envoy.json"), text).unwrap();
        Self { folder, config }
    }

    /// Has Envoy load it: module and policy too.
    pub(crate) fn validate(&self) -> anyhow::Result<()> {
        validate(&self.folder.path().join("envoy.json"), self.folder.path())
    }

    /// Starts an Envoy with it, before this origin.
    pub(crate) async fn start(self, origin: &Origin) -> Envoy {
        let Self { folder, mut config } = self;
        // The harness knows its listener by this name.
        config["static_resources"]["listeners"][0]["name"] = "ingress".into();
        let port = "/static_resources/clusters/0/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/port_value";
        *config.pointer_mut(port).unwrap() = origin.address().port().into();
        fs::write(folder.path().join("envoy.yaml"), config.to_string()).unwrap();
        Envoy::start_shipped(folder, ".").await.unwrap()
    }

    /// Every policy in it, as a document.
    pub(crate) fn policies(&self) -> Vec<Value> {
        let mut found = Vec::new();
        policies(&self.config, &mut found);
        found
    }

    /// Has `tidegate lint --envoy` look at it beside the gate's policy: what it says.
    pub(crate) fn lint(&self) -> String {
        let policy = self.folder.path().join("policy.json");
        fs::write(&policy, self.policies()[0].to_string()).unwrap();
        let done = Command::new(tidegate_e2e::tool::path().unwrap())
            .current_dir(self.folder.path())
            .args(["lint", "policy.json", "--envoy", "envoy.json"])
            .output()
            .unwrap();
        let said = [done.stdout, done.stderr].concat();
        String::from_utf8(said).unwrap()
    }
}

/// Puts the module under test in the place of each that Istio's agent or Envoy Gateway would fetch, or that would be a file.
fn fetched(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if key == "code" {
                    *value = json!({"local": {"filename": default_module()}});
                } else {
                    fetched(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(fetched),
        _ => {}
    }
}

fn policies(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(object) => {
            if let Some(text) = object
                .get("configuration")
                .and_then(|c| c["value"].as_str())
            {
                found.push(serde_json::from_str(text).unwrap());
            }
            object.values().for_each(|value| policies(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| policies(value, found)),
        _ => {}
    }
}
