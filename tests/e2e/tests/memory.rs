//! Memory: however many callers come, Envoy grows by no more than the tables that the policy names.
//!
//! Shared data forgets no key, so a limiter that keeps one for each caller grows by about 125 bytes and more for every
//! account that ever came. Here a million come.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails; the figures are part of what it tells"
)]

#[path = "memory/flood.rs"]
mod flood;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_core::ledger;
use tidegate_core::table::{self, MAX_SET_LEN};
use tidegate_e2e::{Client, Envoy, eventually};

use flood::{Flood, Statuses};

/// `max_keys` of a limit that does not say.
const DEFAULT_MAX_KEYS: u32 = 65_536;

/// What Envoy needs for a key of shared data beside its name and value, in bytes: its map, and what the allocator
/// rounds up.
const HOST_OVERHEAD: u64 = 210;

/// What else may come and go in Envoy's heap while it serves, in bytes.
const HEAP_SLACK: u64 = 1 << 18;

/// The same for the pages that it holds: buffers, compiled code, what the allocator keeps. A million accounts at one
/// key each would be 30 times as much.
const RSS_SLACK: u64 = 6 << 20;

const SOON: Duration = Duration::from_secs(30);

/// One limit for each account. The account `drained` has one request an hour, whatever the others have.
fn policy(rate: &str) -> Value {
    json!({
        "policy": "memory", "version": "1", "headers": "off",
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {
            "per": ["account"], "rate": rate, "burst": 1,
            "overrides": {"account": {
                "drained": {"rate": "1/h", "burst": 1},
                "steady": {"rate": "1000000/s", "burst": 1_000_000},
            }},
        }},
        "always": ["account"],
    })
}

/// The most that the table of this policy and what is known of refused scopes may take, in bytes: what docs/operations.md states.
fn bound() -> u64 {
    let values = |name: &str, length: usize| {
        let bytes = length + name.len() + 4;
        u64::try_from(bytes).unwrap() + HOST_OVERHEAD
    };
    let set = values("tidegate/1/memory/account/4096/", MAX_SET_LEN);
    let scopes = values("tidegate/1/memory//refused", ledger::set::MAX_LEN);
    u64::from(table::sets(DEFAULT_MAX_KEYS)) * set + u64::from(ledger::SETS) * scopes
}

struct Grown {
    rss: i64,
    heap: i64,
    statuses: Statuses,
    overflows: u64,
}

/// Drains an account, lets `accounts` others come, and asks the drained one again.
async fn grown(rate: &str, accounts: u32) -> Grown {
    let envoy = Envoy::builder()
        .concurrency(2)
        .policy(&policy(rate))
        .without_access_log()
        .start()
        .await
        .unwrap();
    let drained = async || {
        let call = Client::h1()
            .get(envoy.at("/"))
            .header("x-account", "drained");
        call.send().await.unwrap().status.as_u16()
    };
    assert_eq!(drained().await, 200);
    assert_eq!(drained().await, 429);
    // Connections, compiled code and the workers' own memory are there before the first look.
    let flood = Flood::connect(&envoy).unwrap();
    let (flood, statuses) = flood.send(|_| "steady".to_owned(), 20_000).await.unwrap();
    assert_eq!(only(&statuses), Some(200));
    let (flood, statuses) = flood.send(|_| "drained".to_owned(), 20_000).await.unwrap();
    assert_eq!(only(&statuses), Some(429));

    let look = async || {
        (
            envoy.rss_bytes().unwrap(),
            envoy.heap_bytes().await.unwrap(),
        )
    };
    let before = look().await;
    let series = series(&envoy).await;
    let (flood, statuses) = flood
        .send(|n| format!("account-{n}"), accounts)
        .await
        .unwrap();
    let after = look().await;
    assert_eq!(statuses.values().sum::<u32>(), accounts);
    // However many come, there are the metrics that the policy has names for.
    assert_eq!(self::series(&envoy).await, series);
    // The other worker too, and one that has not just been told.
    let (_, again) = flood.send(|_| "drained".to_owned(), 400).await.unwrap();
    assert_eq!(only(&again), Some(429));
    assert_eq!(drained().await, 429);

    let overflows = "wasmcustom.tidegate_table_overflows.policy.memory";
    let overflows = envoy.stat(overflows).await.unwrap();
    let difference =
        |after: u64, before: u64| i64::try_from(after).unwrap() - i64::try_from(before).unwrap();
    println!(
        "{accounts} accounts at {rate}: resident {} -> {} bytes, heap {} -> {}, bound {}, answers {statuses:?}, overflows {overflows}",
        before.0,
        after.0,
        before.1,
        after.1,
        bound()
    );
    Grown {
        rss: difference(after.0, before.0),
        heap: difference(after.1, before.1),
        statuses,
        overflows,
    }
}

/// The series of our metrics, without their values, once those have come that come with the clock.
async fn series(envoy: &Envoy) -> BTreeSet<String> {
    eventually(SOON, async || {
        let text = envoy.prometheus().await?;
        let lines = text.lines().filter(|line| line.starts_with("tidegate_"));
        let series: BTreeSet<_> = lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(series, _)| series.to_owned())
            .collect();
        for late in [
            "tidegate_table_occupancy",
            "tidegate_workers",
            "tidegate_decide_us",
        ] {
            let there = series.iter().any(|one| one.starts_with(late));
            ensure!(there, "no {late}");
        }
        Ok(series)
    })
    .await
    .unwrap()
}

/// The status of all answers, if it is one.
fn only(statuses: &Statuses) -> Option<u16> {
    let mut all = statuses.keys().copied();
    all.next().filter(|_| all.next().is_none())
}

fn assert_bounded(grown: &Grown) {
    let bound = |slack| i64::try_from(bound() + slack).unwrap();
    assert!(
        grown.heap <= bound(HEAP_SLACK),
        "heap grew by {} bytes",
        grown.heap
    );
    assert!(
        grown.rss <= bound(RSS_SLACK),
        "resident memory grew by {} bytes",
        grown.rss
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_accounts_take_no_more_than_the_table() {
    // Buckets that are full again after a millisecond: whoever comes finds room.
    let grown = grown("1000/s", 1_000_000).await;
    assert_bounded(&grown);
    assert_eq!(only(&grown.statuses), Some(200));
    assert_eq!(grown.overflows, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_that_never_go_idle_share_what_is_left() {
    let grown = grown("1/h", 250_000).await;
    assert_bounded(&grown);
    // Each set has its entries and one bucket for all others, of one request each; the drained account has an entry.
    let sets = table::sets(DEFAULT_MAX_KEYS);
    let most = DEFAULT_MAX_KEYS + sets - 1;
    let admitted = grown.statuses.get(&200).copied().unwrap_or(0);
    assert!(admitted <= most, "{admitted} of at most {most}");
    // All but a few sets are full: none of the room is lost.
    assert!(admitted > most - most / 50, "{admitted} of at most {most}");
    assert!(grown.overflows > 100_000, "{}", grown.overflows);
    assert_eq!(grown.statuses.len(), 2, "{:?}", grown.statuses);
}
