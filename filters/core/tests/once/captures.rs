//! What is kept of an answer.

use tidegate_core::idempotency::Capture;
use tidegate_core::records::{Owner, Stored};

const OWNER: Owner = Owner([7; Owner::LEN]);

/// The lines that are kept of these.
fn kept<'a>(lines: &[(&'a str, &'a str)]) -> Vec<(String, String)> {
    let lines: Vec<_> = lines
        .iter()
        .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
        .collect();
    let bytes = Capture::new(200, &lines, 100).stored(OWNER).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let stored = Stored::read(&bytes).unwrap();
    let lines = stored.headers.iter();
    lines.map(|(n, v)| (text(n), text(v))).collect()
}

fn none_of(names: &[&str]) {
    for name in names {
        assert_eq!(kept(&[(name, "x")]), [], "{name}");
    }
}

#[test]
fn a25_fields_of_one_connection_and_those_it_names() {
    none_of(&[
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]);
    let lines = [
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("x-end", "2"),
        ("connection", "x-other"),
        ("x-other", "3"),
    ];
    assert_eq!(kept(&lines), [("x-end".to_owned(), "2".to_owned())]);
}

#[test]
fn a26_credentials_and_challenges() {
    none_of(&[
        "set-cookie",
        "set-cookie2",
        "www-authenticate",
        "proxy-authenticate",
        "authentication-info",
        "proxy-authentication-info",
    ]);
}

#[test]
fn a27_a28_what_the_answer_says_in_its_order_and_lines() {
    let lines = [
        ("content-type", "application/json"),
        ("location", "/a,b"),
        ("etag", "\"a\""),
        ("link", "</a>, </b>"),
        ("vary", "accept"),
        ("content-language", "en"),
        ("vary", "origin"),
        ("content-encoding", "gzip"),
        ("cache-control", "private, max-age=60"),
    ];
    let owned: Vec<_> = lines
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    assert_eq!(kept(&lines), owned);
}

#[test]
fn a29_a31_a32_fields_of_one_exchange() {
    none_of(&[
        ":status",
        "age",
        "content-length",
        "date",
        "idempotent-replayed",
        "ratelimit",
        "ratelimit-policy",
        "retry-after",
        "server",
        "traceparent",
        "tracestate",
        "via",
        "x-correlation-id",
        "x-envoy-upstream-service-time",
        "x-ratelimit-remaining",
        "x-request-id",
        "x-tidegate-seal",
    ]);
}

#[test]
fn a33_a_body_is_kept_whole_or_not_at_all() {
    let mut capture = Capture::new(200, &[], 4);
    capture.push(b"ab");
    capture.push(b"cd");
    let bytes = capture.stored(OWNER).unwrap();
    let stored = Stored::read(&bytes).unwrap();
    assert_eq!((stored.owner, stored.body), (OWNER, &b"abcd"[..]));
    capture.push(b"");
    assert!(!capture.is_too_large());
    capture.push(b"e");
    assert!(capture.is_too_large());
    // Nor is a part of it that would fit by itself.
    capture.push(b"f");
    assert_eq!(capture.stored(OWNER), None);
    assert_eq!(Capture::nothing(200).stored(OWNER), None);
}

#[test]
fn a43_an_answer_without_a_body_stays_one() {
    for status in [204_u16, 304] {
        let lines = [(&b"content-length"[..], &b"7"[..]), (b"etag", b"\"a\"")];
        let bytes = Capture::new(status, &lines, 100).stored(OWNER).unwrap();
        let stored = Stored::read(&bytes).unwrap();
        assert_eq!((stored.status, stored.body), (status, &b""[..]));
        assert_eq!(stored.headers, [(&b"etag"[..], &b"\"a\""[..])]);
    }
}
