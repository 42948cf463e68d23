//! The parts of a document that this version understands and does not enforce.

use deserr::ValuePointerRef;

use super::document::{Document, Route, Store};
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
    let routes = root.push_key("routes");
    for (index, route) in document.routes.iter().flatten().enumerate() {
        let Some(route) = route else { continue };
        let at = routes.push_index(index);
        let Route {
            idempotency,
            dedupe,
            ..
        } = route;
        if idempotency.is_some() {
            refuse(at.push_key("idempotency"), "idempotency is");
        }
        if dedupe.is_some() {
            refuse(at.push_key("dedupe"), "de-duplication is");
        }
    }
    if let Some(Store::Redis(_)) = document.store {
        refuse(root.push_key("store"), "a store other than `local` is");
    }
    if document.store_full.is_some() {
        refuse(
            root.push_key("store_full"),
            "`store_full` belongs to idempotency, which is",
        );
    }
    if document.capacity.is_some() {
        refuse(
            root.push_key("capacity"),
            "`capacity` belongs to idempotency, which is",
        );
    }
}
