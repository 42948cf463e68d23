//! Replays: whether they are what the first answer was, and how long they take.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tidegate_e2e::bench::{times, turns};
use tidegate_e2e::{Answer, Client};

use super::calls::{bytes, charge};
use super::stand::{Guard, Stand};
use crate::steady;
use crate::table::Table;

/// How many keys there are; one of the middlewares looks through all of them for each request.
const KEYS: u32 = 50;

/// How many replays a second: few enough that no application is ever busy with the one before.
const RATE: u32 = 250;

/// Of one exchange, whoever answers.
const OF_ONE_EXCHANGE: [&str; 3] = ["date", "x-envoy-upstream-service-time", "server"];

/// How a replay differs from the first answer.
pub(super) async fn compare(stand: &Stand) -> Result<String> {
    let client = Client::h1();
    let first = charge(stand, &client, "compared", 0).await?;
    let again = charge(stand, &client, "compared", 0).await?;
    let executions = stand.executions("compared").await?;
    if executions > 1 {
        return Ok("executed again".to_owned());
    }
    let mut differs = Vec::new();
    if first.status != again.status {
        differs.push(format!("status {} for {}", again.status, first.status));
    }
    differs.push(if first.body == again.body {
        "same body".to_owned()
    } else {
        "another body".to_owned()
    });
    for (word, has, lacks) in [("without", &first, &again), ("with", &again, &first)] {
        let names = names(has, lacks);
        if !names.is_empty() {
            differs.push(format!("{word} {}", names.join(" ")));
        }
    }
    Ok(differs.join(", "))
}

/// The headers that one answer has and another has not, or not with that value.
fn names(has: &Answer, lacks: &Answer) -> Vec<String> {
    let names: BTreeSet<&str> = has.headers.keys().map(http::HeaderName::as_str).collect();
    let differs = names.into_iter().filter(|name| {
        !OF_ONE_EXCHANGE.contains(name) && has.headers.get(*name) != lacks.headers.get(*name)
    });
    differs.map(|name| format!("`{name}`")).collect()
}

/// How long replays take, interleaved; an application alone executes each.
pub(super) async fn table(stands: &[Stand], rounds: usize, time: Duration) -> Result<Table> {
    let client = Client::h1();
    for stand in stands {
        for key in 0..KEYS {
            let answer = charge(stand, &client, &format!("replay-{key}"), 0).await?;
            ensure!(answer.status == 201, "{}: {}", stand.name, answer.status);
        }
    }
    let mut p50 = vec![Vec::new(); stands.len()];
    let mut p99 = vec![Vec::new(); stands.len()];
    let mut all = Vec::new();
    for _ in stands {
        all.push(steady::histogram()?);
    }
    for index in turns(rounds, stands.len()) {
        let stand = &stands[index];
        let requests: Vec<Vec<u8>> = (0..KEYS)
            .map(|key| bytes(stand, &format!("replay-{key}"), 0))
            .collect();
        let write = move |turn: u32, request: &mut Vec<u8>| {
            request.clear();
            let key = usize::try_from(turn % KEYS).unwrap_or_default();
            request.extend(&requests[key]);
        };
        let authority = stand.envoy.authority();
        let late = steady::run(&authority, RATE, time, 201, write).await;
        let late = late.context(stand.name)?;
        p50[index].push(micros(late.value_at_quantile(0.5)));
        p99[index].push(micros(late.value_at_quantile(0.99)));
        all[index].add(late)?;
    }
    let mut table = Table::new(
        "How long a replay takes at a fixed load; an application alone executes each of them",
        &[
            "",
            "p50, µs",
            "p99, µs",
            "p50, times the application alone",
            "p99, times the application alone",
        ],
    );
    let mut alone = 0;
    for (index, stand) in stands.iter().enumerate() {
        if stand.guard == Guard::Nothing {
            alone = index;
        } else {
            let executions = stand.executions("replay-0").await?;
            ensure!(
                executions == 1,
                "{}: executed {executions} times",
                stand.name
            );
        }
        table.row(
            stand.name,
            [
                format!("{:.0}", micros(all[index].value_at_quantile(0.5))),
                format!("{:.0}", micros(all[index].value_at_quantile(0.99))),
                format!("{:.2}", times(&p50[index], &p50[alone])),
                format!("{:.2}", times(&p99[index], &p99[alone])),
            ],
        );
    }
    Ok(table)
}

fn micros(nanos: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let nanos = nanos as f64;
    nanos / 1e3
}
