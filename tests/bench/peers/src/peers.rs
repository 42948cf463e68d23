//! The limiters that are compared, each as its own documentation sets it up, with one limit for each account by the header `x-account`.

mod envoy;
mod haproxy;
mod nginx;

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tidegate_e2e::bench::{self, Thread};
use tidegate_e2e::{Client, Envoy, Proxy, eventually};

use crate::limit::Limit;

pub(crate) use haproxy::StickTable;

/// How long it may take until all threads of a proxy are bound.
const SOON: Duration = Duration::from_secs(10);

/// What stands behind a proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behind {
    /// This origin.
    Origin(SocketAddr),
    /// Nothing: it answers itself what it lets through.
    Itself,
}

/// A proxy with this limiter or that, or without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Envoy without a limiter.
    Envoy,
    /// `local_ratelimit` with a dynamic descriptor.
    Native,
    /// A bucket for each account in a Lua table.
    Lua,
    /// A counter for each account and window in a Lua table.
    LuaWindow,
    /// One limit, and headers on every answer.
    Tidegate,
    /// Limits of tenant, account and route, and headers on every answer.
    TidegateThree,
    /// nginx without a limiter.
    Nginx,
    /// `limit_req`.
    LimitReq,
    /// `HAProxy` without a limiter.
    Haproxy,
    /// A stick table, used in one way or another.
    StickTable(StickTable),
}

impl Peer {
    /// Each limiter, and each way in which a stick table is used.
    pub(crate) const LIMITERS: [Self; 9] = [
        Self::Native,
        Self::Lua,
        Self::LimitReq,
        Self::StickTable(StickTable::Plain),
        Self::StickTable(StickTable::LooksFirst),
        Self::StickTable(StickTable::Keeps),
        Self::StickTable(StickTable::HandedOver),
        Self::StickTable(StickTable::Strict),
        Self::Tidegate,
    ];

    /// Its name in a table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Envoy => "Envoy, no limiter",
            Self::Native => "Envoy `local_ratelimit`",
            Self::Lua => "Envoy, Lua bucket",
            Self::LuaWindow => "Envoy, Lua fixed window",
            Self::Tidegate => "Tidegate",
            Self::TidegateThree => "Tidegate, three limits",
            Self::Nginx => "nginx, no limiter",
            Self::LimitReq => "nginx `limit_req`",
            Self::Haproxy => "HAProxy, no limiter",
            Self::StickTable(StickTable::Plain) => "HAProxy stick table",
            Self::StickTable(StickTable::LooksFirst) => "HAProxy stick table, checked first",
            Self::StickTable(StickTable::Keeps) => "HAProxy stick table, `nopurge`",
            Self::StickTable(StickTable::HandedOver) => "HAProxy stick table, `peers`",
            Self::StickTable(StickTable::Strict) => "HAProxy stick table, all of it",
        }
    }

    /// The same proxy without a limiter.
    pub(crate) const fn bare(self) -> Self {
        match self {
            Self::Nginx | Self::LimitReq => Self::Nginx,
            Self::Haproxy | Self::StickTable(_) => Self::Haproxy,
            _ => Self::Envoy,
        }
    }

    /// Starts it with so many workers, all on the core of the proxy.
    pub(crate) async fn start(self, limit: Limit, behind: Behind, workers: u32) -> Result<Running> {
        let server = match self {
            Self::Nginx | Self::LimitReq => {
                let limit = (self == Self::LimitReq).then_some(limit);
                Server::Proxy(Proxy::nginx(&nginx::conf(limit, behind, workers)).await?)
            }
            Self::Haproxy | Self::StickTable(_) => {
                let limit = match self {
                    Self::StickTable(table) => Some((table, limit)),
                    _ => None,
                };
                let conf = haproxy::Conf::new(limit, behind, workers)?;
                Server::Proxy(Proxy::haproxy(|at, folder| conf.text(at, folder)).await?)
            }
            _ => {
                let builder = envoy::builder(self, limit).concurrency(workers);
                let builder = match behind {
                    Behind::Origin(at) => builder.origin_at(at),
                    Behind::Itself => builder,
                };
                Server::Envoy(Box::new(builder.start().await?))
            }
        };
        let running = Running {
            peer: self,
            limit,
            server,
        };
        // A thread that is there at the start alone may end while it is bound.
        eventually(SOON, async || {
            running
                .pids()?
                .into_iter()
                .try_for_each(|pid| bench::pin(pid, bench::PROXY))
        })
        .await?;
        Ok(running)
    }
}

/// A proxy that is up.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) peer: Peer,
    limit: Limit,
    server: Server,
}

/// What the processes of a proxy hold in resident memory, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// All of it.
    pub(crate) all: u64,
    /// Without the pages of files, such as the program itself, that the system drops and reads again as it likes.
    pub(crate) own: u64,
}

#[derive(Debug)]
enum Server {
    Envoy(Box<Envoy>),
    Proxy(Proxy),
}

impl Running {
    /// `127.0.0.1:PORT`.
    pub(crate) fn authority(&self) -> String {
        match &self.server {
            Server::Envoy(envoy) => envoy.authority(),
            Server::Proxy(proxy) => proxy.address().to_string(),
        }
    }

    /// The Envoy, if it is one.
    pub(crate) fn envoy(&self) -> Option<&Envoy> {
        match &self.server {
            Server::Envoy(envoy) => Some(envoy),
            Server::Proxy(_) => None,
        }
    }

    /// The thread of its one worker.
    pub(crate) fn worker(&self) -> Result<Thread> {
        match &self.server {
            Server::Envoy(envoy) => Thread::envoy_worker(envoy.pid()),
            Server::Proxy(proxy) => Ok(Thread::first(proxy.worker()?)),
        }
    }

    /// The memory that its processes hold; what they share is counted once.
    pub(crate) fn memory(&self) -> Result<Memory> {
        let mut memory = Memory::default();
        for pid in self.pids()? {
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
            let bytes = |name: &str| {
                let of = |line: &str| {
                    line.strip_prefix(name)?
                        .trim()
                        .strip_suffix(" kB")?
                        .parse()
                        .ok()
                };
                let kilobytes: Option<u64> = rollup.lines().find_map(of);
                kilobytes.map(|k| k * 1024).context(name.to_owned())
            };
            memory.all += bytes("Pss:")?;
            memory.own += bytes("Pss_Anon:")? + bytes("Pss_Shmem:")?;
        }
        Ok(memory)
    }

    /// Sends one request of an account on a connection of its own, and returns the status and the seconds of `Retry-After`.
    pub(crate) async fn ask(&self, account: &str) -> Result<(u16, Option<u64>)> {
        self.ask_by(&Client::h1(), account).await
    }

    /// The same, on a connection of this client.
    pub(crate) async fn ask_by(
        &self,
        client: &Client,
        account: &str,
    ) -> Result<(u16, Option<u64>)> {
        let url = format!("http://{}/v1/things", self.authority());
        let answer = client.get(url).header("x-account", account).send().await?;
        Ok((answer.status.as_u16(), answer.retry_after()))
    }

    /// Sends as many requests of an account as this one after the other, and returns how many were admitted.
    pub(crate) async fn admitted(&self, account: &str, requests: u32) -> Result<u32> {
        let mut admitted = 0;
        for _ in 0..requests {
            match self.ask(account).await?.0 {
                200 => admitted += 1,
                429 => {}
                status => anyhow::bail!("{}: {status}", self.peer.name()),
            }
        }
        Ok(admitted)
    }

    /// Uses up what an account has, and makes sure of it.
    pub(crate) async fn drain(&self, account: &str) -> Result<()> {
        let admitted = self.admitted(account, self.limit.burst + 2).await?;
        let name = self.peer.name();
        let burst = self.limit.burst;
        ensure!(admitted == burst, "{name} admits {admitted} of {burst}");
        Ok(())
    }

    /// Has it read its configuration again; an Envoy gets another listener.
    pub(crate) async fn reload(&self) -> Result<()> {
        match &self.server {
            Server::Envoy(envoy) => envoy::change_listener(envoy).await,
            Server::Proxy(proxy) => proxy.reload().await,
        }
    }

    /// Ships the next version of the policy.
    pub(crate) async fn reship(&self) -> Result<()> {
        let envoy = self.envoy().context("no Envoy")?;
        envoy::ship(envoy, self.limit).await
    }

    fn pids(&self) -> Result<Vec<u32>> {
        match &self.server {
            Server::Envoy(envoy) => Ok(vec![envoy.pid()]),
            Server::Proxy(proxy) => proxy.pids(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::ensure;
    use tidegate_e2e::cache::skipped;
    use tidegate_e2e::{eventually, proxy};

    use super::{Behind, Peer, SOON, StickTable};
    use crate::fill::fill;
    use crate::limit::Limit;

    /// Each is set up, and counts by account.
    #[tokio::test]
    async fn every_limiter_admits_what_it_is_to_and_no_more() {
        for peer in Peer::LIMITERS {
            let missing = match peer {
                Peer::LimitReq => skipped(proxy::NGINX),
                Peer::StickTable(_) => skipped(proxy::HAPROXY),
                _ => false,
            };
            if missing {
                continue;
            }
            let limit = Limit::ten(1_024);
            let running = peer.start(limit, Behind::Itself, 1).await.unwrap();
            running.drain("one").await.unwrap();
            running.drain("another").await.unwrap();
        }
    }

    /// What the drained and a newcomer are let through of twenty requests.
    #[tokio::test]
    async fn a_full_stick_table_forgets_or_does_not_count_or_refuses() {
        if skipped(proxy::HAPROXY) {
            return;
        }
        for (table, drained, newcomer) in [
            (StickTable::Plain, 10, 10),
            (StickTable::Keeps, 0, 20),
            (StickTable::Strict, 0, 0),
        ] {
            let peer = Peer::StickTable(table);
            let running = peer.start(Limit::ten(16), Behind::Itself, 1).await.unwrap();
            running.drain("drained").await.unwrap();
            fill(&running, 0..64).await.unwrap();
            let again = running.admitted("drained", 20).await.unwrap();
            let new = running.admitted("newcomer", 20).await.unwrap();
            assert_eq!((again, new), (drained, newcomer), "{table:?}");
        }
    }

    #[tokio::test]
    async fn a_stick_table_that_is_checked_first_lets_in_who_goes_on_asking() {
        if skipped(proxy::HAPROXY) {
            return;
        }
        let limit = Limit {
            burst: 2,
            interval: Duration::from_millis(500),
            accounts: 16,
        };
        let peer = Peer::StickTable(StickTable::LooksFirst);
        let running = peer.start(limit, Behind::Itself, 1).await.unwrap();
        running.drain("one").await.unwrap();
        eventually(SOON, async || {
            let (status, _) = running.ask("one").await?;
            ensure!(status == 200, "{status}");
            Ok(())
        })
        .await
        .unwrap();
    }
}
