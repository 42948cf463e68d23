//! What a start costs: before an Envoy serves it compiles the module, all of it and optimizing.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tidegate_e2e::{Envoy, bench};

use crate::policies;
use crate::rows::{self, Build};

/// One line of the table.
struct Row {
    name: String,
    /// Of each start the time until it served, and the CPU time of all threads by then.
    starts: Vec<[Duration; 2]>,
}

/// Starts each Envoy so often, in turns, and says what that took.
pub(crate) async fn table(times: u32) -> Result<String> {
    let builds: [(&str, Build); 4] = [
        ("bare", || Ok(Envoy::builder())),
        ("wasm that does nothing", || {
            rows::module("tidegate_bench_noop")
        }),
        ("wasm, one naive bucket per account", || {
            rows::module("tidegate_bench_naive")
        }),
        ("Tidegate, three limits and headers", || {
            Ok(Envoy::builder().policy(&policies::wide(3, "always")))
        }),
    ];
    let mut rows: Vec<_> = builds.iter().map(|(name, _)| Row::new(name)).collect();
    for _ in 0..times {
        for ((_, build), row) in builds.iter().zip(&mut rows) {
            let begun = Instant::now();
            let envoy = build()?.start().await.context(row.name.clone())?;
            row.starts
                .push([begun.elapsed(), bench::of_process(envoy.pid())?]);
        }
    }
    let head = "| filter | ms until it serves | least to most | CPU ms | least to most |\n|---|---:|---:|---:|---:|";
    let lines = rows.into_iter().map(Row::line);
    Ok(std::iter::once(head.to_owned())
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n"))
}

impl Row {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            starts: Vec::new(),
        }
    }

    fn line(self) -> String {
        let cells = [0, 1].map(|which| {
            let mut times: Vec<_> = self.starts.iter().map(|start| start[which]).collect();
            times.sort_unstable();
            let [median, least, most] =
                [times.len() / 2, 0, times.len() - 1].map(|place| times[place].as_millis());
            format!("{median} | {least} to {most}")
        });
        format!("| {} | {} |", self.name, cells.join(" | "))
    }
}
