//! What a run says when it is over.

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::checks::{self, Broken, NAMES, Run};
use crate::history::{Answer, End, Past};
use crate::run::Known;

/// How many faults of one invariant are shown.
const SHOWN: usize = 5;

/// One of so many requests has to reach the origin, or the run says nothing. A quarter of them do.
const LEAST: usize = 10;

/// Prints what happened and what did not hold.
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what it is for"
)]
pub(crate) fn report(seed: u64, seconds: u64, known: &Known) -> ExitCode {
    let past = &known.past;
    println!(
        "seed {seed}, {seconds} s: {} requests, {} at the origin",
        past.told.len(),
        past.executions.len()
    );
    for (what, table) in [
        (
            "hostile",
            tally(
                past.told
                    .values()
                    .map(|told| shown(told.hostile, "nothing")),
            ),
        ),
        (
            "protocols",
            tally(past.told.values().map(|told| told.protocol.to_owned())),
        ),
        (
            "kinds",
            tally(past.told.values().map(|told| format!("{:?}", told.kind))),
        ),
        (
            "answers",
            tally(past.told.keys().map(|number| ended(past, *number))),
        ),
        (
            "cut off",
            tally(past.told.values().filter_map(|told| {
                let cut = matches!(past.ends.get(&told.number), Some(End::Cut(_)));
                cut.then(|| format!("{} {}", told.protocol, shown(told.hostile, "nothing")))
            })),
        ),
        (
            "origin",
            tally(past.executions.iter().map(|one| one.conduct.to_owned())),
        ),
        (
            "decisions",
            tally(
                known
                    .counted
                    .logged
                    .iter()
                    .map(|(_, decision)| decision.clone()),
            ),
        ),
    ] {
        let table: Vec<_> = table
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        println!("{what}: {}", table.join(", "));
    }
    let answers = |kind: fn(u64, &Answer) -> bool| {
        let ends = past.ends.iter();
        ends.filter(|(number, end)| matches!(end, End::Answered(answer) if kind(**number, answer)))
            .count()
    };
    let copies = answers(|number, answer| {
        !answer.replayed && answer.made_for.is_some_and(|made| made != number)
    });
    let replays = answers(|_, answer| answer.replayed);
    println!("copies given: {copies}; replays: {replays}");
    let memory = &known.memory;
    let grown = memory.after.saturating_sub(memory.before);
    println!(
        "heap {} bytes more, at most {} ({} of it copies in Envoy's cache); resident {} bytes; {} events sent",
        grown,
        memory.most(),
        memory.copies.1,
        known.resident,
        known.events
    );
    let broken = checks::all(&Run {
        past,
        people: &known.people,
        counted: &known.counted,
        health: &known.health,
        memory,
        log: &known.log,
    });
    for name in NAMES {
        let of: Vec<&Broken> = broken.iter().filter(|one| one.invariant == name).collect();
        if of.is_empty() {
            println!("held: {name}");
            continue;
        }
        println!("BROKEN: {name}, {} times", of.len());
        for one in of.iter().take(SHOWN) {
            eprintln!("{one}");
            for number in &one.requests {
                eprintln!("  {}", past.shown(*number));
                for line in known.log.beside(*number) {
                    eprintln!("    {line}");
                }
            }
        }
    }
    // Where nothing gets through, whatever is to be held is held.
    let through = past.executions.len().saturating_mul(LEAST) >= past.told.len();
    let says = through && copies > 0 && replays > 0;
    if !says {
        println!(
            "BROKEN: one of {LEAST} requests reaches the origin, and some are answered with copies and replays"
        );
    }
    if broken.is_empty() && says {
        return ExitCode::SUCCESS;
    }
    for line in known.log.open() {
        eprintln!("not over: {line}");
    }
    for (name, value) in &known.stats {
        eprintln!("{name}: {value}");
    }
    eprintln!("again: make soak SOAK_SECONDS={seconds} SOAK_SEED={seed}");
    ExitCode::FAILURE
}

/// Says that there was no run.
#[allow(clippy::print_stderr, reason = "this is what it is for")]
pub(crate) fn unable(seed: u64, error: &anyhow::Error) {
    eprintln!("seed {seed}: {error:#}");
}

fn ended(past: &Past, number: u64) -> String {
    match past.ends.get(&number) {
        Some(End::Answered(answer)) => answer.status.to_string(),
        Some(End::Gone(_)) => "given up".to_owned(),
        Some(End::Cut(_)) => "cut".to_owned(),
        Some(End::Silent) => "silent".to_owned(),
        None => "none".to_owned(),
    }
}

fn shown(word: &str, otherwise: &str) -> String {
    if word.is_empty() { otherwise } else { word }.to_owned()
}

fn tally(words: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut table = BTreeMap::new();
    for word in words {
        *table.entry(word).or_default() += 1;
    }
    table
}
