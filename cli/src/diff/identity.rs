//! How callers are told apart.

use tidegate_core::policy::{
    AddressRule, IdentityRules, SanType, SignedAddressRule, Source, SourceKind,
};

use super::change::{Changes, Kind, Weight, at, inside};
use super::names::Names;
use super::words;

pub(super) fn compare(old: &IdentityRules, new: &IdentityRules, changes: &mut Changes) {
    let IdentityRules {
        tenant,
        account,
        plan,
        address,
    } = old;
    part("tenant", tenant, &new.tenant, changes);
    part("account", account, &new.account, changes);
    part("plan", plan, &new.plan, changes);
    self::address(address, &new.address, changes);
}

fn part(part: &str, old: &[Source], new: &[Source], changes: &mut Changes) {
    let place = at(&["identity", part]);
    let names = |sources: &[Source]| sources.iter().map(name).collect::<Vec<String>>();
    let (old_names, new_names) = (names(old), names(new));
    let old_texts: Vec<&str> = old_names.iter().map(String::as_str).collect();
    let new_texts: Vec<&str> = new_names.iter().map(String::as_str).collect();
    let differ = Names::compare(&old_texts, &new_texts);
    let mut add = |kind, text| changes.weigh(Weight::Everybody, kind, &place, text);
    for gone in &differ.gone {
        add(
            Kind::Gone,
            format!("callers who are known by `{gone}` alone: no {part} any more"),
        );
    }
    for added in &differ.added {
        add(
            Kind::New,
            format!(
                "callers who have `{added}`: known as {part} by it, where no source before it is there"
            ),
        );
    }
    if let Some(order) = differ.reordered {
        let order = words::list(&order);
        add(
            Kind::Changed,
            format!(
                "callers who have several: the first of {order} is the {part}, and with another one buckets, records and copies start anew"
            ),
        );
    }
    for source in new {
        let Source { kind, secret } = source;
        let Some(before) = old.iter().find(|old| name(old) == name(source)) else {
            continue;
        };
        let name = name(source);
        if before.secret != *secret {
            let how = if *secret {
                "a digest stands for"
            } else {
                "no digest stands for"
            };
            add(
                Kind::Changed,
                format!(
                    "callers known by `{name}`: {how} the {part}, and their buckets, records and copies start anew"
                ),
            );
        }
        if let (SourceKind::Jwt { payload: old, .. }, SourceKind::Jwt { payload, .. }) =
            (&before.kind, kind)
            && old != payload
        {
            add(
                Kind::Changed,
                format!(
                    "callers known by `{name}`: its claims are read from `{payload}`, and not from `{old}`"
                ),
            );
        }
    }
}

fn address(old: &AddressRule, new: &AddressRule, changes: &mut Changes) {
    let AddressRule {
        ipv6_prefix,
        signed,
    } = old;
    let place = at(&["identity", "address"]);
    if *ipv6_prefix != new.ipv6_prefix {
        let (kind, share) = if new.ipv6_prefix > *ipv6_prefix {
            (Kind::Looser, "fewer share a bucket")
        } else {
            (Kind::Stricter, "more share a bucket")
        };
        changes.add(
            kind,
            &inside(&place, "ipv6_prefix"),
            format!(
                "callers by IPv6: told apart by {ipv6_prefix} -> {} bits, so {share}",
                new.ipv6_prefix
            ),
        );
    }
    let place = inside(&place, "signed");
    match (signed, &new.signed) {
        (None, None) => {}
        (None, Some(rule)) => changes.weigh(
            Weight::Everybody,
            Kind::New,
            &place,
            format!(
                "callers with header `{}`: the address that it signs is theirs",
                rule.header
            ),
        ),
        (Some(rule), None) => changes.weigh(
            Weight::Everybody,
            Kind::Gone,
            &place,
            format!(
                "callers with header `{}`: their address is the connection's",
                rule.header
            ),
        ),
        (Some(old), Some(new)) => self::signed(old, new, changes),
    }
}

fn signed(old: &SignedAddressRule, new: &SignedAddressRule, changes: &mut Changes) {
    let SignedAddressRule {
        header,
        key_env,
        max_age,
    } = old;
    let place = at(&["identity", "address", "signed"]);
    if *header != new.header {
        changes.weigh(
            Weight::Everybody,
            Kind::Changed,
            &inside(&place, "header"),
            format!(
                "signed addresses: read from header `{header}` -> `{}`",
                new.header
            ),
        );
    }
    if *key_env != new.key_env {
        changes.weigh(
            Weight::Everybody,
            Kind::Changed,
            &inside(&place, "key_env"),
            format!(
                "signed addresses: their key is in `{key_env}` -> `{}`, which the VM must have",
                new.key_env
            ),
        );
    }
    if *max_age != new.max_age {
        let kind = if new.max_age > *max_age {
            Kind::Looser
        } else {
            Kind::Stricter
        };
        let (old, new) = (words::duration(*max_age), words::duration(new.max_age));
        changes.add(
            kind,
            &inside(&place, "max_age"),
            format!("signed addresses: as old as {old} -> {new}"),
        );
    }
}

/// A source as a person says it.
fn name(source: &Source) -> String {
    match &source.kind {
        SourceKind::Jwt { claim, payload: _ } => format!("jwt {claim}"),
        SourceKind::Header(name) => format!("header {name}"),
        SourceKind::Query(name) => format!("query {name}"),
        SourceKind::Cookie(name) => format!("cookie {name}"),
        SourceKind::San(SanType::Uri) => "san uri".to_owned(),
        SourceKind::San(SanType::Dns) => "san dns".to_owned(),
    }
}
