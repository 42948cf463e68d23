//! Which requests a route takes.

use deserr::ValuePointerRef;

use super::header;
use super::pattern::pattern;
use crate::policy::RouteMatch;
use crate::policy::document::{Entries, List, Match};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;

pub(super) fn matcher(wire: Match, at: ValuePointerRef<'_>, faults: &mut Faults) -> RouteMatch {
    let Match {
        methods,
        path,
        host,
        headers,
    } = wire;
    RouteMatch {
        methods: methods
            .map(|list| self::methods(list, at.push_key("methods"), faults))
            .unwrap_or_default(),
        path: path.and_then(|text| pattern(&text, at.push_key("path"), faults)),
        host: host.and_then(|text| self::host(text, at.push_key("host"), faults)),
        headers: headers
            .map(|entries| self::headers(entries, at.push_key("headers"), faults))
            .unwrap_or_default(),
    }
}

fn methods(list: List<String>, at: ValuePointerRef<'_>, faults: &mut Faults) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    if list.is_empty() {
        faults.add(
            at,
            "the list is empty; leave the key out to take every method",
        );
    }
    for (index, method) in list.into_iter().enumerate() {
        let at = at.push_index(index);
        let Some(method) = method else { continue };
        let shown = shown(&method);
        if method.len() > 64 || !header::token(&method) {
            faults.add(
                at,
                format!("`{shown}` is not a method; write it like `GET`"),
            );
        } else if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
            let upper = method.to_ascii_uppercase();
            faults.add(at, format!("`{shown}` is not a method; write `{upper}`"));
        } else if methods.contains(&method) {
            faults.add(at, format!("`{shown}` stands here twice; keep one"));
        } else {
            methods.push(method);
        }
    }
    methods
}

fn host(text: String, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<String> {
    let shown = shown(&text);
    let bracketed = text.starts_with('[') && text.ends_with(']');
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let message = if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let lower = crate::policy::mistake::shown(&text.to_ascii_lowercase());
        format!("hosts are compared in lower case; write `{lower}`")
    } else if let Some(relative) = text.strip_suffix('.') {
        let relative = crate::policy::mistake::shown(relative);
        format!("hosts are compared without the dot at their end; write `{relative}`")
    } else if !bracketed && text.contains(':') {
        format!("`{shown}` is not a host; leave out scheme and port, like `api.example.com`")
    } else if text.len() > 255
        || text.is_empty()
        || !(text.bytes().all(letter)
            || (bracketed
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || b"[]:.".contains(&byte))))
    {
        format!("`{shown}` is not a host; write one whole name, like `api.example.com`")
    } else {
        return Some(text);
    };
    faults.add(at, message);
    None
}

fn headers(
    Entries(entries): Entries<String>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in entries {
        let at = at.push_key(&name);
        let name = match header::header(&name, at, faults) {
            Some(name) if name == "host" => {
                faults.add(
                    at,
                    "`host` is no header here; use the key `host` of `match`",
                );
                continue;
            }
            Some(name) => name,
            None => continue,
        };
        let Some(value) = value else { continue };
        if headers.iter().any(|(earlier, _)| *earlier == name) {
            faults.add(at, format!("`{name}` stands here twice; keep one"));
        }
        if value.is_empty()
            || value.len() > 1024
            || value.trim() != value
            || value.chars().any(char::is_control)
        {
            let shown = shown(&value);
            faults.add(
                at,
                format!("`{shown}` is no header's value; write 1 to 1024 bytes without control characters or white space around them"),
            );
        }
        headers.push((name, value));
    }
    headers
}
