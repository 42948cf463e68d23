//! Some hundred accounts that ask all the time, each for itself, and what each of them is answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tidegate_e2e::{Client, eventually};
use tokio::task::JoinSet;

/// How many accounts there are.
pub(crate) const ACCOUNTS: usize = 300;

/// A header that each request has, and what stands in it: more than any bucket holds.
pub(crate) const COST: &str = "x-cost";
const EXCESSIVE: &str = "1000000";

/// How many connections they share.
const CONNECTIONS: usize = 6;

/// What is sent before the load ends by itself.
const MOST: u64 = 1_000_000;

/// How often each account got which status.
pub(crate) type Answers = BTreeMap<(usize, u16), u64>;

pub(crate) struct Crowd {
    connections: JoinSet<Result<()>>,
    answers: Arc<Mutex<Answers>>,
    sent: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

pub(crate) fn account(number: usize) -> String {
    format!("account-{number}")
}

impl Crowd {
    /// Starts it: one account after the other, over and over.
    pub(crate) fn start(url: &str) -> Self {
        let mut crowd = Self {
            connections: JoinSet::new(),
            answers: Arc::default(),
            sent: Arc::default(),
            stop: Arc::default(),
        };
        for connection in 0..CONNECTIONS {
            let (answers, sent) = (Arc::clone(&crowd.answers), Arc::clone(&crowd.sent));
            let (url, stop) = (url.to_owned(), Arc::clone(&crowd.stop));
            crowd.connections.spawn(async move {
                let client = Client::h1();
                let accounts = (0..ACCOUNTS)
                    .cycle()
                    .skip(connection * ACCOUNTS / CONNECTIONS);
                for number in accounts {
                    if stop.load(Ordering::Relaxed) || sent.load(Ordering::Relaxed) > MOST {
                        break;
                    }
                    let call = client
                        .get(&url)
                        .header("x-account", account(number))
                        .header(COST, EXCESSIVE);
                    let answer = call.send().await.with_context(|| account(number))?;
                    let status = answer.status.as_u16();
                    ensure!(status < 500, "{}: {answer:?}", account(number));
                    *answers.lock().unwrap().entry((number, status)).or_default() += 1;
                    sent.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        crowd
    }

    /// Waits until every account was answered again some times.
    pub(crate) async fn goes_on(&self) {
        let before = self.sent.load(Ordering::Relaxed);
        let enough = 2 * ACCOUNTS as u64;
        eventually(Duration::from_secs(30), async || {
            let more = self.sent.load(Ordering::Relaxed) - before;
            ensure!(more >= enough, "only {more} answers");
            Ok(())
        })
        .await
        .unwrap();
    }

    /// The answers since this was asked last.
    pub(crate) fn take(&self) -> Answers {
        std::mem::take(&mut *self.answers.lock().unwrap())
    }

    /// Stops it, and fails if a request failed.
    pub(crate) async fn stop(mut self) -> Answers {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(done) = self.connections.join_next().await {
            done.unwrap().unwrap();
        }
        self.take()
    }
}
