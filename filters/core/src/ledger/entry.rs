//! What is known of a scope that was refused.

use core::fmt;

use super::notice::Notice;
use super::recent::Seen;
use crate::hex;
use crate::key::Key;
use crate::quota::Quota;

/// What tells scopes apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// The limit or rule that refuses; at most 64 bytes.
    pub rule: String,
    /// It would refuse, and is in shadow.
    pub shadow: bool,
    /// Whom: the key of the limit's bucket, or the caller's where the rule is no limit.
    pub key: Key,
}

/// A scope. Times are nanoseconds on the store's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which.
    pub id: Id,
    /// Who was refused last; [`Key::ZERO`] where nobody could be told.
    pub caller: Key,
    /// What the policy calls them; empty where it does not.
    pub label: String,
    /// What the bucket is worth to them, where the rule is a limit.
    pub quota: Option<Quota>,
    /// How often it was refused since `first`.
    pub count: u64,
    /// When it was refused first.
    pub first: u64,
    /// When it was refused last.
    pub last: u64,
    /// Since when it is refused again and again, without a pause.
    pub since: u64,
    /// How often it had been refused before `since`.
    pub before: u64,
    /// When it was logged last; `None`: never.
    pub logged: Option<u64>,
    /// How often it had been refused when it was logged last.
    pub logged_count: u64,
    /// What somebody outside is told.
    pub notice: Notice,
}

impl Entry {
    /// A scope that was not known.
    pub(super) fn new(id: Id, seen: &Seen) -> Self {
        Self {
            id,
            caller: Key::ZERO,
            label: String::new(),
            quota: None,
            count: 0,
            first: seen.first,
            last: seen.first,
            since: seen.first,
            before: 0,
            logged: None,
            logged_count: 0,
            notice: Notice::default(),
        }
    }

    /// Adds what a worker has seen. Refusals that come after a pause of more than `quiet` begin anew, unless somebody was told
    /// of those before and not yet of their end.
    pub(super) fn add(&mut self, seen: &Seen, label: &str, quiet: u64) {
        if seen.first.saturating_sub(self.last) > quiet && !self.notice.is_open() {
            self.since = seen.first;
            self.before = self.count;
            self.notice.forget();
        }
        self.count = self.count.saturating_add(seen.count);
        self.first = self.first.min(seen.first);
        self.last = self.last.max(seen.last);
        self.caller = seen.caller;
        self.quota = seen.quota.or(self.quota);
        label.clone_into(&mut self.label);
    }

    /// How often it was refused since `since`.
    pub const fn count_since(&self) -> u64 {
        self.count.saturating_sub(self.before)
    }

    /// Who was refused last, as people are shown it; `None` where nobody could be told.
    pub fn shown_caller(&self) -> Option<String> {
        (self.caller != Key::ZERO).then(|| Shown(self.caller).to_string())
    }

    /// What the policy calls them, if it does.
    pub fn shown_label(&self) -> Option<&str> {
        Some(self.label.as_str()).filter(|label| !label.is_empty())
    }

    /// Notes that it is logged at `now`; how often it was refused since it was last, if that is often enough ago.
    pub(super) fn log(&mut self, now: u64) -> Option<u64> {
        let recently = |logged: u64| now.saturating_sub(logged) < super::LOGGED_EVERY;
        let count = self.count.saturating_sub(self.logged_count);
        if count == 0 || self.logged.is_some_and(recently) {
            return None;
        }
        self.logged = Some(now);
        self.logged_count = self.count;
        Some(count)
    }
}

/// A key as people are shown it: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub struct Shown(pub Key);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::digits(&self.0.to_bytes()))
    }
}

impl core::str::FromStr for Shown {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        hex::bytes(text)
            .map(|bytes| Self(Key::from_bytes(bytes)))
            .ok_or(())
    }
}
