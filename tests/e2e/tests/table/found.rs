//! What an answer says, in the table's terms.

use anyhow::Result;
use serde_json::Value;
use tidegate_core::cases::Expect;
use tidegate_e2e::{Answer, structured};

/// What `answer` says; what it cannot say is taken to be as `expected`.
pub(crate) fn found(answer: &Answer, expected: &Expect) -> Result<Expect> {
    let problem = answer.problem().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(Expect {
        status: answer.status.as_u16(),
        kind: text(&problem["type"]),
        violated: problem["violated-policies"]
            .as_array()
            .map(|names| names.iter().filter_map(text).collect()),
        retry_after: answer.retry_after(),
        remaining: Some(structured::remaining(&answer.headers)?),
        // Nothing of these can be seen from outside.
        cache: expected.cache.clone(),
        copy: expected.copy.clone(),
        replayed: Some(answer.header("idempotent-replayed") == Some("true")),
        reached: expected.reached,
        route: expected.route.clone(),
        shadow: expected.shadow.clone(),
    })
}
