//! The axum application of `make bench-peers`: it executes charges, and with the argument `idempotent` has `axum-idempotent` before
//! them. The first line that it says is where it listens.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "what JSON lacks is null; and what is printed is how it is found"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum_idempotent::{IdempotentLayer, IdempotentOptions};
use ruts::store::Ttl;
use ruts::store::moka::MokaStore;
use ruts::{CookieOptions, Session, SessionLayer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower_cookies::CookieManagerLayer;

/// How often each charge was executed.
#[derive(Clone, Debug, Default)]
struct Charges(Arc<Mutex<HashMap<String, u64>>>);

impl Charges {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let charges = Charges::default();
    let mut app = Router::new().route("/charges", post(charge));
    if std::env::args().nth(1).as_deref() == Some("idempotent") {
        let store = Arc::new(MokaStore::builder().build());
        let options = IdempotentOptions::default()
            .use_idempotency_key_header(None, true)
            .expire_after(86_400);
        let cookie = CookieOptions::build().name("session").path("/");
        // It keeps answers in a session that is there already, so a client gets one first. The order is the one that it asks for.
        app = app
            .layer(IdempotentLayer::<MokaStore>::new(options))
            .route("/session", get(session))
            .layer(SessionLayer::new(store).with_cookie_options(cookie))
            .layer(CookieManagerLayer::new());
    } else {
        app = app.route("/session", get(async || "none"));
    }
    let app = app
        .route("/executions/{charge}", get(executions))
        .with_state(charges);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

/// Executes a charge: first the effect, then the time that the rest takes, then the answer.
async fn charge(State(charges): State<Charges>, Json(body): Json<Value>) -> impl IntoResponse {
    let name = body["charge"].as_str().unwrap_or_default().to_owned();
    let number = {
        let mut charges = charges.lock();
        let count = charges.entry(name.clone()).or_default();
        *count = count.saturating_add(1);
        *count
    };
    // A sleep of nothing would take a tick of the clock.
    if let Some(hold) = body["hold"].as_u64().filter(|hold| *hold > 0) {
        tokio::time::sleep(Duration::from_millis(hold)).await;
    }
    let headers = [
        ("location", format!("/charges/{name}/{number}")),
        ("x-charge-number", number.to_string()),
    ];
    let answer = json!({"charge": name, "number": number, "amount": body["amount"]});
    (StatusCode::CREATED, headers, Json(answer))
}

/// How often a charge was executed.
async fn executions(State(charges): State<Charges>, Path(charge): Path<String>) -> String {
    let charges = charges.lock();
    charges.get(&charge).copied().unwrap_or(0).to_string()
}

/// Begins a session.
async fn session(session: Session<MokaStore>) -> StatusCode {
    let Ok(ttl) = Ttl::new(86_400) else {
        return StatusCode::INTERNAL_SERVER_ERROR;
    };
    match session.set("user", &String::from("acme"), ttl, None).await {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
