//! Path patterns.

use deserr::ValuePointerRef;

use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{PathPattern, Segment};

/// The longest path pattern, in bytes.
const MOST_BYTES: usize = 1024;

/// A path pattern: exact, `/prefix/*`, or a template `/orders/{id}`.
pub(super) fn pattern(
    text: &str,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<PathPattern> {
    match parse(text) {
        Ok(pattern) => Some(pattern),
        Err(reason) => {
            let text = shown(text);
            faults.add(at, format!("`{text}` is not a path pattern; {reason}"));
            None
        }
    }
}

fn parse(text: &str) -> Result<PathPattern, String> {
    let Some(path) = text.strip_prefix('/') else {
        return Err("begin it with `/`".to_owned());
    };
    if text.len() > MOST_BYTES {
        return Err(format!("write at most {MOST_BYTES} bytes"));
    }
    if let Some(char) = text.chars().find(|char| !char.is_ascii_graphic()) {
        let char = char.escape_unicode();
        return Err(format!("write `{char}` in percent-encoding"));
    }
    if text.contains(['?', '#']) {
        return Err("leave out `?` and `#`: the query is no part of the path".to_owned());
    }
    if let Some(message) = encoding(text) {
        return Err(message);
    }
    let mut segments = Vec::new();
    let mut template = false;
    let mut rest = Some(path);
    while let Some(now) = rest {
        let (segment, after) = match now.split_once('/') {
            Some((segment, after)) => (segment, Some(after)),
            None => (now, None),
        };
        rest = after;
        if segment.is_empty() && after.is_some() {
            return Err("write one `/` where two stand together".to_owned());
        }
        if matches!(segment, "." | "..") {
            return Err(
                "leave out `.` and `..`: clients' paths have none when they are matched".to_owned(),
            );
        }
        if segment == "*" && after.is_none() {
            if template {
                return Err("use either `*` or `{name}`, not both".to_owned());
            }
            let prefix = text.strip_suffix('*').unwrap_or(text);
            return Ok(PathPattern::Prefix(prefix.to_owned()));
        }
        if segment.contains('*') {
            return Err("`*` may only be the whole last segment, like `/hooks/*`".to_owned());
        }
        if variable(segment) {
            template = true;
            segments.push(Segment::Any);
        } else if segment.contains(['{', '}']) {
            return Err("a `{name}` is a whole segment, 1 to 64 letters, digits and `_`, like `/orders/{id}`".to_owned());
        } else {
            segments.push(Segment::Literal(segment.to_owned()));
        }
    }
    Ok(if template {
        PathPattern::Template(segments)
    } else {
        PathPattern::Exact(text.to_owned())
    })
}

fn variable(segment: &str) -> bool {
    let name = segment
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// What is wrong with the percent-encoding: each character has one spelling (RFC 3986, section 6.2.2).
fn encoding(text: &str) -> Option<String> {
    for part in text.split('%').skip(1) {
        let digits = part
            .get(..2)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            return Some("write two hexadecimal digits after `%`".to_owned());
        };
        let byte = u8::from_str_radix(digits, 16).unwrap_or_default();
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            let char = char::from(byte);
            return Some(format!("write `{char}` instead of `%{digits}`"));
        }
        let upper = digits.to_ascii_uppercase();
        if digits != upper {
            return Some(format!("write `%{upper}` instead of `%{digits}`"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Segment {
        Segment::Literal(text.to_owned())
    }

    #[test]
    fn each_kind_of_pattern_has_its_own_form() {
        assert_eq!(parse("/"), Ok(PathPattern::Exact("/".to_owned())));
        assert_eq!(parse("/a/b/"), Ok(PathPattern::Exact("/a/b/".to_owned())));
        assert_eq!(parse("/a%2Fb"), Ok(PathPattern::Exact("/a%2Fb".to_owned())));
        assert_eq!(parse("/*"), Ok(PathPattern::Prefix("/".to_owned())));
        assert_eq!(
            parse("/hooks/*"),
            Ok(PathPattern::Prefix("/hooks/".to_owned()))
        );
        assert_eq!(
            parse("/orders/{id}/lines"),
            Ok(PathPattern::Template(vec![
                literal("orders"),
                Segment::Any,
                literal("lines")
            ]))
        );
        assert_eq!(
            parse("/orders/{id}/"),
            Ok(PathPattern::Template(vec![
                literal("orders"),
                Segment::Any,
                literal("")
            ]))
        );
    }
}
