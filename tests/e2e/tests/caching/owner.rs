//! Responses that say whose they are: the gate believes that word against the cache, and against the application itself.

use serde_json::json;

use crate::stand::{Kind, Setup, with};
use crate::{is_clean, lines};

const LASTING: (&str, &str) = ("cache-control", "max-age=600");
const MISMATCH: &str = "urn:tidegate:problem:response-owner-mismatch";

async fn is_held_to_its_word(kind: Kind) {
    let mut policy = with(
        kind,
        json!({"scope": ["account"], "owner_header": "X-Owner"}),
    );
    // Not a secret, so that the origin may name it as it is.
    policy["identity"] = json!({"account": [{"header": "x-api-key"}]});
    let stand = Setup::new(kind).policy(policy).start().await;

    let right: &[&[(&str, &str)]] = &[
        &[LASTING, ("x-owner", "amy")],
        &[LASTING, ("x-owner", "amy"), ("x-owner", "amy")],
    ];
    let wrong: &[&[(&str, &str)]] = &[
        &[LASTING, ("x-owner", "bob")],
        &[LASTING, ("x-owner", "AMY")],
        &[LASTING, ("x-owner", "amy"), ("x-owner", "bob")],
        &[LASTING, ("x-owner", "amy, bob")],
        &[LASTING, ("x-owner", "")],
        &[LASTING],
    ];
    for (n, say) in right.iter().chain(wrong).enumerate() {
        let path = format!("/mine/{n}");
        // On a miss, and when the copy is served.
        for _ in 0..2 {
            let answer = stand.get(&path, "amy", say).await;
            is_clean(&answer);
            if n < right.len() {
                assert_eq!(answer.status, 200, "{kind:?} {say:?}");
                assert_eq!(answer.header("x-owner"), Some("amy"));
                continue;
            }
            assert_eq!(answer.status, 502, "{kind:?} {say:?}");
            assert_eq!(answer.problem().unwrap()["type"], MISMATCH);
            assert!(!answer.headers.contains_key("x-owner"), "{answer:?}");
        }
        assert_eq!(stand.origin.count(&path), 1, "{kind:?} {say:?}");
    }
    assert_eq!(stand.mismatches().await, 2 * wrong.len() as u64);

    // An error page need not name anybody, but must not name somebody else.
    let page = |say: &[(&str, &str)]| {
        let call = stand.call(http::Method::GET, "/mine/gone", "amy");
        call.header(crate::SAY, lines(say)).send()
    };
    stand.origin.answer(
        "/mine/gone",
        tidegate_e2e::Reply::status(http::StatusCode::NOT_FOUND),
    );
    assert_eq!(page(&[]).await.unwrap().status, 404);
}

#[tokio::test]
async fn c25_a_response_is_let_out_to_the_owner_that_it_names() {
    for kind in Kind::ENVOYS {
        is_held_to_its_word(kind).await;
    }
}

/// The gate knows a secret by its digest alone; the origin may name either.
#[tokio::test]
async fn c25_an_owner_that_is_a_secret_is_recognised() {
    let policy = with(
        Kind::V2,
        json!({"scope": ["account"], "owner_header": "x-owner"}),
    );
    let stand = Setup::new(Kind::V2).policy(policy).start().await;
    for (n, (owner, status)) in [("amy", 200), ("bob", 502)].into_iter().enumerate() {
        let path = format!("/mine/{n}");
        for _ in 0..2 {
            let answer = stand
                .get(&path, "amy", &[LASTING, ("x-owner", owner)])
                .await;
            assert_eq!(answer.status, status, "{owner}");
        }
        assert_eq!(stand.origin.count(&path), 1);
    }
}
