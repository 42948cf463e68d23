//! What the admin interface tells.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Envoy;
use crate::Client;

impl Envoy {
    /// A counter or gauge by its full name, 0 while there is none.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn stat(&self, name: &str) -> Result<u64> {
        stat(&self.client, &self.admin(), name).await
    }

    /// Counters and gauges that are not 0 and whose full names match a regular expression.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn stats(&self, filter: &str) -> Result<BTreeMap<String, u64>> {
        let path = format!("/stats?usedonly&filter={filter}");
        let text = fetch(&self.client, &self.admin(), &path).await?;
        let lines = text.lines().filter_map(|line| line.rsplit_once(": "));
        let known = lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        Ok(known.filter(|(_, value)| *value > 0).collect())
    }

    /// All metrics in Prometheus's text format.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn prometheus(&self) -> Result<String> {
        fetch(&self.client, &self.admin(), "/stats/prometheus").await
    }

    /// The Prometheus sample `name` whose labels include all of `labels`, if there is one.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn sample(&self, name: &str, labels: &[(&str, &str)]) -> Result<Option<f64>> {
        let text = self.prometheus().await?;
        Ok(text.lines().find_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let rest = series.strip_prefix(name)?.strip_prefix('{')?;
            let all = labels
                .iter()
                .all(|(key, value)| rest.contains(&format!("{key}=\"{value}\"")));
            all.then(|| value.parse().ok())?
        }))
    }

    /// Has Envoy log each call of a module by the host, and of the host by a module.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn trace_modules(&self) -> Result<()> {
        let url = format!("{}/logging?wasm=trace", self.admin());
        let answer = self.client.post(url).send().await?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    }

    /// The heap that Envoy's allocator has given out, in bytes.
    ///
    /// # Errors
    ///
    /// Envoy does not answer.
    pub async fn heap_bytes(&self) -> Result<u64> {
        let memory = fetch(&self.client, &self.admin(), "/memory").await?;
        let memory: Value = serde_json::from_str(&memory)?;
        let allocated = memory["allocated"].as_str().context("`allocated`")?;
        Ok(allocated.parse()?)
    }
}

pub(super) async fn fetch(client: &Client, admin: &str, path: &str) -> Result<String> {
    let answer = client.get(format!("{admin}{path}")).send().await?;
    ensure!(answer.status == 200, "{path}: {}", answer.status);
    Ok(answer.text())
}

pub(super) async fn stat(client: &Client, admin: &str, name: &str) -> Result<u64> {
    // A filter is a regular expression; a dot stands for whatever would have to be escaped.
    let pattern: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '.'
            }
        })
        .collect();
    let text = fetch(client, admin, &format!("/stats?filter={pattern}")).await?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.map_or(Ok(0), |value| Ok(value.trim().parse()?))
}

/// The port of each listener by its name.
pub(super) async fn ports(client: &Client, admin: &str) -> Result<BTreeMap<String, u16>> {
    let text = fetch(client, admin, "/listeners?format=json").await?;
    let listeners: Value = serde_json::from_str(&text)?;
    let statuses = listeners["listener_statuses"].as_array();
    Ok(statuses
        .into_iter()
        .flatten()
        .filter_map(|listener| {
            let name = listener["name"].as_str()?.to_owned();
            let port = listener["local_address"]["socket_address"]["port_value"].as_u64()?;
            Some((name, port.try_into().ok()?))
        })
        .collect())
}
