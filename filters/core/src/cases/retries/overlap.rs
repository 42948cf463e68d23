//! Whether a route of Envoy and one of the policy may take the same request. In doubt they do.

use serde_json::Value;

use super::json::{array, get, text};
use crate::policy::{By, PathPattern, Route, Segment};

/// The requests that a route of Envoy takes.
pub(super) struct Taken<'v> {
    domains: Vec<&'v str>,
    path: Path,
    /// The one method; `None`: any.
    method: Option<&'v str>,
}

/// Which paths a route of Envoy takes.
enum Path {
    Exact(String),
    Prefix(String),
    /// Not known.
    Any,
}

impl<'v> Taken<'v> {
    /// The requests of a route of this virtual host.
    pub(super) fn new(host: &'v Value, route: &'v Value) -> Self {
        let domains = get(host, "domains").map_or(&[][..], |(_, domains)| array(domains));
        let matcher = get(route, "match").map_or(&Value::Null, |(_, matcher)| matcher);
        Self {
            domains: domains.iter().filter_map(text).collect(),
            path: Path::of(matcher),
            method: method(matcher),
        }
    }

    /// Whether a request of this route of the policy may be among them.
    pub(super) fn may_meet(&self, own: &Route) -> bool {
        self.meets_host(own) && self.meets_method(own) && self.path.meets(own.matcher.path.as_ref())
    }

    fn meets_host(&self, own: &Route) -> bool {
        let Some(host) = &own.matcher.host else {
            return true;
        };
        self.domains.is_empty()
            || self.domains.iter().any(|domain| {
                let domain = domain.to_ascii_lowercase();
                // Without the port, which a policy's hosts do not have.
                let bare = domain.split(':').next().unwrap_or_default();
                match (bare.strip_prefix('*'), bare.strip_suffix('*')) {
                    (Some(suffix), _) => host.ends_with(suffix),
                    (None, Some(prefix)) => host.starts_with(prefix),
                    (None, None) => host == bare,
                }
            })
    }

    /// Whether it may have a method for which the policy keeps records.
    fn meets_method(&self, own: &Route) -> bool {
        let Some(method) = self.method else {
            return true;
        };
        let methods = &own.matcher.methods;
        let named = methods.iter().any(|own| own == method);
        let by_key = own
            .idempotency
            .as_ref()
            .is_some_and(|rule| matches!(rule.by, By::Key { .. }));
        let recorded = match method {
            "POST" | "PATCH" => true,
            "GET" | "HEAD" | "OPTIONS" | "TRACE" => !by_key,
            _ => !by_key || named,
        };
        recorded && (methods.is_empty() || named)
    }
}

/// The one method that a match asks for.
fn method(matcher: &Value) -> Option<&str> {
    let (_, headers) = get(matcher, "headers")?;
    array(headers).iter().find_map(|header| {
        let (_, name) = get(header, "name")?;
        let inverted = get(header, "invert_match").is_some_and(|(_, v)| *v == Value::Bool(true));
        if text(name) != Some(":method") || inverted {
            return None;
        }
        let exact =
            get(header, "exact_match").or_else(|| get(get(header, "string_match")?.1, "exact"))?;
        text(exact.1)
    })
}

impl Path {
    fn of(matcher: &Value) -> Self {
        let member = |key| get(matcher, key).and_then(|(_, value)| text(value));
        if get(matcher, "case_sensitive").is_some_and(|(_, v)| *v == Value::Bool(false)) {
            return Self::Any;
        }
        match (member("path"), member("prefix")) {
            (Some(path), _) => Self::Exact(path.to_owned()),
            (None, Some(prefix)) => Self::Prefix(prefix.to_owned()),
            // What begins with this and goes on is more than what it says, and no harm.
            (None, None) => match member("path_separated_prefix") {
                Some(prefix) => Self::Prefix(prefix.to_owned()),
                None => Self::Any,
            },
        }
    }

    fn meets(&self, own: Option<&PathPattern>) -> bool {
        let Some(own) = own else { return true };
        match (self, own) {
            (Self::Any, _) => true,
            (Self::Exact(path), PathPattern::Exact(own)) => path == own,
            (Self::Exact(path), PathPattern::Prefix(own)) => path.starts_with(own.as_str()),
            (Self::Exact(path), PathPattern::Template(own)) => fits(path, own, true),
            (Self::Prefix(prefix), PathPattern::Exact(own)) => own.starts_with(prefix.as_str()),
            (Self::Prefix(prefix), PathPattern::Prefix(own)) => {
                own.starts_with(prefix.as_str()) || prefix.starts_with(own.as_str())
            }
            (Self::Prefix(prefix), PathPattern::Template(own)) => fits(prefix, own, false),
        }
    }
}

/// Whether a path has these segments, or, if it is not `whole`, whether one that begins with it may have.
fn fits(path: &str, own: &[Segment], whole: bool) -> bool {
    let Some(path) = path.strip_prefix('/') else {
        return path.is_empty() && !whole;
    };
    let segments: Vec<&str> = path.split('/').collect();
    let count = segments.len();
    if count > own.len() || whole && count < own.len() {
        return false;
    }
    segments
        .iter()
        .zip(own)
        .enumerate()
        .all(|(index, (segment, own))| {
            let open = !whole && index.saturating_add(1) == count;
            match own {
                Segment::Any => open || !segment.is_empty(),
                Segment::Literal(own) if open => own.starts_with(segment),
                Segment::Literal(own) => own == segment,
            }
        })
}
