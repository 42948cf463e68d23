//! The role behind the cache.

use tidegate_core::cache::origin::{Told, request, response};
use tidegate_core::cache::{Edit, Instruction, Marker, Use};

use crate::{edited, lines, values};

fn marker() -> Marker {
    Marker::from_bytes([0x11; 32])
}

fn digits() -> String {
    String::from_utf8(marker().as_bytes().to_vec()).unwrap()
}

fn told(word: &str) -> Told {
    Told {
        instruction: Instruction::read(word.as_bytes()),
        marker: Some(marker()),
    }
}

#[test]
fn c11_the_application_gets_what_the_client_sent() {
    let (digits, path) = (digits(), format!("/a?&x=1&x=2&__tidegate={}", digits()));
    let sent = lines(&[
        (":method", "GET"),
        (":path", &path),
        (":authority", "API.test:80"),
        ("x-twice", "1"),
        ("x-tidegate-scope", &digits),
        ("x-tidegate-cache", "scoped;path;own"),
        ("x-twice", "2"),
    ]);
    let (found, edits) = request(&sent);
    assert_eq!(found, told("scoped;path;own"));
    let mut wanted = vec![
        (":method", "GET"),
        (":authority", "API.test:80"),
        ("x-twice", "1"),
        ("x-twice", "2"),
    ];
    wanted.push((":path", "/a?&x=1&x=2"));
    let got = edited(&sent, &edits);
    let got: Vec<_> = got.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(got, wanted);
    assert_eq!(Told::read(&found.to_bytes()), found);
}

#[test]
fn c11_where_envoy_wrote_the_marked_path_down_it_is_unmarked_too() {
    let (digits, written) = (digits(), format!("/b?__tidegate={}", digits()));
    let sent = lines(&[
        (":path", "/a"),
        ("x-envoy-original-path", &written),
        ("x-tidegate-scope", &digits),
        ("x-tidegate-cache", "scoped;path"),
    ]);
    let (_, edits) = request(&sent);
    assert_eq!(
        values(&edited(&sent, &edits), "x-envoy-original-path"),
        ["/b"]
    );
}

#[test]
fn c19_nothing_else_says_how_long_a_copy_lives() {
    let headers = lines(&[
        (":status", "200"),
        ("cdn-cache-control", "max-age=9"),
        ("expires", "x"),
        ("akamai-cache-control", "x"),
    ]);
    let sent = edited(&headers, &response(&told("scoped"), &headers));
    assert_eq!(values(&sent, "cache-control"), ["max-age=9"]);
    for name in ["expires", "akamai-cache-control", "cdn-cache-control"] {
        assert_eq!(values(&sent, name), [""; 0], "{name}");
        assert_eq!(
            values(&sent, &format!("x-tidegate-kept-{name}")).len(),
            1,
            "{name}"
        );
    }
}

#[test]
fn a_path_that_only_looks_marked_is_the_clients_own() {
    let path = format!("/a&__tidegate={}", digits());
    for word in ["scoped;header", "bypass", "off"] {
        let sent = lines(&[(":path", &path), ("x-tidegate-cache", word)]);
        let (_, edits) = request(&sent);
        assert_eq!(
            edits,
            [Edit::Remove(b"x-tidegate-cache".to_vec())],
            "{word}"
        );
    }
}

#[test]
fn what_is_told_twice_or_not_as_we_tell_it_is_told_by_nobody() {
    for (name, value) in [
        ("x-tidegate-cache", "scoped"),
        ("x-tidegate-cache", "SCOPED"),
        ("x_tidegate_cache", "scoped"),
    ] {
        let sent = lines(&[("x-tidegate-cache", "scoped"), (name, value)]);
        let (found, edits) = request(&sent);
        let twice = name == "x-tidegate-cache";
        assert_eq!(found.instruction.is_none(), twice, "{name}: {value}");
        assert_eq!(edited(&sent, &edits), [], "{name}: {value}");
    }
    let (found, _) = request(&lines(&[("x-tidegate-cache", "scoped,bypass")]));
    assert_eq!(found.instruction, None);
    assert_eq!(found.to_bytes(), b"");
    assert_eq!(Told::read(b""), Told::default());
}

#[test]
fn the_seal_is_the_callers_whatever_the_application_says() {
    let headers = lines(&[
        (":status", "200"),
        ("x-tidegate-seal", "forged"),
        ("X-Tidegate-Kept-Vary", "x"),
        ("cache-control", "max-age=60"),
    ]);
    let sent = edited(&headers, &response(&told("scoped;path"), &headers));
    assert_eq!(values(&sent, "x-tidegate-seal"), [digits()]);
    assert!(
        !sent
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("x-tidegate-kept-vary"))
    );
    assert_eq!(values(&sent, "cache-control"), ["max-age=60"]);
    assert_eq!(values(&sent, "vary"), [""; 0]);
}

#[test]
fn c26_a_confirmation_is_sealed_for_nobody_and_says_no_more_than_the_origin() {
    let confirmation = lines(&[(":status", "304"), ("etag", "\"e\"")]);
    for word in ["scoped;path", "scoped;path;authorized"] {
        assert_eq!(response(&told(word), &confirmation), [], "{word}");
    }
    let stricter = lines(&[(":status", "304"), ("cache-control", "max-age=60")]);
    let sent = edited(&stricter, &response(&told("scoped;authorized"), &stricter));
    assert_eq!(values(&sent, "cache-control"), ["no-store"]);
    // What it says goes before what was kept of the answer that it confirms.
    let sent = edited(&stricter, &response(&told("scoped"), &stricter));
    assert_eq!(values(&sent, "cache-control"), ["max-age=60"]);
    assert_eq!(
        values(&sent, "x-tidegate-kept-cache-control"),
        ["max-age=60"]
    );
}

#[test]
fn c13_vary_is_added_for_caches_that_go_by_the_header_alone() {
    let headers = lines(&[(":status", "200"), ("vary", "accept")]);
    let by_path = edited(&headers, &response(&told("scoped;path"), &headers));
    assert_eq!(values(&by_path, "vary"), ["accept"]);
    let by_header = edited(&headers, &response(&told("scoped;header"), &headers));
    assert_eq!(values(&by_header, "vary"), ["accept", "x-tidegate-scope"]);
}

#[test]
fn a_veto_is_what_every_cache_reads_and_hides_what_would_overrule_it() {
    let headers = lines(&[
        (":status", "200"),
        ("cache-control", "Private, max-age=60"),
        ("cdn-cache-control", "max-age"),
        ("surrogate-control", "max-age=60"),
        ("x-accel-expires", "60"),
        ("set-cookie", "a=b"),
    ]);
    let sent = edited(&headers, &response(&told("scoped"), &headers));
    assert_eq!(values(&sent, "cache-control"), ["no-store"]);
    assert_eq!(
        values(&sent, "x-tidegate-kept-cache-control"),
        ["Private, max-age=60"]
    );
    for name in ["cdn-cache-control", "surrogate-control", "x-accel-expires"] {
        assert_eq!(values(&sent, name), [""; 0], "{name}");
        assert_eq!(
            values(&sent, &format!("x-tidegate-kept-{name}")).len(),
            1,
            "{name}"
        );
    }
    let none = lines(&[(":status", "200"), ("set-cookie", "a=b")]);
    let sent = edited(&none, &response(&told("scoped"), &none));
    assert_eq!(values(&sent, "x-tidegate-added"), ["cache-control"]);
}

#[test]
fn c21_c22_nothing_reaches_over_scopes() {
    let headers = lines(&[
        (":status", "200"),
        ("cache-groups", "\"a\""),
        ("cache-groups", "\"b\""),
        ("cache-group-invalidation", "\"a\""),
        ("no-vary-search", "params"),
    ]);
    // Where there is but one scope too: an answer to a GET ends nobody's copies.
    for word in ["scoped;path", "scoped;header", "public", "bypass"] {
        let told = told(word);
        assert!(told.instruction.is_some(), "{word}");
        let sent = edited(&headers, &response(&told, &headers));
        for name in ["cache-groups", "cache-group-invalidation", "no-vary-search"] {
            assert_eq!(values(&sent, name), [""; 0], "{word} {name}");
        }
        assert_eq!(
            values(&sent, "x-tidegate-kept-cache-groups"),
            ["\"a\", \"b\""],
            "{word}"
        );
    }
}

#[test]
fn c14_vary_is_never_made_a_star() {
    let sent: [&[(&str, &str)]; 5] = [
        &[],
        &[("vary", "accept"), ("vary", "cookie")],
        &[("set-cookie", "a=b")],
        &[("cache-control", "private")],
        &[
            ("cache-control", "public"),
            ("cdn-cache-control", "max-age=9"),
        ],
    ];
    for word in [
        "scoped;path",
        "scoped;header",
        "scoped;header;authorized;own",
        "public",
        "bypass",
        "off",
        "nothing that we tell",
    ] {
        let told = told(word);
        assert_eq!(
            told.instruction.is_none(),
            word.starts_with("nothing"),
            "{word}"
        );
        for sent in sent {
            let headers = [&[(":status", "200")][..], sent].concat();
            let headers = lines(&headers);
            let behind = edited(&headers, &response(&told, &headers));
            let vary = values(&behind, "vary");
            assert!(
                !vary.iter().any(|value| value.contains('*')),
                "{word} {vary:?}"
            );
        }
    }
}

#[test]
fn who_did_not_come_through_the_gate_is_not_stored_and_sees_nothing_of_ours() {
    let headers = lines(&[
        (":status", "200"),
        ("cache-control", "public, max-age=60"),
        ("surrogate-control", "x"),
    ]);
    let sent = edited(&headers, &response(&Told::default(), &headers));
    let wanted = [(":status", "200"), ("cache-control", "no-store")];
    let sent: Vec<_> = sent.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(sent, wanted);
}

#[test]
fn a_route_in_shadow_is_left_alone() {
    let off = Told {
        instruction: Some(Instruction::new(Use::Off)),
        marker: None,
    };
    let headers = lines(&[
        (":status", "200"),
        ("cache-control", "Public"),
        ("surrogate-control", "x"),
    ]);
    assert_eq!(response(&off, &headers), []);
}
