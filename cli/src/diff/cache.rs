//! Whose copies callers see.

use tidegate_core::policy::{Cache, CacheBy, OwnerRule, Scope, Step};

use super::change::{Changes, Kind, inside};
use super::words;

/// `told`: whether caches are told anything of the new policy's routes.
pub(super) fn compare(
    whose: &str,
    (old, new): (Option<&Cache>, Option<&Cache>),
    told: bool,
    place: &[Step],
    changes: &mut Changes,
) {
    let place = inside(place, "cache");
    match (old, new) {
        (None, None) => {}
        (None, Some(cache)) => changes.add(
            Kind::New,
            &place,
            format!("{whose}: {} share a cached copy", sharers(&cache.scope)),
        ),
        (Some(_), None) => changes.add(
            Kind::Gone,
            &place,
            if told {
                format!("{whose}: no copies are kept any more; every request reaches the origin")
            } else {
                format!("{whose}: nobody says whose copies are whose any more")
            },
        ),
        (Some(old), Some(new)) => both(whose, old, new, &place, changes),
    }
}

fn both(whose: &str, old: &Cache, new: &Cache, place: &[Step], changes: &mut Changes) {
    let Cache {
        scope,
        by,
        sealed,
        owner,
    } = old;
    if *scope != new.scope {
        let (kind, note) = match narrower(scope, &new.scope) {
            Some(true) => (Kind::Stricter, "fewer share a copy"),
            Some(false) => (
                Kind::Looser,
                "more share a copy: look whether they may see what it holds",
            ),
            None => (
                Kind::Changed,
                "others share a copy: look whether they may see what it holds",
            ),
        };
        let (old, new) = (sharers(scope), sharers(&new.scope));
        changes.add(
            kind,
            &inside(place, "scope"),
            format!("{whose}: {old} -> {new} share a cached copy, so {note}; copies start anew"),
        );
    }
    if *by != new.by {
        let word = |by: CacheBy| match by {
            CacheBy::Path => "path",
            CacheBy::Header => "header",
        };
        let (old, new) = (word(*by), word(new.by));
        changes.add(
            Kind::Changed,
            &inside(place, "by"),
            format!("{whose}: caches are told by {old} -> {new}, and have to go by that; copies start anew"),
        );
    }
    if *sealed != new.sealed {
        let (kind, text) = if new.sealed {
            (
                Kind::Stricter,
                "a response without its caller's seal is withheld",
            )
        } else {
            (Kind::Looser, "a response without a seal is let out")
        };
        changes.add(kind, &inside(place, "seal"), format!("{whose}: {text}"));
    }
    if *owner != new.owner {
        self::owner(whose, owner.as_ref(), new.owner.as_ref(), place, changes);
    }
}

fn owner(
    whose: &str,
    old: Option<&OwnerRule>,
    new: Option<&OwnerRule>,
    place: &[Step],
    changes: &mut Changes,
) {
    let shown = |rule: &OwnerRule| {
        let OwnerRule { header, names } = rule;
        format!("header `{header}` names their {names}")
    };
    let (kind, text) = match (old, new) {
        (None, Some(rule)) => (
            Kind::Stricter,
            format!("responses are withheld unless {}", shown(rule)),
        ),
        (Some(rule), None) => (
            Kind::Looser,
            format!("it is not looked at any more whether {}", shown(rule)),
        ),
        (Some(old), Some(new)) => (
            Kind::Changed,
            format!("responses are let out if {} -> {}", shown(old), shown(new)),
        ),
        (None, None) => return,
    };
    changes.add(
        kind,
        &inside(place, "owner_header"),
        format!("{whose}: {text}"),
    );
}

/// Whether fewer callers share a copy under `new` than under `old`; `None` if they are others.
fn narrower(old: &Scope, new: &Scope) -> Option<bool> {
    match (old, new) {
        (Scope::Public, Scope::Shared(_)) => Some(true),
        (Scope::Shared(_), Scope::Public) => Some(false),
        (Scope::Public, Scope::Public) => None,
        (Scope::Shared(old), Scope::Shared(new)) => {
            let all_in = |one: &[_], other: &[_]| one.iter().all(|d| other.contains(d));
            match (all_in(old, new), all_in(new, old)) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                _ => None,
            }
        }
    }
}

fn sharers(scope: &Scope) -> String {
    match scope {
        Scope::Public => "all callers".to_owned(),
        Scope::Shared(dimensions) => format!("callers of one {}", words::dimensions(dimensions)),
    }
}
