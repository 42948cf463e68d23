//! What holds for every cache, in front of two workers.

use tidegate_e2e::Answer;

use crate::stand::{Kind, Setup, Stand};
use crate::{PUBLIC, changes, collapse, is_clean, own};

async fn holds(kind: Kind) {
    if kind.skipped() {
        return;
    }
    let stand = Setup::new(kind)
        .gate(|gate| gate.concurrency(2))
        .start()
        .await;
    own::validators(&stand, kind).await;
    own::parts(&stand, kind).await;
    own::names(&stand, kind).await;
    collapse::at_once(&stand, kind).await;
    changes::ends_what_changed(&stand, kind).await;
    without_an_answer(stand, kind).await;
}

/// Where nobody answers the caller is told so: that is no leak.
async fn without_an_answer(stand: Stand, kind: Kind) {
    let kept = stand.get("/mine/kept", "amy", PUBLIC).await;
    let mut stand = stand.without_origin().await;
    for (n, caller) in ["amy", "bob", ""].into_iter().enumerate() {
        let answer = stand.get(&format!("/mine/down/{n}"), caller, &[]).await;
        assert_eq!(answer.status, 503, "{kind:?} {caller} {answer:?}");
        tells_no_more(&answer);
        let posted = stand
            .call(http::Method::POST, "/mine/down", caller)
            .send()
            .await
            .unwrap();
        assert_eq!(posted.status, 503, "{kind:?} {caller} {posted:?}");
        tells_no_more(&posted);
    }
    let hit = stand.get("/mine/kept", "amy", PUBLIC).await;
    assert_eq!(
        (hit.status, &hit.body),
        (kept.status, &kept.body),
        "{kind:?}"
    );
    let gone = stand.get("/mine/kept", "bob", PUBLIC).await;
    assert_eq!(gone.status, 503, "{kind:?} {gone:?}");

    // Without the sidecar the cache itself says so, and nobody seals that.
    if stand.sidecar.take().is_some() {
        let answer = stand.get("/mine/lost", "amy", &[]).await;
        let status = if kind == Kind::Nginx { 502 } else { 503 };
        assert_eq!(answer.status, status, "{kind:?} {answer:?}");
        tells_no_more(&answer);
    }
    // And without the cache the gate's own Envoy.
    if stand.lose_server() {
        let answer = stand.get("/mine/lost", "amy", &[]).await;
        assert_eq!(answer.status, 503, "{kind:?} {answer:?}");
        tells_no_more(&answer);
    }
    assert_eq!(stand.mismatches().await, 0, "{kind:?}");
}

fn tells_no_more(answer: &Answer) {
    is_clean(answer);
    let text = answer.text();
    assert!(!text.contains("response-owner-mismatch"), "{answer:?}");
}

#[tokio::test]
async fn c12_c20_c26_cache_v2() {
    holds(Kind::V2).await;
}

#[tokio::test]
async fn c12_c20_c26_the_older_cache() {
    holds(Kind::V1).await;
}

#[tokio::test]
async fn c12_c20_c26_varnish() {
    holds(Kind::Varnish).await;
}

#[tokio::test]
async fn c12_c20_c26_varnish_without_a_sidecar() {
    holds(Kind::NoSidecar).await;
}

#[tokio::test]
async fn c12_c26_nginx() {
    holds(Kind::Nginx).await;
}
