//! Objects of Kubernetes, held against their types.
//!
//! Those of Istio and of Kubernetes itself have types made from their schemas. Envoy Gateway's have none in any package, so here are types
//! of the fields that the files use (docs/deployment.md says so).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, EnvVar, Secret, Volume, VolumeMount};
use kcr_extensions_istio_io::v1alpha1::wasmplugins::WasmPlugin;
use kcr_networking_istio_io::v1alpha3::envoyfilters::EnvoyFilter;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Reads all objects of a file of `envoy/`, each held against its type.
pub(crate) fn objects(file: &str) -> Vec<Value> {
    let path = tidegate_e2e::repo().join("envoy").join(file);
    let objects = read(&path);
    for object in &objects {
        check(object).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    objects
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Holds an object against the type of its kind.
pub(crate) fn check(object: &Value) -> Result<(), String> {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    match (version, kind) {
        ("networking.istio.io/v1alpha3", "EnvoyFilter") => same::<EnvoyFilter>(object),
        ("extensions.istio.io/v1alpha1", "WasmPlugin") => same::<WasmPlugin>(object),
        ("apps/v1", "Deployment") => same::<Deployment>(object),
        ("v1", "Secret") => same::<Secret>(object),
        ("gateway.envoyproxy.io/v1alpha1", kind) => match kind {
            "EnvoyExtensionPolicy" => same::<Object<ExtensionPolicy>>(object),
            "EnvoyPatchPolicy" => same::<Object<PatchPolicy>>(object),
            "EnvoyProxy" => same::<Object<EnvoyProxy>>(object),
            "ClientTrafficPolicy" => same::<Object<ClientTrafficPolicy>>(object),
            "SecurityPolicy" => same::<Object<SecurityPolicy>>(object),
            kind => Err(format!("no type for `{kind}`")),
        },
        (version, kind) => Err(format!("no type for `{kind}` of `{version}`")),
    }
}

/// Nothing is lost on the way through the type: it knows every key, and every value is of its kind.
fn same<T: DeserializeOwned + Serialize>(object: &Value) -> Result<(), String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    let again = serde_json::to_value(&typed).map_err(|error| error.to_string())?;
    lost(object, &again, "$")
}

fn lost(object: &Value, again: &Value, at: &str) -> Result<(), String> {
    match (object, again) {
        (Value::Object(object), Value::Object(again)) => {
            object.iter().try_for_each(|(key, value)| {
                let at = format!("{at}.{key}");
                let again = again.get(key).ok_or(format!("`{at}` is not known"))?;
                lost(value, again, &at)
            })
        }
        (Value::Array(object), Value::Array(again)) if object.len() == again.len() => {
            let mut pairs = object.iter().zip(again).enumerate();
            pairs.try_for_each(|(n, (value, again))| lost(value, again, &format!("{at}[{n}]")))
        }
        (object, again) if object == again => Ok(()),
        (object, again) => Err(format!("`{at}`: {object} reads as {again}")),
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Object<S> {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: S,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
    namespace: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Target {
    group: String,
    kind: String,
    name: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExtensionPolicy {
    target_refs: Vec<Target>,
    wasm: Vec<Wasm>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wasm {
    name: String,
    #[serde(rename = "rootID")]
    root_id: String,
    code: Code,
    env: Env,
    fail_open: bool,
    config: BTreeMap<String, Value>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Env {
    host_keys: Vec<String>,
}

/// `type` says which of the others there is.
#[derive(Deserialize, Serialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Code {
    #[serde(rename = "HTTP")]
    Http {
        http: Source,
    },
    Image {
        image: Source,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Source {
    url: String,
    sha256: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PatchPolicy {
    target_ref: Target,
    r#type: PatchType,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    json_patches: Vec<Patch>,
}

#[derive(Deserialize, Serialize)]
enum PatchType {
    #[serde(rename = "JSONPatch")]
    JsonPatch,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    r#type: Resource,
    name: String,
    operation: Operation,
}

#[derive(Deserialize, Serialize)]
enum Resource {
    #[serde(rename = "type.googleapis.com/envoy.config.listener.v3.Listener")]
    Listener,
    #[serde(rename = "type.googleapis.com/envoy.config.cluster.v3.Cluster")]
    Cluster,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Operation {
    op: Op,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_path: Option<String>,
    path: String,
    value: Value,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Add,
    Replace,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct EnvoyProxy {
    provider: Provider,
    bootstrap: Bootstrap,
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Provider {
    Kubernetes { kubernetes: Kubernetes },
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kubernetes {
    envoy_deployment: EnvoyDeployment,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EnvoyDeployment {
    container: EnvoyContainer,
    init_containers: Vec<Container>,
    pod: Pod,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EnvoyContainer {
    env: Vec<EnvVar>,
    volume_mounts: Vec<VolumeMount>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Pod {
    volumes: Vec<Volume>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Bootstrap {
    r#type: BootstrapType,
    value: String,
}

#[derive(Deserialize, Serialize)]
enum BootstrapType {
    Merge,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientTrafficPolicy {
    target_refs: Vec<Target>,
    #[serde(rename = "clientIPDetection")]
    client_ip_detection: ClientIpDetection,
    path: PathSettings,
    headers: Headers,
    connection: Connection,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientIpDetection {
    x_forwarded_for: Forwarded,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Forwarded {
    num_trusted_hops: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PathSettings {
    escaped_slashes_action: EscapedSlashes,
    disable_merge_slashes: bool,
}

#[derive(Deserialize, Serialize)]
enum EscapedSlashes {
    KeepUnchanged,
    RejectRequest,
    UnescapeAndForward,
    UnescapeAndRedirect,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Headers {
    with_underscores_action: Underscores,
}

#[derive(Deserialize, Serialize)]
enum Underscores {
    Allow,
    RejectRequest,
    DropHeader,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Connection {
    buffer_limit: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SecurityPolicy {
    target_refs: Vec<Target>,
    jwt: Jwt,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Jwt {
    optional: bool,
    providers: Vec<JwtProvider>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct JwtProvider {
    name: String,
    issuer: String,
    audiences: Vec<String>,
    #[serde(rename = "remoteJWKS")]
    remote_jwks: Jwks,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Jwks {
    uri: String,
}

#[test]
fn a_key_or_a_word_that_the_type_does_not_know_is_refused() {
    for (file, pointer, key) in [
        ("istio/gate.yaml", "/spec", "workloadSelectors"),
        (
            "istio/gate.yaml",
            "/spec/configPatches/0/patch",
            "operations",
        ),
        ("istio/wasmplugin.yaml", "/spec", "vm_id"),
        ("envoy-gateway/gate.yaml", "/spec/wasm/0", "vmID"),
        (
            "envoy-gateway/proxy.yaml",
            "/spec/provider/kubernetes",
            "env",
        ),
    ] {
        let mut object = objects(file).swap_remove(0);
        let place = object.pointer_mut(pointer).unwrap();
        place[key] = "x".into();
        let error = check(&object).unwrap_err();
        assert!(error.contains(key), "{file}: {error}");
    }
    let mut plugin = objects("istio/wasmplugin.yaml").swap_remove(0);
    plugin["spec"]["failStrategy"] = "FAIL_SOMEHOW".into();
    assert!(check(&plugin).is_err());
}
