//! Secrets stay with those who sent them.

use http::StatusCode;
use serde_json::json;
use tidegate_e2e::{Client, Envoy, Origin, Reply};

use crate::once;

/// Header lines.
type Lines<'a> = &'a [(&'a str, &'a str)];

const SECRET: &str = "s3cr3t-of-amy";

#[tokio::test]
async fn secret_values_are_in_no_answer_no_log_and_no_metric() {
    let origin = Origin::start().await.unwrap();
    // Not the echo, which has the headers in it.
    for path in ["/1", "/2", "/3", "/4"] {
        origin.answer(path, Reply::status(StatusCode::OK).body("ok"));
    }
    let identity = json!({
        "account": [{"header": "x-api-key", "secret": true}, {"cookie": "session", "secret": true}],
    });
    let envoy = Envoy::builder()
        .policy(&once(identity))
        .origin(&origin)
        .start()
        .await
        .unwrap();
    let cookie = format!("session={SECRET}");
    let table: [(&str, Lines<'_>, u16); 6] = [
        ("/1", &[("x-api-key", SECRET)], 200),
        ("/2", &[("x-api-key", SECRET)], 429),
        ("/3", &[("cookie", &cookie)], 200),
        ("/4", &[("cookie", &cookie)], 429),
        ("/5", &[("x-api-key", SECRET), ("x-api-key", SECRET)], 400),
        ("/6", &[("x-api-key", &format!("{SECRET},b"))], 400),
    ];
    let mut told = String::new();
    for (path, headers, status) in table {
        let call = Client::h1().get(envoy.at(path));
        let call = headers
            .iter()
            .fold(call, |call, (name, value)| call.header(name, value));
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{path}");
        told += &format!("{:?}\n{}\n", answer.headers, answer.text());
        told += &envoy.logged(path).await.unwrap().to_string();
    }
    told += &envoy.prometheus().await.unwrap();
    told += &envoy.log();
    assert!(told.contains("identity-ambiguous"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
    // The origin got them, as they were.
    assert_eq!(origin.last("/1").unwrap().headers["x-api-key"], SECRET);
}
