//! Many requests at once, over many connections, so that every worker of an Envoy has its share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::client::{Answer, Call, Client};

/// Sends the requests that `call` makes of the numbers below `requests`, each connection taking the next number as soon
/// as it is free: neighbours are on their way at the same time, mostly through different workers. Returns the answers by
/// number.
///
/// # Errors
///
/// A request got no answer at all.
pub async fn flood(
    connections: usize,
    requests: usize,
    call: impl Fn(&Client, usize) -> Call + Send + Sync + 'static,
) -> Result<Vec<Answer>> {
    let next = Arc::new(AtomicUsize::new(0));
    let call = Arc::new(call);
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (next, call) = (Arc::clone(&next), Arc::clone(&call));
        tasks.spawn(async move {
            // A pool of its own; it sends one request after the other, so that it keeps to one connection.
            let client = Client::h1();
            let mut answers = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= requests {
                    return Ok::<_, anyhow::Error>(answers);
                }
                answers.push((number, call(&client, number).send().await?));
            }
        });
    }
    let mut answers = Vec::with_capacity(requests);
    while let Some(done) = tasks.join_next().await {
        answers.extend(done??);
    }
    answers.sort_by_key(|(number, _)| *number);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}
