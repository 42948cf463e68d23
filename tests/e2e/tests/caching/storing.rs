//! What Envoy's caches may keep, judged behind them, and what the caller is told of it.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tidegate_e2e::jwt::Issuer;
use tokio::time::sleep;

use crate::stand::{Kind, Setup, Stand};
use crate::{PUBLIC, SAY, all, is_clean, lines};

const LASTING: (&str, &str) = ("cache-control", "public, max-age=600");
const KEPT: u64 = 1;
const NOT_KEPT: u64 = 2;

/// What the origin says, how often it is asked for it by two requests in a row, and what the caller sees as `Cache-Control`.
type Case = (&'static [(&'static str, &'static str)], u64, &'static str);

const CASES: [Case; 24] = [
    (PUBLIC, KEPT, "private, max-age=600"),
    (
        &[("cache-control", "max-age=600")],
        KEPT,
        "private, max-age=600",
    ),
    (
        &[("cache-control", "S-MAXAGE=600, Max-Age=5")],
        KEPT,
        "private, max-age=5",
    ),
    // c4: in every letter case, among others, with a value, in a line of its own.
    (
        &[("cache-control", "no-store")],
        NOT_KEPT,
        "private, no-store",
    ),
    (
        &[("cache-control", "No-Store, max-age=600")],
        NOT_KEPT,
        "private, no-store, max-age=600",
    ),
    (&[("cache-control", "private")], NOT_KEPT, "private"),
    (&[("cache-control", "PRIVATE")], NOT_KEPT, "private"),
    (
        &[("cache-control", "public, max-age=600, Private")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[("cache-control", "max-age=600, private=\"x\"")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[LASTING, ("cache-control", "pRiVaTe")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    // c5, c6.
    (&[LASTING, ("vary", "*")], NOT_KEPT, "private, max-age=600"),
    (
        &[LASTING, ("vary", "accept"), ("vary", "x, *")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    // c7, c23.
    (
        &[LASTING, ("set-cookie", "sid=1")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[LASTING, ("proxy-authenticate", "Basic")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[LASTING, ("proxy-authentication-info", "a=b")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[LASTING, ("proxy-authorization", "Basic eA==")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    // Nothing is said of a lifetime.
    (&[], NOT_KEPT, "private"),
    // c19: who is told apart is told here, unless it is no list.
    (
        &[LASTING, ("cdn-cache-control", "no-store")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[LASTING, ("cdn-cache-control", "private")],
        NOT_KEPT,
        "private, max-age=600",
    ),
    (
        &[
            ("cache-control", "no-store"),
            ("cdn-cache-control", "max-age=600"),
        ],
        KEPT,
        "private, no-store",
    ),
    (&[("cdn-cache-control", "max-age=600")], KEPT, "private"),
    (
        &[LASTING, ("cdn-cache-control", "no-store,")],
        KEPT,
        "private, max-age=600",
    ),
    (
        &[LASTING, ("cdn-cache-control", "")],
        KEPT,
        "private, max-age=600",
    ),
    (
        &[
            LASTING,
            ("surrogate-control", "max-age=9"),
            ("cache-groups", "\"a\""),
        ],
        KEPT,
        "private, max-age=600",
    ),
];

impl Stand {
    /// How often the origin is asked for `path` by two requests in a row that `caller` sends.
    async fn executions(&self, path: &str, caller: &str, say: &[(&str, &str)]) -> u64 {
        let before = self.origin.count(path);
        for _ in 0..2 {
            let answer = self.get(path, caller, say).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            is_clean(&answer);
        }
        self.origin.count(path) - before
    }
}

async fn keeps_what_it_may(stand: &Stand, kind: Kind) {
    for (n, (say, executions, control)) in CASES.into_iter().enumerate() {
        let path = format!("/mine/case/{n}");
        for _ in 0..2 {
            let answer = stand.get(&path, "amy", say).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            is_clean(&answer);
            // What was kept reads as what was not.
            assert_eq!(all(&answer, "cache-control"), control, "{kind:?} {say:?}");
            for (name, value) in say {
                let hidden = name.contains("-control");
                let shown = all(&answer, name).contains(value);
                assert!(hidden || shown, "{kind:?} {name}: {answer:?}");
            }
            assert!(
                !answer.headers.contains_key("cdn-cache-control"),
                "{answer:?}"
            );
            assert!(
                !answer.headers.contains_key("surrogate-control"),
                "{answer:?}"
            );
        }
        assert_eq!(stand.origin.count(&path), executions, "{kind:?} {say:?}");
    }
}

async fn shares_what_is_public(stand: &Stand) {
    for caller in ["amy", "bob", "", "cat"] {
        let answer = stand.get("/public/a", caller, PUBLIC).await;
        is_clean(&answer);
        assert_eq!(all(&answer, "cache-control"), "public, max-age=600");
    }
    assert_eq!(stand.origin.count("/public/a"), 1);
    // What is not kept is not told to anyone else either: it leaves as it came.
    for (n, (say, executions, _)) in CASES.into_iter().enumerate() {
        let path = format!("/public/case/{n}");
        for _ in 0..2 {
            let answer = stand.get(&path, "amy", say).await;
            is_clean(&answer);
            for (name, _) in say {
                let said = say
                    .iter()
                    .filter(|(n, _)| n == name)
                    .map(|(_, value)| *value);
                let said: Vec<_> = said.collect();
                // Envoy joins some lines, without a blank.
                let got = all(&answer, name).replace(' ', "");
                assert_eq!(got, said.join(",").replace(' ', ""), "{say:?}");
            }
            let named = say.iter().any(|(name, _)| *name == "cache-control");
            assert_eq!(
                answer.headers.contains_key("cache-control"),
                named,
                "{answer:?}"
            );
        }
        assert_eq!(stand.origin.count(&path), executions, "{say:?}");
    }
    // c6: what is everybody's must not depend on who asks.
    for vary in ["Authorization", "accept, Cookie"] {
        let path = format!("/public/vary/{}", vary.len());
        let executions = stand
            .executions(&path, "amy", &[LASTING, ("vary", vary)])
            .await;
        assert_eq!(executions, NOT_KEPT);
    }
}

/// c7, c23: fields of a confirmation (304) become the copy's, and with them what was for whoever asked.
async fn takes_nobodys_cookie_from_a_confirmation(stand: &Stand, kind: Kind) {
    let etag = ("etag", "\"e\"");
    for (n, control) in ["public, max-age=600", "private, no-store"]
        .into_iter()
        .enumerate()
    {
        let path = format!("/public/confirmed/{n}");
        let first = [("cache-control", "public, max-age=1"), etag];
        stand.get(&path, "amy", &first).await;
        sleep(Duration::from_millis(2_100)).await;
        let confirmed = async |caller: &str, say: &[(&str, &str)]| {
            let call = stand.call(Method::GET, &path, caller);
            let call = call.header("x-origin-respond-status", "304");
            call.header(SAY, lines(say)).send().await.unwrap()
        };
        let say = [
            ("set-cookie", "sid=bob"),
            ("proxy-authenticate", "Basic"),
            ("cache-control", control),
            etag,
        ];
        confirmed("bob", &say).await;
        let seen = stand.origin.last(&path).unwrap();
        assert!(
            seen.headers.contains_key("if-none-match"),
            "{kind:?} {seen:?}"
        );
        for caller in ["amy", "cat", ""] {
            let answer = confirmed(caller, &first).await;
            assert_eq!(answer.status, 200, "{kind:?} {answer:?}");
            for name in ["set-cookie", "proxy-authenticate"] {
                assert!(
                    !answer.headers.contains_key(name),
                    "{kind:?} {control} {answer:?}"
                );
            }
        }
    }
}

async fn passes_by_who_is_nobody(stand: &Stand) {
    // c8: neither is a copy kept, nor one served.
    stand.get("/mine/a", "amy", PUBLIC).await;
    for _ in 0..2 {
        let answer = stand.get("/mine/a", "", PUBLIC).await;
        is_clean(&answer);
        assert!(!answer.text().contains("amy"), "{answer:?}");
        assert_eq!(all(&answer, "cache-status"), "tidegate; fwd=bypass");
        assert_eq!(all(&answer, "cache-control"), "private, max-age=600");
    }
    assert_eq!(stand.origin.count("/mine/a"), 3);
    assert_eq!(stand.executions("/mine/a", "amy", PUBLIC).await, 0);
    // What no route lists is kept for nobody, and says what the origin said.
    for caller in ["amy", ""] {
        assert_eq!(stand.executions("/other", caller, PUBLIC).await, NOT_KEPT);
    }
    let answer = stand.get("/other", "amy", PUBLIC).await;
    assert_eq!(all(&answer, "cache-control"), "public, max-age=600");
}

/// c3: the token is gone before the cache, which therefore does not know that the request was authorized.
async fn asks_for_a_word_where_there_was_a_token(stand: &Stand, token: &str) {
    let table = [
        ("max-age=600", NOT_KEPT),
        ("max-age=600, no-cache=\"public\"", NOT_KEPT),
        ("public, max-age=600", KEPT),
        ("s-maxage=600", KEPT),
        ("max-age=600, Must-Revalidate", KEPT),
    ];
    for (n, (control, executions)) in table.into_iter().enumerate() {
        for route in ["mine", "public"] {
            let path = format!("/{route}/token/{n}");
            for _ in 0..2 {
                let call = stand.call(Method::GET, &path, "").bearer(token);
                let call = call.header(SAY, lines(&[("cache-control", control)]));
                let answer = call.send().await.unwrap();
                assert_eq!(answer.status, 200, "{answer:?}");
            }
            assert_eq!(stand.origin.count(&path), executions, "{path} {control}");
            let seen = stand.origin.last(&path).unwrap();
            assert!(!seen.headers.contains_key("authorization"));
        }
    }
}

async fn storing(kind: Kind) {
    let issuer = Issuer::new("https://idp.test").unwrap();
    let token = issuer.token(json!({"sub": "amy"})).unwrap();
    let stand = Setup::new(kind).gate(|gate| gate.jwt(issuer)).start().await;
    keeps_what_it_may(&stand, kind).await;
    shares_what_is_public(&stand).await;
    takes_nobodys_cookie_from_a_confirmation(&stand, kind).await;
    passes_by_who_is_nobody(&stand).await;
    asks_for_a_word_where_there_was_a_token(&stand, &token).await;
    assert_eq!(stand.mismatches().await, 0);
}

#[tokio::test]
async fn c3_c4_c5_c6_c7_c8_c19_c23_cache_v2_keeps_what_it_may() {
    storing(Kind::V2).await;
}

#[tokio::test]
async fn c3_c4_c5_c6_c7_c8_c19_c23_the_older_cache_keeps_what_it_may() {
    storing(Kind::V1).await;
}
