//! A sender by the Standard Webhooks specification, with the signatures of its own library and the retries that it
//! recommends, from the first attempt to the last one three days later.

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client, Envoy};

use crate::is_replay;
use crate::python::{python, say};
use crate::script::{answer, send};
use crate::stand::{Played, ahead, with_switches};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const MESSAGE: &str = r#"{"type":"invoice.paid","data":{"id":"in_1"}}"#;

/// When each attempt is made, in seconds after the first: 75 h 35 min in all.
const ATTEMPTS: [u64; 10] = [
    0, 5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105,
];

async fn deliver(envoy: &Envoy, lines: &Value) -> Answer {
    let mut call = Client::h1().post(envoy.at("/hooks/billing"));
    for (name, value) in lines.as_object().unwrap() {
        call = call.header(name, value.as_str().unwrap());
    }
    call.body(MESSAGE).send().await.unwrap()
}

#[tokio::test]
async fn e1_e4_e6_e7_e10_a_message_is_taken_once_by_its_senders_schedule() {
    let Some(python) = python() else { return };
    let policy = json!({
        "policy": "once", "version": "1",
        "routes": [{
            "name": "hooks", "match": {"methods": ["POST"], "path": "/hooks/*"},
            "dedupe": {"by": [{"header": "webhook-id"}]},
        }],
    });
    let seconds: Vec<String> = ATTEMPTS.iter().map(u64::to_string).collect();
    let mut arguments = vec![SECRET, "msg_1", MESSAGE];
    arguments.extend(seconds.iter().map(String::as_str));
    let signed = say(python, "sign.py", &arguments).await;
    let signed: Vec<Value> = serde_json::from_str(&signed).unwrap();
    assert_eq!(signed.len(), ATTEMPTS.len());
    assert_ne!(
        signed[0]["webhook-signature"],
        signed[1]["webhook-signature"]
    );

    // The receiver fails at first and takes the attempt number `taken`; the sender goes on as if it had not heard of it.
    for taken in [0, 2] {
        let stand = Played::start(&policy, |b| with_switches(b).concurrency(2)).await;
        for (n, (lines, at)) in signed.iter().zip(ATTEMPTS).enumerate() {
            ahead(&stand.envoy, at * 1_000).await;
            stand.origin.forget();
            stand.origin.play(vec![if n < taken {
                answer("500 Internal Server Error", "", b"")
            } else {
                send("HTTP/1.1 204 No Content\r\n\r\n")
            }]);
            let told = deliver(&stand.envoy, lines).await;
            let sent = stand.origin.sent();
            stand.origin.play(vec![answer("200 OK", "", b"")]);
            if n > taken {
                assert_eq!(told.status, 204, "{taken} {n}: {told:?}");
                assert!(is_replay(&told), "{n}");
                assert_eq!(sent.len(), 0, "{taken} {n}");
                continue;
            }
            assert_eq!(told.status, if n < taken { 500 } else { 204 });
            assert!(!is_replay(&told), "{n}");
            assert_eq!(sent.len(), 1, "{taken} {n}");
            // The signature of the message as it arrived; of an attempt that is later it is too far ahead.
            if n < 2 {
                let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
                let lines = names.map(|name| (name.to_owned(), json!(sent[0].header(name))));
                let lines = Value::Object(lines.into_iter().collect()).to_string();
                let body = String::from_utf8(sent[0].body.clone()).unwrap();
                let said = say(python, "sign.py", &[SECRET, "--verify", &lines, &body]).await;
                assert_eq!(said.trim(), "verified");
            }
        }
    }
}
