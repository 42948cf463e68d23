//! Asking the role `admin`.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use ureq::Agent;

use crate::ship::admin::Address;

/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(5);

/// The most that an answer may hold, in bytes: 8 MiB.
const MOST: u64 = 8 << 20;

/// The role `admin` of a gate.
#[derive(Debug)]
pub(crate) struct Role {
    agent: Agent,
    address: Address,
}

/// Who was refused.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Refused {
    pub(crate) policy: String,
    pub(crate) version: String,
    pub(crate) now: String,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) more: u64,
}

/// A scope that was refused.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Scope {
    pub(crate) rule: String,
    pub(crate) enforced: bool,
    pub(crate) scope: String,
    pub(crate) label: Option<String>,
    pub(crate) refused: u64,
    pub(crate) since_ms: u64,
    pub(crate) bucket: Option<Bucket>,
}

/// The bucket of a scope.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Bucket {
    pub(crate) level: u64,
    pub(crate) burst: u64,
    pub(crate) wait_ms: u64,
}

impl Role {
    pub(crate) fn new(address: Address) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(ANSWER))
            .proxy(None)
            .http_status_as_error(false)
            .build();
        Self {
            agent: config.into(),
            address,
        }
    }

    /// The scopes that were refused most, as JSON.
    ///
    /// # Errors
    /// Nobody answers, or not as the role `admin` does, or it may not be asked.
    pub(crate) fn refused(&self, top: usize) -> Result<Value> {
        let url = format!("{}/limits?top={top}", self.address);
        let ask = || -> Result<(u16, String), ureq::Error> {
            let mut answer = self
                .agent
                .get(&url)
                .header("accept", "application/json")
                .call()?;
            let status = answer.status().as_u16();
            let body = answer.body_mut().with_config().limit(MOST).lossy_utf8(true);
            Ok((status, body.read_to_string()?))
        };
        let (status, body) =
            ask().with_context(|| format!("nobody answers at `{}`", self.address))?;
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        if status == 403
            && let Some(detail) = body.get("detail").and_then(Value::as_str)
        {
            bail!("`{}` may not be asked: {detail}", self.address);
        }
        let answers = status == 200 && body.get("scopes").is_some();
        ensure!(
            answers,
            "`{}` does not answer as the role `admin` does; write the address of the listener that has it, which is not Envoy's own `admin`",
            self.address
        );
        Ok(body)
    }
}

impl Refused {
    /// What an answer says.
    ///
    /// # Errors
    /// It is of another version.
    pub(crate) fn read(answer: Value) -> Result<Self> {
        serde_json::from_value(answer).context("the answer is not of this version of the tool")
    }
}
