//! What each client goes through.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::StatusCode;
use serde::Serialize;
use tidegate_e2e::origin::Gate;
use tidegate_e2e::{Envoy, Reply};
use tokio::time::sleep;

use crate::ask::Ask;
use crate::attempt::attempts;
use crate::client::{Client, Dialect};
use crate::exact;
use crate::reaction::{Reaction, Seen};
use crate::stand::{Stand, as_if, is_problem, made, until};

/// After so many refusals that the first request still runs, it is answered: a client that waits each time is told from one
/// whose own first pause happens to be the one that it is told.
const REFUSALS: usize = 2;

/// So many requests are sent until one is refused by a limit of one.
const REQUESTS: usize = 5;

/// How long to wait until asking again whether a request is given up.
const PAUSE: Duration = Duration::from_millis(100);

/// A client, and what was seen of it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) client: Client,
    pub(crate) seen: Cases,
}

/// What was seen in each case.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Cases {
    /// A GET over a limit: 429.
    pub(crate) read: Option<Seen>,
    /// A POST with a key over a limit: 429.
    pub(crate) charge: Option<Seen>,
    /// A POST with the key of one that runs: 409 with `Retry-After`.
    pub(crate) running: Option<Seen>,
    /// A POST with the key of one of which nothing more is known: 409 without.
    pub(crate) unknown: Option<Seen>,
    /// A POST with the key of another one: 422.
    pub(crate) reused: Option<Seen>,
    /// A PUT (of clients that have none: a POST) with a key, when there is no room for one more: 503 with `Retry-After`.
    pub(crate) full: Option<Seen>,
}

impl Row {
    pub(crate) fn of(client: Client) -> Self {
        Self {
            client,
            seen: Cases::default(),
        }
    }

    /// All cases but the last, one after the other.
    pub(crate) async fn run(&mut self, stand: &Stand) -> Result<()> {
        if self.client.dialect == Dialect::Stripe {
            let intent = br#"{"id": "pi_1", "object": "payment_intent"}"#;
            for (base, method) in [("limited", "GET"), ("limited", "POST"), ("once", "POST")] {
                let path = self.client.path(base, method);
                let reply = Reply::status(StatusCode::OK).body(&intent[..]);
                stand.origin.answer(&path, reply);
            }
        }
        self.seen.read = Some(self.limited(stand, "GET").await?);
        self.seen.charge = Some(self.limited(stand, "POST").await?);
        self.seen.running = Some(self.running(stand).await?);
        self.seen.unknown = Some(self.unknown(stand).await?);
        self.seen.reused = Some(self.reused(stand).await?);
        Ok(())
    }

    fn ask(&self, envoy: &Envoy, base: &str, method: &'static str, key: &str) -> Ask {
        Ask {
            method,
            url: envoy.at(&self.client.path(base, method)),
            account: self.client.id.to_owned(),
            key: (method != "GET").then(|| format!("{}-{key}", self.client.id)),
            amount: 100,
        }
    }

    /// Sends requests until one is refused, which is the second one unless this machine is very slow.
    async fn limited(&mut self, stand: &Stand, method: &'static str) -> Result<Seen> {
        let envoy = &stand.envoy;
        let path = self.client.path("limited", method);
        let first = self.ask(envoy, "limited", method, "0");
        let told = self.client.ask(&first).await?;
        ensure!(told.status == Some(200), "{path}: {told:?}");
        for number in 1..REQUESTS {
            let ask = self.ask(envoy, "limited", method, &number.to_string());
            let told = self.client.ask(&ask).await?;
            let mut attempts = made(envoy, method, &path).await?;
            exact::check(&attempts)?;
            // Those before the first refusal were others.
            if let Some(refused) = attempts.iter().position(|a| a.status != 200) {
                let attempts = attempts.split_off(refused);
                return Ok(Seen { attempts, told });
            }
        }
        bail!("{path}: nothing was refused");
    }

    /// Sends a request while the same one runs.
    async fn running(&mut self, stand: &Stand) -> Result<Seen> {
        let envoy = &stand.envoy;
        let path = self.client.path("once", "POST");
        let ask = self.ask(envoy, "once", "POST", "running");
        let gate = self.held(stand, &path);
        let first = tokio::spawn(as_if(self.client.dialect, &ask)?.send());
        self.reached(stand, &path, 1).await?;
        let told = {
            let told = self.client.ask(&ask);
            tokio::pin!(told);
            let refused = until(|| {
                let made = attempts(&envoy.access_log()?, "POST", &path)?;
                Ok((made.len() >= REFUSALS).then_some(()))
            });
            tokio::select! {
                told = &mut told => told?,
                refused = refused => {
                    refused?;
                    gate.open();
                    told.await?
                }
            }
        };
        gate.open();
        let first = first.await??;
        ensure!(first.status == 200, "{path}: {first:?}");
        let count = stand.origin.count(&path);
        ensure!(count == 1, "{path}: it was made {count} times");
        let attempts = made(envoy, "POST", &path).await?;
        Ok(Seen { attempts, told })
    }

    /// Sends a request that was sent before by a client that hung up on it.
    async fn unknown(&mut self, stand: &Stand) -> Result<Seen> {
        let envoy = &stand.envoy;
        let path = self.client.path("once", "POST");
        let ask = self.ask(envoy, "once", "POST", "unknown");
        let before = made(envoy, "POST", &path).await?.len();
        let gate = self.held(stand, &path);
        let count = stand.origin.count(&path) + 1;
        let gone = tokio::spawn(as_if(self.client.dialect, &ask)?.send());
        self.reached(stand, &path, count).await?;
        gone.abort();
        loop {
            let answer = as_if(self.client.dialect, &ask)?.send().await?;
            if !answer.text().contains("request-in-progress") {
                is_problem(&answer, 409, "outcome-unknown")?;
                ensure!(answer.retry_after().is_none(), "{answer:?}");
                break;
            }
            sleep(PAUSE).await;
        }
        let told = self.client.ask(&ask).await?;
        gate.open();
        let now = stand.origin.count(&path);
        ensure!(now == count, "{path}: it was made again");
        let mut attempts = made(envoy, "POST", &path).await?;
        let attempts = attempts.split_off(before);
        Ok(Seen { attempts, told })
    }

    /// Sends another request by a key that was used.
    async fn reused(&mut self, stand: &Stand) -> Result<Seen> {
        let envoy = &stand.envoy;
        let path = self.client.path("once", "POST");
        let ask = self.ask(envoy, "once", "POST", "reused");
        let before = made(envoy, "POST", &path).await?.len();
        let first = as_if(self.client.dialect, &ask)?.send().await?;
        ensure!(first.status == 200, "{path}: {first:?}");
        let other = Ask { amount: 200, ..ask };
        let told = self.client.ask(&other).await?;
        let mut attempts = made(envoy, "POST", &path).await?;
        let attempts = attempts.split_off(before);
        let refused = attempts.iter().all(|attempt| attempt.status == 422);
        ensure!(refused, "{path}: {attempts:?}");
        Ok(Seen { attempts, told })
    }

    /// Sends a request for whose record there is no room until the caller of this makes some.
    pub(crate) async fn full(&mut self, stand: &Stand) -> Result<()> {
        let method = self.full_method();
        let ask = self.ask(&stand.small, "full", method, "full");
        let path = self.client.path("full", method);
        let told = self.client.ask(&ask).await?;
        let attempts = made(&stand.small, method, &path).await?;
        self.seen.full = Some(Seen { attempts, told });
        Ok(())
    }

    /// The method of the request that finds no room: one that every library sends again, if it can send it at all.
    pub(crate) fn full_method(&self) -> &'static str {
        match self.client.dialect {
            Dialect::Any => "PUT",
            Dialect::Stripe | Dialect::Lambda => "POST",
        }
    }

    /// Holds back what the origin answers here.
    fn held(&self, stand: &Stand, path: &str) -> Gate {
        let gate = Gate::default();
        let mut reply = Reply::status(StatusCode::OK).held_by(&gate);
        if self.client.dialect == Dialect::Stripe {
            reply = reply.body(&br#"{"id": "pi_1", "object": "payment_intent"}"#[..]);
        }
        stand.origin.answer(path, reply);
        gate
    }

    async fn reached(&self, stand: &Stand, path: &str, count: u64) -> Result<()> {
        until(|| Ok((stand.origin.count(path) == count).then_some(())))
            .await
            .with_context(|| format!("{path} does not come to the origin"))
    }
}

impl Cases {
    /// What each case came to, in the order above.
    ///
    /// Where a client is told to wait for one second only, a pause of its own may last as long: by chance, or on a machine that has
    /// more to do. So of one that came too early, and never waited for the longer time that a limit tells, no case counts as waiting.
    pub(crate) fn reactions(&self) -> [Option<Reaction>; 6] {
        let Self {
            read,
            charge,
            running,
            unknown,
            reused,
            full,
        } = self;
        let cases = [read, charge, running, unknown, reused, full];
        let reactions = cases.map(|seen| seen.as_ref().map(Seen::reaction));
        let [read, charge, ..] = reactions;
        let reads = [read, charge].contains(&Some(Reaction::Waits));
        let early = [Some(Reaction::Early), Some(Reaction::EarlyForReplay)];
        if reads || !reactions.iter().any(|reaction| early.contains(reaction)) {
            return reactions;
        }
        reactions.map(|reaction| match reaction {
            Some(Reaction::Waits) => Some(Reaction::Early),
            Some(Reaction::WaitsForReplay) => Some(Reaction::EarlyForReplay),
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cases, Reaction, Seen};
    use crate::ask::Told;
    use crate::attempt::Attempt;

    /// Refused once and told to wait; it came `after` so many seconds, and was served.
    fn refused(told: u64, after: f64) -> Seen {
        let attempt = |at, status, retry_after| Attempt {
            at,
            status,
            retry_after,
        };
        Seen {
            attempts: vec![attempt(0.0, 429, Some(told)), attempt(after, 200, None)],
            told: Told {
                status: Some(200),
                ..Told::default()
            },
        }
    }

    #[test]
    fn who_came_too_early_once_did_not_wait_another_time() {
        let by_chance = Cases {
            read: Some(refused(3, 0.4)),
            full: Some(refused(1, 1.1)),
            ..Cases::default()
        };
        let [read, .., full] = by_chance.reactions();
        assert_eq!((read, full), (Some(Reaction::Early), Some(Reaction::Early)));
        let reads = Cases {
            read: Some(refused(3, 3.1)),
            running: Some(refused(1, 0.2)),
            full: Some(refused(1, 1.1)),
            ..Cases::default()
        };
        let [_, _, running, .., full] = reads.reactions();
        assert_eq!(
            (running, full),
            (Some(Reaction::Early), Some(Reaction::Waits))
        );
    }
}
