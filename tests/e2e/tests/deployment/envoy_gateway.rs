//! What Envoy Gateway makes of the objects under `envoy/envoy-gateway/`.

use serde_json::{Value, json};
use serde_json_path::{JsonPath, NormalizedPath};

use crate::kubernetes::objects;
use crate::merge::merge;
use crate::stand::{WASM, Written, address, bootstrap, cluster, jwt_authn, manager, router};

const LISTENER: &str = "default/shop/http";
const CLUSTER: &str = "httproute/default/shop/rule/0";

fn of_kind(file: &str, kind: &str) -> Vec<Value> {
    let mut objects = objects(file);
    objects.retain(|object| object["kind"] == kind);
    assert!(!objects.is_empty(), "no {kind} in {file}");
    objects
}

fn one(file: &str, kind: &str) -> Value {
    of_kind(file, kind).swap_remove(0)
}

/// The filter of an EnvoyExtensionPolicy. Envoy Gateway disables it and has the routes enable it.
fn gate() -> Value {
    let object = one("envoy-gateway/gate.yaml", "EnvoyExtensionPolicy");
    let text = |key: &str| object["metadata"][key].as_str().unwrap();
    let name = format!(
        "envoyextensionpolicy/{}/{}/wasm/0",
        text("namespace"),
        text("name")
    );
    let wasm = &object["spec"]["wasm"][0];
    let config = json!({
        "name": wasm["name"],
        "root_id": wasm["rootID"],
        "configuration": {
            "@type": "type.googleapis.com/google.protobuf.StringValue",
            "value": wasm["config"].to_string(),
        },
        "vm_config": {
            "vm_id": name,
            "runtime": "envoy.wasm.runtime.v8",
            "code": {"remote": wasm["code"]},
            "environment_variables": {"host_env_keys": wasm["env"]["hostKeys"]},
        },
    });
    json!({
        "name": format!("envoy.filters.http.wasm/{name}"), "disabled": true,
        "typed_config": {"@type": WASM, "config": config},
    })
}

/// An Envoy as Envoy Gateway configures it by proxy.yaml and gate.yaml.
fn configured() -> Value {
    let security = one("envoy-gateway/proxy.yaml", "SecurityPolicy");
    let provider = security["spec"]["jwt"]["providers"][0]["name"]
        .as_str()
        .unwrap();
    let gate = gate();
    let mut manager = manager(vec![jwt_authn(provider), gate.clone(), router()], CLUSTER);
    let enabled = json!({gate["name"].as_str().unwrap(): {
        "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "config": {},
    }});
    let pointer = "/typed_config/route_config/virtual_hosts/0/routes/0";
    manager.pointer_mut(pointer).unwrap()["typed_per_filter_config"] = enabled;

    let traffic = &one("envoy-gateway/proxy.yaml", "ClientTrafficPolicy")["spec"];
    assert_eq!(traffic["path"]["escapedSlashesAction"], "RejectRequest");
    assert_eq!(traffic["headers"]["withUnderscoresAction"], "RejectRequest");
    assert_eq!(traffic["connection"]["bufferLimit"], "1Mi");
    merge(
        &mut manager["typed_config"],
        &json!({
            "xff_num_trusted_hops": traffic["clientIPDetection"]["xForwardedFor"]["numTrustedHops"],
            "merge_slashes": traffic["path"]["disableMergeSlashes"] == false,
            "path_with_escaped_slashes_action": "REJECT_REQUEST",
            "common_http_protocol_options": {"headers_with_underscores_action": "REJECT_REQUEST"},
        }),
    );
    let listener = json!({
        "name": LISTENER, "address": address(0), "per_connection_buffer_limit_bytes": 1 << 20,
        "default_filter_chain": {"name": LISTENER, "filters": [manager]},
    });
    let mut config = bootstrap(&listener, &cluster(CLUSTER));
    let proxy = one("envoy-gateway/proxy.yaml", "EnvoyProxy");
    let more = proxy["spec"]["bootstrap"]["value"].as_str().unwrap();
    merge(&mut config, &serde_saphyr::from_str(more).unwrap());
    config
}

/// Applies the JSON patches of an EnvoyPatchPolicy.
fn apply(policy: &Value, config: &mut Value) {
    for patch in policy["spec"]["jsonPatches"].as_array().unwrap() {
        let kind = patch["type"].as_str().unwrap();
        let list = if kind.ends_with("Listener") {
            "listeners"
        } else {
            "clusters"
        };
        let resources = config["static_resources"][list].as_array_mut().unwrap();
        let named = resources
            .iter_mut()
            .find(|resource| resource["name"] == patch["name"]);
        let resource = named.unwrap_or_else(|| panic!("no {list} of the name {}", patch["name"]));
        let operation = &patch["operation"];
        let path = operation["path"].as_str().unwrap();
        let places = match operation["jsonPath"].as_str() {
            None => vec![path.to_owned()],
            Some(query) => located(query, resource)
                .into_iter()
                .map(|place| format!("{place}/{path}"))
                .collect(),
        };
        assert_eq!(places.len(), 1, "{operation}: {places:?}");
        for place in places {
            let one = json!([{"op": operation["op"], "path": place, "value": operation["value"]}]);
            let one: json_patch::Patch = serde_json::from_value(one).unwrap();
            json_patch::patch(resource, &one).unwrap();
        }
    }
}

/// The JSON pointers of what a JSON path finds.
fn located(query: &str, resource: &Value) -> Vec<String> {
    let path = JsonPath::parse(query).unwrap();
    let nodes = path.query_located(resource);
    nodes
        .locations()
        .map(NormalizedPath::to_json_pointer)
        .collect()
}

/// The Envoy of all three files.
pub(crate) fn deployed() -> Written {
    let mut config = configured();
    for patch in of_kind("envoy-gateway/patches.yaml", "EnvoyPatchPolicy") {
        apply(&patch, &mut config);
    }
    Written::new(config)
}

#[test]
fn the_gate_is_taken_by_envoy_with_all_that_lint_asks_for() {
    let mut config = configured();
    let patches = of_kind("envoy-gateway/patches.yaml", "EnvoyPatchPolicy");
    let before = Written::new(config.clone());
    before.validate().unwrap();
    // Without the patches lint misses what they add.
    let said = before.lint();
    assert!(said.contains("allow_on_headers_stop_iteration"), "{said}");
    assert!(said.contains("failure_policy"), "{said}");
    for patch in &patches {
        apply(patch, &mut config);
    }
    let after = Written::new(config);
    after.validate().unwrap();
    assert_eq!(after.lint(), "");
    let policies = after.policies();
    assert_eq!(policies.len(), 2);
    assert_eq!(policies[0], policies[1]);
}

#[test]
fn the_cache_stands_between_gate_and_router() {
    let mut config = configured();
    for patch in of_kind("envoy-gateway/patches.yaml", "EnvoyPatchPolicy") {
        apply(&patch, &mut config);
    }
    let filters = config.pointer(
        "/static_resources/listeners/0/default_filter_chain/filters/0/typed_config/http_filters",
    );
    let filters = filters.unwrap().as_array().unwrap();
    let names: Vec<&str> = filters
        .iter()
        .filter_map(|filter| filter["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "envoy.filters.http.jwt_authn",
            "envoy.filters.http.wasm/envoyextensionpolicy/default/tidegate/wasm/0",
            "envoy.filters.http.cache_v2",
            "envoy.filters.http.router",
        ]
    );
}

#[test]
fn the_pods_have_what_the_filters_read() {
    let proxy = one("envoy-gateway/proxy.yaml", "EnvoyProxy");
    let deployment = &proxy["spec"]["provider"]["kubernetes"]["envoyDeployment"];
    let wasm = &one("envoy-gateway/gate.yaml", "EnvoyExtensionPolicy")["spec"]["wasm"][0];
    assert_eq!(
        deployment["container"]["env"][0]["name"],
        wasm["env"]["hostKeys"][0]
    );
    let patches = of_kind("envoy-gateway/patches.yaml", "EnvoyPatchPolicy");
    let file = patches[1]["spec"]["jsonPatches"][1]["operation"]["value"][0]
        .pointer("/typed_config/config/vm_config/code/local/filename")
        .unwrap();
    assert_eq!(&deployment["initContainers"][0]["command"][2], file);
    let mounted = deployment["container"]["volumeMounts"][0]["mountPath"]
        .as_str()
        .unwrap();
    assert!(file.as_str().unwrap().starts_with(&format!("{mounted}/")));
}

#[test]
fn envoy_refuses_a_patch_with_a_key_that_it_does_not_know() {
    let mut config = configured();
    let mut patch = of_kind("envoy-gateway/patches.yaml", "EnvoyPatchPolicy").swap_remove(0);
    patch["spec"]["jsonPatches"][1]["operation"]["path"] = "failure_strategy".into();
    apply(&patch, &mut config);
    let error = Written::new(config).validate().unwrap_err();
    assert!(error.to_string().contains("failure_strategy"), "{error}");
}
