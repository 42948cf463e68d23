//! What a request costs an Envoy of one worker on one core, with this filter and that: `make bench`.
//!
//! Every round measures every row, each time beginning with another one, so that what the machine does meanwhile falls on
//! all of them alike; many short rounds do better at that than a few long ones. The client and the origin share the other core. Nothing is asserted and nothing is written: what is
//! printed is a table to read and compare, with the same run and no other.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on stops at the fault; the table is what it is there to print"
)]

mod hits;
mod keys;
mod origin;
mod policies;
mod report;
mod requests;
mod rows;
mod starts;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use indicatif::ProgressBar;
use tidegate_e2e::bench::{self, Load, Thread};

use origin::Origins;
use report::Report;
use rows::Row;

/// Compares what Envoys with and without the module spend on a request.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Arguments {
    /// How often each row is measured
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// How many requests make one measurement
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    requests: u32,
    /// Adds rows that take the module's share apart
    #[arg(long)]
    detail: bool,
    /// Leaves out every row, but the bare ones, whose name does not contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Measures another build of the module as well, with three limits and headers, and refusing; may be given more than once
    #[arg(long, value_name = "FILE")]
    module: Vec<PathBuf>,
    /// Measures instead what a start costs, this often
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    starts: Option<u32>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[allow(clippy::print_stderr, reason = "there is nobody else to tell")]
            {
                eprintln!("bench: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    if let Some(times) = arguments.starts {
        println!("{}", starts::table(times).await?);
        return Ok(());
    }
    bench::pin(std::process::id(), bench::OTHERS)?;
    let origins = Origins::start().await?;
    let mut plan = rows::all(arguments.detail);
    if let Some(text) = &arguments.only {
        plan.retain(|row| row.kind.is_bare() || row.name.contains(text));
    }
    plan.extend(arguments.module.iter().flat_map(|path| rows::build(path)));
    let steps = u64::try_from(plan.len())? * (u64::from(arguments.rounds) + 1);
    let progress = ProgressBar::new(steps);

    let mut rows = Vec::new();
    for row in plan {
        let running = Running::start(&row, &origins)
            .await
            .context(row.name.clone())?;
        rows.push((row, running));
        progress.inc(1);
    }
    let version = rows::version(&rows[0].1.envoy).await?;
    let mut report = Report::new(rows.len());
    for index in bench::turns(usize::try_from(arguments.rounds)?, rows.len()) {
        let (row, running) = &mut rows[index];
        let nanos = running
            .measure(row, arguments.requests, &origins)
            .await
            .context(row.name.clone())?;
        report.add(index, nanos);
        progress.inc(1);
    }
    for (row, running) in &rows {
        if row.kind.has_record() {
            keys::not_full(&running.envoy)
                .await
                .context(row.name.clone())?;
        }
    }
    progress.finish_and_clear();

    println!(
        "Envoy {version}, one worker on a core of its own; {} rounds of {} requests; CPU time of the worker.\n",
        arguments.rounds, arguments.requests
    );
    let rows: Vec<Row> = rows.into_iter().map(|(row, _)| row).collect();
    println!("{}", report.tables(&rows));
    println!("{}", report.aims(&rows));
    println!("{}", report.hits(&rows));
    println!("{}", report.keys(&rows));
    Ok(())
}

/// A row whose Envoy is up and has served its first requests.
struct Running {
    envoy: tidegate_e2e::Envoy,
    worker: Thread,
    load: Load,
}

impl Running {
    async fn start(row: &Row, origins: &Origins) -> Result<Self> {
        let builder = (row.build)()?
            .origin_at(origins.behind(row.kind))
            .without_access_log();
        let envoy = builder.start().await?;
        bench::pin(envoy.pid(), bench::PROXY)?;
        let worker = Thread::envoy_worker(envoy.pid())?;
        let callers = row.callers;
        let write = move |turn, warm, request: &mut Vec<u8>| callers.write(turn, warm, request);
        let mut load = Load::connect(&envoy.authority(), write).await?;
        load.warm().await?;
        Ok(Self {
            envoy,
            worker,
            load,
        })
    }

    /// The CPU time of one request, in nanoseconds.
    async fn measure(&mut self, row: &Row, requests: u32, origins: &Origins) -> Result<f64> {
        let asked = origins.asked();
        let before = self.worker.nanos()?;
        let statuses = self.load.send(requests).await?;
        let after = self.worker.nanos()?;
        statuses.all(row.status)?;
        origins.expect(row.reaching(requests), asked)?;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let spent = (after - before) as f64;
        Ok(spent / f64::from(requests))
    }
}
