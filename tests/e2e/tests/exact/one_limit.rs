//! One limit: a key that all workers want, keys that nobody has seen, and a bucket that refills meanwhile.

use std::collections::BTreeMap;

use tidegate_e2e::flood;
use tokio::time::Instant;

use crate::{CONNECTIONS, WORKERS, admitted, conclude, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_hot_key_is_admitted_exactly_its_burst() {
    for workers in WORKERS {
        let (envoy, origin) = start(workers).await;
        // Most are refused and remembered; most are admitted, and all workers swap the same entry.
        for (path, burst) in [("/hot", 100), ("/roomy", 1_900)] {
            let url = envoy.at(path);
            let answers = flood(CONNECTIONS, 2_000, move |client, _| {
                client.get(&url).header("x-account", "hot")
            });
            let answers = answers.await.unwrap();
            assert_eq!(answers.len(), 2_000);
            assert_eq!(admitted(&answers), burst, "{path}, {workers} workers");
            assert_eq!(origin.count(path), burst, "{path}, {workers} workers");
        }
        conclude("a hot key", workers, &envoy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_admitted_exactly_its_burst() {
    const KEYS: usize = 5_000;
    for workers in WORKERS {
        let (envoy, origin) = start(workers).await;
        let url = envoy.at("/new");
        let answers = flood(CONNECTIONS, KEYS * 2, move |client, number| {
            let key = format!("key-{}", number / 2);
            client.get(&url).header("x-account", key)
        });
        let answers = answers.await.unwrap();
        for (key, pair) in answers.chunks(2).enumerate() {
            assert_eq!(admitted(pair), 1, "key {key}, {workers} workers");
        }
        assert_eq!(origin.count("/new"), KEYS as u64);
        let mut reached = BTreeMap::new();
        for seen in origin.seen("/new") {
            *reached
                .entry(seen.headers["x-account"].clone().as_bytes().to_vec())
                .or_insert(0) += 1;
        }
        assert_eq!(reached.len(), KEYS);
        assert!(reached.values().all(|count| *count == 1));
        conclude("new keys", workers, &envoy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_refills_admits_its_burst_and_its_rate_and_no_more() {
    const RATE: f64 = 100.0;
    const BURST: f64 = 20.0;
    for workers in WORKERS {
        let (envoy, origin) = start(workers).await;
        let url = envoy.at("/refilling");
        let began = Instant::now();
        let answers = flood(CONNECTIONS, 4_000, move |client, _| {
            client.get(&url).header("x-account", "refilling")
        });
        let answers = answers.await.unwrap();
        let window = began.elapsed().as_secs_f64();
        let admitted = admitted(&answers);
        assert_eq!(origin.count("/refilling"), admitted);
        let most = BURST + RATE * window + 1.0;
        assert!(
            (admitted as f64) <= most,
            "{admitted} of {most} in {window} s"
        );
        // What was refilled is there for the taking; the first and the last moment may go unused.
        let least = BURST + RATE * (window - 0.2) * 0.8;
        assert!(
            (admitted as f64) >= least,
            "{admitted} of {least} in {window} s"
        );
        println!(
            "a refilling bucket, {workers} workers: {admitted} of at most {most:.1} in {window:.2} s"
        );
        conclude("a refilling bucket", workers, &envoy).await;
    }
}
