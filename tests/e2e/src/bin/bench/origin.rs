//! What stands behind the Envoys.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use http::StatusCode;
use tidegate_e2e::bench::LeanOrigin;
use tidegate_e2e::{Origin, Reply};

use crate::requests;
use crate::rows::Kind;

/// Longer than any run.
const LASTING: &str = "public, max-age=86400";

/// One origin for requests that are passed on, and one for those that copies answer.
pub(crate) struct Origins {
    lean: LeanOrigin,
    /// It dates its answers, which a cache needs, and counts them. It need not be lean: it rests while hits are measured.
    kept: Origin,
}

impl Origins {
    /// Starts both on free ports; they end with the program.
    pub(crate) async fn start() -> Result<Self> {
        let kept = Origin::start().await?;
        let reply = Reply::status(StatusCode::OK).header("cache-control", LASTING);
        kept.answer(requests::PATH, reply.body("{}"));
        Ok(Self {
            lean: LeanOrigin::start().await?,
            kept,
        })
    }

    /// Which one stands behind a row of this kind.
    pub(crate) const fn behind(&self, kind: Kind) -> SocketAddr {
        if kind.is_hit() {
            self.kept.address()
        } else {
            self.lean.address()
        }
    }

    /// How many requests came so far, to either.
    pub(crate) fn asked(&self) -> u64 {
        self.lean.served() + self.kept.total()
    }

    /// That so many have come since, and no other.
    pub(crate) fn expect(&self, requests: u32, before: u64) -> Result<()> {
        let asked = self.asked() - before;
        ensure!(
            asked == u64::from(requests),
            "{asked} requests reached the origin; {requests} were to"
        );
        Ok(())
    }
}
