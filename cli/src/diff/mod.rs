//! What two policies decide differently, in words.
//!
//! Every part of a policy is taken apart by name, so that one that is added does not compile until it is compared.

mod cache;
mod canary;
mod change;
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

use self::change::Changes;
pub(crate) use self::change::{Change, Kind};

/// What is different, the most important first.
pub(crate) fn diff(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = Changes::default();
    policy::compare(old, new, &mut changes);
    changes.in_order()
}
