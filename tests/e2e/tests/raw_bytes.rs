//! The origin that shows the bytes, and what an Envoy without the module leaves as it was.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use anyhow::ensure;
use tidegate_e2e::{Client, Envoy, Origin, RawOrigin, eventually, raw};

#[tokio::test]
async fn a_request_is_seen_byte_for_byte() {
    let origin = RawOrigin::start().await.unwrap();
    let envoy = Envoy::builder()
        .origin_at(origin.address())
        .start()
        .await
        .unwrap();
    // hyper's client and server would both refuse some of these.
    let target = b"/caf%C3%A9?q=%2f&&=x%20|{}\"\\^`<>%zz?";
    let request = [
        b"GET ",
        &target[..],
        b" HTTP/1.1\r\nhost: A.Example:80\r\nX-Two: 1\r\nx-two: \xe9  2\r\nconnection: close\r\n\r\n",
    ]
    .concat();
    let answer = raw::exchange(&envoy.authority(), &request).await.unwrap();
    assert_eq!(raw::status(&answer), Some(200));
    let seen = origin.last().unwrap();
    assert_eq!(seen.method(), b"GET");
    assert_eq!(seen.target(), target);
    assert_eq!(seen.values("host"), [b"A.Example:80"]);
    assert_eq!(seen.values("x-two"), [&b"1"[..], &b"\xe9  2"[..]]);
}

#[tokio::test]
async fn it_answers_as_it_was_told_and_in_a_row() {
    let origin = RawOrigin::start().await.unwrap();
    let client = Client::h1();
    let url = format!("http://{}/", origin.address());
    let answer = client.post(&url).body("four").send().await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(origin.last().unwrap().body_len, 4);

    origin.answer(
        503,
        &[("x-a", b"1"), ("x-a", b"\xe9"), ("age", b"7")],
        "busy",
    );
    let answer = client.get(&url).send().await.unwrap();
    assert_eq!(
        (answer.status.as_u16(), answer.text()),
        (503, "busy".into())
    );
    let lines: Vec<_> = answer.headers.get_all("x-a").iter().collect();
    assert_eq!(lines, [&b"1"[..], &b"\xe9"[..]]);

    origin.answer(304, &[("etag", b"\"1\"")], "");
    let answer = client.get(&url).send().await.unwrap();
    assert_eq!(answer.status, 304);
    origin.answer(200, &[], "body");
    let answer = client.call(http::Method::HEAD, &url).send().await.unwrap();
    assert_eq!(answer.header("content-length"), Some("4"));
    assert_eq!(origin.seen().len(), 4);
    origin.forget();
    assert_eq!(origin.last(), None);
}

/// A request by HTTP/2 (RFC 9113), its fields as literals without Huffman codes (RFC 7541, section 6.2.2).
fn by_http2(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let lines = fields.iter();
    let lines = lines.map(|(name, value)| [vec![0], text(name), text(value)].concat());
    let block: Vec<u8> = lines.flatten().collect();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    // HEADERS, with the ends of the headers and of stream 1.
    let headers = [0, 0, u8::try_from(block.len()).unwrap(), 1, 5, 0, 0, 0, 1];
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    [&preface[..], &settings, &headers, &block].concat()
}

#[tokio::test]
async fn a_request_has_one_path_or_reaches_nobody() {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder().origin(&origin).start().await.unwrap();
    let begin = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "a.example"),
        (":path", "/one"),
    ];
    let authority = envoy.authority();
    // It stays open when all is well.
    let good = tokio::spawn(async move { raw::exchange(&authority, &by_http2(&begin)).await });
    eventually(Duration::from_secs(10), async || {
        ensure!(origin.total() == 1, "nothing came");
        Ok(())
    })
    .await
    .unwrap();
    good.abort();

    for rest in [
        &[(":path", "/two")][..],
        &[("x-a", "1"), (":path", "/two")],
        &[("x-a", "1"), (":other", "b")],
    ] {
        let fields = [&begin, rest].concat();
        // Envoy ends the connection.
        let ended = raw::exchange(&envoy.authority(), &by_http2(&fields)).await;
        assert!(ended.is_ok(), "{rest:?}: {ended:?}");
    }
    let request =
        b"GET /one HTTP/1.1\r\nhost: a.example\r\n:path: /two\r\nconnection: close\r\n\r\n";
    let answer = raw::exchange(&envoy.authority(), request).await.unwrap();
    assert_eq!(raw::status(&answer), Some(400));
    assert_eq!(origin.total(), 1);
}
