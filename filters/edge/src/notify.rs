//! Events to the outside, sent from the root context by whichever worker claimed the attempt. No request waits for one.

use core::time::Duration;
use std::collections::HashMap;

use tidegate_core::ledger::drive::{self, Attempt};
use tidegate_core::ledger::event::{Event, Moment, SigningKey};
use tidegate_core::ledger::{Kind, Outcome};
use tidegate_core::policy::{Notify, Policy};
use tidegate_core::quota::NANOS_PER_SEC;
use tidegate_core::store::Store as _;
use tidegate_core::table;

use crate::gate::{Gate, now};
use crate::host::{self, Clock, Failed, Level, Map};
use crate::pairs;

/// What is sent where a policy tells somebody outside.
#[derive(Default)]
pub(crate) struct Notifier {
    key: Option<SigningKey>,
    /// The attempts in flight, by the number of the call.
    sent: HashMap<u32, Attempt>,
}

impl Notifier {
    /// The one of a policy.
    ///
    /// # Errors
    /// A line for the log, where the environment of the VM has no secret to sign with.
    pub(crate) fn of(policy: &Policy) -> Result<Self, String> {
        let Some(rule) = &policy.notify else {
            return Ok(Self::default());
        };
        let secret = std::env::var(&rule.key_env).unwrap_or_default();
        let Some(key) = SigningKey::read(&secret) else {
            return Err(format!(
                "`$.notify.key_env`: the environment of the VM has no secret of Standard Webhooks in `{}`; set it under `vm_config.environment_variables` to `whsec_` and 24 to 64 bytes in base64",
                rule.key_env
            ));
        };
        Ok(Self {
            key: Some(key),
            sent: HashMap::new(),
        })
    }
}

impl Gate {
    /// Looks for what is to be logged or sent, if nobody has within the last second; whether it was this worker's turn.
    pub(crate) fn look(&self, now: u64) -> bool {
        let looked = {
            let (store, _) = &mut *self.state.borrow_mut();
            drive::look(store, &self.policy, now)
        };
        let looked = match looked {
            Ok(Some(looked)) => looked,
            Ok(None) => return false,
            Err(_) => {
                self.metrics.count_store_error();
                return false;
            }
        };
        self.log_refused(&looked.lines);
        self.metrics.count_given_up(looked.given_up);
        if looked.failed > 0 {
            self.metrics.count_store_error();
        }
        if let Some(rule) = &self.policy.notify {
            for attempt in looked.attempts {
                self.send(rule, attempt, now);
            }
        }
        true
    }

    /// Makes an attempt. Called on the root context.
    fn send(&self, rule: &Notify, attempt: Attempt, now: u64) {
        match self.call(rule, &attempt, now) {
            Ok(number) => {
                self.notifier.borrow_mut().sent.insert(number, attempt);
            }
            // There is no such cluster, as far as can be told.
            Err(Failed) => self.told(rule, &attempt, false),
        }
    }

    fn call(&self, rule: &Notify, attempt: &Attempt, now: u64) -> Result<u32, Failed> {
        let event = self.event(rule, attempt, now)?;
        let seconds = host::now(Clock::Realtime)? / NANOS_PER_SEC;
        let time = seconds.to_string();
        let signature = {
            let notifier = &*self.notifier.borrow();
            let key = notifier.key.as_ref().ok_or(Failed)?;
            key.sign(&event, seconds)
        };
        let headers = [
            (":method", "POST"),
            (":path", rule.path.as_str()),
            (":authority", rule.host.as_str()),
            ("content-type", "application/json"),
            (
                "user-agent",
                concat!("tidegate/", env!("CARGO_PKG_VERSION")),
            ),
            ("webhook-id", event.id.as_str()),
            ("webhook-timestamp", time.as_str()),
            ("webhook-signature", signature.as_str()),
        ];
        let timeout = Duration::from_nanos(rule.timeout);
        let headers = headers.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let headers = pairs::write(&headers);
        host::call(rule.cluster.as_bytes(), &headers, &event.body, timeout)
    }

    fn event(&self, rule: &Notify, attempt: &Attempt, now: u64) -> Result<Event, Failed> {
        let Attempt { entry, kind } = attempt;
        let (store, _) = &mut *self.state.borrow_mut();
        // An event without the bucket's state is better than none.
        let limit = self.policy.limit_named(&entry.id.rule);
        let bucket = limit.and_then(|l| table::peek(store, l, &entry.id.key, now).ok());
        let at = Moment {
            now,
            of_day: host::now(Clock::Realtime)?,
        };
        let secret = store.secret();
        Ok(Event::of(
            &self.policy,
            rule,
            *kind,
            entry,
            bucket.map(|bucket| bucket.state),
            &secret,
            at,
        ))
    }

    /// Takes the answer to an attempt; `false` if the call was none.
    pub(crate) fn notified(&self, number: u32) -> bool {
        let attempt = self.notifier.borrow_mut().sent.remove(&number);
        let (Some(attempt), Some(rule)) = (attempt, &self.policy.notify) else {
            return false;
        };
        let bytes = host::header_pairs(Map::Call).unwrap_or_default();
        // No headers: the call was reset, or timed out.
        let status = pairs::status(&pairs::read(&bytes).unwrap_or_default());
        self.told(rule, &attempt, (200..300).contains(&status));
        true
    }

    /// Notes what became of an attempt. What cannot be noted has failed when its lease ends.
    fn told(&self, rule: &Notify, attempt: &Attempt, delivered: bool) {
        let random: [u8; 8] = host::random().unwrap_or_default();
        let jitter = u64::from_le_bytes(random);
        let outcome = now().map(|now| {
            let (store, _) = &mut *self.state.borrow_mut();
            drive::settle(store, rule, attempt, delivered, now, jitter)
        });
        match outcome {
            Ok(Ok(Outcome::Delivered)) => self.metrics.count_sent(),
            Ok(Ok(Outcome::GivenUp)) => {
                self.metrics.count_given_up(1);
                let kind = match attempt.kind {
                    Kind::Started => "started",
                    Kind::Over => "over",
                };
                let text = format!(
                    "tidegate: policy `{}`: the event `{kind}` of a scope of `{}` is given up after {} attempts; look at cluster `{}`",
                    self.policy.name,
                    attempt.entry.id.rule,
                    attempt.entry.notice.attempts,
                    rule.cluster
                );
                host::log(Level::Error, &text);
            }
            Ok(Ok(Outcome::Again | Outcome::Overtaken)) => {}
            Ok(Err(_)) | Err(Failed) => self.metrics.count_store_error(),
        }
    }
}
