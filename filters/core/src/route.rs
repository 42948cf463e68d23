//! Which route a request takes: the first that matches, in the order written.

use std::borrow::Cow;

use crate::policy::{PathPattern, Policy, Route, RouteMatch, Segment};
use crate::request::Request;

/// The first route that takes `request`.
pub fn find<'p>(policy: &'p Policy, request: &Request<'_>) -> Option<&'p Route> {
    if policy.routes.is_empty() {
        return None;
    }
    let path = canonical(request.path_only());
    let host = if policy.routes.iter().any(|r| r.matcher.host.is_some()) {
        request.host()
    } else {
        Vec::new()
    };
    policy
        .routes
        .iter()
        .find(|route| takes(&route.matcher, request, &path, &host))
}

fn takes(matcher: &RouteMatch, request: &Request<'_>, path: &[u8], host: &[u8]) -> bool {
    let RouteMatch {
        methods,
        path: pattern,
        host: wanted,
        headers,
    } = matcher;
    (methods.is_empty() || methods.iter().any(|m| m.as_bytes() == request.method))
        && pattern.as_ref().is_none_or(|p| path_matches(p, path))
        && wanted.as_ref().is_none_or(|w| w.as_bytes() == host)
        && headers
            .iter()
            .all(|(name, value)| has_header(request, name, value))
}

fn has_header(request: &Request<'_>, name: &str, value: &str) -> bool {
    let mut lines = request.lines(name);
    lines.next() == Some(value.as_bytes()) && lines.next().is_none()
}

/// What a route asks for that a request has not; for tools, which say why a route was passed over.
#[cfg(feature = "cases")]
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// One of the route's methods.
    Method,
    /// A path that fits.
    Path,
    /// The host.
    Host,
    /// This header, once and with the value.
    Header(String),
}

/// The first thing that `matcher` asks for and `request` has not; `None` if it takes the request.
#[cfg(feature = "cases")]
pub fn missed(matcher: &RouteMatch, request: &Request<'_>) -> Option<Missed> {
    let (path, host) = (canonical(request.path_only()), request.host());
    let takes = |part: RouteMatch| takes(&part, request, &path, &host);
    let RouteMatch {
        methods,
        path: pattern,
        host: wanted,
        headers,
    } = matcher.clone();
    let any = RouteMatch::default;
    if !takes(RouteMatch { methods, ..any() }) {
        return Some(Missed::Method);
    }
    if !takes(RouteMatch {
        path: pattern,
        ..any()
    }) {
        return Some(Missed::Path);
    }
    if !takes(RouteMatch {
        host: wanted,
        ..any()
    }) {
        return Some(Missed::Host);
    }
    let absent = |(name, value): &(String, String)| !has_header(request, name, value);
    headers
        .into_iter()
        .find(absent)
        .map(|(name, _)| Missed::Header(name))
}

/// Whether a pattern takes a path that is written as patterns write them; for tools.
#[cfg(feature = "cases")]
pub fn fits(pattern: &PathPattern, path: &str) -> bool {
    path_matches(pattern, path.as_bytes())
}

fn path_matches(pattern: &PathPattern, path: &[u8]) -> bool {
    match pattern {
        PathPattern::Exact(exact) => exact.as_bytes() == path,
        PathPattern::Prefix(prefix) => path.starts_with(prefix.as_bytes()),
        PathPattern::Template(segments) => {
            let mut parts = path
                .strip_prefix(b"/")
                .unwrap_or(path)
                .split(|b| *b == b'/');
            segments.iter().all(|segment| {
                parts.next().is_some_and(|part| match segment {
                    Segment::Literal(text) => text.as_bytes() == part,
                    Segment::Any => !part.is_empty(),
                })
            }) && parts.next().is_none()
        }
    }
}

/// The path as an origin is likely to read it: percent-encoded unreserved characters decoded, the digits of
/// the others in upper case, empty and dot segments resolved (RFC 3986, section 6.2.2). Used for matching alone:
/// `/v1//charges` and `/v1/%63harges` must not slip past the route for `/v1/charges`. What the origin gets is
/// not changed here.
pub(crate) fn canonical(path: &[u8]) -> Cow<'_, [u8]> {
    // Not one comparison too early: so many bytes are looked at at once.
    let odd = |byte: u8, next: u8| (byte == b'/') & ((next == b'/') | (next == b'.'));
    let pairs = path.iter().zip(path.get(1..).unwrap_or_default());
    let odd = pairs.fold(false, |seen, (byte, next)| seen | odd(*byte, *next));
    if !odd && !path.contains(&b'%') {
        return Cow::Borrowed(path);
    }
    let decoded = decode_unreserved(path);
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut segments = decoded.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            b".." => {
                kept.pop();
            }
            b"." | b"" => {}
            other => kept.push(other),
        }
        // A path that ends in a slash or a dot segment names a folder, and keeps its slash.
        if last && matches!(segment, b".." | b"." | b"") {
            kept.push(b"");
        }
    }
    let mut canonical = Vec::with_capacity(decoded.len());
    for segment in kept {
        canonical.push(b'/');
        canonical.extend_from_slice(segment);
    }
    Cow::Owned(canonical)
}

/// Decodes what could stand for itself (RFC 3986, section 2.3).
fn decode_unreserved(path: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%'
            && let Some((digits, after)) = after.split_first_chunk::<2>()
            && let Some(value) = core::str::from_utf8(digits)
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            if value.is_ascii_alphanumeric() || b"-._~".contains(&value) {
                decoded.push(value);
            } else {
                // Two spellings of one character: the one in upper case is written (section 6.2.2.1).
                decoded.push(b'%');
                decoded.extend(digits.iter().map(u8::to_ascii_uppercase));
            }
            rest = after;
        } else {
            decoded.push(*byte);
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canon(path: &str) -> String {
        String::from_utf8(canonical(path.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn paths_that_an_origin_reads_alike_match_alike() {
        for path in [
            "/v1//charges",
            "/v1/./charges",
            "/v1/x/../charges",
            "//v1/charges",
            "/v1/%63harges",
            "/v1/%2e/charges",
            "/../v1/charges",
        ] {
            assert_eq!(canon(path), "/v1/charges", "{path}");
        }
    }

    #[test]
    fn what_an_origin_tells_apart_stays_apart() {
        for path in [
            "/v1/charges/",
            "/V1/charges",
            "/v1/a%2Fb",
            "/v1/charges;x=1",
            "/",
            "/a%zz",
            "/%",
            "/v1/.x",
            "/a%2",
        ] {
            assert_eq!(canon(path), path, "{path}");
        }
        assert_eq!(canon("/v1/a%2fb"), "/v1/a%2Fb");
        assert_eq!(canon("/v1/charges//"), "/v1/charges/");
        assert_eq!(canon("/v1/charges/."), "/v1/charges/");
        assert_eq!(canon("/v1/charges/x/.."), "/v1/charges/");
    }

    #[test]
    fn a_template_takes_as_many_segments_as_written() {
        let template = PathPattern::Template(vec![Segment::Literal("orders".into()), Segment::Any]);
        assert!(path_matches(&template, b"/orders/7"));
        for path in [
            "/orders",
            "/orders/",
            "/orders/7/",
            "/orders/7/items",
            "/order/7",
        ] {
            assert!(!path_matches(&template, path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn a_prefix_is_whole_segments() {
        let prefix = PathPattern::Prefix("/hooks/".into());
        assert!(path_matches(&prefix, b"/hooks/a/b"));
        assert!(!path_matches(&prefix, b"/hooks"));
        assert!(!path_matches(&prefix, b"/hooksx"));
    }
}
