//! Validators, ages, heads and ranges: whatever is asked of a copy, it is the caller's own.

use std::time::Duration;

use http::{Method, StatusCode};
use tidegate_e2e::{Answer, Reply};

use crate::stand::{Kind, Stand};
use crate::{PUBLIC, SAY, all, is_clean, lines};

const TAGGED: &[(&str, &str)] = &[PUBLIC[0], ("etag", "\"1\""), ("accept-ranges", "bytes")];

/// c26: what confirms a copy to one caller says nothing to another.
pub(crate) async fn validators(stand: &Stand, kind: Kind) {
    let path = "/mine/tagged";
    let conditional = async |caller: &str| {
        let call = stand.call(Method::GET, path, caller);
        let call = call.header("if-none-match", "\"1\"");
        let answer = call.header(SAY, lines(TAGGED)).send().await.unwrap();
        is_clean(&answer);
        if answer.status == 304 {
            assert!(answer.body.is_empty());
        } else {
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.text().contains(caller), "{answer:?}");
        }
    };
    stand.get(path, "amy", TAGGED).await;
    // The same validator, but not of a copy of bob's: the origin is asked, as bob.
    conditional("bob").await;
    assert_eq!(stand.origin.count(path), 2, "{kind:?}");
    let seen = stand.origin.last(path).unwrap();
    assert_eq!(seen.headers["x-api-key"], "bob");
    conditional("amy").await;

    if !Kind::ENVOYS.contains(&kind) {
        // These ask without the caller's validator.
        return;
    }
    // What the origin confirms, it confirms to whoever asked.
    let confirmation = Reply::status(StatusCode::NOT_MODIFIED).header("etag", "\"1\"");
    stand
        .origin
        .answer("/mine/confirmed", confirmation.body(""));
    for caller in ["amy", "bob"] {
        let call = stand.call(Method::GET, "/mine/confirmed", caller);
        let answer = call.header("if-none-match", "\"1\"").send().await.unwrap();
        let found = (answer.status.as_u16(), answer.body.len());
        assert_eq!(found, (304, 0), "{kind:?}");
        assert_eq!(answer.header("etag"), Some("\"1\""));
        is_clean(&answer);
    }
}

/// c12: parts of a copy, and what is known of it.
pub(crate) async fn parts(stand: &Stand, kind: Kind) {
    let path = "/mine/parts";
    let call = |method: Method, caller: &str| {
        let call = stand.call(method, path, caller);
        call.header(SAY, lines(TAGGED))
    };
    let miss = stand.get(path, "amy", TAGGED).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let hit = stand.get(path, "amy", TAGGED).await;
    assert_eq!(hit.body, miss.body);
    if kind != Kind::Nginx {
        // Which adds none.
        assert_eq!(age(&miss), 0, "{kind:?}");
        assert!(age(&hit) >= 1, "{kind:?} {hit:?}");
    }
    for (caller, asked) in [("amy", 1), ("bob", 2)] {
        let answer = call(Method::HEAD, caller).send().await.unwrap();
        let found = (answer.status.as_u16(), answer.body.len());
        assert_eq!(found, (200, 0), "{kind:?}");
        assert_eq!(all(&answer, "cache-control"), "private, max-age=600");
        assert!(stand.origin.count(path) >= asked, "{kind:?} {caller}");
        is_clean(&answer);
    }
    if kind == Kind::V1 {
        // The older cache never ends a range of a copy: caches_of_envoy.rs.
        return;
    }
    for caller in ["amy", "bob"] {
        let whole = stand.get(path, caller, TAGGED).await;
        assert!(whole.text().contains(caller));
        let part = call(Method::GET, caller).header("range", "bytes=2-60");
        let part = part.send().await.unwrap();
        assert_eq!(part.status, 206, "{kind:?} {part:?}");
        assert_eq!(part.body, whole.body.slice(2..61), "{kind:?}");
        is_clean(&part);
    }
}

/// c12: what the origin says under our names goes no further, and has no effect.
pub(crate) async fn names(stand: &Stand, kind: Kind) {
    let other = "b".repeat(64);
    // What VCL does not know by name it cannot take out; an application with nothing beside it is believed that much.
    let believed = kind == Kind::NoSidecar;
    let say = [
        PUBLIC[0],
        ("x-tidegate-seal", &other),
        ("x-tidegate-kept-set-cookie", "sid=1"),
        ("x-tidegate-added", "content-type"),
        ("x-tidegate-cache", "off"),
    ];
    for path in ["/mine/names", "/mine/names", "/public/names", "/other"] {
        let answer = stand.get(path, "amy", &say).await;
        assert_eq!(answer.status, 200, "{kind:?} {path}");
        assert!(
            answer.headers.contains_key("content-type"),
            "{kind:?} {path}"
        );
        assert!(
            believed || !answer.headers.contains_key("set-cookie"),
            "{kind:?} {path}"
        );
        let mut names = answer.headers.keys();
        assert!(
            !names.any(|name| name.as_str().starts_with("x-tidegate")),
            "{answer:?}"
        );
    }
    assert_eq!(stand.origin.count("/mine/names"), 1, "{kind:?}");
}

fn age(answer: &Answer) -> u64 {
    answer.header("age").map_or(0, |age| age.parse().unwrap())
}
