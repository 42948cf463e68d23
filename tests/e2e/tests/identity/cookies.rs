//! Cookies and parameters, over HTTP/1.1 and HTTP/2, where cookies come in crumbs.

use serde_json::json;
use tidegate_e2e::client::Call;
use tidegate_e2e::{Client, Envoy};

use crate::{ADMITTED, AMBIGUOUS, REFUSED, once, said};

#[tokio::test]
async fn a_cookie_is_found_in_a_line_and_in_crumbs() {
    let envoy = Envoy::builder().policy(&once(json!({"account": [{"cookie": "sid"}]})));
    let envoy = envoy.start().await.unwrap();
    for (client, version) in [(Client::h1(), 1), (Client::h2(), 2)] {
        let table: [(&[&str], &str); 8] = [
            (&["theme=dark; sid=V-amy; lang=en"], ADMITTED),
            (&["sid=V-amy"], REFUSED),
            (&["theme=dark", "sid=V-amy", "lang=en"], REFUSED),
            (&["theme=dark", "sid=V-bob"], ADMITTED),
            (&["sid=V-amy; sid=V-bob"], AMBIGUOUS),
            (&["sid=V-cat", "sid=V-cat"], AMBIGUOUS),
            (&["xsid=V-dan"], "401 identity-required"),
            (&["sid="], "401 identity-required"),
        ];
        for (cookies, expected) in table {
            let call = client.get(envoy.at("/closed"));
            let with = |call: Call, cookie: &&str| {
                call.header("cookie", cookie.replace('V', &version.to_string()))
            };
            let call = cookies.iter().fold(call, with);
            assert_eq!(said(call).await, expected, "{cookies:?}, HTTP/{version}");
        }
    }
}

#[tokio::test]
async fn a_parameter_is_one_caller_however_it_is_written() {
    let envoy = Envoy::builder().policy(&once(json!({"account": [{"query": "key"}]})));
    let envoy = envoy.start().await.unwrap();
    for (client, version) in [(Client::h1(), 1), (Client::h2(), 2)] {
        let table = [
            ("?a=1&key=V-amy&b=2", ADMITTED),
            ("?key=V-am%79", REFUSED),
            ("?k%65y=V-amy", REFUSED),
            ("?key=V+amy", ADMITTED),
            ("?key=V%20amy", REFUSED),
            ("?key=V-bob&key=V-bob", AMBIGUOUS),
            ("?key=V-bob&%6bey=V-cat", AMBIGUOUS),
            ("?key=V%zz", AMBIGUOUS),
            ("?key=V%0aamy", AMBIGUOUS),
            ("?key=", "401 identity-required"),
            ("?KEY=V-amy", "401 identity-required"),
            ("", "401 identity-required"),
        ];
        for (query, expected) in table {
            let query = query.replace('V', &version.to_string());
            let call = client.get(envoy.at(&format!("/closed{query}")));
            assert_eq!(said(call).await, expected, "{query}, HTTP/{version}");
        }
    }
}

/// Spaces and tabs around a value are nobody's; any other control character is in no identity, wherever it stands.
#[tokio::test]
async fn d4_control_characters_at_either_end_are_refused_too() {
    let envoy = Envoy::builder().policy(&once(json!({"account": [{"query": "key"}]})));
    let envoy = envoy.start().await.unwrap();
    let get = |query: &str| Client::h1().get(envoy.at(&format!("/closed?key={query}")));
    assert_eq!(said(get("amy")).await, ADMITTED);
    assert_eq!(said(get("%20amy%09")).await, REFUSED);
    for query in ["amy%00", "%01amy", "amy%7f", "amy%0a", "%0damy", "amy%0c"] {
        assert_eq!(said(get(query)).await, AMBIGUOUS, "{query}");
    }
}
