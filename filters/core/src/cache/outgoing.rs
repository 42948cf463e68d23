//! What leaves the gate: a response to its own caller, without anything of ours.

use std::borrow::Cow;

use super::directives::{Directives, members};
use super::headers::{Line, find};
use super::judge::{is_personal, is_targeted};
use super::{ADDED, CACHE_NAME, Edit, Expected, KEPT, Marker, SCOPE, SEAL, Use};
use crate::identity::digest;
use crate::reserved::{self, PARAMETER};

/// Who sent a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Whoever stands behind Envoy: the origin, or a cache in front of it.
    Upstream,
    /// A cache in Envoy.
    Cache,
    /// Envoy itself: it speaks for nobody, so it has no seal.
    Envoy,
}

/// A response that is not its caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// There is no seal where there must be one.
    NoSeal,
    /// It is a copy, and the request was for none.
    Copy,
    /// The marker led the request another way than Envoy had chosen.
    Way,
    /// There is no seal, and it is an error with this status: the word of some proxy on the way.
    NoAnswer(u16),
    /// The seal is another caller's.
    Seal,
    /// The origin names another owner, or none.
    Owner,
}

impl Mismatch {
    /// What is wrong, for a log.
    pub const fn shown(self) -> &'static str {
        match self {
            Self::NoSeal | Self::NoAnswer(_) => "had no seal",
            Self::Seal => "had another caller's seal",
            Self::Copy => "was a copy, and the request for none",
            Self::Way => "came from another route of Envoy",
            Self::Owner => "named another owner, or none",
        }
    }
}

const CONTROL: &[u8] = b"cache-control";

/// What is to be changed in a response before it leaves.
///
/// # Errors
/// A [`Mismatch`]: it must not leave.
pub fn outgoing(
    expected: &Expected,
    sender: Sender,
    headers: &[Line<'_>],
) -> Result<Vec<Edit>, Mismatch> {
    check(expected, sender, headers)?;
    let mut edits = Vec::new();
    // A cache takes fields of a confirmation over into its copy (RFC 9111, section 3.2), and with them what was for whoever asked.
    let of_a_copy = sender == Sender::Cache && expected.usage != Use::Off;
    for (index, (name, value)) in headers.iter().enumerate() {
        let earlier = headers.get(..index).unwrap_or_default();
        if earlier.iter().any(|(known, _)| known == name) {
            continue;
        }
        if reserved::is_header(name) {
            edits.push(Edit::remove(name));
            if let Some(kept) = name.strip_prefix(KEPT.as_bytes())
                && kept != CONTROL
                && !reserved::is_header(kept)
                && !(expected.scoped && is_targeted(kept))
            {
                edits.push(Edit::set(kept, *value));
            }
        } else if (expected.scoped && is_targeted(name)) || (of_a_copy && is_personal(name)) {
            edits.push(Edit::remove(name));
        } else if *name == b"vary" {
            unvary(headers, &mut edits);
        } else if let Some(marker) = &expected.marker {
            scrub_lines(marker, name, headers, &mut edits);
        }
    }
    control(expected, headers, &mut edits);
    if let Some(status) = cache_status(expected, sender) {
        edits.push(Edit::add("cache-status", [CACHE_NAME, status].concat()));
    }
    Ok(edits)
}

/// Holds a response to what is expected of it.
fn check(expected: &Expected, sender: Sender, headers: &[Line<'_>]) -> Result<(), Mismatch> {
    // Kept before the policy was in force, or fetched from a cluster that has no role `origin`: nobody judged it.
    if expected.usage == Use::Bypass && sender == Sender::Cache {
        return Err(Mismatch::Copy);
    }
    let mut seals = find(headers, SEAL.as_bytes());
    match (seals.next(), seals.next()) {
        (None, _) => {
            if expected.sealed && sender != Sender::Envoy {
                unsealed(headers)?;
            }
        }
        (Some(seal), None) => {
            let own = expected.marker.as_ref().map(Marker::as_bytes);
            // Whoever is told no marker has no sealed copy.
            if own != Some(seal) && expected.usage != Use::Off {
                return Err(Mismatch::Seal);
            }
        }
        (Some(_), Some(_)) => return Err(Mismatch::Seal),
    }
    let Some((header, own)) = &expected.owner else {
        return Ok(());
    };
    let mut owners = find(headers, header.as_bytes())
        .map(<[u8]>::trim_ascii)
        .peekable();
    // An error page need not name anybody.
    let told = find(headers, b":status").any(|status| status.starts_with(b"2"));
    if owners.peek().is_none() && own.is_some() && told && sender != Sender::Envoy {
        return Err(Mismatch::Owner);
    }
    let own = own.as_deref().unwrap_or_default();
    if owners.any(|owner| owner.is_empty() || (owner != own && digest(owner) != own)) {
        return Err(Mismatch::Owner);
    }
    Ok(())
}

/// A response without a seal. A confirmation (304) has no body that could be another's. An error is most likely the word of
/// a proxy on the way, which got no response or would not pass the request on: its body is hidden all the same, for it
/// might be a copy of another's, but it is no leak to wake anybody for.
fn unsealed(headers: &[Line<'_>]) -> Result<(), Mismatch> {
    let status = find(headers, b":status").next().unwrap_or_default();
    let number = core::str::from_utf8(status)
        .ok()
        .and_then(|s| s.parse().ok());
    match number {
        Some(304) => Ok(()),
        Some(error @ 400..=599) => Err(Mismatch::NoAnswer(error)),
        _ => Err(Mismatch::NoSeal),
    }
}

/// `Cache-Control` as the origin sent it, and `private` for a scope's own: a browser may keep that, a cache for several
/// callers may not.
fn control(expected: &Expected, headers: &[Line<'_>], edits: &mut Vec<Edit>) {
    let kept = [KEPT.as_bytes(), CONTROL].concat();
    let is_kept = find(headers, &kept).next().is_some();
    let is_added = find(headers, ADDED.as_bytes()).next().is_some();
    let mut lines: Vec<&[u8]> = if is_kept {
        find(headers, &kept).collect()
    } else if is_added {
        Vec::new()
    } else {
        find(headers, CONTROL).collect()
    };
    let private;
    if expected.scoped {
        let mut directives = Directives::read(lines.iter().copied());
        directives.remove(&["public", "private", "s-maxage", "proxy-revalidate"]);
        directives.insert("private");
        private = directives.to_bytes();
        lines = vec![&private];
    } else if !is_kept && !is_added {
        return;
    }
    if find(headers, CONTROL).eq(lines.iter().copied()) {
        return;
    }
    edits.push(if lines.is_empty() {
        Edit::remove(CONTROL)
    } else {
        Edit::set(CONTROL, lines.join(&b", "[..]))
    });
}

/// Takes the scope out of `Vary`.
fn unvary(headers: &[Line<'_>], edits: &mut Vec<Edit>) {
    let ours = |member: &&[u8]| member.eq_ignore_ascii_case(SCOPE.as_bytes());
    let all = || find(headers, b"vary").flat_map(members);
    if !all().any(|member| ours(&member)) {
        return;
    }
    let rest: Vec<&[u8]> = all().filter(|member| !ours(member)).collect();
    edits.push(if rest.is_empty() {
        Edit::remove("vary")
    } else {
        Edit::set("vary", rest.join(&b", "[..]))
    });
}

/// Takes the marker out of a header's lines, wherever it stands.
pub(super) fn scrub_lines(
    marker: &Marker,
    name: &[u8],
    headers: &[Line<'_>],
    edits: &mut Vec<Edit>,
) {
    if find(headers, name).all(|line| position(line, marker.as_bytes()).is_none()) {
        return;
    }
    edits.push(Edit::remove(name));
    for line in find(headers, name) {
        edits.push(Edit::add(name, scrub(line, marker).into_owned()));
    }
}

/// A text without the marker: as a parameter of a path, encoded or not, or by itself.
pub fn scrub<'a>(text: &'a [u8], marker: &Marker) -> Cow<'a, [u8]> {
    let mut text = Cow::Borrowed(text);
    // Each turn takes one out.
    while let Some(at) = position(&text, marker.as_bytes()) {
        text = Cow::Owned(without(&text, at).unwrap_or_default());
    }
    text
}

/// A text without the marker at `at`, and without the parameter that holds it.
fn without(text: &[u8], at: usize) -> Option<Vec<u8>> {
    let (head, tail) = (text.get(..at)?, text.get(at..)?.get(Marker::LEN..)?);
    let head = ["=", "%3D", "%3d"]
        .into_iter()
        .find_map(|equals| {
            head.strip_suffix(equals.as_bytes())?
                .strip_suffix(PARAMETER)
        })
        .unwrap_or(head);
    for (divider, next) in [
        ("&", ""),
        ("%26", ""),
        ("?", "&"),
        ("%3F", "%26"),
        ("%3f", "%26"),
    ] {
        let Some(before) = head.strip_suffix(divider.as_bytes()) else {
            continue;
        };
        return Some(match tail.strip_prefix(next.as_bytes()) {
            // The parameter that stood first is gone; the next one is first now.
            Some(rest) if !next.is_empty() => [before, divider.as_bytes(), rest].concat(),
            _ => [before, tail].concat(),
        });
    }
    Some([head, tail].concat())
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// What the gate says in `Cache-Status` (RFC 9211): what it knows, which of a cache behind Envoy is nothing.
const fn cache_status(expected: &Expected, sender: Sender) -> Option<&'static str> {
    match (expected.usage, sender) {
        (_, Sender::Envoy) | (Use::Off, _) => None,
        (_, Sender::Cache) => Some("; hit"),
        (Use::Bypass, Sender::Upstream) if expected.marker.is_some() => Some("; fwd=bypass"),
        (_, Sender::Upstream) => None,
    }
}
