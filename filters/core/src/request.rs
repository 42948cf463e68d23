//! The facts about a request. What costs a host call is behind [`Facts`] and asked for only when needed.

use std::borrow::Cow;

use crate::cache::ScopeKey;
use crate::policy::SanType;

/// A request, as it arrived. All bytes are the client's unless said otherwise.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The path with its query.
    pub path: &'a [u8],
    /// The authority, as `:authority` or `Host` gave it; empty if there is none.
    pub authority: &'a [u8],
    /// Every header line, in order, names in lower case.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// What the proxy knows beside the headers.
    pub facts: &'a dyn Facts,
}

/// What the proxy knows about a request beside its headers. Never the client's word.
pub trait Facts {
    /// A claim of the verified token whose payload is kept under `payload`. Dots in `name` reach into
    /// nested objects, unless one claim has all of it as its name.
    fn claim(&self, payload: &str, name: &str) -> Claim<'_>;

    /// The trusted client address with its port, such as `192.0.2.1:4711` or `[2001:db8::1]:4711`;
    /// empty if there is none.
    fn source_address(&self) -> Vec<u8>;

    /// A subject alternative name of the client certificate, if the connection has one that was validated.
    fn peer_san(&self, san: SanType) -> Option<Vec<u8>>;

    /// The key for signed addresses, from the environment; empty if there is none.
    fn address_key(&self) -> &[u8];

    /// The time of day, in seconds since 1970.
    fn unix_seconds(&self) -> u64;

    /// The key under which cache scopes are digested.
    fn scope_key(&self) -> &ScopeKey;

    /// Whether a body comes behind the headers.
    fn has_body(&self) -> bool {
        false
    }

    /// Whether Envoy verified a token of this request, which may be gone from its headers.
    fn has_token(&self) -> bool {
        false
    }

    /// Whether a policy in shadow stands in front, and compares whose copies requests are for.
    fn is_compared(&self) -> bool {
        false
    }

    /// Random bytes; `None` where the host has none.
    fn random(&self) -> Option<[u8; 32]>;
}

/// What a token says under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim<'a> {
    /// Nothing, or `null`.
    Absent,
    /// A text.
    Text(Cow<'a, [u8]>),
    /// A number, a truth value, a list or an object: nothing that tells callers apart. Numbers are out
    /// because Envoy keeps them as doubles, in which 2^53 and 2^53 + 1 are the same.
    NotText,
}

impl<'a> Request<'a> {
    /// Every line of a header; `name` in lower case.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(header, _)| *header == name.as_bytes())
            .map(|(_, value)| *value)
    }

    /// Whether a header is there whose name is `name` but for underscores in place of hyphens, or hyphens in place
    /// of underscores.
    pub fn has_twin(&self, name: &str) -> bool {
        let name = name.as_bytes();
        self.headers.iter().any(|(header, _)| {
            header.len() == name.len()
                && *header != name
                && header
                    .iter()
                    .zip(name)
                    .all(|(one, other)| hyphened(*one) == hyphened(*other))
        })
    }

    /// The path without its query.
    pub fn path_only(&self) -> &'a [u8] {
        self.path
            .split(|byte| *byte == b'?')
            .next()
            .unwrap_or_default()
    }

    /// The query, without the question mark; `None` if there is no question mark.
    pub fn query(&self) -> Option<&'a [u8]> {
        let mark = self.path.iter().position(|byte| *byte == b'?')?;
        self.path.get(mark..)?.get(1..)
    }

    /// The host that the authority names, in lower case, as origins read it: without the port, without what may stand before an `@`
    /// (RFC 9110, section 4.2.4), and without the dot of an absolute name, so that `api.example.com.` is no way past a route.
    pub fn host(&self) -> Vec<u8> {
        let mut parts = self.authority.rsplit(|byte| *byte == b'@');
        let authority = parts.next().unwrap_or_default();
        let end = match authority.iter().rposition(|byte| *byte == b':') {
            Some(colon)
                if authority
                    .get(colon..)
                    .is_some_and(|port| port.iter().skip(1).all(u8::is_ascii_digit)) =>
            {
                colon
            }
            _ => authority.len(),
        };
        let mut host = authority.get(..end).unwrap_or_default();
        while let Some(relative) = host.strip_suffix(b".") {
            host = relative;
        }
        host.to_ascii_lowercase()
    }
}

/// A byte of a header name as some origins read it: they take underscores for hyphens.
pub(crate) const fn hyphened(byte: u8) -> u8 {
    if byte == b'_' { b'-' } else { byte }
}

#[cfg(all(test, feature = "cases"))]
mod tests {
    use super::Request;
    use crate::cases::CaseFacts;

    #[test]
    fn a_host_is_what_origins_read_it_as() {
        for (authority, host) in [
            ("api.example.com", "api.example.com"),
            ("API.example.com:8443", "api.example.com"),
            ("api.example.com:", "api.example.com"),
            ("api.example.com.", "api.example.com"),
            ("api.example.com.:443", "api.example.com"),
            ("api.example.com..", "api.example.com"),
            ("amy@api.example.com", "api.example.com"),
            ("amy:1@other@api.example.com.:80", "api.example.com"),
            ("[2001:DB8::1]:80", "[2001:db8::1]"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("@", ""),
            ("", ""),
        ] {
            let request = Request {
                method: b"GET",
                path: b"/",
                authority: authority.as_bytes(),
                headers: &[],
                facts: &CaseFacts::default(),
            };
            assert_eq!(request.host(), host.as_bytes(), "{authority}");
        }
    }
}
