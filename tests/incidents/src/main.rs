//! Real outages, replayed: the guard that failed then, and Tidegate beside it, each in a real Envoy. `make incidents`.
//!
//! What is printed is a table for each incident. Every stated outcome in it has to hold; one that does not is printed again
//! at the end, and the status is 1.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a replay that cannot go on stops at the fault; tables and failures are what it is there to print"
)]

mod chart;
mod double_charge;
mod exam_hall;
mod firmware_update;
mod guards;
mod incident;
mod pace;
mod page;
mod policies;
mod release;
mod run;
mod shared_search;
mod table;
mod three_checks;
mod timeline;
mod webhook_flood;
mod wire;

use std::fs;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;

use incident::Incident;
use run::Run;

/// Replays outages against real Envoys
#[derive(Debug, Parser)]
#[command(name = "incidents")]
struct Arguments {
    /// What dice are thrown with; the same seed is the same traffic
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Sends everything at its true size
    #[arg(long)]
    full: bool,
    /// Replays only those whose name contains this; may be given more than once
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Where the page goes
    #[arg(long, value_name = "FILE", default_value = "target/incidents/index.html")]
    page: PathBuf,
}

type Replay = Pin<Box<dyn Future<Output = Result<Incident>>>>;

/// The scenarios, in the order of the list of incidents.
const SCENARIOS: [(&str, fn(Run) -> Replay); 7] = [
    ("double-charge", |run| Box::pin(double_charge::replay(run))),
    ("firmware-update", |run| Box::pin(firmware_update::replay(run))),
    ("shared-search", |run| Box::pin(shared_search::replay(run))),
    ("webhook-flood", |run| Box::pin(webhook_flood::replay(run))),
    ("exam-hall", |run| Box::pin(exam_hall::replay(run))),
    ("three-checks", |run| Box::pin(three_checks::replay(run))),
    ("release", |run| Box::pin(release::replay(run))),
];

#[tokio::main]
async fn main() -> ExitCode {
    match replay(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("incidents: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every stated outcome holds.
async fn replay(arguments: &Arguments) -> Result<bool> {
    let run = Run {
        seed: arguments.seed,
        full: arguments.full,
    };
    let chosen = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|text| name.contains(text.as_str()))
    };
    let begun = Instant::now();
    let size = if run.full { "full" } else { "a sample" };
    println!("seed {}, {size}\n", run.seed);
    let (mut incidents, mut failures) = (Vec::new(), Vec::new());
    for (name, replay) in SCENARIOS.iter().filter(|(name, _)| chosen(name)) {
        eprintln!("{name}");
        let began = Instant::now();
        match replay(run).await {
            Ok(incident) => {
                show(&incident, began.elapsed().as_secs_f64());
                failures.extend(table::failures(&incident));
                incidents.push(incident);
            }
            Err(error) => failures.push(format!("failed: {name}: {error:#}")),
        }
    }
    anyhow::ensure!(
        !(incidents.is_empty() && failures.is_empty()),
        "no scenario has such a name; there are {}",
        SCENARIOS.map(|(name, _)| name).join(", ")
    );
    let took = begun.elapsed().as_secs_f64();
    write(arguments, &incidents, &format!("Seed {}, {size}, {took:.0} s.", run.seed))?;
    println!("{took:.0} s in all; the page is {}", arguments.page.display());
    for failure in &failures {
        eprintln!("{failure}");
    }
    Ok(failures.is_empty())
}

fn show(incident: &Incident, seconds: f64) {
    println!("## {}. {} ({seconds:.0} s)\n", incident.number, incident.title);
    println!("policy: {}", incident.policy);
    for line in &incident.scale {
        println!("note: {line}");
    }
    println!("\n{}\n", table::table(incident));
}

fn write(arguments: &Arguments, incidents: &[Incident], run: &str) -> Result<()> {
    let page = page::page(incidents, run)?;
    let file = &arguments.page;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(file, page).with_context(|| file.display().to_string())
}
