//! For which share of callers a policy is in force.

use tidegate_core::policy::{Canary, Dimension, Mode, Policy};

use super::change::{Changes, Kind, Weight, at};
use super::words;

/// The callers for whom a policy is in force.
enum Force<'p> {
    /// For all.
    All,
    /// For so many of a hundred, told apart by these.
    Share(u8, &'p [Dimension]),
    /// It is in shadow.
    Nobody,
}

impl<'p> Force<'p> {
    fn of(policy: &'p Policy) -> Self {
        match (policy.mode, &policy.canary) {
            (Mode::Shadow, _) => Self::Nobody,
            (Mode::Enforce, Some(Canary { percent, by })) => Self::Share(*percent, by),
            (Mode::Enforce, None) => Self::All,
        }
    }

    const fn percent(&self) -> u8 {
        match self {
            Self::All => 100,
            Self::Share(percent, _) => *percent,
            Self::Nobody => 0,
        }
    }
}

pub(super) fn compare(old: &Policy, new: &Policy, changes: &mut Changes) {
    let (before, after) = (Force::of(old), Force::of(new));
    let kind = match before.percent().cmp(&after.percent()) {
        core::cmp::Ordering::Less => Kind::Stricter,
        core::cmp::Ordering::Equal => Kind::Changed,
        core::cmp::Ordering::Greater => Kind::Looser,
    };
    let caches = old.caches() || new.caches();
    let (key, text) = match (before, after) {
        (Force::All, Force::All) | (Force::Nobody, Force::Nobody) => return,
        (Force::All, Force::Nobody) if caches => (
            "mode",
            "nobody is refused any more, and caches are left alone, which keep what the origin lets them (enforce -> shadow)".to_owned(),
        ),
        (Force::All, Force::Nobody) => (
            "mode",
            "nobody is refused any more (enforce -> shadow)".to_owned(),
        ),
        (Force::Nobody, Force::All) => (
            "mode",
            "what was counted is refused (shadow -> enforce)".to_owned(),
        ),
        (Force::Nobody, Force::Share(percent, by)) => (
            "mode",
            format!("enforced for nobody -> for {}", share(percent, by)),
        ),
        (Force::Share(percent, _), Force::Nobody) => (
            "mode",
            format!("enforced for {percent} of a hundred callers -> for nobody (enforce -> shadow)"),
        ),
        (Force::Share(100, _), Force::All) => (
            "canary",
            "enforced for all 100 of a hundred callers, as a canary -> for all".to_owned(),
        ),
        (Force::Share(percent, _), Force::All) => (
            "canary",
            format!("enforced for {percent} of a hundred callers -> for all"),
        ),
        (Force::All, Force::Share(percent, by)) => (
            "canary",
            format!("enforced for all -> for {}", share(percent, by)),
        ),
        (Force::Share(percent, by), Force::Share(new, new_by)) => {
            shares((percent, by), (new, new_by), kind, changes);
            return;
        }
    };
    let text = format!("every caller: {text}");
    changes.weigh(Weight::Everybody, kind, &at(&[key]), text);
}

/// Two canaries.
fn shares(
    (old, old_by): (u8, &[Dimension]),
    (new, new_by): (u8, &[Dimension]),
    kind: Kind,
    changes: &mut Changes,
) {
    let mut add = |kind, text| changes.weigh(Weight::Everybody, kind, &at(&["canary"]), text);
    if old != new {
        let text = format!("every caller: enforced for {old} -> {new} of a hundred callers");
        add(kind, text);
    }
    if old_by != new_by {
        let (old, new) = (words::dimensions(old_by), words::dimensions(new_by));
        let text =
            format!("every caller: the share is told apart by {old} -> {new}: others are in it");
        add(Kind::Changed, text);
    }
}

/// The share of a canary that was none before, to be read after `for`.
fn share(percent: u8, by: &[Dimension]) -> String {
    match percent {
        100 => "all 100 of a hundred callers, as a canary; caches are left alone".to_owned(),
        _ => format!(
            "{percent} of a hundred callers, told apart by {}; the others are in shadow, and caches are left alone",
            words::dimensions(by)
        ),
    }
}
