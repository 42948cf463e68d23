//! `tidegate`: lints, tests, explains, simulates, packs and ships policies, over the core that runs in Envoy.

mod diff;
mod exit;
mod explain;
mod output;
mod ship;
mod simulate;
mod testing;
mod top;
mod verbs;

use std::process::ExitCode;

use clap::Parser;
use tidegate_tool::{lint, packed, policy_file};

use exit::Exit;
use output::{Format, Output};
use verbs::Verb;

/// A simulation makes two dozen small allocations a request, most of them the engine's: a third of its time otherwise.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Policies for Tidegate, from the first draft to production.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, propagate_version = true)]
struct Arguments {
    /// What is printed to standard output.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: Format,
    #[command(subcommand)]
    verb: Verb,
}

fn main() -> ExitCode {
    let Arguments { format, verb } = Arguments::parse();
    let output = Output::new(format);
    let changes = verb.changes();
    let exit = verb.run(&output).unwrap_or_else(|error| {
        output.error(&format!("{error:#}"));
        Exit::Unable
    });
    // Half of a result is none. What was done to an Envoy was done, whoever could be told.
    let exit = match exit {
        Exit::Done | Exit::Warned if !changes && !output::is_written() => Exit::Unable,
        exit => exit,
    };
    exit.into()
}
