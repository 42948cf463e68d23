//! `tidegate explain POLICY --request …`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tidegate_core::cases::{CaseAnswer, explain};

use crate::exit::Exit;
use crate::explain::{Given, request, words};
use crate::lint;
use crate::output::Output;
use crate::policy_file;

/// `tidegate explain POLICY --request …`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The policy: a file, or a folder with a `policy.json`
    policy: PathBuf,
    /// The request: `METHOD PATH`, `PATH`, JSON as in `policy.test.json`, or `@FILE` with such JSON [default: GET /]
    #[arg(short, long, value_name = "REQUEST")]
    request: Option<String>,
    /// Its host [default: api.test]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// A header line, like `x-api-key: k-1`
    #[arg(short = 'H', long = "header", value_name = "LINE")]
    headers: Vec<String>,
    /// The claims of its verified token, as JSON
    #[arg(long, value_name = "JSON")]
    claims: Option<String>,
    /// The client address that Envoy trusts [default: 192.0.2.1]
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// Its body
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// The status that the origin answers with
    #[arg(long, value_name = "STATUS", default_value_t = 200, value_parser = clap::value_parser!(u16).range(100..=599))]
    status: u16,
    /// How many requests like it came before, all at 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    after: u32,
    /// When it comes, like `1500ms` or `2min`
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = humantime::parse_duration)]
    at: Duration,
}

impl Explain {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let file = policy_file::file(&self.policy);
        let held = policy_file::held(&self.policy)?;
        let linted = lint::policy(&file, &held.document);
        let Some(policy) = linted.policy.map(|policy| held.hold(policy)) else {
            for finding in &linted.findings {
                output.error(&finding.to_string());
            }
            return Ok(Exit::Failed);
        };
        let request = request(&Given {
            request: self.request.as_deref(),
            host: self.host.as_deref(),
            headers: &self.headers,
            claims: self.claims.as_deref(),
            address: self.address.as_deref(),
            body: self.body.as_deref(),
        })?;
        let answer = CaseAnswer {
            status: self.status,
            ..CaseAnswer::default()
        };
        let at_ms = u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX);
        let explanation = explain::explain(&policy, &request, &answer, self.after, at_ms);
        for line in words(&explanation) {
            output.line(line);
        }
        output.json(&explanation)?;
        Ok(Exit::Done)
    }
}
