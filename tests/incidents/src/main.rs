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

use anyhow::{Context, Result, ensure};
use clap::Parser;
use tokio::task::{JoinSet, LocalSet};

use incident::Incident;
use run::Run;

/// Replays outages against real Envoys
#[derive(Debug, Parser)]
#[command(name = "incidents")]
struct Arguments {
    /// What dice are thrown with; the same seed is the same traffic
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Sends all 487,195 events of the webhook flood
    #[arg(long)]
    full: bool,
    /// Replays only those whose name contains this; may be given more than once
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Where the page goes
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/incidents/index.html"
    )]
    page: PathBuf,
}

type Replay = Pin<Box<dyn Future<Output = Result<Incident>>>>;

/// A scenario: its name, and what replays it.
#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    replay: fn(Run) -> Replay,
}

/// The one that measures latency, and runs before all others.
const ALONE: Scenario = Scenario {
    name: "firmware-update",
    replay: |run| Box::pin(firmware_update::replay(run)),
};

/// Those that only count, and run beside each other: most of them wait for most of their time.
const TOGETHER: [Scenario; 6] = [
    Scenario {
        name: "release",
        replay: |run| Box::pin(release::replay(run)),
    },
    Scenario {
        name: "webhook-flood",
        replay: |run| Box::pin(webhook_flood::replay(run)),
    },
    Scenario {
        name: "exam-hall",
        replay: |run| Box::pin(exam_hall::replay(run)),
    },
    Scenario {
        name: "double-charge",
        replay: |run| Box::pin(double_charge::replay(run)),
    },
    Scenario {
        name: "shared-search",
        replay: |run| Box::pin(shared_search::replay(run)),
    },
    Scenario {
        name: "three-checks",
        replay: |run| Box::pin(three_checks::replay(run)),
    },
];

/// How many run beside each other.
const AT_ONCE: usize = 3;

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
        arguments.only.is_empty()
            || arguments
                .only
                .iter()
                .any(|text| name.contains(text.as_str()))
    };
    let begun = Instant::now();
    let size = if run.full {
        "the whole flood"
    } else {
        "a sample of the flood"
    };
    println!("seed {}, {size}\n", run.seed);
    let mut replayed = Vec::new();
    if chosen(ALONE.name) {
        replayed.push(one(ALONE, run).await);
    }
    let mut waiting: Vec<_> = TOGETHER
        .into_iter()
        .filter(|one| chosen(one.name))
        .rev()
        .collect();
    let mut running = JoinSet::new();
    let others = LocalSet::new();
    others
        .run_until(async {
            loop {
                while running.len() < AT_ONCE
                    && let Some(scenario) = waiting.pop()
                {
                    running.spawn_local(one(scenario, run));
                }
                match running.join_next().await {
                    Some(done) => replayed.push(done?),
                    None => return Ok::<_, anyhow::Error>(()),
                }
            }
        })
        .await?;
    ensure!(
        !replayed.is_empty(),
        "no scenario has such a name; there are {}",
        names()
    );
    let (mut incidents, mut failures) = (Vec::new(), Vec::new());
    for (name, result) in replayed {
        match result {
            Ok(incident) => incidents.push(incident),
            Err(error) => failures.push(format!("failed: {name}: {error:#}")),
        }
    }
    incidents.sort_by_key(|incident| incident.number);
    for incident in &incidents {
        show(incident);
        failures.extend(table::failures(incident));
    }
    let took = begun.elapsed().as_secs_f64();
    write(
        arguments,
        &incidents,
        &format!("Seed {}, {size}, {took:.0} s.", run.seed),
    )?;
    println!(
        "{took:.0} s in all; the page is {}",
        arguments.page.display()
    );
    for failure in &failures {
        eprintln!("{failure}");
    }
    Ok(failures.is_empty())
}

/// Replays a scenario; the progress is told where it disturbs no table.
async fn one(scenario: Scenario, run: Run) -> (&'static str, Result<Incident>) {
    let begun = Instant::now();
    eprintln!("{}: begins", scenario.name);
    let result = (scenario.replay)(run).await;
    eprintln!("{}: {:.0} s", scenario.name, begun.elapsed().as_secs_f64());
    (scenario.name, result)
}

fn names() -> String {
    let all = TOGETHER.iter().chain([&ALONE]);
    let names: Vec<_> = all.map(|scenario| scenario.name).collect();
    names.join(", ")
}

fn show(incident: &Incident) {
    println!("## {}. {}\n", incident.number, incident.title);
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
