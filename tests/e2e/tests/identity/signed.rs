//! Addresses that a front passes in a signed header.

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tidegate_core::identity::sign_address;
use tidegate_e2e::envoy::Builder;
use tidegate_e2e::{Client, Envoy};

use crate::{ADMITTED, AMBIGUOUS, REFUSED, once, said};

const KEY: &str = "the key of the front";

fn policy() -> Value {
    let signed = json!({"header": "x-client-address", "key_env": "FRONT_KEY", "max_age": "60s"});
    once(json!({"account": [{"header": "x-account"}], "address": {"signed": signed}}))
}

fn builder() -> Builder {
    Envoy::builder().policy(&policy())
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn sign(address: &str, time: u64, key: &str) -> String {
    let address: IpAddr = address.parse().unwrap();
    sign_address(address, time, key.as_bytes())
}

#[tokio::test]
async fn a_signed_address_is_the_callers_and_any_other_is_refused() {
    let envoy = builder()
        .environment("FRONT_KEY", KEY)
        .start()
        .await
        .unwrap();
    let good = sign("192.0.2.1", now(), KEY);
    let table = [
        (good.clone(), ADMITTED),
        (sign("192.0.2.1", now() - 30, KEY), REFUSED),
        (sign("192.0.2.2", now(), KEY), ADMITTED),
        (sign("2001:db8:1:1::1", now(), KEY), ADMITTED),
        (sign("2001:db8:1:1::2", now(), KEY), REFUSED),
        (sign("192.0.2.3", now(), "another key"), AMBIGUOUS),
        (sign("192.0.2.3", now() - 120, KEY), AMBIGUOUS),
        (sign("192.0.2.3", now() + 120, KEY), AMBIGUOUS),
        (good.replace("192.0.2.1", "192.0.2.3"), AMBIGUOUS),
        ("192.0.2.3".to_owned(), AMBIGUOUS),
        (String::new(), AMBIGUOUS),
    ];
    let get = || Client::h1().get(envoy.at("/"));
    for (value, expected) in table {
        let call = get().header("x-client-address", &value);
        assert_eq!(said(call).await, expected, "{value}");
    }
    let twice = get()
        .header("x-client-address", &good)
        .header("x-client-address", &good);
    assert_eq!(said(twice).await, AMBIGUOUS);
    // Without the header it is the address of the connection, and nobody above was charged to that.
    assert_eq!(said(get()).await, ADMITTED);
    assert_eq!(said(get()).await, REFUSED);
}

#[tokio::test]
async fn without_the_key_envoy_does_not_start() {
    for builder in [builder(), builder().environment("FRONT_KEY", "")] {
        let refusal = builder.try_start().await.unwrap().unwrap_err();
        let reason = "tidegate: `$.identity.address.signed.key_env`: the environment of the VM has no \
                      `FRONT_KEY`; set it under `vm_config.environment_variables`";
        assert!(refusal.log.contains(reason), "{refusal}");
    }
}
