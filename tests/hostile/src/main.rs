//! A long random run that mixes valid and hostile requests at a real Envoy with everything on, and checks what has to hold (docs/hostile.md).
//!
//! Status 0: everything held. 1: something did not, and standard error says what, with the seed and the requests. 4: it could not be run.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "it runs beside tests, where stopping at the fault is what is wanted"
)]

mod checks;
mod client;
mod history;
mod log;
mod origin;
mod people;
mod plan;
mod policy;
mod read;
mod report;
mod request;
mod run;
mod streams;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// What is set wrong on purpose, so that the run has something to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Break {
    /// No route has idempotency or dedupe.
    Once,
    /// Copies that are an account's own are everybody's.
    Scope,
    /// Limits let through twenty times what is checked.
    Limits,
    /// Strangers are refused everywhere, and not on the routes alone that are for accounts.
    Refuse,
    /// The cluster has no role `origin`.
    Role,
    /// Requests take down VMs (the module's test build).
    Vm,
    /// Envoy is killed half-way.
    Envoy,
    /// The policies are held to take no memory.
    Memory,
    /// Requests are sent that nobody writes down.
    Counts,
}

/// Sends valid and hostile requests at random to a real Envoy, and checks what has to hold.
#[derive(Debug, Parser)]
struct Arguments {
    /// For how long requests are sent
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    seconds: u64,
    /// What all that is random follows from; another one each time if it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// Sets something wrong on purpose; the run is then to fail
    #[arg(long = "break", value_enum, value_name = "WHAT")]
    broken: Option<Break>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let Arguments {
        seconds,
        seed,
        broken,
    } = Arguments::parse();
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    match run::run(seed, seconds, broken).await {
        Ok(known) => report::report(seed, seconds, &known),
        Err(error) => {
            report::unable(seed, &error);
            ExitCode::from(4)
        }
    }
}
