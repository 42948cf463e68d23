//! What an entry takes in a real Envoy: the figures of docs/operations.md. `make sizes` prints them.
//!
//! Envoy's heap (`/memory`) before and after many entries of one kind, and beside it what the formula of that page says is the most.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails; the figures are what it is for"
)]

#[path = "memory/flood.rs"]
mod frames;

use std::fmt;

use serde_json::{Value, json};
use tidegate_core::{ledger, records, table};
use tidegate_e2e::{Answer, Client, Envoy, Origin, flood, repo};

use frames::Flood;

/// What Envoy needs for a key of shared data beside its name and value, in bytes.
const KEY: usize = 125;

/// How many entries a limit's table has here.
const BUCKETS: u32 = 32_768;

const RECORDS: usize = 2000;

/// `GENERATIONS` of core/cache/plan.rs.
const GENERATIONS: usize = 16_384;

/// Changes of so many paths reach 87 of a hundred places.
const CHANGES: usize = 33_000;

/// What else may come and go in Envoy's heap while it serves.
const SLACK: u64 = 1 << 18;

/// One kind of entry.
struct Row {
    what: String,
    entries: usize,
    grown: u64,
    /// The most that the formula allows all of them.
    most: usize,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |bytes: u64| bytes / u64::try_from(self.entries).unwrap();
        write!(
            f,
            "| {} | {} | {} | {} | {} |",
            self.what,
            self.entries,
            self.grown,
            each(self.grown),
            each(u64::try_from(self.most).unwrap())
        )
    }
}

/// A value in Envoy's memory: the allocator rounds up, by a quarter at most.
const fn held(value: usize) -> usize {
    value + value / 4
}

async fn start(policy: &Value, origin: &Origin) -> Envoy {
    let builder = Envoy::builder().policy(policy).origin(origin);
    builder.without_access_log().start().await.unwrap()
}

/// By how much the heap grows while something is done.
async fn grown(envoy: &Envoy, done: impl Future<Output = ()>) -> u64 {
    let before = envoy.heap_bytes().await.unwrap();
    done.await;
    envoy.heap_bytes().await.unwrap().saturating_sub(before)
}

fn all_are(answers: &[Answer], status: u16) {
    assert!(answers.iter().all(|answer| answer.status == status));
}

/// Buckets that stay in use, more of them than there is room for.
async fn buckets(origin: &Origin) -> Row {
    let policy = json!({
        "policy": "sizes", "version": "1", "headers": "off",
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {
            "per": ["account"], "rate": "1/h", "burst": 1, "max_keys": BUCKETS,
            "overrides": {"account": {"steady": {"rate": "1000000/s", "burst": 1_000_000}}},
        }},
        "always": ["account"],
    });
    let envoy = start(&policy, origin).await;
    let connections = Flood::connect(&envoy).unwrap();
    let warm = connections.send(|_| "steady".to_owned(), 20_000).await;
    let (connections, _) = warm.unwrap();
    let grown = grown(&envoy, async {
        let sent = connections.send(|n| format!("account-{n}"), BUCKETS * 4);
        let (_, statuses) = sent.await.unwrap();
        assert!(statuses[&429] > BUCKETS, "the table is full: {statuses:?}");
    });
    let grown = grown.await;
    let name = "tidegate/1/sizes/account/2048/".len() + 4;
    let sets = usize::try_from(table::sets(BUCKETS)).unwrap();
    Row {
        what: "bucket of a limit".into(),
        entries: usize::try_from(BUCKETS).unwrap(),
        grown,
        most: sets * (held(table::MAX_SET_LEN) + name + KEY),
    }
}

/// Records of requests that are done, each with an answer of so many bytes.
async fn answers(origin: &Origin, body: usize) -> Row {
    let policy = json!({
        "policy": "sizes", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "routes": [{"name": "charges", "match": {"methods": ["POST"], "path": "/charges"},
                    "idempotency": {"key": "required"}}],
    });
    let envoy = start(&policy, origin).await;
    let url = envoy.at("/charges");
    let send = async |from: usize, count: usize| {
        let (url, text) = (url.clone(), "x".repeat(body));
        let answers = flood(8, count, move |client: &Client, number| {
            client
                .post(&url)
                .header("x-account", "one")
                .header("idempotency-key", format!("key-{}", from + number))
                .header("x-origin-respond-body", &text)
        });
        all_are(&answers.await.unwrap(), 200);
    };
    send(0, 64).await;
    let grown = grown(&envoy, send(64, RECORDS)).await;
    let (sets, ways) = records::set::shape(4096);
    let name = |word: &str| format!("tidegate/1/sizes//{sets}x{ways}/{word}").len() + 5;
    let sets = usize::try_from(sets).unwrap() * (name("records") + KEY);
    // 23 bytes and its lines: of these the origin sends three, of less than 100 bytes together.
    let answer = held(23 + 3 * 8 + 100 + body) + name("answer") + KEY;
    Row {
        what: format!("record, and an answer of {body} bytes"),
        entries: RECORDS,
        grown,
        most: RECORDS * (held(records::set::RECORD_LEN) + answer) + sets,
    }
}

/// The generations of copies: one for each path, until those that there are come round.
async fn generations(origin: &Origin) -> Row {
    let policy = json!({
        "policy": "sizes", "version": "1",
        "routes": [{"name": "catalogue", "match": {"path": "/catalogue/*"}, "cache": {"scope": "public"}}],
    });
    let envoy = start(&policy, origin).await;
    let url = envoy.at("/catalogue/");
    let send = async |from: usize, count: usize| {
        let url = url.clone();
        let answers = flood(8, count, move |client: &Client, number| {
            client.post(format!("{url}{}", from + number))
        });
        all_are(&answers.await.unwrap(), 200);
    };
    send(0, 1000).await;
    let grown = grown(&envoy, send(1000, CHANGES)).await;
    let name = "tidegate/1/sizes//generation".len() + 5;
    Row {
        what: "generation of copies".into(),
        entries: GENERATIONS,
        grown,
        most: GENERATIONS * (held(8) + name + KEY),
    }
}

/// What Envoy holds with so many workers that have all served, with the gate and without.
async fn resident(origin: &Origin, workers: u32, gate: bool) -> u64 {
    let policy = json!({
        "policy": "sizes", "version": "1",
        "limits": {"address": {"per": ["address"], "rate": "1000000/s", "burst": 1_000_000}},
        "always": ["address"],
    });
    let builder = Envoy::builder().concurrency(workers).policy(&policy);
    let builder = builder.origin(origin).without_access_log();
    let builder = if gate {
        builder
    } else {
        builder.without_gate()
    };
    let envoy = builder.start().await.unwrap();
    let url = envoy.at("/");
    let answers = flood(64, 8000, move |client: &Client, _| client.get(&url));
    all_are(&answers.await.unwrap(), 200);
    envoy.rss_bytes().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; `make sizes` runs it"]
async fn an_entry_takes_no_more_than_its_formula_says() {
    let origin = Origin::start().await.unwrap();
    let mut rows = vec![buckets(&origin).await];
    for body in [0, 1024, 16 << 10] {
        rows.push(answers(&origin, body).await);
    }
    rows.push(generations(&origin).await);
    println!("| entry | entries | bytes | each | formula, each |\n|---|---:|---:|---:|---:|");
    for row in &rows {
        println!("{row}");
    }
    for row in &rows {
        let most = u64::try_from(row.most).unwrap();
        assert!(row.grown <= most + SLACK, "{row}");
        // A formula that promises twice of what is needed helps nobody to plan.
        assert!(row.grown > most / 2, "{row}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; `make sizes` runs it"]
async fn a_worker_takes_few_megabytes() {
    let origin = Origin::start().await.unwrap();
    let mut added = Vec::new();
    for workers in [1, 9] {
        let with = resident(&origin, workers, true).await;
        let without = resident(&origin, workers, false).await;
        let more = with.saturating_sub(without);
        println!("{workers} workers: {with} bytes with the gate, {without} without, {more} more");
        added.push(more);
    }
    let each = added[1].saturating_sub(added[0]) / 8;
    println!("each worker: {each} bytes");
    assert!(each < 8 << 20, "{each}");
}

/// The formulas of the page stand on numbers of the code.
#[test]
fn the_page_has_the_numbers_of_the_code() {
    let page = std::fs::read_to_string(repo().join("docs/operations.md")).unwrap();
    let scopes = usize::try_from(ledger::SETS).unwrap() * ledger::set::WAYS;
    for said in [
        format!(
            "{} × 16 + {}",
            table::MAX_SET_LEN / 16,
            table::MAX_SET_LEN % 16
        ),
        format!("{} × 32 + 1", records::set::RECORD_LEN),
        format!("{} sets of {} bytes", ledger::SETS, ledger::set::MAX_LEN),
        format!("{scopes} scopes"),
    ] {
        assert!(page.contains(&said), "`{said}` is not in the page");
    }
}
