//! When somebody outside is told that a scope is refused for long, and that it is over: once each, by one worker, with
//! retries.
//!
//! ```text
//! quiet --refused for `after`--> starting --delivered--> told --no refusal for `quiet`--> ending --delivered--> quiet
//!                                   '--given up--> given-up --over--> quiet                  '--given up--> quiet
//! ```
//!
//! What is refused again before anybody was told that it is over is not over: no further attempt is made until it is.
//!
//! An attempt is claimed by a swap, with a lease: whoever claimed it and dies has made an attempt that failed.

use super::entry::Entry;
use crate::policy::Notify;
use crate::quota::NANOS_PER_SEC;

/// How often an event is sent before it is given up.
pub const MOST_ATTEMPTS: u8 = 6;

/// How much longer each pause between attempts is than the one before.
const GROWTH: u64 = 3;

/// How much longer than its call an attempt is somebody's.
const LEASE: u64 = 2 * NANOS_PER_SEC;

/// What somebody outside is told of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notice {
    /// How far it is.
    pub phase: Phase,
    /// How often the event was sent.
    pub attempts: u8,
    /// When the next attempt may be made.
    pub due: u64,
    /// When the last event of a beginning was sent first; 0: never.
    pub told: u64,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Phase {
    /// Nobody is told.
    #[default]
    Quiet = 0,
    /// It is to be said that it began.
    Starting = 1,
    /// It was said that it began.
    Told = 2,
    /// It is to be said that it is over.
    Ending = 3,
    /// It could not be said that it began; so nobody is told that it is over.
    GivenUp = 4,
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A scope has been refused for long.
    Started,
    /// It is not refused any more.
    Over,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Send an event: the attempt is ours.
    Send(Kind),
    /// Count an event that was given up, since whoever made the last attempt did not say what became of it.
    GivenUp,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was delivered.
    Delivered,
    /// It is sent again later.
    Again,
    /// It is given up.
    GivenUp,
    /// Somebody else has made another attempt meanwhile.
    Overtaken,
}

impl Phase {
    pub(super) const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Quiet,
            1 => Self::Starting,
            2 => Self::Told,
            3 => Self::Ending,
            4 => Self::GivenUp,
            _ => return None,
        })
    }

    const fn event(self) -> Option<Kind> {
        match self {
            Self::Starting => Some(Kind::Started),
            Self::Ending => Some(Kind::Over),
            Self::Quiet | Self::Told | Self::GivenUp => None,
        }
    }
}

impl Notice {
    /// Whether there is more to tell of what began.
    pub const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Told | Phase::Ending)
    }

    /// What began and could not be told is over.
    pub(super) const fn forget(&mut self) {
        if let Phase::GivenUp = self.phase {
            self.phase = Phase::Quiet;
        }
    }

    const fn go(&mut self, phase: Phase, now: u64) {
        self.phase = phase;
        self.attempts = 0;
        self.due = now;
    }
}

impl Entry {
    /// What is to be done at `now`, if anything; what is to be sent is claimed.
    pub(super) fn tell(&mut self, rule: &Notify, now: u64) -> Option<Due> {
        let over = now.saturating_sub(self.last) > rule.quiet;
        let starts = self.starts(rule, now);
        let notice = &mut self.notice;
        match notice.phase {
            Phase::Quiet if starts => {
                notice.go(Phase::Starting, now);
                notice.told = now;
            }
            Phase::Told if over => notice.go(Phase::Ending, now),
            // It goes on after all, and nobody was told that it is over.
            Phase::Ending if !over && notice.attempts == 0 => notice.go(Phase::Told, now),
            Phase::GivenUp if over => notice.go(Phase::Quiet, now),
            _ => {}
        }
        let kind = notice.phase.event()?;
        if now < notice.due || (kind == Kind::Over && !over) {
            return None;
        }
        if notice.attempts >= MOST_ATTEMPTS {
            self.give_up(kind, now);
            return Some(Due::GivenUp);
        }
        notice.attempts = notice.attempts.saturating_add(1);
        notice.due = now.saturating_add(rule.timeout).saturating_add(LEASE);
        Some(Due::Send(kind))
    }

    /// Nobody outside is told any more: what somebody was told of is over by itself, and its place is free for others.
    pub(super) fn tell_nobody(&mut self, pause: u64, now: u64) {
        if self.notice.phase != Phase::Quiet && now.saturating_sub(self.last) > pause {
            self.end(now);
        }
    }

    /// Whether it has been refused for long, by a limit that is enforced, and nobody was told of it a while ago.
    fn starts(&self, rule: &Notify, now: u64) -> bool {
        let recently = self.notice.told > 0 && now.saturating_sub(self.notice.told) < rule.interval;
        !self.id.shadow
            && self.quota.is_some()
            && self.last.saturating_sub(self.since) >= rule.after
            && now.saturating_sub(self.last) <= rule.quiet
            && !recently
    }

    /// Notes what became of the attempt of this number. `jitter` is any number; it spreads the next attempts.
    pub(super) fn told(
        &mut self,
        kind: Kind,
        attempt: u8,
        delivered: bool,
        rule: &Notify,
        now: u64,
        jitter: u64,
    ) -> Outcome {
        let notice = &mut self.notice;
        if notice.phase.event() != Some(kind) || notice.attempts != attempt {
            return Outcome::Overtaken;
        }
        if delivered {
            match kind {
                Kind::Started => notice.go(Phase::Told, now),
                Kind::Over => self.end(now),
            }
            return Outcome::Delivered;
        }
        if attempt >= MOST_ATTEMPTS {
            self.give_up(kind, now);
            return Outcome::GivenUp;
        }
        notice.due = now.saturating_add(pause(rule.backoff, attempt, jitter));
        Outcome::Again
    }

    fn give_up(&mut self, kind: Kind, now: u64) {
        match kind {
            Kind::Started => self.notice.go(Phase::GivenUp, now),
            Kind::Over => self.end(now),
        }
    }

    /// It is over: what comes next begins anew.
    fn end(&mut self, now: u64) {
        self.notice.go(Phase::Quiet, now);
        self.since = self.last;
        self.before = self.count;
    }
}

/// How long to wait after so many attempts: `backoff` after the first, three times as long after each one more, and of that
/// any part from a half to the whole and a half.
fn pause(backoff: u64, attempt: u8, jitter: u64) -> u64 {
    let power = GROWTH.saturating_pow(u32::from(attempt).saturating_sub(1));
    let pause = backoff.saturating_mul(power);
    let spread = jitter.checked_rem(pause.max(1)).unwrap_or(0);
    (pause / 2).saturating_add(spread)
}

#[cfg(test)]
mod tests {
    use super::pause;

    #[test]
    fn pauses_grow_threefold_and_are_spread() {
        for (attempt, whole) in [(1, 10), (2, 30), (3, 90), (4, 270), (5, 810)] {
            assert_eq!(pause(10, attempt, 0), whole / 2);
            assert_eq!(pause(10, attempt, whole - 1), whole / 2 + whole - 1);
        }
        assert_eq!(pause(0, 3, 7), 0);
    }
}
