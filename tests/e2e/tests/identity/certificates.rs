//! Client certificates that the listener validated.

use serde_json::json;
use tidegate_e2e::envoy::ClientCertificates;
use tidegate_e2e::tls::{Authority, Identity};
use tidegate_e2e::{Client, Envoy};

use crate::{ADMITTED, REFUSED, once, said};

#[tokio::test]
async fn d15_a_validated_certificate_is_an_account() {
    let authority = Authority::new().unwrap();
    let server = authority.server().unwrap();
    let orders = authority
        .client(&["spiffe://e2e/orders", "spiffe://e2e/second"])
        .unwrap();
    let billing = authority.client(&["spiffe://e2e/billing"]).unwrap();
    let renewed = authority.client(&["spiffe://e2e/orders"]).unwrap();
    let nameless = authority.client(&[]).unwrap();
    let stranger = Authority::new()
        .unwrap()
        .client(&["spiffe://e2e/orders"])
        .unwrap();
    let envoy = Envoy::builder()
        .policy(&once(json!({"account": [{"san": "uri"}]})))
        .tls(&authority, &server, ClientCertificates::Optional)
        .start()
        .await
        .unwrap();
    let call = |h2: bool, path: &str, identity: Option<&Identity>| {
        let builder = if h2 {
            Client::builder().h2()
        } else {
            Client::builder()
        };
        builder
            .build_tls(&authority, identity)
            .unwrap()
            .get(envoy.url_tls() + path)
    };
    assert_eq!(said(call(false, "/closed", Some(&orders))).await, ADMITTED);
    assert_eq!(said(call(true, "/closed", Some(&billing))).await, ADMITTED);
    for h2 in [false, true] {
        for identity in [&orders, &billing, &renewed] {
            assert_eq!(said(call(h2, "/closed", Some(identity))).await, REFUSED);
        }
        for identity in [None, Some(&nameless)] {
            assert_eq!(
                said(call(h2, "/closed", identity)).await,
                "401 identity-required"
            );
        }
        call(h2, "/closed", Some(&stranger))
            .send()
            .await
            .unwrap_err();
    }
    // Without a certificate the address stands in, over TLS and without.
    assert_eq!(said(call(true, "/", None)).await, ADMITTED);
    assert_eq!(said(call(false, "/", Some(&nameless))).await, REFUSED);
    assert_eq!(said(Client::h1().get(envoy.at("/"))).await, REFUSED);
}

#[tokio::test]
async fn d15_a_certificate_that_is_not_asked_for_says_nothing() {
    let authority = Authority::new().unwrap();
    let server = authority.server().unwrap();
    let orders = authority.client(&["spiffe://e2e/orders"]).unwrap();
    let envoy = Envoy::builder()
        .policy(&once(json!({"account": [{"san": "uri"}]})))
        .tls(&authority, &server, ClientCertificates::Ignored)
        .start()
        .await
        .unwrap();
    let client = Client::builder()
        .build_tls(&authority, Some(&orders))
        .unwrap();
    let call = client.get(envoy.url_tls() + "/closed");
    // Neither does a header that claims to be one.
    let call = call.header("x-forwarded-client-cert", "URI=spiffe://e2e/orders");
    assert_eq!(said(call).await, "401 identity-required");
}
