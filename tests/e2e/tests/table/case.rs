//! One case: its requests, each at its time.

use std::time::Duration;

use anyhow::Result;
use http::Method;
use tidegate_core::cases::{Case, CaseAnswer, Step};
use tidegate_e2e::Client;
use tidegate_e2e::client::Call;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::found::found;
use crate::tokens::Tokens;

/// How late an answer may be for the case still to say something: less than the fastest limit of the table takes to
/// give back one unit (100 ms).
const SLACK: Duration = Duration::from_millis(60);

/// What came of a case.
pub(crate) struct Outcome {
    pub(crate) case: Case,
    pub(crate) requests: usize,
    pub(crate) verdict: Verdict,
}

/// Whether it went as the table says.
pub(crate) enum Verdict {
    Agrees,
    Differs(String),
    /// It did not, but an answer came so late that more may have been refilled than the case assumes.
    Late(String),
}

/// Runs all cases at once; each has callers of its own.
pub(crate) async fn run_together(
    url: &str,
    cases: Vec<Case>,
    tokens: Tokens,
) -> Result<Vec<Outcome>> {
    let mut running = JoinSet::new();
    for (case, tokens) in cases.into_iter().zip(tokens.by_case) {
        let url = url.to_owned();
        running.spawn(async move { run(&url, case, tokens).await });
    }
    running.join_all().await.into_iter().collect()
}

/// Runs one case after the other.
pub(crate) async fn run_in_turn(
    url: &str,
    cases: Vec<Case>,
    tokens: Tokens,
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for (case, tokens) in cases.into_iter().zip(tokens.by_case) {
        outcomes.push(run(url, case, tokens).await?);
    }
    Ok(outcomes)
}

async fn run(url: &str, case: Case, tokens: Vec<Option<String>>) -> Result<Outcome> {
    let client = Client::h1();
    // Opens the connection and is charged to nobody.
    client.get(format!("{url}/?__tidegate")).send().await?;
    let mut requests = 0;
    // Buckets are charged before an answer comes, so none is younger than the case.
    let mut began = None;
    let mut late = false;
    for (number, (step, token)) in case.steps.iter().zip(&tokens).enumerate() {
        let due = Duration::from_millis(step.at_ms);
        if let Some(began) = began {
            sleep_until(began + due).await;
        }
        for time in 1..=step.times {
            let answer = call(&client, url, step, token.as_deref())?.send().await?;
            requests += 1;
            let began = *began.get_or_insert_with(Instant::now);
            late |= began.elapsed() > due + SLACK;
            let found = found(&answer, &step.expect)?;
            if !step.expect.agrees(&found) {
                let how = format!(
                    "`{}`, step {}, time {time}: expected {}, found {found}",
                    case.name,
                    number + 1,
                    step.expect,
                );
                let verdict = if late {
                    Verdict::Late(how)
                } else {
                    Verdict::Differs(how)
                };
                return Ok(Outcome {
                    case,
                    requests,
                    verdict,
                });
            }
        }
    }
    Ok(Outcome {
        case,
        requests,
        verdict: Verdict::Agrees,
    })
}

fn call(client: &Client, url: &str, step: &Step, token: Option<&str>) -> Result<Call> {
    let request = &step.request;
    let method = Method::from_bytes(request.method.as_bytes())?;
    let mut call = client
        .call(method, format!("{url}{}", request.path))
        .header("host", &request.host)
        .header("x-forwarded-for", &request.address);
    for (name, value) in &request.headers {
        call = call.header(name, value);
    }
    if let Some(body) = &request.body {
        call = call.body(body.clone());
    }
    for (name, value) in asked(&step.answer)? {
        call = call.header(name, value);
    }
    Ok(match token {
        Some(token) => call.bearer(token),
        None => call,
    })
}

/// By which headers the origin is asked for this answer.
fn asked(answer: &CaseAnswer) -> Result<Vec<(&'static str, String)>> {
    let CaseAnswer {
        status,
        headers,
        body,
    } = answer;
    let mut asked = Vec::new();
    if *status != 200 {
        asked.push(("x-origin-respond-status", status.to_string()));
    }
    if !headers.is_empty() {
        asked.push(("x-origin-respond-headers", serde_json::to_string(headers)?));
    }
    asked.push(("x-origin-respond-body", body.clone()));
    Ok(asked)
}
