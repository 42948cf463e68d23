//! Odd request lines, as bytes.

use tidegate_e2e::raw;
use tokio::task::JoinSet;

use crate::Bench;

#[tokio::test]
async fn odd_request_lines_are_answered_and_harm_nobody() {
    let bench = Bench::start().await;
    let long = format!("/{}", "a".repeat(32 << 10));
    let longer = format!("/{}", "a".repeat(300 << 10));
    let host = "host: api.test\r\n";
    // The request line, the lines after it, and the answer.
    let table: [(&str, &str, u16); 24] = [
        ("GET // HTTP/1.1", host, 200),
        ("GET //own HTTP/1.1", host, 429),
        ("GET /%6fwn HTTP/1.1", host, 429),
        ("GET /a/../own HTTP/1.1", host, 429),
        ("GET /%2e/own HTTP/1.1", host, 429),
        ("GET /a/%2e%2e/own HTTP/1.1", host, 429),
        ("GET /./own?x HTTP/1.1", host, 429),
        ("GET http://api.test/own HTTP/1.1", host, 429),
        ("GET http://other.test//own HTTP/1.1", host, 429),
        ("OWN /own HTTP/1.1", host, 400),
        ("PROPFIND /own HTTP/1.1", host, 429),
        ("GET /own/ HTTP/1.1", host, 200),
        ("GET /own;x=1 HTTP/1.1", host, 200),
        ("GET /own%3f HTTP/1.1", host, 200),
        ("GET /a%zz%fe%ff HTTP/1.1", host, 200),
        ("GET /a%00b HTTP/1.1", host, 400),
        ("GET /a%2fown HTTP/1.1", host, 400),
        ("GET /?????&&&&===%%% HTTP/1.1", host, 200),
        ("OPTIONS * HTTP/1.1", host, 404),
        ("CONNECT api.test:443 HTTP/1.1", host, 404),
        ("GET /own HTTP/1.0", "", 426),
        ("GET /own HTTP/1.1", "", 400),
        (&format!("GET {long} HTTP/1.1"), host, 200),
        (&format!("GET {longer} HTTP/1.1"), host, 431),
    ];
    // All at once: after an answer of its own Envoy may leave a connection open for a second.
    let mut asked = JoinSet::new();
    for (line, headers, expected) in table {
        let request = format!("{line}\r\n{headers}x-account: drained\r\nconnection: close\r\n\r\n");
        let authority = bench.envoy.authority();
        asked.spawn(async move {
            let answer = raw::exchange(&authority, request.as_bytes()).await.unwrap();
            let status = raw::status(&answer);
            let line = request.lines().next().unwrap_or_default();
            let shown: String = line.chars().take(60).collect();
            (status != Some(expected)).then(|| format!("{shown}: {status:?}, expected {expected}"))
        });
    }
    let wrong: Vec<String> = asked.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    bench.conclude().await;
}
