//! What somebody outside is told: a JSON event, signed as Standard Webhooks says (its specification, "Symmetric signature").

use core::time::Duration;
use std::time::UNIX_EPOCH;

use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use super::entry::{Entry, Shown};
use super::notice::Kind;
use crate::gcra::{FullAt, Level};
use crate::key::{Parts, Secret};
use crate::policy::{Notify, Policy};
use crate::quota::NANOS_PER_MILLI;
use crate::report::object;

/// A key to sign events with; never shown.
#[derive(Clone)]
pub struct SigningKey(Vec<u8>);

/// An event, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The same for each attempt; what receivers tell events apart by.
    pub id: String,
    /// The body, JSON.
    pub body: Vec<u8>,
}

/// The moment of which an event tells.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// On the store's clock, in nanoseconds.
    pub now: u64,
    /// The time of day, in nanoseconds since 1970.
    pub of_day: u64,
}

impl SigningKey {
    /// The key that a secret of Standard Webhooks holds: `whsec_` and 24 to 64 bytes in base64. `None` if it is none.
    pub fn read(secret: &str) -> Option<Self> {
        let key = Base64::decode_vec(secret.trim().strip_prefix("whsec_")?).ok()?;
        (24..=64).contains(&key.len()).then_some(Self(key))
    }

    /// The value of `webhook-signature` for an event that is sent at a time, in seconds since 1970.
    pub fn sign(&self, event: &Event, seconds: u64) -> String {
        // A key of any length will do.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(event.id.as_bytes());
        mac.update(format!(".{seconds}.").as_bytes());
        mac.update(&event.body);
        format!("v1,{}", Base64::encode_string(&mac.finalize().into_bytes()))
    }
}

impl core::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl Event {
    /// The event of a kind about a scope whose bucket is in `state`, if that could be read.
    pub fn of(
        policy: &Policy,
        rule: &Notify,
        kind: Kind,
        entry: &Entry,
        state: Option<FullAt>,
        secret: &Secret,
        at: Moment,
    ) -> Self {
        let name = match kind {
            Kind::Started => "tidegate.refusals.started",
            Kind::Over => "tidegate.refusals.over",
        };
        let bucket = entry.quota.zip(state).map(|(quota, state)| {
            let level = Level::of(state, at.now, quota);
            object([
                ("rate", quota.rate().to_string().into()),
                ("burst", quota.burst().into()),
                ("level", level.units.into()),
                // Until there is one unit more, rounded up.
                ("next_ms", level.next.div_ceil(NANOS_PER_MILLI).into()),
            ])
        });
        let data = object([
            ("policy", policy.name.as_str().into()),
            ("version", policy.version.as_str().into()),
            ("rule", entry.id.rule.as_str().into()),
            ("scope", Shown(entry.id.key).to_string().into()),
            ("caller", entry.shown_caller().into()),
            ("label", entry.shown_label().into()),
            ("since", at.shown(entry.since).into()),
            ("last", at.shown(entry.last).into()),
            ("count", entry.count_since().into()),
            ("bucket", bucket.map_or(Value::Null, Value::Object)),
            ("docs", rule.docs.as_deref().into()),
        ]);
        let body = object([
            ("type", name.into()),
            ("timestamp", at.shown(at.now).into()),
            ("data", Value::Object(data)),
        ]);
        let mut parts = Parts::new();
        parts.push(0, name.as_bytes());
        parts.push(1, policy.name.as_bytes());
        parts.push(2, entry.id.rule.as_bytes());
        parts.push_key(3, entry.id.key);
        parts.push(4, &entry.since.to_le_bytes());
        Self {
            id: format!("msg_{}", Shown(secret.key(&parts))),
            body: Value::Object(body).to_string().into_bytes(),
        }
    }
}

impl Moment {
    /// A time on the store's clock, gone or to come, as a time of day (RFC 3339), to the second.
    pub fn shown(&self, time: u64) -> String {
        let ago = self.now.saturating_sub(time);
        let ahead = time.saturating_sub(self.now);
        let nanos = self.of_day.saturating_sub(ago).saturating_add(ahead);
        // Years above 9999 cannot be written.
        let most = Duration::from_secs(253_402_300_799);
        let since_1970 = Duration::from_nanos(nanos).min(most);
        UNIX_EPOCH
            .checked_add(since_1970)
            .map_or_else(String::new, |time| {
                humantime::format_rfc3339_seconds(time).to_string()
            })
    }
}
