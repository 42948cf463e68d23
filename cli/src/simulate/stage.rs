//! Where requests are played, one after the other, on a clock that never steps back.

use tidegate_core::policy::Policy;

use super::differences::{Differences, Says};
use super::field::{Fields, Target};
use super::needs::Present;
use super::player::{Player, Refused};
use super::record::Record;
use super::statistics::Statistics;

/// A policy, another to be compared with if there is one, and everything that is counted.
pub(crate) struct Stage {
    pub(crate) one: Act,
    pub(crate) other: Option<(Act, Differences)>,
    pub(crate) present: Present,
    pub(crate) first: u64,
    pub(crate) clock: u64,
    pub(crate) late: Late,
    method: Option<usize>,
    path: Option<usize>,
}

/// A policy and what it did.
pub(crate) struct Act {
    pub(crate) player: Player,
    pub(crate) statistics: Statistics,
}

/// Requests that came too late to be put into their place; they are decided at the moment of the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Late {
    pub(crate) count: u64,
    /// By how much at most, in nanoseconds.
    pub(crate) most: u64,
}

impl Act {
    fn new(policy: Policy, fields: &Fields) -> Self {
        Self {
            statistics: Statistics::new(&policy),
            player: Player::new(policy, fields),
        }
    }

    /// Plays a request; what it came to, and who sent it.
    fn play(&mut self, record: &Record, now: u64) -> (Option<Refused>, bool, u64) {
        let Self { player, statistics } = self;
        let caller = player.callers.number(record);
        let (refused, replayed) = player.play(record, caller, now, |verdict| {
            statistics.count(&verdict, record.status, caller, now);
            (verdict.refused, verdict.replayed)
        });
        if let Some(refused) = refused {
            statistics.suffer(caller, refused, now, || player.caller(record));
        }
        (refused, replayed, caller)
    }
}

impl Stage {
    pub(crate) fn new(policy: Policy, other: Option<Policy>, fields: &Fields) -> Self {
        let one = Act::new(policy, fields);
        let other = other.map(|policy| {
            let other = Act::new(policy, fields);
            let differences = Differences::new([&one.player.policy, &other.player.policy]);
            (other, differences)
        });
        Self {
            one,
            other,
            present: Present::new(fields),
            first: 0,
            clock: 0,
            late: Late::default(),
            method: fields.find(&Target::Method),
            path: fields.find(&Target::Path),
        }
    }

    /// Plays a request.
    pub(crate) fn play(&mut self, record: &Record) {
        if self.first == 0 {
            self.first = record.time;
        }
        let behind = self.clock.saturating_sub(record.time);
        if behind > 0 {
            self.late.count = self.late.count.saturating_add(1);
            self.late.most = self.late.most.max(behind);
        }
        let now = self.clock.max(record.time);
        self.clock = now;
        self.present.count(record);
        let (refused, replayed, caller) = self.one.play(record, now);
        let Some((other, differences)) = &mut self.other else {
            return;
        };
        let (refused_there, replayed_there, _) = other.play(record, now);
        let says = (
            differences.says(0, refused, replayed),
            differences.says(1, refused_there, replayed_there),
        );
        let (player, method, path) = (&mut self.one.player, self.method, self.path);
        differences.count(says, caller, now, || {
            let text = |field| {
                let text = String::from_utf8_lossy(record.find(field));
                text.chars().take(80).collect()
            };
            (player.caller(record), text(method), text(path))
        });
    }

    /// How many requests were played.
    pub(crate) const fn requests(&self) -> u64 {
        self.one.statistics.totals.requests
    }
}

// Most requests are allowed by both; that is decided by comparing two words.
const _: () = assert!(size_of::<Says>() <= 16);
