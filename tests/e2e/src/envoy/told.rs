//! What the module tells: its metrics, its lines in the access log, and whether its VMs are well.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Envoy;
use crate::eventually;

/// How long Envoy may take to write what it has to tell.
const SOON: Duration = Duration::from_secs(10);

/// The VMs of an Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vms {
    /// How many there are.
    pub active: u64,
    /// How many there have been.
    pub created: u64,
    /// How often one was replaced, or should have been, after it failed.
    pub reloads: u64,
}

impl Envoy {
    /// A counter of the module by its Prometheus name.
    ///
    /// # Errors
    ///
    /// There is no such counter.
    pub async fn counter(&self, name: &str) -> Result<u64> {
        self.labelled(name, &[]).await
    }

    /// How often the rule `rule` came to `outcome`: `tidegate_decisions` with these labels.
    ///
    /// # Errors
    ///
    /// There is no such series.
    pub async fn decisions(&self, rule: &str, outcome: &str) -> Result<u64> {
        let labels = [("rule", rule), ("outcome", outcome)];
        self.labelled("tidegate_decisions", &labels).await
    }

    async fn labelled(&self, name: &str, labels: &[(&str, &str)]) -> Result<u64> {
        let sample = self.sample(name, labels).await?;
        let value = sample.with_context(|| format!("no {name}{labels:?}"))?;
        Ok(value.to_string().parse()?)
    }

    /// The VMs that run the module.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn vms(&self) -> Result<Vms> {
        Ok(Vms {
            active: self.stat("wasm.envoy.wasm.runtime.v8.active").await?,
            created: self.stat("wasm.envoy.wasm.runtime.v8.created").await?,
            reloads: self.stat("wasm.tidegate.vm_reload").await?,
        })
    }

    /// The line of the access log about the request with this path (its query is part of it).
    ///
    /// # Errors
    ///
    /// There is none, or more than one, within ten seconds.
    pub async fn logged(&self, path: &str) -> Result<Value> {
        eventually(SOON, async || {
            let log = self.access_log()?;
            let mut lines = log.iter().filter(|line| line["path"] == path);
            let line = lines
                .next()
                .with_context(|| format!("no {path} in {log:?}"))?;
            ensure!(lines.next().is_none(), "{path} stands there twice");
            Ok(line.clone())
        })
        .await
    }
}
