//! Envoy's admin interface: what it counts, and how many workers it has.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use ureq::Agent;

/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(5);

/// The most that an answer may hold, in bytes: 64 MiB.
const MOST: u64 = 64 << 20;

/// The address of an admin interface: `http://127.0.0.1:9901`, with or without `http://`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(String);

/// An admin interface.
#[derive(Debug, Clone)]
pub(crate) struct Admin {
    agent: Agent,
    address: Address,
}

/// The Envoy that answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server {
    /// How many workers it has.
    pub(crate) workers: u64,
    /// For how long it has been running.
    pub(crate) uptime: Duration,
}

/// What Envoy counts, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stats(BTreeMap<String, String>);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let port = rest
            .rsplit_once(':')
            .and_then(|(host, port)| (!host.is_empty()).then(|| port.parse::<u16>().ok())?);
        if port.is_none() || rest.contains(['/', ' ', '?', '#']) {
            return Err(
                "it is not the address of an admin interface; write a host and a port, like `http://127.0.0.1:9901` (TLS is not supported)"
                    .to_owned(),
            );
        }
        Ok(Self(format!("http://{rest}")))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Admin {
    pub(crate) fn new(address: Address) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(ANSWER))
            .proxy(None)
            .build();
        Self {
            agent: config.into(),
            address,
        }
    }

    /// Where it is.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Which Envoy answers.
    ///
    /// # Errors
    /// It does not answer, or not as Envoy does.
    pub(crate) fn server(&self) -> Result<Server> {
        let told = self.get("/server_info")?;
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        let workers = told.pointer("/command_line_options/concurrency");
        let uptime = told.get("uptime_current_epoch").and_then(Value::as_str);
        let uptime = uptime.and_then(|time| time.strip_suffix('s')?.parse().ok());
        workers
            .and_then(Value::as_u64)
            .zip(uptime)
            .map(|(workers, seconds)| Server {
                workers,
                uptime: Duration::from_secs(seconds),
            })
            .with_context(|| format!("`{}` does not answer as Envoy does", self.address))
    }

    /// The counters, gauges, texts and histograms whose names have a match of `pattern` in them.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn stats(&self, pattern: &str) -> Result<Stats> {
        let text = self.get(&format!("/stats?filter={pattern}"))?;
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        Ok(Stats(
            lines
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
        ))
    }

    fn get(&self, path: &str) -> Result<String> {
        let url = format!("{}{path}", self.address);
        let ask = || -> Result<String, ureq::Error> {
            let mut answer = self.agent.get(&url).call()?;
            answer
                .body_mut()
                .with_config()
                .limit(MOST)
                .lossy_utf8(true)
                .read_to_string()
        };
        let answer = ask();
        ensure!(
            !matches!(answer, Err(ureq::Error::StatusCode(_))),
            "`{}` does not answer as Envoy does",
            self.address
        );
        answer.with_context(|| format!("Envoy does not answer at `{}`", self.address))
    }
}

impl Stats {
    /// A counter or gauge; 0 while there is none.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.get(name).unwrap_or(0)
    }

    /// A counter or gauge, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }

    /// A text, without its quotes.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        Some(self.0.get(name)?.trim_matches('"'))
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in [
            "http://127.0.0.1:9901",
            "127.0.0.1:9901",
            "http://127.0.0.1:9901/",
        ] {
            assert_eq!(
                text.parse::<Address>().unwrap().to_string(),
                "http://127.0.0.1:9901"
            );
        }
        for text in [
            "",
            "9901",
            ":9901",
            "https://a:1",
            "http://a:1/stats",
            "a:b",
            "http://a",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
