//! A guided look at the module at work: real requests through a real Envoy, and what comes back.
//!
//! `demo` ends with status 0 only if all that it shows happened as it should; `demo -- --keep` stays up until ctrl-c.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is there to print"
)]

mod charges;
mod checks;
mod copies;
mod show;
mod story;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tidegate_e2e::{Envoy, Origin, repo};
use tokio::signal::unix::{SignalKind, signal};

use charges::Charges;
use checks::Checks;
use copies::Copies;

/// The policy that is shown, from the root of the repository. The story reads the burst of its limit `account`.
const POLICY: &str = "policies/guests/policy.json";

/// As shells say it of a program that ctrl-c ended.
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let keep = match arguments() {
        Ok(keep) => keep,
        Err(error) => {
            eprintln!("demo: {error:#}");
            return ExitCode::from(2);
        }
    };
    // Whichever comes first; Envoy and the origin go down when the other one is dropped.
    tokio::select! {
        outcome = run(keep) => match outcome {
            Ok(code) => code,
            Err(error) => {
                eprintln!("demo: {error:#}");
                ExitCode::FAILURE
            }
        },
        _ = interrupted() => ExitCode::from(INTERRUPTED),
    }
}

fn arguments() -> Result<bool> {
    let mut keep = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--keep" => keep = true,
            other => bail!("unknown argument `{other}`; the only one is `--keep`"),
        }
    }
    Ok(keep)
}

async fn run(keep: bool) -> Result<ExitCode> {
    let text = std::fs::read_to_string(repo().join(POLICY)).context(POLICY)?;
    let policy: Value = serde_json::from_str(&text).context(POLICY)?;
    let origin = Origin::start().await?;
    let envoy = Envoy::builder()
        .concurrency(2)
        .policy_text(text.as_str())
        .origin(&origin)
        .start()
        .await?;

    println!(
        "Envoy listens at {}, with the policy {POLICY}:\n",
        envoy.url()
    );
    println!("{}", text.trim_end());
    let mut checks = Checks::default();
    story::tell(&envoy, &origin, &policy, &mut checks).await?;
    let copies = Copies::tell(&origin, &mut checks).await?;
    let charges = Charges::tell(&origin, &mut checks).await?;
    let code = checks.conclude();

    if keep {
        show::addresses(&envoy, &origin);
        copies.addresses();
        charges.addresses();
        interrupted().await?;
    }
    Ok(code)
}

/// Until ctrl-c, or until the program is asked to end.
async fn interrupted() -> Result<()> {
    let mut ctrl_c = signal(SignalKind::interrupt())?;
    let mut end = signal(SignalKind::terminate())?;
    let mut gone = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = ctrl_c.recv() => {}
        _ = end.recv() => {}
        _ = gone.recv() => {}
    }
    Ok(())
}
