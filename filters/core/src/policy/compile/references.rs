//! Lists of limits by name.

use deserr::ValuePointerRef;

use crate::policy::document::List;
use crate::policy::faults::Faults;
use crate::policy::mistake::{any_of, shown};
use crate::policy::nearest::nearest;
use crate::policy::{Limit, LimitId};

/// The limits in the order of their names. One that has a fault keeps its place.
pub(super) struct Limits {
    /// Each limit's name, and the limit where it has no fault.
    pub(super) by_name: Vec<(String, Option<Limit>)>,
    /// The limits could not be read at all, so that no name is known to be wrong.
    pub(super) unread: bool,
}

impl Limits {
    pub(super) fn get(&self, id: LimitId) -> Option<&Limit> {
        self.by_name.get(id.0)?.1.as_ref()
    }

    pub(super) fn name(&self, id: LimitId) -> &str {
        self.by_name.get(id.0).map_or("", |(name, _)| name)
    }

    fn find(&self, name: &str) -> Option<LimitId> {
        self.by_name
            .iter()
            .position(|(other, _)| other == name)
            .map(LimitId)
    }
}

/// The limits that a list names, each with its place in the list.
pub(super) fn references(
    list: List<String>,
    limits: &Limits,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<(usize, LimitId)> {
    let mut found: Vec<(usize, LimitId)> = Vec::new();
    for (index, name) in list.into_iter().enumerate() {
        let at = at.push_index(index);
        let Some(name) = name else { continue };
        let shown = shown(&name);
        match limits.find(&name) {
            Some(id) if found.iter().any(|(_, earlier)| *earlier == id) => {
                faults.add(at, format!("`{shown}` stands here twice; keep one"));
            }
            Some(id) => found.push((index, id)),
            None if limits.unread => {}
            None => {
                let hint = hint(&name, limits);
                faults.add(at, format!("no limit is named `{shown}`; {hint}"));
            }
        }
    }
    found
}

fn hint(name: &str, limits: &Limits) -> String {
    // A name that is none has a mistake of its own, and may hold anything.
    let names: Vec<String> = (limits.by_name.iter().map(|(name, _)| shown(name))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() {
        "write it under `limits` first".to_owned()
    } else if let Some(near) = nearest(name, &names) {
        format!("did you mean `{near}`?")
    } else if names.len() > 8 {
        "write one of those under `limits`".to_owned()
    } else {
        format!("write {}", any_of(&names))
    }
}
