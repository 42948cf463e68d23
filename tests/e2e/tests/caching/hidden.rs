//! Keys that Envoy's own `api_key_auth` checked and took out: the caller is the client that it names instead.

use http::Method;
use serde_json::{Value, json};

use crate::stand::{Kind, Setup, Stand, with};
use crate::{PUBLIC, SAY, is_clean, lines};

/// The key `amys` is amy's, and `bobs` is bob's; the origin and the gate see the names alone.
fn keys() -> Value {
    json!({
        "name": "envoy.filters.http.api_key_auth",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth",
            "credentials": [{"key": "amys", "client": "amy"}, {"key": "bobs", "client": "bob"}],
            "key_sources": [{"header": "x-api-key"}],
            "forwarding": {"header": "x-client", "hide_credentials": true},
        },
    })
}

/// Asks as the client of this key who says that it is `claimed`; whose answer that was.
async fn ask(stand: &Stand, key: &str, claimed: &[&str]) -> String {
    let mut call = stand.call(Method::GET, "/mine/x", key);
    for (name, value) in claimed.iter().zip(["amy", "bob"]) {
        call = call.header(name, value);
    }
    let answer = call.header(SAY, lines(PUBLIC)).send().await.unwrap();
    is_clean(&answer);
    let text = answer.text();
    assert!(!text.contains("amys") && !text.contains("bobs"), "{text}");
    let found = ["amy", "bob"]
        .into_iter()
        .find(|name| text.contains(&format!("[\"x-client\",\"{name}\"]")));
    match found {
        Some(name) if answer.status == 200 => name.to_owned(),
        _ => answer.status.as_str().to_owned(),
    }
}

#[tokio::test]
async fn c2_d2_a_caller_whose_key_was_taken_out_has_copies_of_its_own() {
    for kind in Kind::ENVOYS {
        let mut policy = with(kind, json!({"scope": ["account"]}));
        policy["identity"] = json!({"account": [{"header": "x-client"}]});
        let stand = Setup::new(kind)
            .policy(policy)
            .gate(|gate| gate.filter_before(keys()).underscores("ALLOW"))
            .start()
            .await;
        for _ in 0..2 {
            assert_eq!(ask(&stand, "amys", &[]).await, "amy", "{kind:?}");
            assert_eq!(ask(&stand, "bobs", &[]).await, "bob", "{kind:?}");
        }
        assert_eq!(stand.origin.count("/mine/x"), 2, "{kind:?}");
        assert_eq!(ask(&stand, "none", &[]).await, "401", "{kind:?}");
        // Who says who it is itself is not believed, however the name is written.
        for claimed in [
            &["x-client"][..],
            &["X-Client"],
            &["x-client", "x-client"],
            &["x_client"],
        ] {
            let got = ask(&stand, "bobs", claimed).await;
            assert!(
                ["bob", "400"].contains(&&*got),
                "{kind:?} {claimed:?}: {got}"
            );
        }
        assert_eq!(stand.origin.count("/mine/x"), 2, "{kind:?}");
        assert_eq!(stand.mismatches().await, 0, "{kind:?}");
    }
}
