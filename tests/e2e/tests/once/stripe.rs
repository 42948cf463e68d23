//! Stripe's own client, with the retries that it makes by itself.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_e2e::Envoy;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::python::{python, say};
use crate::script::{Step, answer, read, wait};
use crate::stand::Played;

/// Callers are known by their secret key, as Stripe's are.
fn policy(rule: &Value) -> Value {
    json!({
        "policy": "once", "version": "1",
        "identity": {"account": [{"header": "authorization", "secret": true}]},
        "routes": [{
            "name": "intents", "match": {"methods": ["POST"], "path": "/v1/payment_intents"}, "idempotency": rule,
        }],
    })
}

const INTENT: &[u8] =
    br#"{"id": "pi_1", "object": "payment_intent", "amount": 2000, "currency": "eur"}"#;

async fn stand(rule: Value) -> Played {
    let stand = Played::start(&policy(&rule), |b| b.concurrency(2)).await;
    stand.origin.play(vec![answer(
        "200 OK",
        "content-type: application/json\r\n",
        INTENT,
    )]);
    stand
}

/// When a way to Envoy breaks, for the first request alone.
enum Breaks {
    /// When all of the answer has come.
    Answered,
    /// So long after the request was sent.
    After(Duration),
}

/// A way to Envoy on which the first answer is lost.
struct Lossy {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Lossy {
    async fn before(envoy: &Envoy, breaks: Breaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let to = envoy.authority();
        let serving = tokio::spawn(async move {
            let (first, _) = listener.accept().await.unwrap();
            let mut first = BufReader::new(first);
            let request = read(&mut first).await.unwrap().unwrap();
            let mut envoy = TcpStream::connect(&to).await.unwrap();
            let bytes = [request.head.as_bytes(), &request.body].concat();
            envoy.write_all(&bytes).await.unwrap();
            match breaks {
                Breaks::Answered => {
                    let mut answer = Vec::new();
                    while !answer.ends_with(INTENT) {
                        assert_ne!(envoy.read_buf(&mut answer).await.unwrap(), 0);
                    }
                }
                Breaks::After(time) => sleep(time).await,
            }
            drop((first, envoy));
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut envoy = TcpStream::connect(&to).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut envoy).await });
            }
        });
        Self { address, serving }
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn charge(python: &'static std::path::Path, url: &str, retries: &str) -> Value {
    let said = say(python, "charge.py", &[url, retries]).await;
    serde_json::from_str(&said).unwrap()
}

#[tokio::test]
async fn a11_an_answer_that_was_lost_on_its_way_is_there_for_the_retry() {
    let Some(python) = python() else { return };
    let stand = stand(json!({"key": "required"})).await;
    let lossy = Lossy::before(&stand.envoy, Breaks::Answered).await;
    let said = charge(python, &format!("http://{}", lossy.address), "2").await;
    assert_eq!(said, json!({"id": "pi_1", "replayed": "true"}));
    let sent = stand.origin.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].body, b"amount=2000&currency=eur");
}

#[tokio::test]
async fn a20_a_detached_charge_whose_client_was_cut_off_is_made_once() {
    let Some(python) = python() else { return };
    let stand = stand(json!({"key": "required", "execution": "detached", "timeout": "5s"})).await;
    let made = answer("200 OK", "content-type: application/json\r\n", INTENT);
    stand.origin.then(vec![wait(400), made]);
    let breaks = Breaks::After(Duration::from_millis(100));
    let lossy = Lossy::before(&stand.envoy, breaks).await;
    let said = charge(python, &format!("http://{}", lossy.address), "4").await;
    assert_eq!(said, json!({"id": "pi_1", "replayed": "true"}));
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn a23_a_charge_whose_outcome_is_unknown_is_not_made_again() {
    let Some(python) = python() else { return };
    let stand = stand(json!({"key": "required"})).await;
    // The origin has made it, and breaks off before it says so.
    stand.origin.then(vec![Step::Reset]);
    let said = charge(python, &stand.envoy.url(), "2").await;
    assert_eq!(said["status"], 409, "{said}");
    let body = said["body"].as_str().unwrap();
    assert!(body.contains("outcome-unknown"), "{said}");
    assert_eq!(stand.origin.count(), 1);
    // Another charge has another key.
    let said = charge(python, &stand.envoy.url(), "2").await;
    assert_eq!(said, json!({"id": "pi_1", "replayed": null}));
    assert_eq!(stand.origin.count(), 2);
}

#[tokio::test]
async fn a23_a_charge_that_was_not_taken_is_made_by_the_retry() {
    let Some(python) = python() else { return };
    let stand = stand(json!({"key": "required"})).await;
    stand
        .origin
        .then(vec![answer("503 Service Unavailable", "", b"")]);
    let said = charge(python, &stand.envoy.url(), "2").await;
    assert_eq!(said, json!({"id": "pi_1", "replayed": null}));
    assert_eq!(stand.origin.count(), 2);
}
