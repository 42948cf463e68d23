//! What a shared cache may keep (RFC 9111, section 3), judged where the response is made: caches differ in what they
//! read, and some read `Private` as nothing.

use super::directives::{Directives, members};
use super::headers::{Line, find};
use super::{Instruction, Use};

/// What a cache may do with a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Keep it, as far as this `Cache-Control` lets it.
    Keep {
        /// What the cache must see in place of the response's own; `None`: that will do.
        control: Option<Vec<u8>>,
    },
    /// Not keep it.
    Veto(Veto),
    /// Whatever it would without us.
    Untouched,
}

/// Why a response must not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Veto {
    /// The request was not for a copy, or did not come through the gate.
    Bypass,
    /// `no-store` or `private`, in any letter case (RFC 9111, sections 5.2.2.5 and 5.2.2.7).
    Directive,
    /// `Vary: *` (section 4.1), or by credentials where the scope is not one caller's own.
    Vary,
    /// `Set-Cookie` (section 7.3).
    SetCookie,
    /// The request was authorized, and the response does not say that it may be shared (section 3.5).
    Authorization,
    /// A field between two proxies (section 3.1).
    Proxy,
}

/// Directives that let a shared cache keep an authorized response (RFC 9111, section 3.5).
const SHAREABLE: [&str; 3] = ["public", "must-revalidate", "s-maxage"];

/// Fields by which a caller is known from now on.
const COOKIES: [&[u8]; 2] = [b"set-cookie", b"set-cookie2"];

/// Fields that no cache stores (RFC 9111, section 3.1).
const PROXY: [&[u8]; 3] = [
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-authorization",
];

/// Fields that are one caller's, and in nobody's copy.
pub(super) fn is_personal(name: &[u8]) -> bool {
    COOKIES.contains(&name) || PROXY.contains(&name)
}

/// Fields by which caches are told in place of `Cache-Control`: a CDN's (RFC 9213), and those that Varnish and nginx
/// go by.
pub(super) fn is_targeted(name: &[u8]) -> bool {
    name.ends_with(b"-cache-control")
        || [
            &b"surrogate-control"[..],
            b"edge-control",
            b"x-accel-expires",
        ]
        .contains(&name)
}

/// Judges a response to a request of which `instruction` tells; `None`: the gate told nothing.
pub fn judge(instruction: Option<&Instruction>, headers: &[Line<'_>]) -> Verdict {
    let Some(instruction) = instruction else {
        return Verdict::Veto(Veto::Bypass);
    };
    match instruction.usage {
        Use::Off => return Verdict::Untouched,
        Use::Bypass => return Verdict::Veto(Veto::Bypass),
        Use::Scoped | Use::Public => {}
    }
    let lines = |wanted: &'static [u8]| find(headers, wanted);
    let there = |name: &'static [u8]| lines(name).next().is_some();
    let own = Directives::read(lines(b"cache-control"));
    let targeted = Directives::read_targeted(lines(b"cdn-cache-control"));
    let directives = targeted.as_ref().unwrap_or(&own);
    if directives.any(&["no-store", "private"]) {
        return Verdict::Veto(Veto::Directive);
    }
    let varies = |member: &[u8]| {
        let by = |name: &str| member.eq_ignore_ascii_case(name.as_bytes());
        by("*") || (!instruction.own && (by("authorization") || by("cookie")))
    };
    if lines(b"vary").flat_map(members).any(varies) {
        return Verdict::Veto(Veto::Vary);
    }
    if COOKIES.into_iter().any(there) {
        return Verdict::Veto(Veto::SetCookie);
    }
    if PROXY.into_iter().any(there) {
        return Verdict::Veto(Veto::Proxy);
    }
    // A confirmation that says nothing leaves what was said when the copy was stored.
    let silent = lines(b":status").any(|status| status == b"304") && directives.is_empty();
    if instruction.authorized && !silent && !directives.any(&SHAREABLE) {
        return Verdict::Veto(Veto::Authorization);
    }
    // One line, names in lower case: some caches read no other.
    let control = directives.to_bytes();
    let same = {
        let mut lines = lines(b"cache-control");
        lines.next().unwrap_or_default() == control && lines.next().is_none()
    };
    Verdict::Keep {
        control: (!same).then_some(control),
    }
}
