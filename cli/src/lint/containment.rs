//! Whether one matcher takes every request that another one takes.

use tidegate_core::policy::{PathPattern, RouteMatch, Segment};
use tidegate_core::route;

/// Whether `wide` takes whatever `narrow` takes among the requests with this method (`None`: with any).
pub fn covers(wide: &RouteMatch, narrow: &RouteMatch, method: Option<&str>) -> bool {
    let RouteMatch {
        methods,
        path,
        host,
        headers,
    } = wide;
    let takes_method = match method {
        Some(method) => methods.is_empty() || methods.iter().any(|own| own == method),
        None => methods.is_empty(),
    };
    takes_method
        && path.as_ref().is_none_or(|wide| match &narrow.path {
            Some(narrow) => covers_path(wide, narrow),
            None => covers_every_path(wide, method),
        })
        && (host.is_none() || *host == narrow.host)
        && headers.iter().all(|header| narrow.headers.contains(header))
}

/// Whether some request is taken by both.
pub fn meet(one: &RouteMatch, other: &RouteMatch) -> bool {
    let RouteMatch {
        methods,
        path,
        host,
        headers,
    } = one;
    let same_method = methods.is_empty()
        || other.methods.is_empty()
        || methods.iter().any(|method| other.methods.contains(method));
    let same_host = host.is_none() || other.host.is_none() || *host == other.host;
    let unlike = |(name, value): &(String, String)| {
        let mut others = other.headers.iter();
        others.any(|(other_name, other_value)| name == other_name && value != other_value)
    };
    same_method
        && same_host
        && !headers.iter().any(unlike)
        && match (path, &other.path) {
            (Some(one), Some(other)) => meet_path(one, other),
            _ => true,
        }
}

fn meet_path(one: &PathPattern, other: &PathPattern) -> bool {
    match (one, other) {
        (pattern, PathPattern::Exact(path)) | (PathPattern::Exact(path), pattern) => {
            route::fits(pattern, path)
        }
        (PathPattern::Prefix(one), PathPattern::Prefix(other)) => {
            one.starts_with(other.as_str()) || other.starts_with(one.as_str())
        }
        (PathPattern::Prefix(prefix), PathPattern::Template(segments))
        | (PathPattern::Template(segments), PathPattern::Prefix(prefix)) => {
            let wanted: Vec<&str> = match prefix.trim_matches('/') {
                "" => Vec::new(),
                prefix => prefix.split('/').collect(),
            };
            segments.len() > wanted.len()
                && segments.iter().zip(wanted).all(|(own, wanted)| match own {
                    Segment::Literal(text) => text == wanted,
                    Segment::Any => true,
                })
        }
        (PathPattern::Template(one), PathPattern::Template(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|pair| match pair {
                    (Segment::Literal(one), Segment::Literal(other)) => one == other,
                    (Segment::Any, Segment::Literal(text))
                    | (Segment::Literal(text), Segment::Any) => !text.is_empty(),
                    (Segment::Any, Segment::Any) => true,
                })
        }
    }
}

/// `OPTIONS *` and CONNECT have no path that begins with a slash; everything else has.
fn covers_every_path(wide: &PathPattern, method: Option<&str>) -> bool {
    let all = matches!(wide, PathPattern::Prefix(prefix) if prefix == "/");
    all && method.is_some_and(|method| !matches!(method, "OPTIONS" | "CONNECT"))
}

fn covers_path(wide: &PathPattern, narrow: &PathPattern) -> bool {
    match (wide, narrow) {
        (wide, PathPattern::Exact(path)) => route::fits(wide, path),
        // An exact path is one path, and what else there is takes many.
        (PathPattern::Exact(_), _) => false,
        (PathPattern::Prefix(wide), PathPattern::Prefix(narrow)) => narrow.starts_with(wide),
        (PathPattern::Prefix(wide), PathPattern::Template(segments)) => {
            begins(segments, wide.trim_matches('/'))
        }
        (PathPattern::Template(_), PathPattern::Prefix(_)) => false,
        (PathPattern::Template(wide), PathPattern::Template(narrow)) => {
            wide.len() == narrow.len()
                && wide.iter().zip(narrow).all(|pair| match pair {
                    (Segment::Any, Segment::Any) => true,
                    // `{name}` takes no empty segment.
                    (Segment::Any, Segment::Literal(text)) => !text.is_empty(),
                    (Segment::Literal(wide), Segment::Literal(narrow)) => wide == narrow,
                    (Segment::Literal(_), Segment::Any) => false,
                })
        }
    }
}

/// Whether every path of a template begins with these segments and goes on.
fn begins(segments: &[Segment], prefix: &str) -> bool {
    if prefix.is_empty() {
        return true;
    }
    let wanted: Vec<&str> = prefix.split('/').collect();
    segments.len() > wanted.len()
        && segments.iter().zip(wanted).all(|(own, wanted)| match own {
            Segment::Literal(text) => text == wanted,
            Segment::Any => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::policy::Policy;

    /// A matcher as a policy writes it.
    fn matcher(json: &str) -> RouteMatch {
        let text = format!(
            r#"{{"policy": "p", "version": "1", "routes": [{{"name": "r", "match": {json}}}]}}"#
        );
        let policy = Policy::parse(text.as_bytes()).unwrap();
        policy.routes[0].matcher.clone()
    }

    fn covered(wide: &str, narrow: &str) -> bool {
        covers(&matcher(wide), &matcher(narrow), Some("GET"))
    }

    #[test]
    fn a_wider_path_covers_a_narrower_one() {
        for (wide, narrow) in [
            ("/a", "/a"),
            ("/a/*", "/a/b"),
            ("/a/*", "/a/b/*"),
            ("/*", "/{x}"),
            ("/a/*", "/a/{x}"),
            ("/a/*", "/a/b/{x}/c"),
            ("/{x}", "/a"),
            ("/{x}/b", "/a/b"),
            ("/{x}/{y}", "/a/{z}"),
        ] {
            let path = |path| format!(r#"{{"path": "{path}"}}"#);
            assert!(covered(&path(wide), &path(narrow)), "{wide} {narrow}");
        }
    }

    #[test]
    fn what_takes_a_request_more_is_not_covered() {
        for (wide, narrow) in [
            ("/a", "/b"),
            ("/a", "/a/*"),
            ("/a/*", "/a"),
            ("/a/*", "/{x}/b"),
            ("/a/*", "/ab/*"),
            ("/a/b/*", "/a/{x}"),
            ("/a/b/*", "/a/*"),
            ("/{x}", "/{x}/"),
            ("/{x}", "/*"),
            ("/{x}/b", "/{x}/{y}"),
            ("/a/{x}", "/a/"),
        ] {
            let path = |path| format!(r#"{{"path": "{path}"}}"#);
            assert!(!covered(&path(wide), &path(narrow)), "{wide} {narrow}");
        }
    }

    #[test]
    fn a_host_or_header_narrows() {
        assert!(covered(
            "{}",
            r#"{"host": "a.test", "headers": {"x-a": "1"}}"#
        ));
        assert!(!covered(r#"{"host": "a.test"}"#, "{}"));
        assert!(!covered(r#"{"host": "a.test"}"#, r#"{"host": "b.test"}"#));
        assert!(!covered(r#"{"headers": {"x-a": "1"}}"#, "{}"));
        assert!(!covered(
            r#"{"headers": {"x-a": "1"}}"#,
            r#"{"headers": {"x-a": "2"}}"#
        ));
        assert!(covered(
            r#"{"headers": {"x-a": "1"}}"#,
            r#"{"headers": {"x-b": "2", "x-a": "1"}}"#
        ));
    }

    #[test]
    fn methods_narrow_and_some_have_no_path() {
        let (all, slash, post) = (
            matcher("{}"),
            matcher(r#"{"path": "/*"}"#),
            matcher(r#"{"methods": ["POST"]}"#),
        );
        assert!(covers(&all, &post, Some("POST")));
        assert!(!covers(&post, &all, None));
        assert!(covers(&slash, &all, Some("GET")));
        assert!(!covers(&slash, &all, Some("OPTIONS")));
        assert!(!covers(&slash, &all, None));
    }
}
