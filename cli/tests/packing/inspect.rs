//! What a module says of itself, and what is made of modules that do not say the truth, or are no modules.

use crate::stand::{PACKED, POLICY, Stand, engine, errors, fails, json};

#[test]
fn a_packed_module_is_shown() {
    let stand = Stand::packed();
    let shown = stand.run(&["inspect", PACKED, "--format", "json"]);
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    let told = json(&shown);
    let packed = json(&stand.pack(&["--format", "json"]));
    for name in [
        "policy",
        "version",
        "mode",
        "engine",
        "engine_digest",
        "digest",
    ] {
        assert_eq!(told["packed"][name], packed[name], "{name}");
    }
    assert_eq!(told["digest"], packed["digest"]);
    assert_eq!(told["sha256"], packed["sha256"]);
    assert_eq!(told["intact"], true);
    assert_eq!(told["imports"], serde_json::json!(["env.proxy_log"]));
    assert!(
        told["exports"]
            .as_array()
            .unwrap()
            .contains(&"tidegate_policy_read".into())
    );
    let policy: serde_json::Value = serde_json::from_str(POLICY).unwrap();
    assert_eq!(told["policy"], policy);
    let sections = told["sections"].as_array().unwrap();
    assert!(
        sections
            .iter()
            .any(|s| s["name"] == "code" && s["bytes"].as_u64() > Some(0))
    );
    let lines = String::from_utf8(stand.run(&["inspect", PACKED]).stdout).unwrap();
    assert!(lines.contains("shop 2026-11-30.1, enforce"), "{lines}");
    assert!(lines.contains(" intact"), "{lines}");
}

#[test]
fn the_policy_comes_out_byte_for_byte() {
    let stand = Stand::packed();
    let shown = stand.run(&["inspect", PACKED, "--policy"]);
    assert_eq!(shown.stdout, POLICY.as_bytes());
}

/// Where a policy is asked for, a packed module will do, if it is what it says.
#[test]
fn other_verbs_take_the_policy_out_of_a_module() {
    let stand = Stand::packed();
    let lint = |file: &str| stand.run(&["lint", file, "--format", "json"]);
    let (module, document) = (json(&lint(PACKED)), json(&lint("policy.json")));
    assert_eq!(module["mistakes"], 0);
    assert_eq!(module["warnings"], document["warnings"]);
    let same = stand.run(&["diff", "policy.json", PACKED]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let mut bytes = stand.read(PACKED);
    let at = bytes.windows(6).position(|w| w == b"60/min").unwrap();
    bytes[at] = b'9';
    stand.write("changed.wasm", bytes);
    fails(
        &stand.run(&["lint", "changed.wasm"]),
        4,
        "`changed.wasm` is not what it says",
    );
}

#[test]
fn an_engine_has_no_policy() {
    let stand = Stand::new();
    let shown = stand.run(&["inspect", "engine.wasm", "--format", "json"]);
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    let told = json(&shown);
    assert_eq!(told["engine"], "0.1.0");
    assert!(told["policy"].is_null() && told["packed"].is_null());
    let lines = String::from_utf8(stand.run(&["inspect", "engine.wasm"]).stdout).unwrap();
    assert!(lines.contains("no policy"), "{lines}");
    fails(
        &stand.run(&["inspect", "engine.wasm", "--policy"]),
        1,
        "no policy is packed in it",
    );
}

#[test]
fn what_is_no_module_of_ours_is_told_apart() {
    let stand = Stand::new();
    stand.write("text.wasm", "{}");
    stand.write("other.wasm", engine("(module (func (export \"f\")))"));
    fails(
        &stand.run(&["inspect", "text.wasm"]),
        1,
        "`text.wasm`: it is no wasm module",
    );
    fails(
        &stand.run(&["inspect", "none.wasm"]),
        4,
        "`none.wasm` cannot be read",
    );
    let other = stand.run(&["inspect", "other.wasm"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(
        errors(&other).contains("neither an engine nor a packed module"),
        "{other:?}"
    );
    // Larger than any module, without a byte of it on the disk.
    let large = std::fs::File::create(stand.at("large.wasm")).unwrap();
    large.set_len(1 << 33).unwrap();
    fails(
        &stand.run(&["inspect", "large.wasm"]),
        4,
        "larger than 64 MiB",
    );
}

#[test]
fn another_policy_under_the_old_digest_is_not_intact() {
    let stand = Stand::packed();
    let bytes = stand.read(PACKED);
    let find = |needle: &[u8]| {
        bytes
            .windows(needle.len())
            .position(|w| w == needle)
            .unwrap()
    };
    // The document's rate; then what the section says.
    let changes = [
        (find(b"60/min"), b"90/min".as_slice(), "its digest is"),
        (
            find(b"\"mode\":\"enforce\""),
            b"\"mode\":\"shadow\" ",
            "in mode",
        ),
        (find(b"\"engine_digest\":\"") + 17, b"0000", "its digest is"),
    ];
    for (at, text, saying) in changes {
        let mut changed = bytes.clone();
        changed[at..at + text.len()].copy_from_slice(text);
        stand.write("changed.wasm", &changed);
        let shown = stand.run(&["inspect", "changed.wasm", "--format", "json"]);
        assert_eq!(shown.status.code(), Some(1), "{shown:?}");
        assert_eq!(json(&shown)["intact"], false);
        assert!(errors(&shown).contains(saying), "{}", errors(&shown));
    }
}

/// Files that were cut off or have a wrong byte end in a message, whatever the byte.
#[test]
fn damaged_files_are_told_and_never_crash() {
    let stand = Stand::packed();
    let bytes = stand.read(PACKED);
    let check = |damaged: &[u8], what: &str| {
        stand.write("damaged.wasm", damaged);
        let shown = stand.run(&["inspect", "damaged.wasm"]);
        let status = shown.status.code();
        // Some bytes do not matter to what is told: those of other sections, such as a string of the engine.
        assert!(status == Some(0) || status == Some(1), "{what}: {shown:?}");
        assert_eq!(
            status == Some(1),
            errors(&shown).starts_with("error: "),
            "{what}: {shown:?}"
        );
        status == Some(1)
    };
    for length in (0..bytes.len()).step_by(23) {
        assert!(
            check(&bytes[..length], &format!("{length} bytes")),
            "{length}"
        );
    }
    let mut seen = 0;
    for at in (0..bytes.len()).step_by(11) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        seen += usize::from(check(&damaged, &format!("byte {at}")));
    }
    assert!(
        seen > bytes.len() / 22,
        "only {seen} of {} were seen",
        bytes.len() / 11
    );
}
