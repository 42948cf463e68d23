//! The core's table of cases (filters/core/tests/table.rs) once more: through the module in a real Envoy, in real time.

#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod case;
mod found;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use case::Verdict;
use tidegate_core::cases::Cases;
use tidegate_e2e::{Envoy, Origin, repo};
use tokens::Tokens;
use tokio::task::{JoinSet, LocalSet};

/// How many Envoys run at once.
const AT_ONCE: usize = 3;

/// How often the cases are run for which the machine was too slow.
const ATTEMPTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn every_case_of_the_table_holds_in_envoy() {
    LocalSet::new().run_until(every_case()).await;
}

async fn every_case() {
    let mut folders = folders();
    assert!(folders.len() >= 8, "{folders:?}");
    let mut running = JoinSet::new();
    let (mut ran, mut failures) = (0, Vec::new());
    loop {
        while running.len() < AT_ONCE
            && let Some(path) = folders.pop()
        {
            running.spawn_local(async move { folder(&path).await });
        }
        let Some(done) = running.join_next().await else {
            break;
        };
        let (requests, differ) = done.unwrap().unwrap();
        ran += requests;
        failures.extend(differ);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(ran > 200, "only {ran} requests");
    println!("{ran} requests went as the table says");
}

/// The folders that hold a policy and its cases.
fn folders() -> Vec<PathBuf> {
    ["policies", "filters/core/tests/table"]
        .iter()
        .flat_map(|parent| fs::read_dir(repo().join(parent)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect()
}

/// Runs the cases of one folder; returns how many requests were sent, and what went otherwise than the table says.
async fn folder(path: &Path) -> Result<(usize, Vec<String>)> {
    let read = |name: &str| fs::read(path.join(name)).with_context(|| path.display().to_string());
    let policy = String::from_utf8(read("policy.json")?)?;
    let cases = Cases::parse(&read("policy.test.json")?).map_err(anyhow::Error::msg)?;
    let mut left = cases.cases;
    let (mut ran, mut failures) = (0, Vec::new());
    for attempt in 0..ATTEMPTS {
        let mut tokens = Tokens::sign(&left)?;
        let origin = Origin::start().await?;
        let mut envoy = Envoy::builder()
            .concurrency(2)
            .trusted_hops(1)
            .origin(&origin)
            .origin_role()
            .policy_text(policy.as_str());
        for issuer in tokens.take_issuers() {
            envoy = envoy.jwt(issuer);
        }
        let envoy = envoy.start().await?;
        let url = envoy.url();
        let outcomes = if attempt == 0 {
            case::run_together(&url, left, tokens).await?
        } else {
            case::run_in_turn(&url, left, tokens).await?
        };
        left = Vec::new();
        for outcome in outcomes {
            match outcome.verdict {
                Verdict::Agrees => ran += outcome.requests,
                Verdict::Differs(how) => failures.push(format!("{}: {how}", path.display())),
                Verdict::Late(how) if attempt + 1 == ATTEMPTS => {
                    failures.push(format!("{}: {how}, and late", path.display()));
                }
                Verdict::Late(_) => left.push(outcome.case),
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok((ran, failures))
}
