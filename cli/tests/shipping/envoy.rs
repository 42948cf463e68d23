//! What is asked of Envoy, where nobody or somebody else answers, and command lines that ask for what is not possible.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::stand::Stand;

/// Answers everything with a page of its own; returns the address.
fn somebody_else() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address.to_string()
}

/// An address where nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn nothing_is_shipped_where_nobody_would_tell_what_became_of_it() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    stand.done(&["ship", "2.wasm"]);
    for (admin, saying) in [
        (somebody_else(), "does not answer as Envoy does"),
        (nobody(), "Envoy does not answer at"),
    ] {
        let admin = ["--admin", &admin];
        stand.fails(&[&["ship", "2.wasm"], &admin[..]].concat(), 4, saying);
        stand.fails(&[&["rollback"], &admin[..]].concat(), 4, saying);
    }
    let canary = ["ship", "2.wasm", "--canary", "5,100", "--admin", &nobody()];
    let failed = stand.run(&[&canary[..], &["--to", "to"]].concat());
    assert_eq!(failed.status.code(), Some(4), "{failed:?}");
    assert_eq!(stand.mounted("candidate.json"), "");
}

#[test]
fn a_canary_is_asked_for_as_a_whole() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let with = |more: &[&str], saying: &str| {
        stand.fails(&[&["ship", "2.wasm"], more].concat(), 2, saying);
    };
    with(&["--canary", "5,100"], "--admin");
    with(&["--hold", "1m"], "--canary");
    with(&["--halt-on", "refused=5%"], "--canary");
    let admin = ["--admin", "a:1"];
    let canary = |more: &[&str], saying: &str| with(&[&admin, more].concat(), saying);
    canary(
        &["--canary", "25,5"],
        "whole percents from 1 to 100 that grow",
    );
    canary(
        &["--canary", "5", "--halt-on", "latency=1s"],
        "`latency` is not a bound",
    );
    canary(&["--canary", "5", "--shadow"], "--shadow");
    canary(&["--canary", "5", "--slot", "gate"], "--slot");
    canary(&["--wait", "5"], "--wait");
    with(&["--admin", "https://a:1"], "TLS is not supported");
    with(&["--wait", "5s"], "--admin");
}

#[test]
fn a_module_in_shadow_is_no_canary() {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let pack = [
        "pack",
        ".",
        "-o",
        "shadow.wasm",
        "--engine",
        "engine.wasm",
        "--mode",
        "shadow",
    ];
    assert!(stand.run(&pack).status.success());
    let canary = [
        "ship",
        "shadow.wasm",
        "--canary",
        "5",
        "--admin",
        "127.0.0.1:1",
    ];
    stand.fails(
        &canary,
        4,
        "the module is in shadow, which is enforced for nobody",
    );
}
