//! Client addresses: Envoy's trusted one, whatever headers say.

use serde_json::json;
use tidegate_e2e::{Client, Envoy};

use crate::{ADMITTED, REFUSED, once, said};

async fn start(hops: u32) -> Envoy {
    let policy =
        once(json!({"account": [{"header": "x-account"}], "address": {"ipv6_prefix": 64}}));
    let envoy = Envoy::builder().trusted_hops(hops).policy(&policy);
    envoy.start().await.unwrap()
}

#[tokio::test]
async fn d9_d11_d12_d13_behind_a_trusted_hop_the_address_is_the_one_it_saw() {
    let envoy = start(1).await;
    let table = [
        ("192.0.2.1", ADMITTED),
        ("192.0.2.1", REFUSED),
        ("192.0.2.2", ADMITTED),
        // What a client wrote stands before what the hop added.
        ("192.0.2.77, 192.0.2.1", REFUSED),
        ("192.0.2.2, 10.0.0.1, 192.0.2.3", ADMITTED),
        ("192.0.2.3", REFUSED),
        // d11: an IPv4-mapped address is the IPv4 one.
        ("::ffff:192.0.2.4", ADMITTED),
        ("192.0.2.4", REFUSED),
        ("::ffff:c000:204", REFUSED),
        // d12, d13: a network of 64 bits is one caller, however its addresses are written.
        ("2001:db8:1:1::1", ADMITTED),
        ("2001:0DB8:0001:0001:ffff:0:0:2", REFUSED),
        ("2001:db8:1:1::192.0.2.9", REFUSED),
        ("2001:db8:1:2::1", ADMITTED),
    ];
    for (forwarded, expected) in table {
        let call = Client::h1()
            .get(envoy.at("/"))
            .header("x-forwarded-for", forwarded);
        assert_eq!(said(call).await, expected, "{forwarded}");
    }
}

#[tokio::test]
async fn d9_without_a_trusted_hop_no_header_changes_the_address() {
    let envoy = start(0).await;
    let from = |address: &str| {
        let client = Client::builder()
            .from(address.parse().unwrap())
            .build_plain();
        client.get(envoy.at("/"))
    };
    assert_eq!(said(from("127.0.0.5")).await, ADMITTED);
    assert_eq!(said(from("127.0.0.6")).await, ADMITTED);
    for (name, value) in [
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-for", "192.0.2.1, 127.0.0.99"),
        ("x-real-ip", "192.0.2.1"),
        ("forwarded", "for=192.0.2.1"),
        ("x-envoy-external-address", "192.0.2.1"),
        ("true-client-ip", "192.0.2.1"),
    ] {
        for address in ["127.0.0.5", "127.0.0.6"] {
            assert_eq!(
                said(from(address).header(name, value)).await,
                REFUSED,
                "{name}"
            );
        }
    }
    assert_eq!(said(from("127.0.0.7")).await, ADMITTED);
}

#[tokio::test]
async fn d3_each_route_says_what_becomes_of_strangers() {
    let envoy = start(1).await;
    let get = |path: &str, address: &str| {
        Client::h1()
            .get(envoy.at(path))
            .header("x-forwarded-for", address)
    };
    assert_eq!(
        said(get("/closed", "192.0.2.1")).await,
        "401 identity-required"
    );
    for account in ["", " ", "\t"] {
        let call = get("/closed", "192.0.2.1").header("x-account", account);
        assert_eq!(said(call).await, "401 identity-required", "{account:?}");
    }
    // Nothing was charged to the address; then it stands in for the account.
    assert_eq!(said(get("/", "192.0.2.1")).await, ADMITTED);
    assert_eq!(said(get("/", "192.0.2.1")).await, REFUSED);
    assert_eq!(
        said(get("/", "192.0.2.1").header("x-account", " ")).await,
        REFUSED
    );
    // Where strangers are allowed the limit is left out, for them alone.
    for _ in 0..5 {
        assert_eq!(said(get("/open", "192.0.2.1")).await, ADMITTED);
    }
    assert_eq!(
        said(get("/open", "192.0.2.1").header("x-account", "amy")).await,
        ADMITTED
    );
    assert_eq!(
        said(get("/open", "192.0.2.1").header("x-account", "amy")).await,
        REFUSED
    );
}
