//! What is packed, and what is not.

use sha2::{Digest as _, Sha256};

use crate::stand::{PACKED, POLICY, Stand, engine, errors, fails, json};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn it_tells_what_it_packed() {
    let stand = Stand::new();
    let done = stand.pack(&["--format", "json"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let told = json(&done);
    let engine_digest = Sha256::digest(stand.read("engine.wasm"));
    let mut digest = Sha256::new();
    digest.update(b"tidegate-module-1");
    digest.update(engine_digest);
    digest.update([0]);
    digest.update(POLICY);
    let expected = [
        ("file", PACKED.to_owned()),
        ("policy", "shop".to_owned()),
        ("version", "2026-11-30.1".to_owned()),
        ("mode", "enforce".to_owned()),
        ("engine", "0.1.0".to_owned()),
        ("engine_digest", hex(&engine_digest)),
        ("digest", hex(&digest.finalize())),
        ("sha256", hex(&Sha256::digest(stand.read(PACKED)))),
    ];
    for (name, value) in expected {
        assert_eq!(told[name], value, "{name}");
    }
    assert_eq!(told["bytes"], stand.read(PACKED).len());
    assert_eq!(stand.files(), ["engine.wasm", "policy.json", PACKED]);
    // For people: the same on lines, and no colours in a pipe.
    let lines = String::from_utf8(stand.pack(&[]).stdout).unwrap();
    let expected = [
        "policy  shop 2026-11-30.1, enforce",
        told["digest"].as_str().unwrap(),
    ];
    for text in expected {
        assert!(lines.contains(text), "{lines}");
    }
    assert!(!lines.contains('\x1b'), "{lines:?}");
}

#[test]
fn two_folders_and_two_moments_give_the_same_bytes() {
    let (one, two) = (Stand::packed(), Stand::packed());
    assert!(one.read(PACKED) == two.read(PACKED));
    let shadow = one.pack(&["--mode", "shadow", "--format", "json"]);
    assert_eq!(json(&shadow)["mode"], "shadow");
    assert!(one.read(PACKED) != two.read(PACKED));
}

/// The tool that people get was built for release; this one was not.
#[test]
fn a_tool_built_otherwise_packs_the_same_bytes() {
    let dist = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist");
    let (tool, engine) = (dist.join("tidegate"), dist.join("tidegate.wasm"));
    if !tool.is_file() {
        eprintln!("not compared: no {}; `make build` makes it", tool.display());
        return;
    }
    let stand = Stand::new();
    let usual = ["pack", ".", "--engine", engine.to_str().unwrap(), "-o"];
    let other = std::process::Command::new(tool)
        .current_dir(stand.at("."))
        .args([&usual[..], &["release.wasm"]].concat())
        .status();
    assert!(other.unwrap().success());
    let done = stand.run(&[&usual[..], &["debug.wasm"]].concat());
    assert!(done.status.success(), "{done:?}");
    assert!(stand.read("release.wasm") == stand.read("debug.wasm"));
}

#[test]
fn everybody_may_read_what_was_packed() {
    use std::os::unix::fs::PermissionsExt as _;
    let stand = Stand::packed();
    let mode = stand.at(PACKED).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn a_policy_with_mistakes_is_not_packed_and_what_was_there_stays() {
    let stand = Stand::packed();
    let before = stand.read(PACKED);
    stand.write(
        "policy.json",
        POLICY
            .replace("60/min", "60/minute")
            .replace("shop", "Shop"),
    );
    let refused = stand.pack(&[]);
    fails(
        &refused,
        1,
        "`$.limits.address.rate`: `60/minute` is not a rate",
    );
    assert!(errors(&refused).contains("`$.policy`"), "{refused:?}");
    assert!(stand.read(PACKED) == before);
    assert_eq!(stand.files(), ["engine.wasm", "policy.json", PACKED]);
}

#[test]
fn a_policy_whose_cases_fail_is_not_packed() {
    let stand = Stand::new();
    let cases = |status: u16| {
        format!(
            r#"{{"cases": [{{"name": "once", "steps": [{{"request": {{}}, "expect": {{"status": {status}}}}}]}}]}}"#
        )
    };
    stand.write("policy.test.json", cases(429));
    fails(&stand.pack(&[]), 1, "`once`, step 1, time 1: expected");
    stand.write("policy.test.json", "{}");
    fails(
        &stand.pack(&[]),
        1,
        "policy.test.json: missing field `cases`",
    );
    assert!(!stand.at(PACKED).exists());
    stand.write("policy.test.json", cases(200));
    let done = stand.pack(&["--format", "json"]);
    assert_eq!(json(&done)["steps"], 1);
}

#[test]
fn what_is_no_engine_is_refused() {
    let good = include_str!("engine.wat");
    let size = r#"(func (export "tidegate_policy_size") (result i32) (i32.const 0))"#;
    assert!(good.contains(size));
    let wrong = |with: &str| engine(&good.replace(size, with));
    let one_function = r#"(func $one (export "tidegate_policy_size") (export "tidegate_policy_mode") (result i32) (i32.const 0))"#;
    let mode = r#"(func (export "tidegate_policy_mode")"#;
    let shared = good.replace(size, one_function).replace(mode, r#"(func"#);
    let cases = [
        (b"\0asm".to_vec(), "the engine: it is a damaged wasm module"),
        (b"#!/bin/sh".to_vec(), "the engine: it is no wasm module"),
        (
            wrong(""),
            "the engine does not export `tidegate_policy_size`",
        ),
        (
            wrong(r#"(func (export "tidegate_policy_size") (result i64) (i64.const 0))"#),
            "the engine's `tidegate_policy_size` is not of the kind",
        ),
        (engine(&shared), "are one function"),
        (
            Stand::packed().read(PACKED),
            "the engine has a policy already",
        ),
    ];
    let stand = Stand::new();
    for (bytes, saying) in cases {
        stand.write("engine.wasm", bytes);
        fails(&stand.pack(&[]), 4, saying);
    }
    assert!(!stand.at(PACKED).exists());
}

#[test]
fn without_an_engine_it_says_how_to_get_one() {
    // The tool that tests run is built without; if somebody set TIDEGATE_ENGINE, it has one.
    if option_env!("TIDEGATE_ENGINE").is_some() {
        return;
    }
    let stand = Stand::new();
    let refused = stand.run(&["pack", ".", "-o", PACKED]);
    fails(
        &refused,
        4,
        "built without an engine; name one with `--engine FILE`",
    );
}

#[test]
fn a_policy_that_is_not_there_or_a_folder_that_cannot_be_written_is_another_status() {
    let stand = Stand::new();
    let usual = ["-o", "none/x.wasm", "--engine", "engine.wasm"];
    fails(
        &stand.run(&[&["pack", "."], &usual[..]].concat()),
        4,
        "`none/x.wasm` cannot be written",
    );
    fails(
        &stand.run(&[&["pack", "none.json"], &usual[..]].concat()),
        4,
        "`none.json` cannot be read",
    );
    fails(&stand.run(&["pack", "."]), 2, "--output");
}

#[test]
#[cfg(unix)]
fn cases_that_a_link_does_not_find_are_not_passed_over() {
    let stand = Stand::new();
    std::os::unix::fs::symlink("moved.json", stand.at("policy.test.json")).unwrap();
    fails(&stand.pack(&[]), 4, "policy.test.json` cannot be read");
    assert!(!stand.at(PACKED).exists());
}

#[test]
#[cfg(unix)]
fn only_a_file_is_replaced_and_never_the_policy() {
    let stand = Stand::new();
    let engine = ["--engine", "engine.wasm"];
    let to = |name: &str| stand.run(&[&["pack", ".", "-o", name], &engine[..]].concat());
    let pipe = std::process::Command::new("mkfifo")
        .arg(stand.at("pipe"))
        .status();
    assert!(pipe.unwrap().success());
    for name in ["pipe", ".."] {
        fails(&to(name), 4, "is no file, and would be replaced");
    }
    fails(&to("policy.json"), 4, "is the policy itself");
    assert_eq!(stand.read("policy.json"), POLICY.as_bytes());
    // A link stays one.
    stand.write("real.wasm", "");
    std::os::unix::fs::symlink("real.wasm", stand.at("link.wasm")).unwrap();
    assert!(to("link.wasm").status.success());
    assert!(stand.at("link.wasm").is_symlink());
    assert_eq!(stand.read("real.wasm"), stand.read("link.wasm"));
    assert!(stand.read("real.wasm").starts_with(b"\0asm"));
}

/// What decides is the policy and the engine.
#[test]
fn another_engine_is_a_difference() {
    let stand = Stand::packed();
    let text = include_str!("engine.wat");
    let same = ["diff", PACKED, "other.wasm", "--exit-code"];
    for (engine_of, said) in [
        (text.to_owned(), None),
        (
            text.replace("0.1.0", "0.2.0"),
            Some("the engine is another (0.1.0 -> 0.2.0): "),
        ),
        (
            text.replace(r#""engine")"#, r#""motor!")"#),
            Some("the engine is another (another build of 0.1.0): "),
        ),
    ] {
        stand.write("other-engine.wasm", engine(&engine_of));
        let packed = [
            "pack",
            ".",
            "-o",
            "other.wasm",
            "--engine",
            "other-engine.wasm",
        ];
        let done = stand.run(&packed);
        assert!(done.status.success(), "{done:?}");
        let diff = stand.run(&same);
        assert_eq!(
            diff.status.code(),
            Some(i32::from(said.is_some())),
            "{diff:?}"
        );
        let printed = String::from_utf8(diff.stdout).unwrap();
        assert!(
            printed.contains(said.unwrap_or("no difference")),
            "{printed}"
        );
    }
    // Of a document nobody knows which engine it will have.
    let diff = stand.run(&["diff", "policy.json", "other.wasm", "--exit-code"]);
    assert_eq!(diff.status.code(), Some(0), "{diff:?}");
}

#[test]
fn what_a_module_holds_in_shadow_is_in_shadow_for_every_verb() {
    let stand = Stand::new();
    let engine = ["--engine", "engine.wasm"];
    let pack = |from: &str, to: &str, more: &[&str]| {
        let done = stand.run(&[&["pack", from, "-o", to], &engine[..], more].concat());
        assert!(done.status.success(), "{done:?}");
    };
    pack(".", "enforced.wasm", &[]);
    pack(".", "held.wasm", &["--mode", "shadow"]);
    pack("held.wasm", "again.wasm", &[]);
    assert_eq!(stand.read("again.wasm"), stand.read("held.wasm"));
    let diff = stand.run(&["diff", "enforced.wasm", "held.wasm", "--exit-code"]);
    assert_eq!(diff.status.code(), Some(1), "{diff:?}");
    let said = String::from_utf8(diff.stdout).unwrap();
    assert!(said.contains("enforce -> shadow"), "{said}");
    let same = stand.run(&["diff", "held.wasm", "again.wasm", "--exit-code"]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    let explained = stand.run(&["explain", "held.wasm", "--request", "/"]);
    let said = String::from_utf8(explained.stdout).unwrap();
    assert!(said.contains("in mode shadow"), "{said}");
}
