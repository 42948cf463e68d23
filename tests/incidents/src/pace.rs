//! An open loop: requests leave when they are due, whatever became of those before them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::wire::Wire;

/// How long a connection that has nothing to send waits before it looks again.
const IDLE: Duration = Duration::from_millis(5);

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shot {
    /// When, from the start.
    pub(crate) at: Duration,
    /// Whose it is.
    pub(crate) who: usize,
    /// It was refused before, and comes when it was told to.
    pub(crate) again: bool,
}

impl Shot {
    /// Those of one caller from `first` until `end`, `each` apart.
    pub(crate) fn every(
        who: usize,
        first: Duration,
        each: Duration,
        end: Duration,
    ) -> impl Iterator<Item = Self> {
        let times = std::iter::successors(Some(first), move |at| Some(*at + each));
        times.take_while(move |at| *at < end).map(move |at| Self {
            at,
            who,
            again: false,
        })
    }
}

/// What became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landed {
    pub(crate) shot: Shot,
    /// When its answer was there, from the start.
    pub(crate) heard: Duration,
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u64>,
}

impl Landed {
    /// How long it took from when it was due.
    pub(crate) fn took(&self) -> Duration {
        self.heard.saturating_sub(self.shot.at)
    }
}

/// Makes the bytes of a request.
pub(crate) type Write = Box<dyn Fn(&Shot) -> Vec<u8> + Send + Sync>;

/// A load.
pub(crate) struct Load {
    pub(crate) authority: String,
    /// Where its connections come from, if that matters.
    pub(crate) from: Option<IpAddr>,
    pub(crate) connections: usize,
    pub(crate) shots: Vec<Shot>,
    pub(crate) write: Write,
    /// Who is refused comes back once, when it was told to, if that is before this.
    pub(crate) returns_until: Duration,
    /// Once it is set nothing more is sent.
    pub(crate) stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    due: BinaryHeap<Reverse<Shot>>,
    /// How many are on their way.
    away: usize,
}

impl Load {
    /// Sends all of it, from `begun` on.
    ///
    /// # Errors
    ///
    /// A connection failed.
    pub(crate) async fn send(self, begun: Instant) -> Result<Vec<Landed>> {
        let due = self.shots.iter().copied().map(Reverse).collect();
        let queue = Arc::new(Mutex::new(Queue { due, away: 0 }));
        let connections = self.connections;
        let load = Arc::new(self);
        let mut running = JoinSet::new();
        for _ in 0..connections {
            let (load, queue) = (Arc::clone(&load), Arc::clone(&queue));
            running.spawn(async move { load.one(&queue, begun).await });
        }
        let mut landed = Vec::new();
        while let Some(done) = running.join_next().await {
            landed.extend(done??);
        }
        landed.sort_by_key(|one| one.shot);
        Ok(landed)
    }

    async fn one(&self, queue: &Mutex<Queue>, begun: Instant) -> Result<Vec<Landed>> {
        let mut wire = match self.from {
            Some(address) => Wire::open_from(address, &self.authority).await?,
            None => Wire::open(&self.authority).await?,
        };
        let mut landed = Vec::new();
        loop {
            let next = {
                let mut queue = lock(queue);
                let next = queue.due.pop();
                queue.away += usize::from(next.is_some());
                (next, queue.away)
            };
            let shot = match next {
                (Some(_), _) if self.stop.load(Ordering::Relaxed) => return Ok(landed),
                (Some(Reverse(shot)), _) => shot,
                (None, 0) => return Ok(landed),
                // One that is on its way may come back.
                (None, _) => {
                    sleep(IDLE).await;
                    continue;
                }
            };
            sleep_until(begun + shot.at).await;
            wire.send(&(self.write)(&shot)).await?;
            let heard = wire.hear().await?;
            let one = Landed {
                shot,
                heard: begun.elapsed(),
                status: heard.status,
                retry_after: heard.retry_after,
            };
            landed.push(one);
            let mut queue = lock(queue);
            queue.away -= 1;
            if let (429, false, Some(wait)) = (heard.status, shot.again, heard.retry_after) {
                let at = one.heard + Duration::from_secs(wait);
                if at < self.returns_until {
                    queue.due.push(Reverse(Shot {
                        at,
                        who: shot.who,
                        again: true,
                    }));
                }
            }
        }
    }
}

/// The time within which 99 of a hundred took their answers.
pub(crate) fn p99<'a>(landed: impl Iterator<Item = &'a Landed>) -> Duration {
    let mut times: Vec<_> = landed.map(Landed::took).collect();
    times.sort_unstable();
    let place = (times.len() * 99).div_ceil(100);
    times
        .get(place.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
