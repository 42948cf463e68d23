//! Odd header lines, and very many of them.

use tidegate_e2e::Client;

use crate::Bench;

#[tokio::test]
async fn d1_d4_odd_values_are_an_identity_or_a_400_and_no_concern_elsewhere() {
    let bench = Bench::start().await;
    let long = vec![b'x'; 8 << 10];
    let (edge, over) = (&long[..1_024], &long[..1_025]);
    // What comes of them in the header of the identity; in any other they are only passed on.
    let table: [(&[&[u8]], u16); 14] = [
        (&[b"\xff\xfe"], 200),
        (&[b"caf\xe9"], 200),
        (&[b"\xed\xa0\x80"], 200),
        (&[edge], 200),
        (&[over], 400),
        (&[&long], 400),
        (&[b"a\tb"], 400),
        (&[b"\tc\t"], 200),
        (&[b"a,b"], 400),
        (&[b"d", b"d"], 400),
        (&[b"", b""], 400),
        (&[b"e", b""], 400),
        (&[b""], 200),
        (&[b"%00"], 200),
    ];
    for (client, version) in [(Client::h1(), 1), (Client::h2(), 2)] {
        for (row, (values, expected)) in table.iter().enumerate() {
            let with = |name: &str| {
                let call = client.get(bench.envoy.at("/own"));
                values
                    .iter()
                    .fold(call, |call, value| call.header(name, value))
            };
            let shown = String::from_utf8_lossy(values[0]);
            let answer = with("x-account").send().await.unwrap();
            assert_eq!(answer.status, *expected, "`{shown}`, HTTP/{version}");
            let elsewhere = with("x-other").header("x-account", format!("row-{row}-{version}"));
            let answer = elsewhere.send().await.unwrap();
            assert_eq!(answer.status, 200, "elsewhere: `{shown}`, HTTP/{version}");
        }
    }
    bench.conclude().await;
}

/// Bytes that are not UTF-8 are never replaced by one and the same character.
#[tokio::test]
async fn accounts_that_differ_in_bytes_that_are_no_text_are_two() {
    let bench = Bench::start().await;
    let ask = async |value: &[u8]| {
        let call = Client::h1()
            .get(bench.envoy.at("/own"))
            .header("x-account", value);
        call.send().await.unwrap().status.as_u16()
    };
    for _ in 0..3 {
        assert_eq!(ask(b"caf\xe9").await, 200);
        assert_eq!(ask(b"caf\xe8").await, 200);
    }
    assert_eq!((ask(b"caf\xe9").await, ask(b"caf\xe8").await), (429, 429));
    assert_eq!(ask("caf\u{fffd}".as_bytes()).await, 200);
    bench.conclude().await;
}

/// The module reads every line that Envoy takes: an identity is found, and found twice, behind any number of others.
#[tokio::test]
async fn d1_no_number_of_headers_hides_an_identity() {
    let bench = Bench::start().await;
    for client in [Client::h1(), Client::h2()] {
        for lines in [1_000, 1_030, 2_900] {
            let many = |path: &str| {
                let call = client.get(bench.envoy.at(path));
                (0..lines).fold(call, |call, number| call.header(format!("x-{number}"), "v"))
            };
            let answer = many("/any").send().await.unwrap();
            assert_eq!(answer.status, 200, "{lines} lines");
            let answer = many("/own")
                .header("x-account", "drained")
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status, 429, "{lines} lines");
            let twice = many("/own")
                .header("x-account", "a")
                .header("x-account", "b");
            let answer = twice.send().await.unwrap();
            assert_eq!(answer.status, 400, "{lines} lines");
            let problem = answer.problem().unwrap();
            assert_eq!(problem["type"], "urn:tidegate:problem:identity-ambiguous");
            let reserved = many("/any").header("x-tidegate-scope", "mine");
            assert_eq!(reserved.send().await.unwrap().status, 400, "{lines} lines");
        }
    }
    // More than Envoy itself takes; over HTTP/2 it resets the stream.
    let call = Client::h1().get(bench.envoy.at("/any"));
    let many = (0..3_100).fold(call, |call, number| call.header(format!("x-{number}"), "v"));
    assert_eq!(many.send().await.unwrap().status, 431);
    assert_eq!(bench.origin.count("/any"), 6);
    bench.conclude().await;
}
