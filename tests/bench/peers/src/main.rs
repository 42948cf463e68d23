//! Tidegate beside other limiters, and beside middleware for idempotency keys, in one run: `make bench-peers`.
//!
//! What is printed are tables in Markdown, to read and compare within one run. What Tidegate promises is checked on the way: a
//! run in which it does not hold ends with an error.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on stops at the fault; tables and what is going on are what it is there to print"
)]

mod answers;
mod cost;
mod edge;
mod fill;
mod kept;
mod limit;
mod memory;
mod once;
mod peers;
mod requests;
mod retry_after;
mod steady;
mod table;
mod versions;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use tidegate_e2e::bench;

use table::Table;

/// Compares limiters, and middleware for idempotency keys, in one run.
#[derive(Debug, Parser)]
#[command(name = "bench-peers")]
struct Arguments {
    /// Measures less, for a look: six minutes; a million accounts are left out
    #[arg(long, conflicts_with = "smoke")]
    quick: bool,
    /// Goes through all of it once, to see that it works: a minute and a half. Its figures mean nothing
    #[arg(long)]
    smoke: bool,
    /// Leaves out every part but this one; may be given more than once
    #[arg(long, value_enum)]
    only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Memory,
    Kept,
    Edge,
    RetryAfter,
    Cost,
    Once,
}

/// How much is measured.
struct Effort {
    cost: cost::Effort,
    /// How often the replays of each stand are measured, and for how long.
    replays: (usize, Duration),
    /// How many accounts come after the one that is drained.
    others: u32,
    /// How many accounts memory is measured for, if it is.
    accounts: Option<u32>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let effort = effort(arguments);
    let wanted = |part: Part| {
        let all = arguments.only.is_empty();
        let wanted = all || arguments.only.contains(&part);
        if wanted {
            eprintln!("bench-peers: {}", named(part));
        }
        wanted
    };
    println!("{}\n", versions::line().await?);
    if let Some(accounts) = effort.accounts
        && wanted(Part::Memory)
    {
        println!("{}", memory::table(accounts).await?);
    }
    // Not before: a proxy starts on the cores of its parent, and how soon it is up is to be what an operator sees.
    bench::pin(std::process::id(), bench::OTHERS)?;
    if wanted(Part::Kept) {
        println!("{}", kept::table(effort.others).await?);
    }
    if wanted(Part::Edge) {
        println!("{}", edge::table().await?);
    }
    if wanted(Part::RetryAfter) {
        println!("{}", retry_after::table().await?);
    }
    if wanted(Part::Cost) {
        print_all(&cost::tables(effort.cost).await?);
    }
    if wanted(Part::Once) {
        print_all(&once::tables(effort.replays).await?);
    }
    Ok(())
}

fn effort(arguments: &Arguments) -> Effort {
    let times = |rounds, requests, steady_rounds, seconds| cost::Effort {
        rounds,
        requests,
        steady_rounds,
        rate: 1_000,
        time: Duration::from_secs_f64(seconds),
    };
    if arguments.smoke {
        Effort {
            cost: times(1, 500, 1, 0.2),
            replays: (1, Duration::from_millis(200)),
            others: 3_000,
            accounts: None,
        }
    } else if arguments.quick {
        Effort {
            cost: times(15, 1_500, 4, 1.0),
            replays: (3, Duration::from_secs(1)),
            others: 20_000,
            accounts: Some(100_000),
        }
    } else {
        Effort {
            cost: times(40, 1_500, 8, 1.5),
            replays: (6, Duration::from_millis(1_500)),
            others: 20_000,
            accounts: Some(1_000_000),
        }
    }
}

const fn named(part: Part) -> &'static str {
    match part {
        Part::Memory => "the start, and memory",
        Part::Kept => "what a drained account gets back",
        Part::Edge => "what is admitted at the edge of a window",
        Part::RetryAfter => "what `Retry-After` is worth",
        Part::Cost => "CPU time, and how long requests take",
        Part::Once => "idempotency keys",
    }
}

fn print_all(tables: &[Table]) {
    for table in tables {
        println!("{table}");
    }
}
