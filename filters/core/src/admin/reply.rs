//! Answers: as JSON, or as a page to whom prefers one.

use base64ct::{Base64, Encoding as _};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::view::View;
use super::{Asked, page};
use crate::policy::Policy;
use crate::store::StoreError;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The header lines.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// What was changed, as a line for the log.
    pub log: Option<String>,
}

/// Why a request is not answered as it would like to.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    title: &'static str,
    detail: String,
    allow: Option<&'static str>,
}

#[derive(Serialize)]
struct Problem<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'a str,
}

impl Refusal {
    pub(super) fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            title,
            detail: detail.into(),
            allow: None,
        }
    }

    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(400, "Bad Request", detail)
    }

    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", detail)
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(409, "Conflict", detail)
    }

    pub(super) fn unknown() -> Self {
        Self::new(
            404,
            "Not Found",
            "there is nothing here; ask for `/`, `/policy`, `/limits` or `/records`",
        )
    }

    pub(super) fn method(allow: &'static str) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(
                405,
                "Method Not Allowed",
                format!("this takes {allow}; send one of these"),
            )
        }
    }

    pub(super) fn reply(&self, asked: &Asked<'_>) -> Reply {
        let Self {
            status,
            title,
            detail,
            allow,
        } = self;
        // What may not ask gets no page either.
        let (kind, body) = if *status != 403 && prefers_html(asked) {
            (HTML, page::refusal(title, detail).into_bytes())
        } else {
            let problem = Problem {
                r#type: "about:blank",
                title,
                status: *status,
                detail,
            };
            ("application/problem+json", json(&problem))
        };
        let mut headers = headers(kind);
        headers.extend(allow.map(|allow| ("allow", allow.to_owned())));
        Reply {
            status: *status,
            headers,
            body,
            log: None,
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let detail = match error {
            StoreError::Unavailable => "the shared data cannot be read or written; ask again",
            StoreError::Malformed => "a value is not in the format of this version",
            StoreError::Contended => "others were faster each time; ask again",
        };
        Self::new(503, "Service Unavailable", detail)
    }
}

const HTML: &str = "text/html; charset=utf-8";

impl Reply {
    pub(super) fn of(policy: &Policy, view: &View, asked: &Asked<'_>, log: Option<String>) -> Self {
        let (kind, body) = if prefers_html(asked) {
            (HTML, page::page(policy, view).into_bytes())
        } else {
            ("application/json", json(view))
        };
        Self {
            status: 200,
            headers: headers(kind),
            body,
            log,
        }
    }
}

/// A value as JSON, with a line end for terminals.
fn json(value: &impl Serialize) -> Vec<u8> {
    // Texts and numbers can always be written.
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    body
}

/// The header lines of every answer. A page runs the one script that it has, and may be shown in no other.
fn headers(kind: &str) -> Vec<(&'static str, String)> {
    let script = Base64::encode_string(&Sha256::digest(page::SCRIPT.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    vec![
        ("content-type", kind.to_owned()),
        ("cache-control", "no-store".to_owned()),
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("vary", "accept".to_owned()),
    ]
}

/// Whether a page is preferred to JSON (RFC 9110, section 12.5.1).
fn prefers_html(asked: &Asked<'_>) -> bool {
    let lines = asked.headers.iter().filter(|(name, _)| *name == b"accept");
    let ranges = lines.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    let (mut html, mut json, mut any) = (0, None, 0);
    for range in ranges {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts
            .find_map(|part| part.strip_prefix(b"q="))
            .map_or(1000, weight);
        match kind.as_slice() {
            b"text/html" => html = weight,
            b"application/json" => json = Some(weight),
            b"*/*" => any = weight,
            _ => {}
        }
    }
    html > json.unwrap_or(any)
}

/// A weight in thousandths: `0` to `1`, with at most three digits behind the point.
fn weight(text: &[u8]) -> u16 {
    let text = str::from_utf8(text).unwrap_or_default();
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    if whole != "0" {
        return 1000;
    }
    let digits = rest
        .bytes()
        .filter(u8::is_ascii_digit)
        .chain([b'0'; 3])
        .take(3);
    digits.fold(0, |sum: u16, digit| {
        sum.saturating_mul(10)
            .saturating_add(u16::from(digit.saturating_sub(b'0')))
    })
}
