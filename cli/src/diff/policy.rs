//! The document as a whole.

use tidegate_core::policy::{Notify, Policy, RateLimitHeaders, StoreErrorRule};
use tidegate_core::records::Room;

use super::change::{Changes, Kind, Weight, at};
use super::names::Names;
use super::{force, identity, limit, routes, words};

pub(super) fn compare(old: &Policy, new: &Policy, changes: &mut Changes) {
    let Policy {
        name,
        version,
        mode: _,
        canary: _,
        identity: old_identity,
        limits: _,
        always: _,
        routes: _,
        problem_base,
        headers,
        legacy_headers,
        store_error,
        store_full,
        room,
        notify,
        admin,
    } = old;
    if *name != new.name {
        changes.weigh(
            Weight::Everybody,
            Kind::Changed,
            &at(&["policy"]),
            format!("it is another policy (`{name}` -> `{}`): all buckets, records and copies start anew", new.name),
        );
    }
    force::compare(old, new, changes);
    identity::compare(old_identity, &new.identity, changes);
    limit::compare_all(old, new, changes);
    always(old, new, changes);
    routes::compare(old, new, changes);
    if old.caches() != new.caches() {
        let text = if new.caches() {
            "every caller: nothing of a route without `cache` is stored any more"
        } else {
            "every caller: nothing is said to caches any more, which keep what the origin lets them"
        };
        changes.weigh(Weight::Everybody, Kind::Changed, &at(&["routes"]), text);
    }
    rule(
        "store_error",
        "whose limits or record cannot be read",
        (*store_error, new.store_error),
        changes,
    );
    rule(
        "store_full",
        "for whose record there is no room",
        (*store_full, new.store_full),
        changes,
    );
    self::room(room, &new.room, changes);
    let mut told = |key: &str, text: String| {
        changes.weigh(Weight::Told, Kind::Changed, &at(&[key]), text);
    };
    if *version != new.version {
        told(
            "version",
            format!("version `{version}` -> `{}`", new.version),
        );
    }
    if *headers != new.headers {
        let (old, new) = (sent(*headers), sent(new.headers));
        told("headers", format!("`RateLimit` is sent {old} -> {new}"));
    }
    if *legacy_headers != new.legacy_headers {
        let word = if new.legacy_headers { "now" } else { "no more" };
        told("legacy_headers", format!("`X-RateLimit-*` is {word} sent"));
    }
    if *admin != new.admin {
        told(
            "admin",
            "the role `admin` answers on other addresses, or by other names".to_owned(),
        );
    }
    if *notify != new.notify {
        let receiver = |notify: &Option<Notify>| match notify {
            None => "nobody".to_owned(),
            Some(Notify { cluster, path, .. }) => format!("`{path}` of cluster `{cluster}`"),
        };
        let (old, after) = (receiver(notify), receiver(&new.notify));
        let text = if old == after {
            format!("{after} is told of refusals at other times, or in other words")
        } else {
            format!("of refusals that last is told: {old} -> {after}")
        };
        told("notify", text);
    }
    if *problem_base != new.problem_base {
        let base = |base: &Option<String>| {
            base.clone()
                .unwrap_or_else(|| "urn:tidegate:problem:".to_owned())
        };
        let (old, new) = (base(problem_base), base(&new.problem_base));
        told(
            "problem_base",
            format!("types of problems begin with `{old}` -> `{new}`: who goes by them must know"),
        );
    }
}

/// The limits of every request. One that only one policy has is told of where that is.
fn always(old: &Policy, new: &Policy, changes: &mut Changes) {
    let old_names = limit::shared((old, new), words::limits(old, &old.always));
    let new_names = limit::shared((old, new), words::limits(new, &new.always));
    let names = Names::compare(&old_names, &new_names);
    let place = at(&["always"]);
    for name in names.gone {
        let (kind, text) = limit::leaves(old, name);
        let whose = all_but(&having(new, name));
        changes.weigh(Weight::Everybody, kind, &place, format!("{whose}: {text}"));
    }
    for name in names.added {
        let (kind, text) = limit::comes(new, name);
        let whose = all_but(&having(old, name));
        changes.weigh(Weight::Everybody, kind, &place, format!("{whose}: {text}"));
    }
    if let Some(order) = names.reordered {
        let order = words::list(&order);
        changes.add(
            Kind::Changed,
            &place,
            format!("every request: limits are asked in the order {order}; the first that refuses is told of"),
        );
    }
}

/// The routes that have a limit of their own accord.
fn having<'p>(policy: &'p Policy, limit: &str) -> Vec<&'p str> {
    let routes = policy.routes.iter();
    routes
        .filter(|route| words::limits(policy, &route.limits).contains(&limit))
        .map(|route| route.name.as_str())
        .collect()
}

/// Every request, but for those of these routes.
fn all_but(routes: &[&str]) -> String {
    if routes.is_empty() {
        "every request".to_owned()
    } else {
        format!("every request but those of {}", words::list(routes))
    }
}

fn rule(
    key: &str,
    whose: &str,
    (old, new): (StoreErrorRule, StoreErrorRule),
    changes: &mut Changes,
) {
    if old == new {
        return;
    }
    let kind = match new {
        StoreErrorRule::Pass => Kind::Looser,
        StoreErrorRule::Reject => Kind::Stricter,
    };
    let (old, new) = (words::rule(old), words::rule(new));
    changes.add(
        kind,
        &at(&[key]),
        format!("a request {whose}: {old} -> {new}"),
    );
}

fn room(old: &Room, new: &Room, changes: &mut Changes) {
    let Room { records, bytes } = old;
    if *records != new.records {
        changes.weigh(
            Weight::Everybody,
            Kind::Changed,
            &at(&["capacity", "records"]),
            format!("room for {records} -> {} records: all records start anew, and what was done before is not recognised", new.records),
        );
    }
    if *bytes != new.bytes {
        let kind = if new.bytes > *bytes {
            Kind::Looser
        } else {
            Kind::Stricter
        };
        let (old, new) = (words::size(*bytes), words::size(new.bytes));
        changes.add(
            kind,
            &at(&["capacity", "bytes"]),
            format!("room for stored answers: {old} -> {new}"),
        );
    }
}

const fn sent(headers: RateLimitHeaders) -> &'static str {
    match headers {
        RateLimitHeaders::Always => "always",
        RateLimitHeaders::Denied => "with refusals",
        RateLimitHeaders::Off => "never",
    }
}
