//! A load that goes on until it is told to stop: several connections, some of an account that has room without end,
//! some of one that has none left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tidegate_e2e::{Client, eventually};
use tokio::task::JoinSet;

/// The connections of each of the two accounts.
const CONNECTIONS: usize = 4;

/// How many answers each connection must get before a change counts as survived.
const ENOUGH: u64 = 25;

/// How long that may take.
const LIMIT: Duration = Duration::from_secs(20);

/// What every connection sends before it ends by itself: the load is bounded whatever becomes of the test.
const MOST: u64 = 50_000;

/// A load in the background.
pub(crate) struct Steady {
    connections: JoinSet<Result<()>>,
    answers: Vec<Arc<AtomicU64>>,
    stop: Arc<AtomicBool>,
}

impl Steady {
    /// Starts it: `steady` is answered with 200 alone, `drained` with 429 alone.
    pub(crate) fn start(url: &str) -> Self {
        let mut load = Self {
            connections: JoinSet::new(),
            answers: Vec::new(),
            stop: Arc::default(),
        };
        for (account, status) in [("steady", 200), ("drained", 429)].repeat(CONNECTIONS) {
            let answers = Arc::new(AtomicU64::new(0));
            load.answers.push(Arc::clone(&answers));
            let (url, stop) = (url.to_owned(), Arc::clone(&load.stop));
            load.connections.spawn(async move {
                let client = Client::h1();
                while !stop.load(Ordering::Relaxed) && answers.load(Ordering::Relaxed) < MOST {
                    let call = client.get(&url).header("x-account", account);
                    let answer = call.send().await.context(account)?;
                    ensure!(answer.status == status, "{account}: {answer:?}");
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        load
    }

    /// Waits until each connection has got some more answers.
    pub(crate) async fn goes_on(&mut self, when: &str) {
        let answers = &self.answers;
        let read = || {
            answers
                .iter()
                .map(|answers| answers.load(Ordering::Relaxed))
        };
        let before: Vec<u64> = read().collect();
        let enough = eventually(LIMIT, async || {
            let least = read().zip(&before).map(|(now, before)| now - before).min();
            ensure!(least >= Some(ENOUGH), "only {least:?} answers {when}");
            Ok(())
        });
        // A connection that ends does so because it got what it should not have.
        tokio::select! {
            enough = enough => enough.unwrap(),
            Some(done) = self.connections.join_next() => {
                panic!("{when} a connection ended: {done:?}");
            }
        }
    }

    /// Stops it, and fails if a connection got anything else than it should.
    pub(crate) async fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(done) = self.connections.join_next().await {
            done.unwrap().unwrap();
        }
    }
}
