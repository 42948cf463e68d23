//! What the origin sees is what it would see without Tidegate, byte for byte.

use http::HeaderValue;
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::origin::RawSeen;
use tidegate_e2e::{Client, Envoy, RawOrigin, raw};

use crate::stand::{Kind, policy};

const KEY: &str = "x-api-key: amy";

/// Targets of requests that are scoped: what stands behind `/mine/`.
const TARGETS: [&str; 28] = [
    "",
    "p",
    "p?",
    "p??",
    "p?&",
    "p?a&a&a=1",
    "p?a=1&b=2&a=1&=&&",
    "p?b=2&a=1",
    "p?__tidegates=1",
    "p?q=__tidegate",
    "p?q=/mine/p?__tidegate-no",
    "a&__tidegate=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "a&__tidegate=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?b=1",
    "a/./b",
    "a/../b",
    "a/..;/b",
    "a/%2e%2e/b",
    "a/%2E%2e;x/b",
    "a//b",
    "//",
    "a;x=1",
    "a;x=1/b;y?c;d",
    "%41%7e%2f%5c",
    "me/x.css",
    "p?%5f_tidegatf=1",
    "p?a=%zz%",
    "p?a=b%26__tidegate%3dc",
    "A/B?C=D",
];

/// Targets that are somebody else's business: no route of the policy lists them.
const OTHERS: [&str; 4] = ["/", "/mine", "//mine/p?a", "/other/../x?y&y"];

/// Header lines that pass as they are, in this order.
const HEADERS: &str = "x-b: 2\r\nx-a: 1\r\nX-B: 1\r\nx-api-keys: no\r\naccept: */*, a\r\nx-a: 1\r\ncookie: b=2; a=1\r\nx-empty: \r\n";

/// The same Envoy with and without Tidegate, before one origin.
struct Both {
    origin: RawOrigin,
    with: Envoy,
    without: Envoy,
}

impl Both {
    async fn start(cache: Cache) -> Self {
        let origin = RawOrigin::start().await.unwrap();
        let builder = || -> Builder {
            let builder = Envoy::builder().origin_at(origin.address());
            builder.as_sent().h1_to_origin().cache(cache)
        };
        let kind = match cache {
            Cache::V2 => Kind::V2,
            Cache::V1 => Kind::V1,
        };
        let with = builder()
            .policy(&policy(kind))
            .environment("TIDEGATE_SCOPE_KEY", "a key for tests")
            .origin_role();
        Self {
            with: with.start().await.unwrap(),
            without: builder().start().await.unwrap(),
            origin,
        }
    }

    /// What the origin saw of a request through each of the two; through neither, if both refuse it.
    async fn h1(&self, target: &str, headers: &str) -> [Option<Vec<u8>>; 2] {
        let request = format!("GET {target} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        let mut seen = [None, None];
        for (envoy, seen) in [&self.with, &self.without].into_iter().zip(&mut seen) {
            self.origin.forget();
            raw::exchange(&envoy.authority(), request.as_bytes())
                .await
                .unwrap();
            *seen = self.origin.last().map(|seen| masked(&seen));
        }
        seen
    }

    async fn h2(&self, target: &str, headers: &[(&str, &str)]) -> [Option<Vec<u8>>; 2] {
        let mut seen = [None, None];
        for (envoy, seen) in [&self.with, &self.without].into_iter().zip(&mut seen) {
            self.origin.forget();
            let mut call = Client::h2().get(envoy.at(target));
            for (name, value) in headers {
                call = call.header(name, HeaderValue::from_str(value).unwrap());
            }
            call.send().await.unwrap();
            *seen = self.origin.last().map(|seen| {
                // Each Envoy has a port of its own.
                let text = String::from_utf8_lossy(&masked(&seen)).into_owned();
                text.replace(&envoy.authority(), "AUTHORITY").into_bytes()
            });
        }
        seen
    }

    async fn same_h1(&self, target: &str, headers: &str) -> Option<Vec<u8>> {
        let [with, without] = self.h1(target, headers).await;
        let shown = |seen: &Option<Vec<u8>>| {
            seen.as_deref()
                .map(String::from_utf8_lossy)
                .map(String::from)
        };
        assert_eq!(shown(&with), shown(&without), "{target}");
        with
    }

    async fn same_h2(&self, target: &str, headers: &[(&str, &str)]) -> Option<Vec<u8>> {
        let [with, without] = self.h2(target, headers).await;
        let shown = |seen: &Option<Vec<u8>>| {
            seen.as_deref()
                .map(String::from_utf8_lossy)
                .map(String::from)
        };
        assert_eq!(shown(&with), shown(&without), "{target} over HTTP/2");
        with
    }
}

/// The head without the one value that differs with every request.
fn masked(seen: &RawSeen) -> Vec<u8> {
    let text = String::from_utf8_lossy(&seen.head).into_owned();
    let lines = text.split("\r\n").map(|line| {
        if line.starts_with("x-request-id:") {
            "x-request-id: ID"
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\r\n").into_bytes()
}

async fn sees_the_same(cache: Cache) {
    let both = Both::start(cache).await;
    let answer = |status| {
        let date = b"Mon, 30 Nov 2026 00:00:00 GMT";
        let lines: [(&str, &[u8]); 3] = [
            ("cache-control", b"public, max-age=600"),
            ("etag", b"\"1\""),
            ("date", date),
        ];
        both.origin.answer(status, &lines, "body");
    };
    answer(200);
    let scoped = TARGETS.map(|rest| format!("/mine/{rest}"));
    let all = scoped.iter().map(String::as_str).chain(OTHERS);
    for (n, target) in all.enumerate() {
        // Each host is a key of its own, so that all of these are misses.
        let host = format!("host: Odd-{n}.example:8443\r\n");
        let known = format!("{host}{KEY}\r\n{HEADERS}");
        let miss = both.same_h1(target, &known).await.unwrap();
        let line = format!("GET {target} HTTP/1.1\r\n");
        assert!(
            miss.starts_with(line.as_bytes()),
            "{}",
            String::from_utf8_lossy(&miss)
        );
        // Nobody in particular: past the cache, and with a host that was not asked for yet.
        let unknown = format!("host: bypass-{n}.example\r\n{HEADERS}");
        both.same_h1(target, &unknown).await.unwrap();
        if n % 4 == 0 && n < TARGETS.len() {
            // There is a copy, and it has to be asked about again.
            let again = format!("{known}cache-control: no-cache\r\n");
            let asked = both.same_h1(target, &again).await.unwrap();
            let conditional = String::from_utf8_lossy(&asked).contains("if-none-match: \"1\"");
            assert!(conditional, "{}", String::from_utf8_lossy(&asked));
        }
    }
    for (n, target) in scoped.iter().enumerate() {
        let query = if target.contains('?') { "&" } else { "?" };
        let target = format!("{target}{query}h2={n}");
        let headers = [
            ("x-api-key", "amy"),
            ("x-b", "2"),
            ("x-a", "1"),
            ("x-b", "1"),
            ("cookie", "a=1; b=2"),
        ];
        both.same_h2(&target, &headers).await.unwrap();
        both.same_h2(&format!("{target}&bypass"), &headers[1..])
            .await
            .unwrap();
    }
    // A target with scheme and host, and methods that no cache keeps.
    both.same_h1(
        "http://absolute.example/mine/p?a",
        &format!("host: other.example\r\n{KEY}\r\n"),
    )
    .await;
}

#[tokio::test]
async fn c11_c16_c17_the_origin_sees_the_same_bytes_behind_cache_v2() {
    sees_the_same(Cache::V2).await;
}

#[tokio::test]
async fn c11_c16_c17_the_origin_sees_the_same_bytes_behind_the_older_cache() {
    sees_the_same(Cache::V1).await;
}
