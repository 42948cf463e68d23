//! The Wasm filter as Envoy is told about it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The name of the filter in the chain and of its configuration in ECDS.
pub(super) const NAME: &str = "tidegate";

/// How the policy is written into the configuration.
#[derive(Clone, Debug)]
pub(super) enum Policy {
    /// A `StringValue` that holds the document, well-formed or not.
    Text(String),
    /// A `Struct`.
    Struct(Value),
}

/// All that tells one mount from another.
#[derive(Clone, Debug)]
pub(super) struct Mount {
    pub(super) module: PathBuf,
    pub(super) policy: Policy,
    pub(super) root_id: String,
    pub(super) vm_id: String,
    pub(super) environment: BTreeMap<String, String>,
}

/// The module under test: `TIDEGATE_WASM`, else `dist/tidegate.wasm`.
#[must_use]
pub fn default_module() -> PathBuf {
    std::env::var_os("TIDEGATE_WASM")
        .map_or_else(|| crate::repo().join("dist/tidegate.wasm"), PathBuf::from)
}

impl Mount {
    /// The filter's `typed_config`.
    pub(super) fn typed_config(&self) -> Value {
        let configuration = match &self.policy {
            Policy::Text(text) => json!({
                "@type": "type.googleapis.com/google.protobuf.StringValue",
                "value": text,
            }),
            Policy::Struct(document) => json!({
                "@type": "type.googleapis.com/google.protobuf.Struct",
                "value": document,
            }),
        };
        json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": NAME,
                "root_id": self.root_id,
                "failure_policy": "FAIL_RELOAD",
                "allow_on_headers_stop_iteration": true,
                "configuration": configuration,
                "vm_config": {
                    "vm_id": self.vm_id,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": text(&self.module)}},
                    "environment_variables": {"key_values": self.environment},
                },
            },
        })
    }

    /// The filter in the chain, with its configuration.
    pub(super) fn fixed(&self) -> Value {
        json!({"name": NAME, "typed_config": self.typed_config()})
    }

    /// What a discovery file holds.
    pub(super) fn discovery(&self, version: u64) -> Value {
        let resource = json!({
            "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
            "name": NAME,
            "typed_config": self.typed_config(),
        });
        json!({"version_info": version.to_string(), "resources": [resource]})
    }
}

/// The filter in the chain, with its configuration to be read from `file`.
pub(super) fn discovered(file: &Path) -> Value {
    json!({"name": NAME, "config_discovery": {
        "config_source": {
            "path_config_source": {"path": text(file)},
            "resource_api_version": "V3",
        },
        "type_urls": ["type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"],
    }})
}

/// A path as JSON can hold it; those of the harness are UTF-8.
pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
