//! The role `gate`: decides about each request on its way in; on the way out it lets a response go to its own caller
//! alone, and adds the rate limit fields.

use core::cell::RefCell;
use std::borrow::Cow;
use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;
use tidegate_core::answer;
use tidegate_core::cache::{self, Expected, Marker, Mismatch, ScopeKey, Sender};
use tidegate_core::denial::Denial;
use tidegate_core::engine::{self, Decision};
use tidegate_core::policy::{Mode, Policy, RateLimitHeaders};
use tidegate_core::request::Request;

use crate::copies;
use crate::facts::{HostFacts, Keys};
use crate::host::{self, Clock, Level, Map};
use crate::memory::Refusals;
use crate::metrics::Metrics;
use crate::pairs::{self, Pair};
use crate::send::{is_grpc, send};
use crate::store::{self, SharedStore};

/// Where access logs find the decision: `%FILTER_STATE(wasm.tidegate.decision:PLAIN)%`.
const DECISION: &[u8] = b"tidegate.decision";

/// A policy, ready to decide: what all streams of a worker share.
pub(crate) struct Gate {
    policy: Policy,
    metrics: Metrics,
    keys: Keys,
    state: RefCell<(SharedStore, Refusals)>,
}

impl Gate {
    /// Gets a policy ready.
    ///
    /// # Errors
    /// A line for the log, where the policy cannot be enforced here.
    pub(crate) fn new(policy: Policy) -> Result<Self, String> {
        let keys = Keys {
            address: address_key(&policy)?,
            scope: scope_key(&policy),
        };
        let store = SharedStore::open(&policy).map_err(|_| {
            "the shared data of this `vm_id` cannot be used; give the policy one of its own"
                .to_owned()
        })?;
        Ok(Self {
            metrics: Metrics::new(&policy),
            policy,
            keys,
            state: RefCell::new((store, Refusals::new())),
        })
    }

    /// The policy and its version, for the log.
    pub(crate) fn shown(&self) -> String {
        format!(
            "policy `{}` version `{}`",
            self.policy.name, self.policy.version
        )
    }

    fn decide(&self, headers: &[Pair<'_>]) -> Decision<'_> {
        // Without a method the list is not the request's: the host hands out an empty one where it is too long.
        let Some(method) = pairs::first(headers, b":method") else {
            return Decision::unread(&self.policy, Denial::HeadersUnreadable);
        };
        // Shared data dies with the process, so its times may be those of a clock that nobody can set back.
        let Ok(now) = host::now(Clock::Monotonic) else {
            return Decision::unread(&self.policy, Denial::StoreUnavailable);
        };
        let facts = HostFacts::new(&self.keys);
        let request = Request {
            method,
            path: pairs::first(headers, b":path").unwrap_or_default(),
            authority: pairs::first(headers, b":authority").unwrap_or_default(),
            headers,
            facts: &facts,
        };
        let (store, refusals) = &mut *self.state.borrow_mut();
        engine::decide(&self.policy, &request, store, refusals, now)
    }
}

/// The key for signed addresses, if the policy asks for one.
fn address_key(policy: &Policy) -> Result<Vec<u8>, String> {
    let Some(rule) = &policy.identity.address.signed else {
        return Ok(Vec::new());
    };
    match std::env::var(&rule.key_env) {
        Ok(key) if !key.is_empty() => Ok(key.into_bytes()),
        _ => Err(format!(
            "`$.identity.address.signed.key_env`: the environment of the VM has no `{}`; set it under `vm_config.environment_variables`",
            rule.key_env
        )),
    }
}

/// The environment variable of the VM that holds the key for cache scopes.
const SCOPE_KEY: &str = "TIDEGATE_SCOPE_KEY";

/// The key for cache scopes.
fn scope_key(policy: &Policy) -> ScopeKey {
    let key = ScopeKey::new(std::env::var(SCOPE_KEY).unwrap_or_default().as_bytes());
    if policy.caches() && !key.is_some() {
        let text = format!(
            "tidegate: the environment of the VM has no `{SCOPE_KEY}`, so cache scopes are digests that anybody could make; set it under `vm_config.environment_variables`"
        );
        host::log(Level::Warn, &text);
    }
    key
}

/// The rate limit fields that a response from a cache loses.
const FIELDS: [&str; 5] = [
    "ratelimit",
    "ratelimit-policy",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

/// One request and its response.
pub(crate) struct Stream {
    gate: Rc<Gate>,
    /// The request went on: what its response needs.
    passed: Option<Passed>,
    /// A marker that Envoy may have written into the body of its own answer.
    marker: Option<Marker>,
}

/// What the response to a request needs that went on.
#[derive(Default)]
struct Passed {
    /// What a cache may have made of it; `None`: the policy does not speak of caches.
    expected: Option<Expected>,
    /// The rate limit fields to add; none in shadow.
    fields: Option<Vec<(&'static str, String)>>,
    grpc: bool,
}

impl Stream {
    pub(crate) fn new(gate: Rc<Gate>) -> Self {
        Self {
            gate,
            passed: None,
            marker: None,
        }
    }

    /// Decides, counts, and answers in the origin's place where the request is refused.
    fn gate_request(&mut self) -> Action {
        let gate = Rc::clone(&self.gate);
        let bytes = host::header_pairs(Map::RequestHeaders).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        #[cfg(feature = "test-switches")]
        crate::switches::obey(&headers);

        let mut decision = gate.decide(&headers);
        let grpc = pairs::first(&headers, b"content-type").is_some_and(is_grpc);
        if decision.enforced_denial().is_none()
            && let Some(plan) = decision.cache.take()
        {
            match copies::tell(plan, &headers) {
                Ok(expected) => self.passed.get_or_insert_default().expected = Some(expected),
                Err(denial) => decision.denial = Some(denial),
            }
        }
        gate.metrics.count(&decision);
        // An access log without the decision is not worth a request.
        let _ = host::set_property(DECISION, told(&gate.policy, &decision).as_bytes());

        let Some(denial) = decision.enforced_denial() else {
            let passed = self.passed.get_or_insert_default();
            passed.grpc = grpc;
            if decision.mode == Mode::Enforce {
                let always = gate.policy.headers == RateLimitHeaders::Always;
                let fields = always.then(|| answer::fields(&gate.policy, &decision));
                passed.fields = Some(fields.map_or_else(Vec::new, |f| f.lines().collect()));
            }
            return Action::Continue;
        };
        self.passed = None;
        let answer = answer::answer(
            &gate.policy,
            &decision,
            denial,
            pairs::first(&headers, b"x-request-id"),
        );
        // Where the answer cannot be sent the stream stays stopped: a refused request never goes on.
        let _ = send(&answer, &[], denial.rule(), grpc);
        Action::Pause
    }

    /// Lets the response out, if it is its caller's.
    fn gate_response(&mut self) -> Action {
        // Without: the response is our own.
        let Some(mut passed) = self.passed.take() else {
            return Action::Continue;
        };
        let fields = passed.fields.take();
        let stored = match &passed.expected {
            None => {
                fields.is_some() && is_aged(host::header(Map::ResponseHeaders, "age").as_deref())
            }
            Some(expected) => match self.gate.receive(expected) {
                Ok((sender, stored)) => {
                    self.marker = expected.marker.filter(|_| sender == Sender::Envoy);
                    stored
                }
                Err(mismatch) => {
                    self.gate.withhold(mismatch, fields.as_deref(), passed.grpc);
                    return Action::Pause;
                }
            },
        };
        if let Some(fields) = fields {
            add_fields(stored, &fields);
        }
        Action::Continue
    }

    /// Takes the marker out of what Envoy itself answered: its bodies may show the path.
    fn gate_body(&self, length: usize) {
        let Some(marker) = &self.marker else { return };
        let Ok(body) = host::response_body(length) else {
            return;
        };
        if let Cow::Owned(body) = cache::scrub(&body, marker) {
            let _ = host::set_response_body(&body);
        }
    }
}

impl Gate {
    /// Holds a response to what is expected of it and takes out what is ours; says who sent it, and whether it was stored.
    fn receive(&self, expected: &Expected) -> Result<(Sender, bool), Mismatch> {
        let bytes = host::header_pairs(Map::ResponseHeaders).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        let sender = copies::receive(expected, &headers)?;
        let status =
            pairs::first(&headers, b":status").and_then(|s| str::from_utf8(s).ok()?.parse().ok());
        if let Some(status) = status
            && expected.stale.is_some()
        {
            let (store, _) = &mut *self.state.borrow_mut();
            let renewed = host::now(Clock::Monotonic)
                .is_ok_and(|now| cache::renew(expected, status, store, now).is_ok());
            if !renewed {
                self.metrics.count_store_error();
            }
        }
        let stored = sender == Sender::Cache || is_aged(pairs::first(&headers, b"age"));
        Ok((sender, stored))
    }

    /// Counts a response that is not its caller's, and tells operators once per interval.
    fn report(&self, mismatch: Mismatch) {
        self.metrics.count_mismatch();
        let now = host::now(Clock::Monotonic).unwrap_or(0);
        if let Some(count) = store::told(&self.policy, now) {
            let text = format!(
                "tidegate: policy `{}`: {count} responses of scoped routes were withheld since this was said last; the last one {}",
                self.policy.name,
                mismatch.shown()
            );
            host::log(Level::Error, &text);
        }
    }

    /// Answers in place of a response that is not its caller's.
    fn withhold(&self, mismatch: Mismatch, fields: Option<&[(&'static str, String)]>, grpc: bool) {
        let denial = match mismatch {
            Mismatch::NoAnswer(status) => Denial::NoAnswer(status),
            Mismatch::NoSeal | Mismatch::Seal | Mismatch::Owner => {
                self.report(mismatch);
                Denial::ResponseOwnerMismatch
            }
        };
        let _ = host::set_property(DECISION, format!("refused:{}", denial.rule()).as_bytes());
        let decision = Decision::unread(&self.policy, denial.clone());
        let request_id = host::property(b"request\0id");
        let answer = answer::answer(&self.policy, &decision, &denial, request_id.as_deref());
        // Where the answer cannot be sent the stream stays stopped: the response never goes on.
        let _ = send(&answer, fields.unwrap_or_default(), denial.rule(), grpc);
    }
}

/// Whether a response was kept by a cache for a while.
fn is_aged(age: Option<&[u8]>) -> bool {
    age.is_some_and(|age| age.iter().any(|digit| *digit != b'0'))
}

/// Adds the rate limit fields. The origin's own stay beside ours, except on a response that was stored, where they tell
/// about another request.
fn add_fields(stored: bool, fields: &[(&'static str, String)]) {
    let map = Map::ResponseHeaders;
    // A response without our fields, or with one too many, is better than none: failures change nothing.
    if stored {
        for name in FIELDS {
            let _ = host::remove_header(map, name.as_bytes());
        }
    }
    for (name, value) in fields {
        let _ = host::add_header(map, name.as_bytes(), value.as_bytes());
    }
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        self.gate_request()
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        self.gate_response()
    }

    fn on_http_response_body(&mut self, length: usize, _: bool) -> Action {
        self.gate_body(length);
        Action::Continue
    }
}

/// The decision as access logs show it.
fn told(policy: &Policy, decision: &Decision<'_>) -> Cow<'static, str> {
    let Some(denial) = &decision.denial else {
        return Cow::Borrowed("allowed");
    };
    let how = if decision.enforced_denial().is_some() {
        "refused"
    } else {
        "shadow-refused"
    };
    let limit = decision
        .refusing_limit()
        .and_then(|id| policy.limits.get(id.0));
    let rule = limit.map_or(denial.rule(), |limit| &limit.name);
    Cow::Owned(format!("{how}:{rule}"))
}
