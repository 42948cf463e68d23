//! A broken module is refused, by the tool or by Envoy, and the old one serves on.

use std::fs;

use anyhow::ensure;
use tidegate_e2e::eventually;

use crate::stand::{SOON, Stand, errors, policy, told};
use crate::steady::Steady;

/// Mounts a file by hand, as the resource file is written.
fn mount(stand: &Stand, file: &str) {
    let mut gate = stand.shipped("gate.json");
    let name = "/resources/0/typed_config/config/vm_config/code/local/filename";
    *gate.pointer_mut(name).unwrap() = stand.file(file).to_str().unwrap().into();
    gate["version_info"] = file.into();
    let folder = stand.envoy.folder();
    fs::write(folder.join("gate.next"), gate.to_string()).unwrap();
    fs::rename(folder.join("gate.next"), folder.join("gate.json")).unwrap();
}

#[tokio::test]
async fn a_broken_module_is_refused_and_the_old_one_serves() {
    let stand = Stand::start(&policy("1")).await;
    assert_eq!(stand.drain("drained").await, 5);
    let mut steady = Steady::start(&stand.envoy.shipped_at("/"));
    stand.pack(&policy("2"), "good.wasm").await;
    let good = fs::read(stand.file("good.wasm")).unwrap();
    let cut = &good[..good.len() / 2];
    // The policy is in it as text: another rate, of the same length, that is none.
    let at = good.windows(5).position(|w| w == b"\"1/h\"").unwrap();
    let mut mistaken = good.clone();
    mistaken[at..at + 5].copy_from_slice(b"\"1/x\"");
    let broken = [
        ("cut.wasm", cut, "it is a damaged wasm module"),
        (
            "text.wasm",
            b"#!/bin/sh\n".as_slice(),
            "it is no wasm module",
        ),
        ("mistaken.wasm", &mistaken, "is not what it says"),
    ];
    let first = stand.shipped("gate.json");
    for (number, (file, bytes, saying)) in broken.into_iter().enumerate() {
        fs::write(stand.file(file), bytes).unwrap();
        // The tool does not ship it.
        let before = stand.shipped("gate.json");
        let refused = stand.tool(&["ship", file]).await;
        assert_eq!(refused.status.code(), Some(4), "{file}: {refused:?}");
        assert!(errors(&refused).contains(saying), "{file}: {refused:?}");
        assert_eq!(stand.shipped("gate.json"), before, "{file}");
        // Nor does Envoy take it.
        mount(&stand, file);
        let refused = "extension_config_discovery.http_filter.tidegate-gate.update_rejected";
        eventually(SOON, async || {
            let count = stand.envoy.stat(refused).await?;
            ensure!(count > number as u64, "{file}: {count}");
            Ok(())
        })
        .await
        .unwrap();
        steady.goes_on(file).await;
    }
    let log = "`1/x` is not a rate";
    eventually(SOON, async || {
        ensure!(stand.envoy.log().contains(log));
        Ok(())
    })
    .await
    .unwrap();
    steady.stop().await;
    // What was left mounted by hand is replaced by the next that is shipped.
    fs::write(stand.envoy.folder().join("gate.json"), format!("{first:#}")).unwrap();
    assert_eq!(told(&stand.tool(&["ship", "good.wasm"]).await)["vms"], 3);
    assert_eq!(stand.ask("drained").await.status, 429);
}

/// It is what it says, and nothing that Envoy can run.
#[tokio::test]
async fn what_envoy_refuses_is_taken_back() {
    let stand = Stand::start(&policy("1")).await;
    let engine = r#"(module (memory (export "memory") 2)
        (func (export "tidegate_policy_size") (result i32) (i32.const 0))
        (func (export "tidegate_policy_read") (param i32))
        (func (export "tidegate_policy_mode") (result i32) (i32.const 0))
        (func (export "tidegate_module_id") (result i64) (i64.const 0)))"#;
    fs::write(stand.file("engine.wasm"), wat::parse_str(engine).unwrap()).unwrap();
    fs::write(stand.file("policy.json"), policy("2").to_string()).unwrap();
    let pack = [
        "pack",
        "policy.json",
        "-o",
        "odd.wasm",
        "--engine",
        "engine.wasm",
    ];
    let folder = stand.file("");
    let packed = tidegate_e2e::tool::run(&folder, &pack).await.unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let before = stand.shipped("gate.json");
    assert_eq!(stand.drain("drained").await, 5);
    let mut steady = Steady::start(&stand.envoy.shipped_at("/"));
    let refused = stand.tool(&["ship", "odd.wasm"]).await;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(told(&refused)["outcome"], "undone");
    assert!(
        errors(&refused).contains("Envoy refused it; its log says why"),
        "{refused:?}"
    );
    assert_eq!(stand.shipped("gate.json"), before);
    steady.goes_on("after a module that Envoy refused").await;
    steady.stop().await;
    // The next one is none the worse for it, and what is rolled back to is not what was refused.
    stand.pack(&policy("3"), "good.wasm").await;
    assert_eq!(told(&stand.tool(&["ship", "good.wasm"]).await)["vms"], 3);
    assert_eq!(told(&stand.tool(&["rollback"]).await)["version"], "1");
}
