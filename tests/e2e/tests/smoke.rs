//! The harness by itself: what the module's own tests stand on. They hold without the module.
//! How policies and modules are shipped is in discovery.rs.
//!
//! The module's tests stand beside this one, one subject each: table, exact, wait, protocols, identity, hostile, refused.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use tidegate_e2e::envoy::{ClientCertificates, Reload};
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::tls::Authority;
use tidegate_e2e::{Client, Envoy, Origin, Reply, eventually, raw};

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_request_reaches_the_origin_as_it_was_sent() {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .origin(&origin)
        .max_headers(3_000, 256)
        .start()
        .await
        .unwrap();
    for client in [Client::h1(), Client::h2()] {
        origin.forget();
        let mut call = client
            .post(envoy.at("/echo?a=1"))
            .header("x-latin", b"caf\xe9")
            .header("x-twice", "1")
            .header("x-twice", "2")
            .header("x-empty", "")
            .body("hello");
        for n in 0..2_000 {
            call = call.header(format!("x-many-{n}"), "v");
        }
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json().unwrap()["path"], "/echo?a=1");

        let seen = origin.last("/echo").unwrap();
        assert_eq!((seen.method.as_str(), seen.body_len), ("POST", 5));
        assert_eq!(seen.headers["x-latin"].as_bytes(), b"caf\xe9");
        assert_eq!(seen.headers.get_all("x-twice").iter().count(), 2);
        assert_eq!(seen.headers["x-empty"], "");
        assert_eq!(seen.headers["x-many-1999"], "v");
        assert_eq!(origin.count("/echo"), 1);
    }
}

#[tokio::test]
async fn the_origin_answers_as_it_was_told() {
    let origin = Origin::start().await.unwrap();
    origin.answer(
        "/made",
        Reply::status(http::StatusCode::CREATED).body("made"),
    );
    let envoy = Envoy::builder().origin(&origin).start().await.unwrap();
    let client = Client::h1();

    let answer = client.get(envoy.at("/status/503")).send().await.unwrap();
    assert_eq!(answer.status, 503);
    let answer = client.get(envoy.at("/made")).send().await.unwrap();
    assert_eq!(
        (answer.status.as_u16(), answer.text().as_str()),
        (201, "made")
    );
    let answer = client
        .get(envoy.at("/"))
        .header("x-origin-respond-headers", r#"[["x-a","1"],["x-a","2"]]"#)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers.get_all("x-a").iter().count(), 2);
    let answer = Client::h2()
        .post(envoy.at("/pkg.Service/Method"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(&[0_u8; 5][..])
        .send()
        .await
        .unwrap();
    assert_eq!(answer.trailers["grpc-status"], "0");
}

#[tokio::test]
async fn odd_bytes_and_normalised_paths() {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder().origin(&origin).start().await.unwrap();
    let get = async |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: e2e\r\nconnection: close\r\n\r\n");
        let answer = raw::exchange(&envoy.authority(), request.as_bytes()).await;
        raw::status(&answer.unwrap())
    };
    assert_eq!(get("/a//b/../c").await, Some(200));
    assert_eq!(origin.count("/a/c"), 1);
    assert_eq!(get("/a%2Fb").await, Some(400));
    assert_eq!(origin.total(), 1);
}

#[tokio::test]
async fn the_access_log_names_the_client_behind_a_trusted_hop() {
    let envoy = Envoy::builder().trusted_hops(1).start().await.unwrap();
    let client = Client::builder()
        .from("127.0.0.9".parse().unwrap())
        .build_plain();
    for forwarded in [None, Some("192.0.2.1, 2001:db8::7")] {
        let mut call = client.get(envoy.at("/"));
        if let Some(forwarded) = forwarded {
            call = call.header("x-forwarded-for", forwarded);
        }
        assert_eq!(call.send().await.unwrap().status, 200);
    }
    let log = eventually(SOON, async || {
        let log = envoy.access_log()?;
        ensure!(log.len() == 2, "{} lines", log.len());
        Ok(log)
    })
    .await
    .unwrap();
    assert_eq!(log[0]["client"], "127.0.0.9");
    assert_eq!(log[1]["client"], "2001:db8::7");
    assert_eq!(log[1]["decision"], json!(null));
}

#[tokio::test]
async fn a_token_is_verified_and_its_payload_kept() {
    let issuer = Issuer::new("https://idp.test").unwrap();
    let stranger = Issuer::new("https://idp.test").unwrap();
    let token = issuer.token(json!({"sub": "amy"})).unwrap();
    let forged = stranger.token(json!({"sub": "amy"})).unwrap();
    let expired = issuer.token(json!({"sub": "amy", "exp": 1_000})).unwrap();
    let envoy = Envoy::builder().jwt(issuer).start().await.unwrap();
    let client = Client::h1();

    let with = async |token: &str| {
        let call = client.get(envoy.at("/")).bearer(token);
        call.send().await.unwrap().status.as_u16()
    };
    assert_eq!(with(&token).await, 200);
    assert_eq!(with(&forged).await, 401);
    assert_eq!(with(&expired).await, 401);
    let without = client.get(envoy.at("/")).send().await.unwrap();
    assert_eq!(without.status, 200);
    eventually(SOON, async || {
        let log = envoy.access_log()?;
        ensure!(log.iter().any(|line| line["subject"] == "amy"), "{log:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_client_certificate_is_asked_for_and_checked() {
    let authority = Authority::new().unwrap();
    let server = authority.server().unwrap();
    let uri = "spiffe://e2e/orders";
    let known = authority.client(&[uri]).unwrap();
    let unknown = Authority::new().unwrap().client(&[uri]).unwrap();
    let envoy = Envoy::builder()
        .tls(&authority, &server, ClientCertificates::Required)
        .start()
        .await
        .unwrap();
    let get = async |h2: bool, identity| {
        let builder = Client::builder();
        let builder = if h2 { builder.h2() } else { builder };
        let client = builder.build_tls(&authority, identity).unwrap();
        client.get(envoy.url_tls() + "/").send().await
    };
    for h2 in [false, true] {
        assert_eq!(get(h2, Some(&known)).await.unwrap().status, 200);
        get(h2, Some(&unknown)).await.unwrap_err();
        get(h2, None).await.unwrap_err();
    }
    eventually(SOON, async || {
        let log = envoy.access_log()?;
        ensure!(log.iter().any(|line| line["client_uri"] == uri), "{log:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn listeners_change_without_a_dropped_connection() {
    let envoy = Envoy::builder().lds().start().await.unwrap();
    let (url, client) = (envoy.at("/"), Client::h1());
    assert_eq!(client.get(&url).send().await.unwrap().status, 200);

    let other = envoy
        .update_listeners(|listeners| {
            let mut other = listeners[0].clone();
            other["name"] = json!("other");
            listeners.push(other);
        })
        .await
        .unwrap();
    assert_eq!(other, Reload::Accepted);
    let same = envoy
        .update_listeners(|listeners| {
            listeners[0]["per_connection_buffer_limit_bytes"] = json!(65_536);
        })
        .await
        .unwrap();
    assert_eq!(same, Reload::Accepted);
    assert_eq!(client.get(&url).send().await.unwrap().status, 200);
    assert_eq!(Client::h1().get(&url).send().await.unwrap().status, 200);
    let bad = envoy
        .update_listeners(|listeners| listeners[0]["address"] = json!({}))
        .await
        .unwrap();
    assert_eq!(bad, Reload::Rejected);
    assert_eq!(Client::h1().get(&url).send().await.unwrap().status, 200);
}

#[tokio::test]
async fn several_envoys_run_at_once_and_tell_about_themselves() {
    let one = Envoy::builder().start().await.unwrap();
    let two = Envoy::builder().concurrency(2).start().await.unwrap();
    assert_ne!((one.url(), one.pid()), (two.url(), two.pid()));
    assert_eq!(two.stat("server.concurrency").await.unwrap(), 2);
    assert!(two.rss_bytes().unwrap() > 1 << 20);
    assert!(two.heap_bytes().await.unwrap() > 1 << 20);
    let live = two.sample("envoy_server_live", &[]).await.unwrap();
    assert_eq!(live, Some(1.0));
}

#[tokio::test]
async fn an_envoy_that_refuses_to_start_says_why() {
    let broken = json!({"name": "no.such.filter"});
    let builder = Envoy::builder().filter_before(broken);
    let refusal = builder.try_start().await.unwrap().unwrap_err();
    assert!(refusal.log.contains("no.such.filter"), "{refusal}");
}
