//! The parts of a document that this version understands and does not enforce.

use deserr::ValuePointerRef;

use super::document::{Document, Store};
use super::faults::Faults;

/// Reports each part that a policy would use in vain: who writes it must not believe that it holds.
pub(super) fn not_enforced(document: &Document, faults: &mut Faults) {
    let root = ValuePointerRef::Origin;
    let mut refuse = |at: ValuePointerRef<'_>, what: &str| {
        faults.add(
            at,
            format!(
                "{what} not enforced by this version; remove it, or use a version that enforces it"
            ),
        );
    };
    if let Some(Store::Redis(_)) = document.store {
        refuse(root.push_key("store"), "a store other than `local` is");
    }
}
