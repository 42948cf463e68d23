//! The document of a load.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;

use super::words::{PerSecond, Seconds};

/// The most phases, groups and kinds of request, each.
const MOST: usize = 1_000;

/// A load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// What it shows.
    #[serde(default)]
    pub(crate) load: String,
    /// Where it begins: RFC 3339.
    #[serde(default = "start")]
    pub(crate) start: String,
    /// What every draw of chance begins from: the same number, the same load.
    #[serde(default)]
    pub(crate) seed: u64,
    /// Callers who are alike.
    pub(crate) groups: Vec<Group>,
}

/// Callers who are alike, and what they send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// How many they are.
    #[serde(default = "one")]
    pub(crate) callers: u64,
    /// To how many tenants they belong.
    #[serde(default = "one")]
    pub(crate) tenants: u64,
    /// What they are called; `{n}` is the caller's number and `{t}` the tenant's, from 1.
    #[serde(default)]
    pub(crate) tenant: Option<String>,
    #[serde(default)]
    pub(crate) account: Option<String>,
    #[serde(default)]
    pub(crate) plan: Option<String>,
    /// An address, or a network such as `10.0.0.0/8` of which each caller has the next address.
    #[serde(default = "address")]
    pub(crate) address: Network,
    /// Who is next.
    #[serde(default)]
    pub(crate) pick: Pick,
    /// How the requests of all of them together lie in time.
    #[serde(default)]
    pub(crate) arrivals: Arrivals,
    /// How many come, one phase after the other.
    pub(crate) rate: Vec<Phase>,
    /// What they send.
    #[serde(default = "requests")]
    pub(crate) requests: Vec<Kind>,
}

/// Which caller of a group sends the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pick {
    /// One after the other.
    #[default]
    Turn,
    /// Anyone.
    Random,
    /// Mostly the first: a tenth of the callers sends almost half.
    Skewed,
}

/// How requests lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Arrivals {
    /// As even as the rate allows.
    #[default]
    Even,
    /// As if each came by itself (a Poisson process).
    Random,
}

/// A stretch of time with one law.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phase {
    /// How long it lasts.
    #[serde(rename = "for")]
    pub(crate) lasts: Seconds,
    /// A rate that stays.
    #[serde(default)]
    pub(crate) at: Option<PerSecond>,
    /// By what share the rate swings over a day about `at`: 0 to 1.
    #[serde(default)]
    pub(crate) swing: Option<f64>,
    /// At what time of the day, UTC, it is highest; noon if not given.
    #[serde(default)]
    pub(crate) peak: Option<Seconds>,
    /// A rate that grows or falls evenly: its beginning.
    #[serde(default)]
    pub(crate) from: Option<PerSecond>,
    /// And its end.
    #[serde(default)]
    pub(crate) to: Option<PerSecond>,
    /// A number of requests, spread evenly.
    #[serde(default)]
    pub(crate) total: Option<u64>,
    /// So many at once, each time.
    #[serde(default)]
    pub(crate) burst: Option<u64>,
    /// How often a burst comes.
    #[serde(default)]
    pub(crate) every: Option<Seconds>,
}

/// A kind of request. In texts, `{n}` and `{t}` are as above and `{i}` is the number of the request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kind {
    #[serde(default = "get")]
    pub(crate) method: String,
    #[serde(default = "root")]
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) host: Option<String>,
    #[serde(default)]
    pub(crate) cost: Option<u64>,
    /// The status that is in a log written from it.
    #[serde(default)]
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// How often it comes, beside the others.
    #[serde(default = "one")]
    pub(crate) weight: u64,
}

/// An address and how many bits of it are the network's.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Network {
    first: IpAddr,
    bits: u8,
}

fn start() -> String {
    "2026-01-01T00:00:00Z".to_owned()
}

const fn one() -> u64 {
    1
}

fn get() -> String {
    "GET".to_owned()
}

fn root() -> String {
    "/".to_owned()
}

const fn address() -> Network {
    Network {
        first: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        bits: 32,
    }
}

fn requests() -> Vec<Kind> {
    vec![Kind {
        method: get(),
        path: root(),
        host: None,
        cost: None,
        status: None,
        headers: BTreeMap::new(),
        weight: 1,
    }]
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let fault =
            || format!("`{text}` is not an address; write one, or a network like `10.0.0.0/8`");
        let (first, bits) = text
            .split_once('/')
            .map_or((text.as_str(), None), |(f, b)| (f, Some(b)));
        let first: IpAddr = first.parse().map_err(|_| fault())?;
        let all = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => all,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= all)
                .ok_or_else(fault)?,
        };
        Ok(Self { first, bits })
    }
}

impl Network {
    /// The address of a caller, by its number from 0. In IPv6 each has a /64 of its own, where there are some.
    pub(crate) fn address(&self, number: u64) -> IpAddr {
        let wrap = |number: u128, places: u32| match 1_u128.checked_shl(places) {
            Some(size) => number & size.wrapping_sub(1),
            None => number,
        };
        match self.first {
            IpAddr::V4(first) => {
                let free = 32_u32.saturating_sub(self.bits.into());
                let offset = u32::try_from(wrap(number.into(), free)).unwrap_or(0);
                IpAddr::V4(first.to_bits().wrapping_add(offset).into())
            }
            IpAddr::V6(first) => {
                let free = 128_u32.saturating_sub(self.bits.into());
                let below = if free > 64 { 64 } else { 0 };
                let offset = wrap(number.into(), free.saturating_sub(below));
                IpAddr::V6(first.to_bits().wrapping_add(offset << below).into())
            }
        }
    }
}

impl Spec {
    /// Reads a load: the document itself, or `@FILE`.
    ///
    /// # Errors
    /// The file cannot be read, or what is wrong with the document.
    pub(crate) fn read(argument: &str) -> Result<Self> {
        let file = argument.strip_prefix('@');
        let inline = argument.trim_start().starts_with('{');
        let (text, name) = if inline {
            (argument.as_bytes().to_vec(), "the load".to_owned())
        } else {
            let file = file.unwrap_or(argument);
            (
                crate::policy_file::read(Path::new(file))?,
                format!("`{file}`"),
            )
        };
        let spec: Self =
            serde_json::from_slice(&text).map_err(|error| anyhow!("{name}: {error}"))?;
        spec.check().map_err(|fault| anyhow!("{name}: {fault}"))?;
        Ok(spec)
    }

    fn check(&self) -> Result<()> {
        if self.groups.is_empty() || self.groups.len() > MOST {
            bail!("`groups` has to list 1 to {MOST} groups of callers");
        }
        for (index, group) in self.groups.iter().enumerate() {
            group
                .check()
                .map_err(|fault| anyhow!("`groups[{index}]`: {fault}"))?;
        }
        Ok(())
    }
}

impl Group {
    fn check(&self) -> Result<()> {
        if self.callers == 0 || self.tenants == 0 {
            bail!("`callers` and `tenants` are at least 1");
        }
        if self.rate.is_empty() || self.rate.len() > MOST {
            bail!("`rate` has to list 1 to {MOST} phases");
        }
        if self.requests.len() > MOST || self.requests.iter().all(|kind| kind.weight == 0) {
            bail!("`requests` has to list 1 to {MOST} kinds, one of them with a weight above 0");
        }
        for (index, phase) in self.rate.iter().enumerate() {
            phase
                .check()
                .map_err(|fault| anyhow!("`rate[{index}]`: {fault}"))?;
        }
        Ok(())
    }
}

impl Phase {
    fn check(&self) -> Result<()> {
        let Self {
            lasts: _,
            at,
            swing,
            peak,
            from,
            to,
            total,
            burst,
            every,
        } = self;
        let laws = [
            at.is_some(),
            from.is_some() || to.is_some(),
            total.is_some(),
            burst.is_some() || every.is_some(),
        ];
        let one = laws.iter().filter(|law| **law).count() == 1;
        if !one || from.is_some() != to.is_some() || burst.is_some() != every.is_some() {
            bail!("write one of `at`, `from` with `to`, `total`, or `burst` with `every`");
        }
        if (swing.is_some() || peak.is_some()) && at.is_none() {
            bail!("`swing` and `peak` go with `at`");
        }
        if peak.is_some() && swing.is_none() {
            bail!("`peak` goes with `swing`");
        }
        if swing.is_some_and(|swing| !(0.0..=1.0).contains(&swing)) {
            bail!("`swing` is a share from 0 to 1");
        }
        Ok(())
    }
}
