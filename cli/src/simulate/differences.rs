//! Where two policies differ, request by request.

use std::collections::BTreeMap;

use tidegate_core::policy::Policy;
use tidegate_core::ruling::Direction;

use super::caller::Caller;
use super::heavy::Heavy;
use super::player::Refused;
use super::timeline::Timeline;

/// How many examples are kept.
const EXAMPLES: usize = 10;

/// What a policy makes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Says {
    /// It goes ahead.
    Allowed,
    /// It was done already.
    Replayed,
    /// The rule of this number refuses it, see [`Differences::word`].
    Refused(usize),
}

/// A request about which two policies differ.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) now: u64,
    pub(crate) caller: Caller,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) direction: Direction,
    pub(crate) says: (Says, Says),
}

/// Everything that is counted about differences.
pub(crate) struct Differences {
    pub(crate) same: u64,
    pub(crate) counts: [u64; 3],
    pub(crate) kinds: BTreeMap<(Says, Says), u64>,
    pub(crate) callers: Heavy<(Caller, [u64; 3])>,
    pub(crate) examples: Vec<Example>,
    pub(crate) timeline: Timeline,
    /// The names of rules; limits of one name are one rule.
    names: Vec<String>,
    /// For each of the two policies the rules of its limits.
    limits: [Vec<usize>; 2],
}

/// In which direction what one policy says differs from what another says; `None`: it does not.
fn direction(one: &Says, other: &Says) -> Option<Direction> {
    match (one, other) {
        (one, other) if one == other => None,
        (Says::Refused(_), Says::Refused(_)) => Some(Direction::Other),
        (Says::Refused(_), _) => Some(Direction::Stricter),
        (_, Says::Refused(_)) => Some(Direction::Looser),
        _ => Some(Direction::Other),
    }
}

/// The place of a direction in counts.
const fn place(direction: Direction) -> usize {
    match direction {
        Direction::Stricter => 0,
        Direction::Looser => 1,
        Direction::Other => 2,
    }
}

/// The number of a name, which gets one if it has none.
fn number(names: &mut Vec<String>, name: &str) -> usize {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len().saturating_sub(1)
    })
}

fn increment(counts: &mut [u64; 3], direction: Direction) {
    if let Some(count) = counts.get_mut(place(direction)) {
        *count = count.saturating_add(1);
    }
}

impl Differences {
    pub(crate) fn new(policies: [&Policy; 2]) -> Self {
        let mut names = Vec::new();
        let limits = policies.map(|policy| {
            let named = policy
                .limits
                .iter()
                .map(|limit| number(&mut names, &limit.name));
            named.collect()
        });
        Self {
            names,
            limits,
            same: 0,
            counts: [0; 3],
            kinds: BTreeMap::new(),
            callers: Heavy::new(),
            examples: Vec::new(),
            timeline: Timeline::new(4),
        }
    }

    /// What the first (0) or second (1) policy says.
    pub(crate) fn says(&mut self, which: usize, refused: Option<Refused>, replayed: bool) -> Says {
        match refused {
            None if replayed => Says::Replayed,
            None => Says::Allowed,
            Some(Refused::Limit(limit)) => {
                let known = self.limits.get(which).and_then(|limits| limits.get(limit));
                Says::Refused(known.copied().unwrap_or(usize::MAX))
            }
            Some(Refused::Rule(rule)) => Says::Refused(number(&mut self.names, rule)),
        }
    }

    /// The rule that refuses, or the word for what happens.
    pub(crate) fn word(&self, says: Says) -> &str {
        match says {
            Says::Allowed => "allowed",
            Says::Replayed => "replayed",
            Says::Refused(rule) => self.names.get(rule).map_or("", String::as_str),
        }
    }

    /// Counts what two policies said. `describe` tells caller, method and path, if that is wanted.
    pub(crate) fn count(
        &mut self,
        says: (Says, Says),
        number: u64,
        now: u64,
        describe: impl FnOnce() -> (Caller, String, String),
    ) {
        let Some(direction) = direction(&says.0, &says.1) else {
            self.same = self.same.saturating_add(1);
            self.timeline.count(now, 3);
            return;
        };
        increment(&mut self.counts, direction);
        self.timeline.count(now, place(direction));
        let mut described = None;
        let (_, counts) = self.callers.count(number, || {
            let (caller, ..) = described.insert(describe());
            (caller.clone(), [0; 3])
        });
        increment(counts, direction);
        // A caller's first difference of a kind tells more than the tenth of one caller.
        if self.examples.len() < EXAMPLES
            && let Some((caller, method, path)) = described
        {
            self.examples.push(Example {
                now,
                caller,
                method,
                path,
                direction,
                says,
            });
        }
        let kind = self.kinds.entry(says).or_default();
        *kind = kind.saturating_add(1);
    }
}
