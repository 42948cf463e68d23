//! The way out of the gate: a response goes to its own caller, or not at all.

use tidegate_core::answer;
use tidegate_core::cache::{self, Mismatch, Sender};
use tidegate_core::denial::Denial;
use tidegate_core::engine::Decision;
use tidegate_core::report::Report;

use crate::copies::{self, Told};
use crate::gate::{DECISION, Gate, now};
use crate::host::{self, Level, Map};
use crate::pairs::{self, Pair};
use crate::send::send;
use crate::{refused, store};

/// The rate limit fields that a response from a cache loses.
const FIELDS: [&str; 5] = [
    "ratelimit",
    "ratelimit-policy",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

impl Gate {
    /// Holds a response to what is expected of it, takes out what is ours, and says who sent it.
    pub(crate) fn receive(
        &self,
        told: &Told,
        headers: &[Pair<'_>],
        enforced: bool,
    ) -> Result<Sender, Mismatch> {
        copies::went_its_way(told, &mut self.strayed.borrow_mut())?;
        let expected = &told.expected;
        self.renew(expected.stale, pairs::status(headers));
        let sender = copies::receive(expected, headers)?;
        let stored = sender == Sender::Cache || is_aged(pairs::first(headers, b"age"));
        if stored && enforced {
            remove_fields(|name| pairs::first(headers, name.as_bytes()).is_some());
        }
        Ok(sender)
    }

    /// Ends the copies that a change made stale, if it succeeded.
    pub(crate) fn renew(&self, stale: Option<u32>, status: u16) {
        if stale.is_none() {
            return;
        }
        let (store, _) = &mut *self.state.borrow_mut();
        let renewed = now().is_ok_and(|now| cache::renew(stale, status, store, now).is_ok());
        if !renewed {
            self.metrics.count_store_error();
        }
    }

    /// Counts a response that is not its caller's, and tells operators once per interval.
    fn report(&self, mismatch: Mismatch, id: Option<&[u8]>) {
        self.metrics.count_mismatch();
        let now = now().unwrap_or(0);
        if let Some(count) = store::told(&self.policy, "mismatch", now) {
            let report = Report::Mismatch {
                last: mismatch.shown(),
            };
            let text = report.json(&self.policy, count, &refused::example(id));
            host::log(Level::Error, &text);
        }
    }

    /// Answers in place of a response that is not its caller's.
    pub(crate) fn withhold(
        &self,
        mismatch: Mismatch,
        fields: &[(&'static str, String)],
        id: Option<&[u8]>,
        grpc: bool,
    ) {
        let denial = match mismatch {
            Mismatch::NoAnswer(status) => Denial::NoAnswer(status),
            Mismatch::Way => Denial::RouteChanged,
            Mismatch::NoSeal | Mismatch::Seal | Mismatch::Copy | Mismatch::Owner => {
                self.report(mismatch, id);
                Denial::ResponseOwnerMismatch
            }
        };
        let _ = host::set_property(DECISION, format!("refused:{}", denial.rule()).as_bytes());
        let decision = Decision::unread(&self.policy, denial.clone());
        let answer = answer::answer(&self.policy, &decision, &denial, id);
        // Where the answer cannot be sent the stream stays stopped: the response never goes on.
        let _ = send(&answer, fields, denial.rule(), grpc);
    }
}

/// Removes the rate limit fields of a response that a cache behind Envoy kept for a while.
pub(crate) fn remove_aged_fields() {
    if is_aged(host::header(Map::Response, "age").as_deref()) {
        remove_fields(|_| true);
    }
}

/// Whether a response was kept by a cache for a while.
fn is_aged(age: Option<&[u8]>) -> bool {
    age.is_some_and(|age| age.iter().any(|digit| *digit != b'0'))
}

/// Removes the rate limit fields of a response that was stored: they tell about another request. The origin's own on a
/// fresh response stay, beside ours.
fn remove_fields(there: impl Fn(&str) -> bool) {
    for name in FIELDS.into_iter().filter(|name| there(name)) {
        let _ = host::remove_header(Map::Response, name.as_bytes());
    }
}
