//! Markers, and the path that carries one.

use proptest::prelude::*;
use tidegate_core::cache::{Instruction, Marker, ScopeKey, Use, path, scrub};
use tidegate_core::key::Parts;

use crate::{Asked, policy};

fn marker() -> impl Strategy<Value = Marker> {
    any::<[u8; 32]>().prop_map(Marker::from_bytes)
}

/// What Envoy admits in a path: everything but controls, spaces and `#`.
fn any_path() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => any::<u8>().prop_filter("a byte that Envoy admits", |b| *b > b' ' && *b != 127 && *b != b'#'),
        1 => Just(b'?'), 1 => Just(b'&'), 1 => Just(b'='), 1 => Just(b'/'),
    ];
    let ours = prop_oneof![
        Just(Vec::new()),
        Just(b"__tidegate=".to_vec()),
        marker().prop_map(|m| [&b"&__tidegate="[..], m.as_bytes()].concat()),
        marker().prop_map(|m| [&b"?__tidegate="[..], m.as_bytes(), b"&a"].concat()),
    ];
    (
        prop::collection::vec(byte.clone(), 0..40),
        ours,
        prop::collection::vec(byte, 0..20),
    )
        .prop_map(|(start, ours, end)| [&b"/"[..], &start, &ours, &end].concat())
}

/// A name that may be an identity.
fn any_name() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("no control, comma or space", |b| {
        !b.is_ascii_control() && *b != b',' && *b != b' '
    });
    prop::collection::vec(byte, 1..12)
}

proptest! {
    #[test]
    fn c11_restoring_undoes_marking(path in any_path(), marker in marker()) {
        let marked = path::mark(&path, &marker);
        prop_assert_eq!(marked.len(), path.len() + "?__tidegate=".len() + Marker::LEN);
        prop_assert_eq!(path::restore(&marked), Some(path.clone()));
        // And so does taking the marker out of a text in which Envoy wrote the path.
        if !path.windows(Marker::LEN).any(|window| Marker::read(window).is_some()) {
            let text = [&b"see https://h"[..], &marked, b"#top"].concat();
            let wanted = [&b"see https://h"[..], &path, b"#top"].concat();
            prop_assert_eq!(scrub(&text, &marker).into_owned(), wanted);
        }
    }

    #[test]
    fn c10_two_callers_never_have_one_marker(
        one in (any_name(), any_name()),
        other in (any_name(), any_name()),
    ) {
        let policy = policy(r#"[{"name": "r", "cache": {"scope": ["tenant", "account"], "by": "header"}}]"#);
        let mut asked = Asked::new(&policy);
        let mut of = |(tenant, account): &(Vec<u8>, Vec<u8>)| {
            let headers = [(&b"x-tenant"[..], &tenant[..]), (b"x-account", &account[..])];
            asked.plan("GET", b"/", &headers).unwrap().marker.unwrap()
        };
        let (first, second) = (of(&one), of(&other));
        prop_assert_eq!(first == second, one == other);
        // Strung together they are the same; they are still two.
        let shifted = ([&one.0[..], &one.1].concat(), other.1.clone());
        let joined = (one.0.clone(), [&one.1[..], &other.1].concat());
        prop_assert_eq!(of(&shifted) == of(&joined), shifted == joined);
    }

    #[test]
    fn what_is_told_is_read_as_it_was_told(
        usage in prop::sample::select(vec![Use::Scoped, Use::Public, Use::Bypass, Use::Off]),
        flags in any::<[bool; 4]>(),
        noise in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let [marked, varies, authorized, own] = flags;
        let told = Instruction { usage, marked, varies, authorized, own };
        prop_assert_eq!(Instruction::read(&told.to_bytes()), Some(told));
        if let Some(read) = Instruction::read(&noise) {
            prop_assert_eq!(Instruction::read(&read.to_bytes()), Some(read));
        }
    }

    #[test]
    fn nothing_panics_on_any_text(text in prop::collection::vec(any::<u8>(), 0..300), marker in marker()) {
        let _ = path::restore(&text);
        let _ = path::is_plain(&text);
        prop_assert!(scrub(&text, &marker).len() <= text.len());
    }
}

#[test]
fn c10_a_marker_is_64_digits_whatever_it_stands_for() {
    let mut parts = Parts::new();
    for key in [&b""[..], b"key", &[7; 200]] {
        for value in [&b""[..], b"/?%&;", &[0xff; 4000]] {
            parts.clear();
            parts.push(1, value);
            let marker = ScopeKey::new(key).marker("p", &parts);
            assert_eq!(marker.as_bytes().len(), 64);
            assert_eq!(Marker::read(marker.as_bytes()), Some(marker));
        }
    }
    let of = |key: &[u8]| ScopeKey::new(key).marker("p", &parts);
    assert_ne!(of(b"one"), of(b"other"));
    assert_ne!(of(b"one"), of(b""));
    assert_eq!(of(b"one"), of(b"one"));
    assert_ne!(ScopeKey::new(b"one").marker("q", &parts), of(b"one"));
    for wrong in [
        &b"0"[..],
        &[b'0'; 63],
        &[b'0'; 65],
        &[b'A'; 64],
        &[b'g'; 64],
    ] {
        assert_eq!(Marker::read(wrong), None);
    }
}

#[test]
fn a_key_is_not_shown() {
    assert_eq!(format!("{:?}", ScopeKey::new(b"secret")), "ScopeKey(..)");
    let shown = format!("{:?}", Marker::from_bytes([0xab; 32]));
    assert_eq!(shown, "Marker(abababab..)");
}

#[test]
fn c12_the_marker_is_taken_out_of_paths_in_every_form() {
    let marker = Marker::from_bytes([0x5a; 32]);
    let text = String::from_utf8(marker.as_bytes().to_vec()).unwrap();
    for (seen, wanted) in [
        ("/p?__tidegate=M", "/p"),
        ("/p?a=1&__tidegate=M", "/p?a=1"),
        ("/p?__tidegate=M&a=1", "/p?a=1"),
        ("/p?a=1&__tidegate=M&b=2", "/p?a=1&b=2"),
        ("/login?next=%2Fp%3F__tidegate%3DM", "/login?next=%2Fp"),
        (
            "/login?next=%2Fp%3F__tidegate%3DM%26a%3D1",
            "/login?next=%2Fp%3Fa%3D1",
        ),
        (
            "/login?next=%2Fp%3Fa%26__tidegate%3dM",
            "/login?next=%2Fp%3Fa",
        ),
        ("c; key=\"M/p?__tidegate=M\"", "c; key=\"/p\""),
        (
            "<a>; rel=x, </p?__tidegate=M>; rel=y",
            "<a>; rel=x, </p>; rel=y",
        ),
        ("M", ""),
        ("nothing", "nothing"),
    ] {
        let seen = seen.replace('M', &text);
        let scrubbed = scrub(seen.as_bytes(), &marker);
        assert_eq!(String::from_utf8_lossy(&scrubbed), wanted);
    }
}

#[test]
fn c17_a_path_that_may_be_read_as_another_one_is_not_plain() {
    for plain in [
        "/",
        "/a/b",
        "/a/b/",
        "/a;x=1/b",
        "/caf%C3%A9",
        "/caf%c3%a9",
        "/a%20b",
        "/me/x.css",
        "/a.b/.c",
        "/..a",
    ] {
        assert!(path::is_plain(plain.as_bytes()), "{plain}");
    }
    for odd in [
        "//a",
        "/a//b",
        "/a/./b",
        "/a/..",
        "/a/..;/b",
        "/a/.;x/b",
        "/%2e%2e/b",
        "/a%2fb",
        "/a%2Fb",
        "/a%5Cb",
        "/a\\b",
        "/a%00b",
        "/a%0ab",
        "/%61",
        "/a%252fb",
        "/..%3b/b",
        "/a%3Bb",
        "/..%20/b",
        "/%c0%ae%c0%ae/b",
        "/%u002e/b",
        "/a%",
        "/a%2",
        "/.;/b",
        "/a%7f",
    ] {
        assert!(!path::is_plain(odd.as_bytes()), "{odd}");
    }
}
