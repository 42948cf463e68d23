//! Lets clients that others wrote meet our refusals, each with its own retries, and holds docs/clients.md to what they do.
//!
//! Each client sends the same requests, one after the other, as an account of its own; all clients do so at once. What they sent
//! is read from Envoy's access log.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "results go to the one, progress to the other"
)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a run that cannot go on fails; what is counted is small"
)]

mod ask;
mod attempt;
mod cases;
mod client;
mod cors;
mod exact;
mod hey;
mod install;
mod page;
mod reaction;
mod report;
mod stand;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, ValueEnum};
use http::StatusCode;
use tidegate_e2e::Reply;
use tidegate_e2e::origin::Gate;
use tokio::task::JoinSet;

use ask::Ask;
use attempt::attempts;
use cases::Row;
use client::{Dialect, Page};
use install::Installed;
use report::Report;
use stand::{ROOM, Stand, as_if, until};

/// Lets clients that others wrote meet our refusals, and holds docs/clients.md to what they do.
#[derive(Debug, Parser)]
struct Arguments {
    /// Write docs/clients.md anew
    #[arg(long)]
    update: bool,
    /// How to print what was seen
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let began = Instant::now();
    eprintln!("installing the clients that are not there yet");
    let installed = tokio::task::spawn_blocking(Installed::all).await??;
    let stand = Arc::new(Stand::start().await?);
    let page = Page::open(stand.envoy.at("/page")).await?;
    let clients = client::all(&installed, &page)?;
    eprintln!("{} clients and hey", clients.len());
    let load = tokio::spawn({
        let stand = Arc::clone(&stand);
        async move { hey::load(&stand).await }
    });
    let rows = clients.into_iter().map(Row::of).collect();
    let rows = each(rows, |mut row| {
        let stand = Arc::clone(&stand);
        async move { row.run(&stand).await.map(|()| row) }
    })
    .await?;
    eprintln!("a store without room");
    // The other Envoy has a port of its own, which to a browser is another origin.
    page.go(stand.small.at("/page")).await?;
    let rows = without_room(rows, &stand).await?;
    eprintln!("pages of another origin");
    let reads = cors::reads(&stand, &page).await?;
    let load = load.await??;
    let report = Report { rows, load, reads };
    match arguments.format {
        Format::Text => println!("{}", report.table()),
        Format::Json => println!("{:#}", report.json()),
    }
    if arguments.update {
        page::update(&report)?;
    }
    page::check(&report)?;
    eprintln!(
        "all as docs/clients.md says, in {} s",
        began.elapsed().as_secs()
    );
    Ok(())
}

/// Does something with all rows at once; they keep their order.
async fn each<F>(rows: Vec<Row>, run: impl Fn(Row) -> F) -> Result<Vec<Row>>
where
    F: Future<Output = Result<Row>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for (number, row) in rows.into_iter().enumerate() {
        let row = run(row);
        running.spawn(async move { row.await.map(|row| (number, row)) });
    }
    let mut rows = Vec::new();
    while let Some(row) = running.join_next().await {
        rows.push(row??);
    }
    rows.sort_by_key(|(number, _)| *number);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// All clients find no room for their request, until each was told so once.
async fn without_room(rows: Vec<Row>, stand: &Arc<Stand>) -> Result<Vec<Row>> {
    ensure!(rows.len() <= ROOM, "there is to be room for all");
    let gate = Gate::default();
    // By this status the origin says that it did not take the request, and the place is free.
    let reply = Reply::status(StatusCode::SERVICE_UNAVAILABLE);
    stand.origin.answer("/full/held", reply.held_by(&gate));
    let mut holding = JoinSet::new();
    for number in 0..ROOM {
        let ask = Ask {
            method: "POST",
            url: stand.small.at("/full/held"),
            account: "held".to_owned(),
            key: Some(number.to_string()),
            amount: 100,
        };
        holding.spawn(as_if(Dialect::Any, &ask)?.send());
    }
    let room = u64::try_from(ROOM)?;
    until(|| Ok((stand.origin.count("/full/held") == room).then_some(()))).await?;
    let paths: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.full_method(),
                row.client.path("full", row.full_method()),
            )
        })
        .collect();
    let asked = each(rows, |mut row| {
        let stand = Arc::clone(stand);
        async move { row.full(&stand).await.map(|()| row) }
    });
    let told = async {
        let mut missing = paths;
        let all = until(|| {
            let log = stand.small.access_log()?;
            missing.retain(|(method, path)| {
                !attempts(&log, method, path).is_ok_and(|made| !made.is_empty())
            });
            Ok(missing.is_empty().then_some(()))
        });
        let all = all.await;
        all.with_context(|| format!("did not come: {missing:?}"))?;
        gate.open();
        while let Some(held) = holding.join_next().await {
            let held = held??;
            ensure!(held.status == 503, "{held:?}");
        }
        Ok(())
    };
    Ok(tokio::try_join!(asked, told)?.0)
}
