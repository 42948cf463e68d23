//! A policy in shadow beside the one in force: two mounts, the one in shadow first. Each decides for itself, and when a request
//! is over the one in shadow compares. Callers outside the share of a canary are in shadow too.

use std::borrow::Cow;

use tidegate_core::engine::Decision;
use tidegate_core::policy::{Mode, Policy};
use tidegate_core::report::Report;
use tidegate_core::ruling::{CACHE_KEY, Direction, Ruling};

use crate::gate::{DECISION, Gate, now};
use crate::host::{self, Level};
use crate::{refused, store};

/// A mount in shadow is there that compares whose copies requests are for.
const COMPARES: &[u8] = b"tidegate.shadow";

/// Who shares the copy of a request, for a mount in shadow.
const SHARERS: &[u8] = b"tidegate.sharers";

/// What a policy in shadow said of a request.
pub(crate) struct Would {
    /// As access logs show it.
    said: Cow<'static, str>,
    sharers: Option<u64>,
}

impl Would {
    /// What is to be compared; `None` where the decision holds.
    pub(crate) fn of(
        policy: &Policy,
        decision: &Decision<'_>,
        said: Cow<'static, str>,
    ) -> Option<Self> {
        let outside = policy.canary.is_some() && !decision.canary;
        (policy.mode == Mode::Shadow || outside).then_some(Self {
            said,
            sharers: decision.sharers,
        })
    }
}

/// Whether a mount in shadow stands in front and compares whose copies requests are for.
pub(crate) fn is_compared() -> bool {
    host::property(COMPARES).is_some()
}

/// Tells the mount behind that somebody compares, or the one in front what it compares with.
pub(crate) fn tell(policy: &Policy, decision: &Decision<'_>) {
    if !policy.caches() {
        return;
    }
    // What cannot be told is not compared.
    if !policy.tells_caches() {
        let _ = host::set_property(COMPARES, b"1");
    } else if let Some(sharers) = decision.sharers {
        let _ = host::set_property(SHARERS, &sharers.to_le_bytes());
    }
}

impl Gate {
    /// Compares what would have become of a request with what did.
    pub(crate) fn compare(&self, would: &Would) {
        let Some(text) = host::property(DECISION) else {
            return;
        };
        let Ok(text) = String::from_utf8(text) else {
            return;
        };
        let (Some(meant), Some(was)) = (Ruling::meant(&would.said), Ruling::read(&text)) else {
            return;
        };
        // The same text is our own, where no other gate is behind, or another's who says the same.
        let ruled = if *would.said == text {
            None
        } else {
            meant.against(was)
        };
        let copies = || {
            let both = (meant, was) == (Ruling::Allowed, Ruling::Allowed);
            let theirs = host::property(SHARERS)?;
            let theirs = u64::from_le_bytes(theirs.try_into().ok()?);
            (both && would.sharers.is_some_and(|ours| ours != theirs))
                .then_some((CACHE_KEY, Direction::Other))
        };
        if let Some((rule, direction)) = ruled.or_else(copies) {
            self.metrics.count_disagreement(rule, direction);
            self.report_disagreement(rule, direction, &would.said, &text);
        }
    }

    /// Tells operators of a disagreement, once per kind and interval.
    fn report_disagreement(&self, rule: &str, direction: Direction, would: &str, was: &str) {
        let Ok(now) = now() else { return };
        let kind = format!("disagreement/{rule}/{}", direction.word());
        let Some(count) = store::told(&self.policy, &kind, now) else {
            return;
        };
        let part = |path: &[u8]| {
            let text = host::property(path).unwrap_or_default();
            String::from_utf8_lossy(&text)
                .chars()
                .filter(|char| !char.is_control())
                .take(128)
                .collect::<String>()
        };
        let (method, path) = (part(b"request\0method"), part(b"request\0url_path"));
        let report = Report::Disagreement {
            rule,
            direction,
            method: &method,
            path: &path,
            decision: was,
            in_shadow: would,
        };
        let id = host::property(b"request\0id");
        let example = refused::example(id.as_deref());
        let text = report.json(&self.policy, count, &example);
        host::log(Level::Warn, &text);
    }
}
