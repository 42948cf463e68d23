//! The configurations that are there to copy are ones that Envoy takes, with the module in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;

use tidegate_e2e::envoy::{default_module, validate};
use tidegate_e2e::repo;

const MODULE: &str = "dist/tidegate.wasm";

#[test]
fn the_gate_to_copy_is_valid_and_its_policy_too() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join(MODULE);
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    fs::copy(default_module(), module).unwrap();
    validate(&repo().join("envoy/gate.yaml"), folder.path()).unwrap();
}
