//! What is written where, and what is not.

use std::fs;

use serde_json::{Value, json};

use crate::stand::Stand;

#[test]
fn the_first_module_gets_a_mount_of_its_own() {
    let stand = Stand::new();
    let told = stand.done(&["ship", "1.wasm"]);
    assert_eq!(told["slot"], "gate");
    assert_eq!(told["policy"], "shop");
    assert_eq!(told["enforced"], 100);
    assert_eq!(told["outcome"], "written");
    let name = format!("shop-1-{}.wasm", &told["digest"].as_str().unwrap()[..16]);
    assert_eq!(stand.mounted("gate.json"), name);
    let there = fs::read(stand.at("to/modules").join(name)).unwrap();
    assert!(there == fs::read(stand.at("1.wasm")).unwrap());
    for (pointer, value) in [
        ("/root_id", json!("gate")),
        ("/vm_config/vm_id", json!("tidegate-shop")),
        ("/vm_config/runtime", json!("envoy.wasm.runtime.v8")),
        ("/failure_policy", json!("FAIL_RELOAD")),
        ("/allow_on_headers_stop_iteration", json!(true)),
        ("/configuration", Value::Null),
    ] {
        assert_eq!(stand.plugin("gate.json", pointer), value, "{pointer}");
    }
}

#[test]
fn what_the_operator_wrote_stays_when_a_version_follows() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let mut mine = stand.resource("gate.json");
    let vm = "/resources/0/typed_config/config/vm_config";
    let vm = mine.pointer_mut(vm).unwrap();
    vm["vm_id"] = json!("mine");
    vm["environment_variables"] = json!({"host_env_keys": ["TIDEGATE_SCOPE_KEY"]});
    fs::write(stand.at("to/gate.json"), mine.to_string()).unwrap();
    stand.done(&["ship", "2.wasm", "--shadow", "--slot", "gate"]);
    assert!(stand.mounted("gate.json").starts_with("shop-2-"));
    assert_eq!(stand.plugin("gate.json", "/vm_config/vm_id"), "mine");
    let told = json!("{\"mode\":\"shadow\"}");
    assert_eq!(stand.plugin("gate.json", "/configuration/value"), told);
    assert_ne!(
        stand.resource("gate.json")["version_info"],
        mine["version_info"]
    );
    // The candidate is mounted as the gate is, with the same keys, in a VM of its own.
    stand.done(&["ship", "1.wasm", "--slot", "candidate", "--shadow"]);
    assert_eq!(
        stand.plugin("candidate.json", "/vm_config/vm_id"),
        "mine-candidate"
    );
    let keys = "/vm_config/environment_variables";
    assert_eq!(
        stand.plugin("candidate.json", keys),
        stand.plugin("gate.json", keys)
    );
    // And back: the module, its configuration, and nothing else.
    stand.done(&["rollback"]);
    assert!(stand.mounted("gate.json").starts_with("shop-1-"));
    assert_eq!(stand.plugin("gate.json", "/configuration"), Value::Null);
    assert_eq!(stand.plugin("gate.json", "/vm_config/vm_id"), "mine");
}

#[test]
fn each_rollback_goes_one_further_back_and_no_further_than_there_is() {
    let stand = Stand::new();
    for file in ["1.wasm", "2.wasm", "caches.wasm"] {
        stand.done(&["ship", file]);
    }
    assert_eq!(stand.done(&["rollback"])["version"], "2");
    assert_eq!(stand.done(&["rollback"])["version"], "1");
    stand.fails(
        &["rollback"],
        4,
        "nothing is known to have been mounted in slot `gate` before",
    );
    stand.done(&["ship", "2.wasm"]);
    assert_eq!(stand.done(&["rollback"])["version"], "1");
    let history: Value = stand.resource("history.json");
    let entries = history["gate"].as_array().unwrap();
    let undone = entries
        .iter()
        .filter(|entry| !entry["rolled_back"].is_null());
    assert_eq!((entries.len(), undone.count()), (4, 3));
}

#[test]
fn what_was_shipped_twice_is_gone_back_from_at_once() {
    let stand = Stand::new();
    for file in ["1.wasm", "2.wasm", "2.wasm", "2.wasm"] {
        stand.done(&["ship", file]);
    }
    assert_eq!(stand.done(&["rollback"])["version"], "1");
    stand.done(&["ship", "2.wasm"]);
    assert_eq!(stand.done(&["rollback"])["version"], "1");
}

#[test]
fn the_history_does_not_grow_for_ever() {
    let stand = Stand::new();
    for _ in 0..20 {
        stand.done(&["ship", "1.wasm"]);
        stand.done(&["ship", "2.wasm"]);
    }
    assert_eq!(
        stand.resource("history.json")["gate"]
            .as_array()
            .unwrap()
            .len(),
        32
    );
}

#[test]
fn what_somebody_else_mounted_can_be_mounted_again() {
    let stand = Stand::new();
    let mut theirs = json!({"resources": [{"name": "tidegate-gate", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
        "config": {
            "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": "{\"policy\": \"shop\"}"},
            "vm_config": {"vm_id": "theirs", "code": {"local": {"filename": stand.at("engine.wasm")}}},
        },
    }}]});
    fs::write(stand.at("to/gate.json"), theirs.to_string()).unwrap();
    stand.done(&["ship", "1.wasm"]);
    assert_eq!(stand.done(&["rollback"])["policy"], Value::Null);
    let mut there = stand.resource("gate.json");
    for resource in [&mut there, &mut theirs] {
        resource["version_info"] = Value::Null;
    }
    assert_eq!(there, theirs);
}

#[test]
fn another_policy_wants_to_be_asked_for() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    stand.fails(
        &["ship", "other.wasm"],
        4,
        "slot `gate` mounts policy `shop`, and this is `other`",
    );
    stand.done(&["ship", "other.wasm", "--new-policy"]);
    // What cannot be told may be another one.
    fs::write(
        stand.at("to/modules").join(stand.mounted("gate.json")),
        "gone",
    )
    .unwrap();
    stand.fails(
        &["ship", "1.wasm"],
        4,
        "it cannot be told which policy slot `gate` mounts",
    );
}

#[test]
fn a_policy_with_caches_is_mounted_behind_them_and_stays_there() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    assert_eq!(stand.mounted("origin.json"), "");
    stand.done(&["ship", "caches.wasm"]);
    assert!(stand.mounted("origin.json").starts_with("shop-3-"));
    assert_eq!(stand.plugin("origin.json", "/root_id"), "origin");
    assert_eq!(
        stand.plugin("origin.json", "/vm_config/vm_id"),
        "tidegate-shop-origin"
    );
    stand.done(&["rollback"]);
    assert!(stand.mounted("origin.json").starts_with("shop-1-"));
}

#[test]
fn a_module_that_is_not_what_it_says_is_not_shipped() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let mut bytes = fs::read(stand.at("2.wasm")).unwrap();
    let at = bytes.windows(5).position(|w| w == b"\"1/h\"").unwrap();
    bytes[at + 1] = b'9';
    fs::write(stand.at("changed.wasm"), &bytes).unwrap();
    stand.fails(
        &["ship", "changed.wasm"],
        4,
        "`changed.wasm` is not what it says",
    );
    stand.fails(
        &["ship", "engine.wasm"],
        4,
        "`engine.wasm`: no policy is packed in it",
    );
    stand.fails(
        &["ship", "policy.json"],
        4,
        "`policy.json`: it is no wasm module",
    );
    stand.fails(&["ship", "none.wasm"], 4, "`none.wasm` cannot be read");
}

#[test]
fn a_module_is_never_overwritten_nor_mounted_again_when_damaged() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let first = stand.at("to/modules").join(stand.mounted("gate.json"));
    stand.done(&["ship", "2.wasm"]);
    fs::write(&first, "other bytes").unwrap();
    stand.fails(&["ship", "1.wasm"], 4, "is there with other bytes");
    stand.fails(&["rollback"], 4, "cannot be mounted again");
    assert_eq!(fs::read(first).unwrap(), b"other bytes");
}

#[test]
fn where_envoy_sees_the_folder_elsewhere_it_is_told_so() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm", "--seen-as", "/etc/tidegate"]);
    let seen = |version: &str| {
        let name = stand.plugin("gate.json", "/vm_config/code/local/filename");
        let begin = format!("/etc/tidegate/modules/shop-{version}-");
        name.as_str().unwrap().starts_with(&begin)
    };
    assert!(seen("1"));
    // From then on gate.json says so.
    stand.done(&["ship", "2.wasm"]);
    assert!(seen("2"));
    stand.done(&["rollback"]);
    assert!(seen("1"));
}

#[test]
fn what_is_no_folder_or_no_resource_is_told() {
    let stand = Stand::new();
    fs::write(stand.at("to/gate.json"), "{\"resources\": []}").unwrap();
    stand.fails(&["ship", "1.wasm"], 4, "does not hold one filter");
    fs::write(stand.at("to/gate.json"), "resources: []").unwrap();
    stand.fails(&["ship", "1.wasm"], 4, "is not JSON");
    fs::remove_dir_all(stand.at("to")).unwrap();
    stand.fails(&["ship", "1.wasm"], 4, "`to` cannot be opened");
}
