//! The rate limit fields of a canary in a response that has those of the gate in force behind it.
//!
//! # Invariants
//! - *One of a name*: no name stands twice in a field. Of two limits of one name the one that is nearer to refusing is told:
//!   fewer units are left of it, or as many and for longer.

use sfv::{BareItem, FieldType as _, List, ListEntry, Parser};

const POLICY: &str = "ratelimit-policy";
const LIMIT: &str = "ratelimit";
const REMAINING: &str = "x-ratelimit-remaining";

/// The fields that a response with these header lines is to have in place of its own, where `ours` come to them. A response
/// that says when to come back keeps what it has: a refusal behind tells of what refused.
pub fn join(
    ours: &[(&'static str, String)],
    theirs: &[(&[u8], &[u8])],
) -> Vec<(&'static str, String)> {
    let has = |name: &str| theirs.iter().any(|(own, _)| *own == name.as_bytes());
    if ours.is_empty() || (has("retry-after") && has(LIMIT)) {
        return Vec::new();
    }
    let of_ours = |name: &str| {
        let line = ours.iter().find(|(own, _)| *own == name);
        line.map(|(_, value)| value.as_str())
    };
    let read = |name: &str| list(&value(theirs, name));
    let mut policies = once(read(POLICY), |_, _| true);
    let mut limits = once(read(LIMIT), nearer);
    let our_policies = list(of_ours(POLICY).unwrap_or_default().as_bytes());
    for limit in list(of_ours(LIMIT).unwrap_or_default().as_bytes()) {
        let Some(name) = name(&limit).map(str::to_owned) else {
            continue;
        };
        let is_it = |other: &&ListEntry| self::name(other) == Some(&name);
        if limits.iter().find(is_it).is_some_and(|t| nearer(t, &limit)) {
            continue;
        }
        for list in [&mut policies, &mut limits] {
            list.retain(|other| !is_it(&other));
        }
        policies.extend(our_policies.iter().find(is_it).cloned());
        limits.push(limit);
    }
    let lists = [(POLICY, policies), (LIMIT, limits)];
    let lists = lists
        .into_iter()
        .filter_map(|(name, list)| Some((name, list.serialize()?)));
    let legacy = ours
        .iter()
        .filter(|(name, _)| name.starts_with("x-ratelimit-"))
        .cloned();
    let left = |text: &str| text.trim().parse::<u64>().ok();
    let their_left = left(&String::from_utf8_lossy(&value(theirs, REMAINING)));
    let nearest = match (their_left, of_ours(REMAINING).and_then(left)) {
        (Some(theirs), Some(ours)) => ours < theirs,
        _ => true,
    };
    let legacy = legacy.filter(|_| nearest);
    lists.chain(legacy).collect()
}

/// All lines of a field as one.
fn value(lines: &[(&[u8], &[u8])], name: &str) -> Vec<u8> {
    let own = lines.iter().filter(|(own, _)| *own == name.as_bytes());
    own.map(|(_, value)| *value)
        .collect::<Vec<_>>()
        .join(&b", "[..])
}

/// A field as a list; one that is none says nothing (RFC 9651, section 4.2).
fn list(field: &[u8]) -> List {
    Parser::new(field).parse().unwrap_or_default()
}

/// Of several entries with one name the one that goes `before` the others, if it comes first.
fn once(list: List, before: impl Fn(&ListEntry, &ListEntry) -> bool) -> List {
    let mut kept = List::new();
    for entry in list {
        let same = |other: &&mut ListEntry| name(&entry).is_some() && name(other) == name(&entry);
        match kept.iter_mut().find(same) {
            Some(other) if before(other, &entry) => {}
            Some(other) => *other = entry,
            None => kept.push(entry),
        }
    }
    kept
}

/// The name of a limit.
fn name(entry: &ListEntry) -> Option<&str> {
    match entry {
        ListEntry::Item(item) => match &item.bare_item {
            BareItem::String(text) => Some(text.as_str()),
            _ => None,
        },
        ListEntry::InnerList(_) => None,
    }
}

/// Whether one is as near to refusing as another, or nearer.
fn nearer(one: &ListEntry, other: &ListEntry) -> bool {
    let of = |entry: &ListEntry, key: &str| match entry {
        ListEntry::Item(item) => item.params.get(key).and_then(|value| match value {
            BareItem::Integer(number) => Some(i64::from(*number)),
            _ => None,
        }),
        ListEntry::InnerList(_) => None,
    };
    match (of(one, "r"), of(other, "r")) {
        (Some(left), Some(others)) if left == others => of(one, "t") >= of(other, "t"),
        (Some(left), Some(others)) => left < others,
        (left, _) => left.is_some(),
    }
}
