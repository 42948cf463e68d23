//! How callers are told apart.

use deserr::ValuePointerRef;

use super::address::address;
use super::{header, names};
use crate::policy::document::{Identity, List, San, Source as WireSource};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{IdentityRules, SanType, Source, SourceKind};

/// The most sources of one part of the identity.
const MOST_SOURCES: usize = 8;

/// The parameter that tells Envoy's caches apart.
const RESERVED_QUERY: &str = "__tidegate";

pub(super) fn identity(
    identity: Identity,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> IdentityRules {
    let Identity {
        tenant,
        account,
        plan,
        address: rule,
    } = identity;
    IdentityRules {
        tenant: sources(tenant, at.push_key("tenant"), faults),
        account: sources(account, at.push_key("account"), faults),
        plan: sources(plan, at.push_key("plan"), faults),
        address: rule
            .and_then(|rule| address(rule, at.push_key("address"), faults))
            .unwrap_or_default(),
    }
}

fn sources(
    list: Option<List<WireSource>>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<Source> {
    let Some(list) = list else {
        return Vec::new();
    };
    if list.is_empty() {
        faults.add(at, "the list is empty; name a source, or leave the key out");
    }
    faults.at_most(at, MOST_SOURCES, list.len(), "sources");
    let mut sources = Vec::new();
    for (index, wire) in list.into_iter().enumerate() {
        let at = at.push_index(index);
        let Some(source) = wire.and_then(|wire| source(wire, at, faults)) else {
            continue;
        };
        if sources
            .iter()
            .any(|earlier: &Source| earlier.kind == source.kind)
        {
            faults.add(at, "this source stands here twice; keep one");
        }
        sources.push(source);
    }
    sources
}

fn source(source: WireSource, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<Source> {
    let WireSource {
        jwt,
        header,
        query,
        cookie,
        san,
        payload,
        secret,
    } = source;
    if payload.is_some() && jwt.is_none() {
        faults.add(
            at.push_key("payload"),
            "`payload` belongs beside `jwt` only; leave it out",
        );
    }
    let kind = match (jwt, header, query, cookie, san) {
        (Some(claim), None, None, None, None) => {
            let claim = self::claim(claim, at.push_key("jwt"), faults);
            let payload = payload.unwrap_or_else(|| "jwt_payload".to_owned());
            names::visible(
                &payload,
                128,
                "a metadata key",
                at.push_key("payload"),
                faults,
            );
            SourceKind::Jwt {
                claim: claim?,
                payload,
            }
        }
        (None, Some(name), None, None, None) => {
            SourceKind::Header(header::telling(&name, at.push_key("header"), faults)?)
        }
        (None, None, Some(name), None, None) => {
            SourceKind::Query(self::query(name, at.push_key("query"), faults)?)
        }
        (None, None, None, Some(name), None) => {
            SourceKind::Cookie(self::cookie(name, at.push_key("cookie"), faults)?)
        }
        (None, None, None, None, Some(San::Uri)) => SourceKind::San(SanType::Uri),
        (None, None, None, None, Some(San::Dns)) => SourceKind::San(SanType::Dns),
        (None, None, None, None, None) => {
            if !faults.within(at) {
                faults.add(
                    at,
                    "no source is named; write one of `jwt`, `header`, `query`, `cookie` or `san`",
                );
            }
            return None;
        }
        _ => {
            faults.add(at, "more than one source is named; write each as an object of its own, in the order to try them");
            return None;
        }
    };
    Some(Source {
        kind,
        secret: secret.unwrap_or(false),
    })
}

fn claim(text: String, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<String> {
    let good = text.len() <= 256
        && !text.chars().any(char::is_control)
        && text.split('.').all(|name| !name.is_empty());
    if !good {
        let text = shown(&text);
        faults.add(
            at,
            format!("`{text}` is not a claim; write its name, with a dot before each nested one, like `org.id`"),
        );
        return None;
    }
    Some(text)
}

fn query(name: String, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<String> {
    if name == RESERVED_QUERY {
        faults.add(at, format!("`{name}` is reserved; name another parameter"));
        return None;
    }
    let visible = names::visible(&name, 128, "a parameter's name", at, faults);
    if visible && name.contains(['&', '=', '#', '+', '%']) {
        let name = shown(&name);
        faults.add(
            at,
            format!(
                "`{name}` is not a parameter's name; write it without `&`, `=`, `#`, `+` and `%`"
            ),
        );
        return None;
    }
    visible.then_some(name)
}

fn cookie(name: String, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<String> {
    if name.len() > 256 || !header::token(&name) {
        let name = shown(&name);
        faults.add(
            at,
            format!("`{name}` is not a cookie's name; write it like `session`"),
        );
        return None;
    }
    Some(name)
}
