//! The share of callers for whom a policy is enforced.

use tidegate_core::policy::{Canary, Policy};

use super::change::{Changes, Kind, Weight, at};
use super::words;

pub(super) fn compare(old: &Policy, new: &Policy, changes: &mut Changes) {
    let place = at(&["canary"]);
    let mut weigh = |kind, text| changes.weigh(Weight::Everybody, kind, &place, text);
    match (&old.canary, &new.canary) {
        (None, None) => {}
        (Some(Canary { percent: 100, by: _ }), None) => weigh(
            Kind::Changed,
            "every caller: enforced for all 100 of a hundred callers, as a canary -> for all".to_owned(),
        ),
        (Some(Canary { percent, by: _ }), None) => weigh(
            Kind::Stricter,
            format!("every caller: enforced for {percent} of a hundred callers -> for all"),
        ),
        (None, Some(Canary { percent: 100, by: _ })) => weigh(
            Kind::Changed,
            "every caller: enforced for all -> for all 100 of a hundred callers, as a canary; caches are left alone".to_owned(),
        ),
        (None, Some(Canary { percent, by })) => weigh(
            Kind::Looser,
            format!(
                "every caller: enforced for all -> for {percent} of a hundred callers, told apart by {}; the others are in shadow, and caches are left alone",
                words::dimensions(by)
            ),
        ),
        (Some(old), Some(new)) => {
            let Canary { percent, by } = old;
            if *percent != new.percent {
                let kind = if new.percent > *percent {
                    Kind::Stricter
                } else {
                    Kind::Looser
                };
                weigh(
                    kind,
                    format!(
                        "every caller: enforced for {percent} -> {} of a hundred callers",
                        new.percent
                    ),
                );
            }
            if *by != new.by {
                let (old, new) = (words::dimensions(by), words::dimensions(&new.by));
                weigh(
                    Kind::Changed,
                    format!(
                        "every caller: the share is told apart by {old} -> {new}: others are in it"
                    ),
                );
            }
        }
    }
}
