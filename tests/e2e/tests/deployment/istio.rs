//! What istiod makes of the objects under `envoy/istio/`.

use serde_json::{Value, json};

use crate::kubernetes::objects;
use crate::merge::merge;
use crate::stand::{WASM, Written, address, bootstrap, cluster, jwt_authn, manager, router};

const CLUSTER: &str = "outbound|80||shop.shop.svc.cluster.local";

/// An Envoy as istiod configures it, its HTTP filters between authentication and the router.
fn gateway(filters: Vec<Value>) -> Value {
    let mut all = vec![jwt_authn("payload")];
    all.extend(filters);
    all.push(router());
    let listener = json!({"name": "0.0.0.0_8080", "address": address(0), "filter_chains": [
        {"filters": [manager(all, CLUSTER)]},
    ]});
    bootstrap(&listener, &cluster(CLUSTER))
}

/// The filter that a WasmPlugin becomes.
fn plugin(object: &Value) -> Value {
    let spec = &object["spec"];
    let name = |key: &str| object["metadata"][key].as_str().unwrap();
    let name = format!("{}.{}", name("namespace"), name("name"));
    let env = spec["vmConfig"]["env"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let host = env.iter().filter(|env| env["valueFrom"] == "HOST");
    let host: Vec<&Value> = host.map(|env| &env["name"]).collect();
    let config = json!({
        "name": name,
        "root_id": spec["pluginName"],
        "failure_policy": spec["failStrategy"],
        "configuration": {
            "@type": "type.googleapis.com/google.protobuf.StringValue",
            "value": spec["pluginConfig"].to_string(),
        },
        "vm_config": {
            "runtime": "envoy.wasm.runtime.v8",
            "code": {"remote": spec["url"]},
            "environment_variables": {
                "host_env_keys": host,
                "key_values": {"ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION": "1"},
            },
        },
    });
    json!({"name": name, "typed_config": {"@type": WASM, "config": config}})
}

/// Applies the patches of these EnvoyFilters, in this order.
fn patched(filters: &[Value]) -> Value {
    let mut config = gateway(Vec::new());
    let patches: Vec<&Value> = filters
        .iter()
        .flat_map(|filter| filter["spec"]["configPatches"].as_array().unwrap())
        .collect();
    let shipped: Vec<&Value> = patches
        .iter()
        .filter(|patch| patch["applyTo"] == "EXTENSION_CONFIG")
        .inspect(|patch| assert_eq!(patch["patch"]["operation"], "ADD", "istiod takes no other"))
        .map(|patch| &patch["patch"]["value"])
        .collect();
    for patch in patches {
        assert_eq!(patch["match"]["context"], "GATEWAY");
        let (operation, value) = (&patch["patch"]["operation"], &patch["patch"]["value"]);
        match patch["applyTo"].as_str().unwrap() {
            "EXTENSION_CONFIG" => {}
            "HTTP_FILTER" => {
                assert_eq!(operation, "INSERT_BEFORE");
                let pointer = "/match/listener/filterChain/filter/subFilter/name";
                let before = patch.pointer(pointer).unwrap();
                let filters = manager_of(&mut config)["http_filters"]
                    .as_array_mut()
                    .unwrap();
                let place = filters.iter().position(|filter| &filter["name"] == before);
                filters.insert(place.unwrap(), delivered(value, &shipped));
            }
            "NETWORK_FILTER" => {
                assert_eq!(operation, "MERGE");
                merge(manager_of(&mut config), &value["typed_config"]);
            }
            "BOOTSTRAP" => {
                assert_eq!(operation, "MERGE");
                merge(&mut config, value);
            }
            "CLUSTER" => {
                assert_eq!(operation, "MERGE");
                let service = patch["match"]["cluster"]["service"].as_str().unwrap();
                let cluster = &mut config["static_resources"]["clusters"][0];
                assert!(cluster["name"].as_str().unwrap().ends_with(service));
                // A value of this map is an `Any`, of which one takes the other's place.
                for (name, options) in value["typed_extension_protocol_options"]
                    .as_object()
                    .unwrap()
                {
                    cluster["typed_extension_protocol_options"][name] = options.clone();
                }
            }
            other => panic!("`{other}` is not done here"),
        }
    }
    config
}

fn manager_of(config: &mut Value) -> &mut Value {
    let pointer = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
    config.pointer_mut(pointer).unwrap()
}

/// A filter that is to be discovered, with what is shipped under its name.
fn delivered(filter: &Value, shipped: &[&Value]) -> Value {
    let Some(discovery) = filter.get("config_discovery") else {
        return filter.clone();
    };
    let of_name = |shipped: &&&Value| shipped["name"] == filter["name"];
    let shipped = shipped.iter().find(of_name).expect("a filter of that name");
    let kind = &shipped["typed_config"]["@type"];
    assert!(discovery["type_urls"].as_array().unwrap().contains(kind));
    (**shipped).clone()
}

fn envoy_filters(files: &[&str]) -> Vec<Value> {
    let mut all: Vec<Value> = files.iter().flat_map(|file| objects(file)).collect();
    all.sort_by_key(|filter| filter["spec"]["priority"].as_i64().unwrap_or(0));
    all
}

/// The gateway of gate.yaml, and of origin-cluster.yaml.
pub(crate) fn deployed() -> Written {
    let files = ["istio/gate.yaml", "istio/origin-cluster.yaml"];
    Written::new(patched(&envoy_filters(&files)))
}

#[test]
fn the_gate_is_taken_by_envoy_with_all_that_lint_asks_for() {
    let written = Written::new(patched(&envoy_filters(&["istio/gate.yaml"])));
    written.validate().unwrap();
    // All that is missing is the role for the route that is cached, which stands elsewhere.
    let said = written.lint();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("has no role `origin`"), "{said}");
}

#[test]
fn the_cache_stands_behind_the_gate_and_the_role_in_the_cluster() {
    // The file that is named later is applied first here: their priorities put them right.
    let filters = envoy_filters(&["istio/origin-cluster.yaml", "istio/gate.yaml"]);
    let mut config = patched(&filters);
    let names: Vec<Value> = manager_of(&mut config)["http_filters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|filter| filter["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "envoy.filters.http.jwt_authn",
            "tidegate-gate",
            "envoy.filters.http.cache_v2",
            "envoy.filters.http.router"
        ]
    );
    let written = Written::new(config);
    written.validate().unwrap();
    assert_eq!(written.lint(), "");
    let policies = written.policies();
    assert_eq!(policies.len(), 2);
    assert_eq!(policies[0], policies[1]);
}

#[test]
fn the_plugins_are_taken_by_envoy() {
    for file in ["istio/wasmplugin.yaml", "istio/origin-sidecar.yaml"] {
        let filter = plugin(&objects(file)[0]);
        let written = Written::new(gateway(vec![filter]));
        written.validate().unwrap();
    }
}

#[test]
fn the_sidecar_has_the_gates_policy() {
    let gate = Written::new(patched(&envoy_filters(&["istio/gate.yaml"])));
    let sidecar = &objects("istio/origin-sidecar.yaml")[0]["spec"]["pluginConfig"];
    assert_eq!(&gate.policies()[0], sidecar);
}

/// The reason for gate.yaml. Should a WasmPlugin ever come to say these, that file has had its day.
#[test]
fn a_plugin_says_neither_which_vm_nor_that_headers_may_wait() {
    let filter = plugin(&objects("istio/wasmplugin.yaml")[0]);
    let said = Written::new(gateway(vec![filter])).lint();
    assert!(said.contains("vm_id"), "{said}");
}

#[test]
fn envoy_refuses_a_patch_with_a_key_that_it_does_not_know() {
    let mut filters = envoy_filters(&["istio/gate.yaml"]);
    let pointer = "/spec/configPatches/0/patch/value/typed_config/config";
    filters[0].pointer_mut(pointer).unwrap()["root"] = "gate".into();
    let error = Written::new(patched(&filters)).validate().unwrap_err();
    assert!(error.to_string().contains("root"), "{error}");
    let mut filters = envoy_filters(&["istio/gate.yaml"]);
    let value = format!("{pointer}/configuration/value");
    *filters[0].pointer_mut(&value).unwrap() = "{}".into();
    assert!(
        Written::new(patched(&filters)).validate().is_err(),
        "a policy with mistakes"
    );
}

#[test]
fn the_pods_have_what_the_filters_read() {
    let pods = objects("istio/gateway.yaml");
    let deployment = pods
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap();
    let template = &deployment["spec"]["template"];
    let proxy = &template["spec"]["containers"][0];
    let gate = envoy_filters(&["istio/gate.yaml", "istio/origin-cluster.yaml"]);
    let vm = gate[0].pointer("/spec/configPatches/0/patch/value/typed_config/config/vm_config");
    assert_eq!(
        proxy["env"][0]["name"],
        vm.unwrap()["environment_variables"]["host_env_keys"][0]
    );
    let code = "/spec/configPatches/1/patch/value/typed_extension_protocol_options/envoy.extensions.upstreams.http.v3.HttpProtocolOptions/http_filters/0/typed_config/config/vm_config/code/local/filename";
    let file = gate[1].pointer(code).unwrap().as_str().unwrap();
    let mounted = proxy["volumeMounts"][0]["mountPath"].as_str().unwrap();
    assert!(file.starts_with(&format!("{mounted}/")), "{file}");
    assert_eq!(template["spec"]["initContainers"][0]["command"][2], *file);
    // The annotation is YAML in a text.
    let annotation = template["metadata"]["annotations"]["proxy.istio.io/config"].as_str();
    let config: Value = serde_saphyr::from_str(annotation.unwrap()).unwrap();
    assert_eq!(config["gatewayTopology"]["numTrustedProxies"], 1);
    assert_eq!(
        config["proxyStatsMatcher"]["inclusionPrefixes"],
        json!(["wasmcustom"])
    );
    // What the filters select is what the pods are.
    for filter in &gate {
        let labels = filter["spec"]["workloadSelector"]["labels"]
            .as_object()
            .unwrap();
        assert!(
            labels
                .iter()
                .all(|(key, value)| &template["metadata"]["labels"][key] == value)
        );
    }
}
