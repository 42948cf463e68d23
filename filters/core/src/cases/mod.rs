//! Cases: requests at given times and what a policy has to say to each. They stand in `policy.test.json`
//! beside the policy, and run here on a made-up clock, and against a real Envoy in the end-to-end tests.

mod copies;
pub mod explain;
mod facts;
mod isolation;
mod known;
mod once;
mod retries;
mod run;
mod share;
pub mod store_suite;

pub use copies::{CacheKey, cache_key};
pub use facts::CaseFacts;
pub use isolation::{Found, Pair, pairs, warnings};
pub use known::Known;
pub use once::answered;
pub use retries::{envoy_member, retries};
pub use run::{Failure, run, run_case};
pub use share::in_share;

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// A `policy.test.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// The cases; each begins with full buckets.
    pub cases: Vec<Case>,
}

/// A story about one policy.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One request, or several that are alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When, in milliseconds after the case began.
    #[serde(default)]
    pub at_ms: u64,
    /// How often: 1 if not given.
    #[serde(default = "one", deserialize_with = "at_least_once")]
    pub times: u32,
    /// The request.
    pub request: CaseRequest,
    /// What the origin answers if the request reaches it.
    #[serde(default)]
    pub answer: CaseAnswer,
    /// What is expected each time.
    pub expect: Expect,
}

const fn one() -> u32 {
    1
}

/// A step that never runs would expect nothing, and pass.
fn at_least_once<'de, D: serde::Deserializer<'de>>(times: D) -> Result<u32, D::Error> {
    Ok(NonZeroU32::deserialize(times)?.get())
}

/// A request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRequest {
    /// The method: `GET` if not given.
    #[serde(default = "get")]
    pub method: String,
    /// The path with its query: `/` if not given.
    #[serde(default = "root")]
    pub path: String,
    /// The authority.
    #[serde(default = "host")]
    pub host: String,
    /// Header lines, in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The claims of the verified token; no token if not given.
    #[serde(default)]
    pub claims: Option<serde_json::Value>,
    /// The trusted client address.
    #[serde(default = "address")]
    pub address: String,
    /// The body; none if not given.
    #[serde(default)]
    pub body: Option<String>,
}

/// What the origin answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseAnswer {
    /// The status: 200 if not given.
    #[serde(default = "ok")]
    pub status: u16,
    /// Header lines, in order; names in lower case.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body: visible characters and spaces, so that an origin can be told in a header.
    #[serde(default)]
    pub body: String,
}

impl Default for CaseAnswer {
    fn default() -> Self {
        Self {
            status: ok(),
            headers: Vec::new(),
            body: String::new(),
        }
    }
}

const fn ok() -> u16 {
    200
}

fn get() -> String {
    "GET".to_owned()
}

fn root() -> String {
    "/".to_owned()
}

fn host() -> String {
    "api.test".to_owned()
}

fn address() -> String {
    "192.0.2.1".to_owned()
}

/// What a policy has to say. What is not given is not looked at, except the status.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The status; of a request that goes ahead, the origin's.
    pub status: u16,
    /// The end of the problem's type, such as `identity-required`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The limits that refuse, in the order checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violated: Option<Vec<String>>,
    /// The value of `Retry-After`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// What `RateLimit` says is left, for each limit, in the order checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<Vec<(String, u64)>>,
    /// What caches are told: `scoped`, `public`, `bypass` or `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Whose copy the request is for: steps of a case with the same word here are for the same copy, and steps with
    /// different words are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
    /// Whether this is an earlier answer, sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    /// Whether the origin gets the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
    /// The name of the route that the request takes, or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The rule that would refuse the request if its route, its policy or a limit were not in shadow, or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<String>,
}

impl Expect {
    /// This status, and nothing else said.
    pub(crate) const fn of(status: u16) -> Self {
        Self {
            status,
            kind: None,
            violated: None,
            retry_after: None,
            remaining: None,
            cache: None,
            copy: None,
            replayed: None,
            reached: None,
            route: None,
            shadow: None,
        }
    }

    /// Whether `found` is what was expected, as far as that was said.
    pub fn agrees(&self, found: &Self) -> bool {
        let Self {
            status,
            kind,
            violated,
            retry_after,
            remaining,
            cache,
            copy,
            replayed,
            reached,
            route,
            shadow,
        } = self;
        let same = |kind: &String| {
            found
                .kind
                .as_ref()
                .is_some_and(|found| found.ends_with(kind))
        };
        *status == found.status
            && kind.as_ref().is_none_or(same)
            && (violated.is_none() || *violated == found.violated)
            && (retry_after.is_none() || *retry_after == found.retry_after)
            && (remaining.is_none() || *remaining == found.remaining)
            && (cache.is_none() || *cache == found.cache)
            && (copy.is_none() || *copy == found.copy)
            && (replayed.is_none() || *replayed == found.replayed)
            && (reached.is_none() || *reached == found.reached)
            && (route.is_none() || *route == found.route)
            && (shadow.is_none() || *shadow == found.shadow)
    }
}

impl core::fmt::Display for Expect {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl Cases {
    /// Reads a `policy.test.json`.
    ///
    /// # Errors
    /// What is wrong with it, with line and column.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let cases: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if cases.cases.is_empty() || cases.cases.iter().any(|case| case.steps.is_empty()) {
            return Err("there is nothing to run; write at least one step in each case".to_owned());
        }
        Ok(cases)
    }
}
