//! The places where a part of the identity may stand.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::{Ambiguity, Kind, Part, percent};
use crate::hex;
use crate::policy::{SanType, Source, SourceKind};
use crate::request::{Claim, Request};

/// The longest value that is an identity, in bytes.
pub const MAX_VALUE_LEN: usize = 1024;

/// The first source that is present wins; the ones after it are not looked at.
pub(super) fn first_present<'a>(
    sources: &'a [Source],
    request: &Request<'a>,
) -> Result<Option<Part<'a>>, Ambiguity> {
    for source in sources {
        let part = read(source, request).map_err(|fault| Ambiguity {
            source: name(&source.kind),
            fault,
        })?;
        if part.is_some() {
            return Ok(part);
        }
    }
    Ok(None)
}

/// The source as a policy names it.
pub(crate) fn name(kind: &SourceKind) -> String {
    match kind {
        SourceKind::Jwt { claim, .. } => format!("jwt {claim}"),
        SourceKind::Header(name) => format!("header {name}"),
        SourceKind::Query(name) => format!("query {name}"),
        SourceKind::Cookie(name) => format!("cookie {name}"),
        SourceKind::San(SanType::Uri) => "san uri".to_owned(),
        SourceKind::San(SanType::Dns) => "san dns".to_owned(),
    }
}

fn read<'a>(source: &'a Source, request: &Request<'a>) -> Result<Option<Part<'a>>, &'static str> {
    let (kind, name, issuer, value) = match &source.kind {
        SourceKind::Jwt { claim, payload } => {
            let value = text(request.facts.claim(payload, claim))?;
            let issuer = match value {
                Some(_) => text(request.facts.claim(payload, "iss"))?,
                None => None,
            };
            (
                Kind::Jwt,
                claim.as_str(),
                issuer.map(Cow::into_owned),
                value,
            )
        }
        SourceKind::Header(name) => (Kind::Header, name.as_str(), None, header(name, request)?),
        SourceKind::Query(name) => (Kind::Query, name.as_str(), None, query(name, request)?),
        SourceKind::Cookie(name) => (Kind::Cookie, name.as_str(), None, cookie(name, request)?),
        SourceKind::San(san) => {
            let value = request.facts.peer_san(*san).map(Cow::Owned);
            (Kind::San, san_name(*san), None, value)
        }
    };
    let Some(value) = value else {
        return Ok(None);
    };
    if trim(&value).is_empty() {
        return Ok(None);
    }
    if value.len() > MAX_VALUE_LEN {
        return Err("is longer than 1,024 bytes; send a shorter one");
    }
    if value.iter().any(u8::is_ascii_control) {
        return Err("has control characters; leave them out");
    }
    Ok(Some(Part {
        kind,
        source: name,
        issuer: issuer.unwrap_or_default(),
        value: if source.secret {
            Cow::Owned(digest(&value))
        } else {
            value
        },
    }))
}

/// The part that a source gives where `value` stands in it. Of a secret, its digest will do too.
pub(crate) fn part<'a>(source: &'a Source, issuer: &str, value: &'a str) -> Part<'a> {
    let (kind, name) = match &source.kind {
        SourceKind::Jwt { claim, .. } => (Kind::Jwt, claim.as_str()),
        SourceKind::Header(name) => (Kind::Header, name.as_str()),
        SourceKind::Query(name) => (Kind::Query, name.as_str()),
        SourceKind::Cookie(name) => (Kind::Cookie, name.as_str()),
        SourceKind::San(san) => (Kind::San, san_name(*san)),
    };
    Part {
        kind,
        source: name,
        issuer: match kind {
            Kind::Jwt => issuer.as_bytes().to_vec(),
            _ => Vec::new(),
        },
        value: if source.secret && !is_digest(value) {
            Cow::Owned(digest(value.as_bytes()))
        } else {
            Cow::Borrowed(value.as_bytes())
        },
    }
}

/// Whether a text is what [`digest`] makes.
fn is_digest(value: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let digits = value.strip_prefix("sha256:");
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(hex))
}

const fn san_name(san: SanType) -> &'static str {
    match san {
        SanType::Uri => "uri",
        SanType::Dns => "dns",
    }
}

fn text(claim: Claim<'_>) -> Result<Option<Cow<'_, [u8]>>, &'static str> {
    match claim {
        Claim::Absent => Ok(None),
        Claim::Text(text) => Ok(Some(text)),
        Claim::NotText => Err("is not a text; use a claim that is a string"),
    }
}

/// A header of exactly one line, without a comma: two lines that somebody joined are still two. Some origins take
/// `x_api_key` for `x-api-key`, so a caller who sends that is somebody else there, and is refused here.
fn header<'a>(name: &str, request: &Request<'a>) -> Result<Option<Cow<'a, [u8]>>, &'static str> {
    if request.has_twin(name) {
        return Err("is also there with underscores; send it once, with hyphens");
    }
    let value = only(request.lines(name))?;
    if value.is_some_and(|value| value.contains(&b',')) {
        return Err("has a comma, as if it were present twice; send it once, without a comma");
    }
    Ok(value.map(|value| Cow::Borrowed(trim(value))))
}

/// A parameter of the query, decoded: two spellings of one value are one caller.
fn query<'a>(name: &str, request: &Request<'a>) -> Result<Option<Cow<'a, [u8]>>, &'static str> {
    let query = request.query().unwrap_or_default();
    let values = query.split(|byte| *byte == b'&').filter_map(|pair| {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let key = percent::decode(halves.next()?, true)?;
        (*key == *name.as_bytes()).then(|| halves.next().unwrap_or_default())
    });
    match only(values)? {
        None => Ok(None),
        Some(value) => match percent::decode(value, true) {
            Some(Cow::Borrowed(value)) => Ok(Some(Cow::Borrowed(trim(value)))),
            Some(Cow::Owned(value)) => Ok(Some(Cow::Owned(trim(&value).to_vec()))),
            None => Err("has a percent sign without two hex digits; encode it as `%25`"),
        },
    }
}

/// A cookie (RFC 6265, section 5.4), whichever of the cookie lines it is on.
fn cookie<'a>(name: &str, request: &Request<'a>) -> Result<Option<Cow<'a, [u8]>>, &'static str> {
    let values = request
        .lines("cookie")
        .flat_map(|line| line.split(|byte| *byte == b';'))
        .filter_map(|pair| {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            (trim(halves.next()?) == name.as_bytes()).then(|| halves.next().unwrap_or_default())
        });
    let value = only(values)?.map(trim);
    // The quotes are no part of the value to most origins (RFC 6265, section 4.1.1).
    let bare = |value: &'a [u8]| match value {
        [b'"', bare @ .., b'"'] => bare,
        other => other,
    };
    Ok(value.map(bare).map(Cow::Borrowed))
}

fn only<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<Option<&'a [u8]>, &'static str> {
    let first = values.next();
    if values.next().is_some() {
        return Err("is present twice; send it once");
    }
    Ok(first)
}

/// Without the spaces and tabs around it (OWS of RFC 9110, section 5.6.3), for values that a client writes and an
/// origin may trim; other control characters stay, and are refused. Verified names are taken as they are.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// What stands for a secret everywhere.
pub(crate) fn digest(secret: &[u8]) -> Vec<u8> {
    format!("sha256:{}", hex::digits(&Sha256::digest(secret))).into_bytes()
}
