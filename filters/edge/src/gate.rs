//! The role `gate`: decides about each request on its way in, and adds the rate limit fields on the way out.

use core::cell::RefCell;
use std::borrow::Cow;
use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;
use tidegate_core::answer::{self, Answer};
use tidegate_core::denial::Denial;
use tidegate_core::engine::{self, Decision};
use tidegate_core::policy::{Mode, Policy, RateLimitHeaders};
use tidegate_core::request::Request;

use crate::facts::HostFacts;
use crate::host::{self, Clock, Map};
use crate::memory::Refusals;
use crate::metrics::Metrics;
use crate::pairs::{self, Pair};
use crate::store::SharedStore;

/// Where access logs find the decision: `%FILTER_STATE(wasm.tidegate.decision:PLAIN)%`.
const DECISION: &[u8] = b"tidegate.decision";

/// A policy, ready to decide: what all streams of a worker share.
pub(crate) struct Gate {
    policy: Policy,
    metrics: Metrics,
    address_key: Vec<u8>,
    state: RefCell<(SharedStore, Refusals)>,
}

impl Gate {
    /// Gets a policy ready.
    ///
    /// # Errors
    /// A line for the log, where the policy cannot be enforced here.
    pub(crate) fn new(policy: Policy) -> Result<Self, String> {
        let address_key = address_key(&policy)?;
        let store = SharedStore::open(&policy).map_err(|_| {
            "the shared data of this `vm_id` cannot be used; give the policy one of its own"
                .to_owned()
        })?;
        Ok(Self {
            metrics: Metrics::new(&policy),
            policy,
            address_key,
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
        let facts = HostFacts::new(&self.address_key);
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
    /// The request went on, and not in shadow: the response may be touched.
    passed: bool,
    /// The header lines to add to the response.
    fields: Vec<(&'static str, String)>,
}

impl Stream {
    pub(crate) fn new(gate: Rc<Gate>) -> Self {
        Self {
            gate,
            passed: false,
            fields: Vec::new(),
        }
    }

    /// Decides, counts, and answers in the origin's place where the request is refused.
    fn gate_request(&mut self) -> Action {
        let gate = &self.gate;
        let bytes = host::header_pairs(Map::RequestHeaders).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        #[cfg(feature = "test-switches")]
        crate::switches::obey(&headers);

        let decision = gate.decide(&headers);
        gate.metrics.count(&decision);
        // An access log without the decision is not worth a request.
        let _ = host::set_property(DECISION, told(&gate.policy, &decision).as_bytes());

        let Some(denial) = decision.enforced_denial() else {
            self.passed = decision.mode == Mode::Enforce;
            if self.passed && gate.policy.headers == RateLimitHeaders::Always {
                self.fields = answer::fields(&gate.policy, &decision).lines().collect();
            }
            return Action::Continue;
        };
        let answer = answer::answer(
            &gate.policy,
            &decision,
            denial,
            pairs::first(&headers, b"x-request-id"),
        );
        let grpc = pairs::first(&headers, b"content-type").is_some_and(is_grpc);
        // Where the answer cannot be sent the stream stays stopped: a refused request never goes on.
        let _ = send(&answer, denial.rule(), grpc);
        Action::Pause
    }

    /// Adds the rate limit fields. The origin's own stay beside ours, except on a response from a cache,
    /// where they tell about another request.
    fn gate_response(&mut self) {
        if !core::mem::take(&mut self.passed) {
            return;
        }
        let map = Map::ResponseHeaders;
        // A response without our fields, or with one too many, is better than none: failures change nothing.
        if host::header(map, "age").is_some_and(|age| age.iter().any(|digit| *digit != b'0')) {
            for name in FIELDS {
                let _ = host::remove_header(map, name);
            }
        }
        for (name, value) in self.fields.drain(..) {
            let _ = host::add_header(map, name, &value);
        }
    }
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        self.gate_request()
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        self.gate_response();
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

/// Whether a caller speaks gRPC.
fn is_grpc(content_type: &[u8]) -> bool {
    content_type
        .strip_prefix(b"application/grpc")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Sends an answer. A gRPC caller gets the detail as its message; the host leaves the body out for HEAD.
fn send(answer: &Answer, rule: &str, grpc: bool) -> Result<(), host::Failed> {
    let headers: Vec<(&str, &str)> = answer
        .headers
        .iter()
        .filter(|(name, _)| !grpc || *name != "content-type")
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let headers = pairs::write(&headers);
    let details = format!("tidegate_{rule}");
    if grpc {
        let status = i32::from(answer.grpc_status as u8);
        host::send_response(
            200,
            &details,
            &headers,
            answer.grpc_message.as_bytes(),
            status,
        )
    } else {
        host::send_response(answer.status, &details, &headers, &answer.body, -1)
    }
}
