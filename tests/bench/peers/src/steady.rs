//! Requests at a constant rate, whatever becomes of the ones before: how late an answer is counts from the time at which its
//! request was due, so that a proxy that stalls is not asked less.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;

use crate::answers::Connection;

/// How many connections take turns.
const CONNECTIONS: u32 = 16;

/// How often a measurement is made that fails.
const TRIES: u32 = 3;

/// Writes the request of a turn.
type Write = dyn Fn(u32, &mut Vec<u8>) + Send + Sync;

/// Answers are told apart by three digits, up to a minute.
pub(crate) fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_max(60_000_000_000, 3)?)
}

/// Sends `rate` requests a second for a while, each on the connection whose turn it is; `status` is what every answer is to have.
/// A machine that stalls for as long as a proxy waits for its origin spoils a measurement, which is then made again.
pub(crate) async fn run(
    authority: &str,
    rate: u32,
    time: Duration,
    status: u16,
    write: impl Fn(u32, &mut Vec<u8>) + Send + Sync + 'static,
) -> Result<Histogram<u64>> {
    let write: Arc<Write> = Arc::new(write);
    let mut tries = 1;
    loop {
        match once(authority, rate, time, status, &write).await {
            Err(error) if tries < TRIES => {
                eprintln!("bench-peers: measured again: {error:#}");
                tries += 1;
            }
            outcome => return outcome,
        }
    }
}

async fn once(
    authority: &str,
    rate: u32,
    time: Duration,
    status: u16,
    write: &Arc<Write>,
) -> Result<Histogram<u64>> {
    let between = Duration::from_secs(1) / rate;
    let requests = u32::try_from(time.as_nanos() / between.as_nanos())?;
    let connections: Vec<_> = (0..CONNECTIONS)
        .map(|_| Connection::open(authority))
        .collect::<Result<_>>()?;
    // Every thread is there by then.
    let start = Instant::now() + Duration::from_millis(20);
    let mut running = Vec::new();
    for (first, mut connection) in (0..).zip(connections) {
        let write = Arc::clone(write);
        running.push(tokio::task::spawn_blocking(move || {
            let mut late = histogram()?;
            let mut request = Vec::new();
            for turn in (first..requests).step_by(usize::try_from(CONNECTIONS)?) {
                write(turn, &mut request);
                let due = start + between * turn;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                connection.send(&request)?;
                let got = connection.status()?;
                ensure!(got == status, "expected {status}, got {got}");
                late.record(u64::try_from(due.elapsed().as_nanos())?)?;
            }
            Ok::<_, anyhow::Error>(late)
        }));
    }
    let mut all = histogram()?;
    for done in running {
        all.add(done.await??)?;
    }
    Ok(all)
}
