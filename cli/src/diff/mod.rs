//! What two policies decide differently, in words.
//!
//! Every part of a policy is taken apart by name, so that one that is added does not compile until it is compared.

mod cache;
mod change;
mod force;
mod identity;
mod limit;
mod names;
mod once;
mod policy;
mod quota;
mod route;
mod routes;
mod words;

use tidegate_core::policy::Policy;

pub(crate) use self::change::{Change, Kind};
use self::change::{Changes, Weight, at};
use crate::packed::Section;

/// What is different, the most important first. `sections` are what two packed modules say of themselves.
pub(crate) fn diff(
    old: &Policy,
    new: &Policy,
    sections: Option<&(Section, Section)>,
) -> Vec<Change> {
    let mut changes = Changes::default();
    policy::compare(old, new, &mut changes);
    if let Some((old, new)) = sections {
        engine(old, new, &mut changes);
    }
    changes.in_order()
}

/// The engines that the policies are packed into.
fn engine(old: &Section, new: &Section, changes: &mut Changes) {
    if old.engine_digest == new.engine_digest {
        return;
    }
    let (from, to) = (&old.engine, &new.engine);
    let engines = if from == to {
        format!("another build of {from}")
    } else {
        format!("{from} -> {to}")
    };
    changes.weigh(
        Weight::Told,
        Kind::Changed,
        &at(&[]),
        format!("the engine is another ({engines}): entries of its CHANGELOG that are marked **decides** may decide the same policy differently"),
    );
}
