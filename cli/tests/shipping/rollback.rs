//! Rollbacks that are killed, slow, or find other bytes than were mounted.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::fake::Fake;
use crate::stand::{Stand, until};

#[test]
fn a_rollback_that_was_killed_goes_where_it_went() {
    let stand = Stand::new();
    for file in ["1.wasm", "2.wasm", "caches.wasm"] {
        stand.done(&["ship", file]);
    }
    let fake = Fake::start(&stand);
    fake.is_stuck("gate.json");
    for _ in 0..2 {
        let mut child = stand.begin("", &["rollback", "--admin", &fake.address]);
        let history = stand.resource("history.json");
        until("a rollback", || {
            let begun = stand.resource("history.json") != history;
            begun || stand.mounted("gate.json").starts_with("shop-2-")
        });
        until("a rollback", || {
            stand.mounted("gate.json").starts_with("shop-2-")
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Killed before it wrote anything, a ship leads back to what is there.
    assert_eq!(stand.done(&["rollback"])["version"], "2");
    assert_eq!(stand.done(&["rollback"])["version"], "1");
}

#[test]
fn a_ship_that_was_killed_leads_back_to_what_was_there() {
    let stand = Stand::new();
    for file in ["1.wasm", "2.wasm"] {
        stand.done(&["ship", file]);
    }
    let fake = Fake::start(&stand);
    // The role behind the cache was changed, and the gate was not.
    stand.done(&["ship", "caches.wasm"]);
    stand.done(&["ship", "2.wasm"]);
    fake.is_stuck("origin.json");
    let mut child = stand.begin("", &["ship", "caches.wasm", "--admin", &fake.address]);
    until("a ship", || {
        stand.mounted("origin.json").starts_with("shop-3-")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stand.mounted("gate.json").starts_with("shop-2-"));
    assert_eq!(stand.done(&["rollback"])["version"], "2");
    assert!(stand.mounted("origin.json").starts_with("shop-2-"));
    assert_eq!(stand.done(&["rollback"])["version"], "3");
}

#[test]
fn a_rollback_stays_where_envoy_is_slow_whichever_file_it_is_slow_with() {
    let stand = Stand::new();
    for file in ["1.wasm", "caches.wasm", "2.wasm"] {
        stand.done(&["ship", file]);
    }
    let fake = Fake::start(&stand);
    fake.is_stuck("origin.json");
    let slow = [
        "rollback",
        "--admin",
        &fake.address,
        "--wait",
        "1s",
        "--to",
        "to",
    ];
    let slow = stand.run(&slow);
    assert_eq!(slow.status.code(), Some(1), "{slow:?}");
    let said = String::from_utf8(slow.stderr).unwrap();
    assert!(said.contains("its files are written"), "{said}");
    for file in ["gate.json", "origin.json"] {
        assert!(stand.mounted(file).starts_with("shop-3-"), "{file}");
    }
    // Nobody saw its end, so it is the one that is done again.
    assert_eq!(stand.done(&["rollback"])["version"], "3");
    assert_eq!(stand.done(&["rollback"])["version"], "1");
}

#[test]
fn a_module_with_another_engine_is_not_mounted_again() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let first = stand.at("to/modules").join(stand.mounted("gate.json"));
    stand.done(&["ship", "2.wasm"]);
    // A custom section more: a module all the same, with the digest that it tells.
    let mut bytes = fs::read(&first).unwrap();
    bytes.extend([0, 3, 1, b'x', 0]);
    fs::write(&first, bytes).unwrap();
    stand.fails(&["rollback"], 4, "is not the file that was mounted before");
}

#[test]
fn a_file_keeps_its_mode_and_its_owner() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let gate = stand.at("to/gate.json");
    let is = |mode: u32| {
        let found = fs::metadata(&gate).unwrap();
        assert_eq!(found.mode() & 0o7777, mode, "{:o}", found.mode());
        (found.uid(), found.gid())
    };
    let owner = is(0o644);
    fs::set_permissions(&gate, fs::Permissions::from_mode(0o600)).unwrap();
    // Where we may, it is somebody else's.
    let given = std::os::unix::fs::chown(&gate, Some(65_534), Some(65_534)).is_ok();
    stand.done(&["ship", "2.wasm"]);
    let kept = is(0o600);
    assert_eq!(kept, if given { (65_534, 65_534) } else { owner });
    stand.done(&["rollback"]);
    assert_eq!(is(0o600), kept);
}

#[test]
fn protection_is_not_ended_by_the_way() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    stand.fails(
        &["ship", "2.wasm", "--shadow"],
        4,
        "write `--slot candidate` to try it beside that one",
    );
    stand.done(&["ship", "2.wasm", "--shadow", "--slot", "gate"]);
}
