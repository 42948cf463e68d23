//! A policy document, and requests to it.

use std::path::Path;

use serde_json::Value;
use tidegate_core::answer;
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine::{self, Decision};
use tidegate_core::idempotency::Turn;
use tidegate_core::policy::{MAX_DOCUMENT_BYTES, PathPattern, Policy, RouteMatch, Segment};
use tidegate_tool::lint;

use crate::asked::Asked;
use crate::values::Values;

/// Parts the policy from requests to it, and these from each other.
const DIVIDER: &[u8] = b"\n---\n";

/// How often each request is sent at one moment.
const TIMES: u64 = 3;

/// How many requests are tried of one document.
const MOST: usize = 24;

const NOW: u64 = 1_000_000_000_000;

/// It is refused with its mistakes, each with its place; or it decides, the same way each time, and admits no more than a burst.
pub fn policy(data: &[u8]) {
    let mut parts = split(data);
    let text = parts.next().unwrap_or_default();
    let requests: Vec<&[u8]> = parts.take(MOST).collect();
    let read = Policy::parse(text);
    assert_eq!(read, Policy::parse(text), "two readings differ");
    match Policy::check(text) {
        Ok(checked) if checked.not_enforced.is_empty() => {
            assert_eq!(read.as_ref(), Ok(&checked.policy));
        }
        Ok(checked) => assert_eq!(read.as_ref(), Err(&checked.not_enforced)),
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "refused without a mistake");
            assert!(mistakes.len() <= 256, "{} mistakes", mistakes.len());
            assert!(read.is_err(), "checked and read differ");
        }
    }
    linted(text, read.is_ok());
    let Ok(policy) = read else { return };
    assert!(text.len() <= MAX_DOCUMENT_BYTES);
    let made: Vec<Vec<u8>> = policy.routes.iter().map(|r| fitting(&r.matcher)).collect();
    let all = requests.into_iter().chain(made.iter().map(Vec::as_slice));
    for request in all.chain([&b"GET / api.test"[..]]).take(MOST) {
        decides(&policy, &Asked::read(request));
    }
}

/// What is found has a place in the text, and is said in one line.
fn linted(text: &[u8], accepted: bool) {
    let found = lint::policy(Path::new("policy.json"), text);
    assert_eq!(found.policy.is_some(), accepted);
    let refused = found
        .findings
        .iter()
        .any(|finding| finding.kind == lint::Kind::Mistake);
    assert_eq!(refused, !accepted);
    let lines = text.split(|byte| *byte == b'\n').count();
    for finding in &found.findings {
        assert!((1..=lines).contains(&finding.line), "{finding}");
        assert!(finding.column >= 1, "{finding}");
        let shown = finding.to_string();
        assert!(!shown.contains(['\n', '\r', '\u{1b}']), "{shown:?}");
    }
}

/// A request is decided about the same way each time, and admitted at one moment no oftener than its limits say.
fn decides(policy: &Policy, asked: &Asked<'_>) {
    let lines = asked.lines();
    let mut stores = [Values::default(), Values::default()];
    let mut admitted = 0_u64;
    for _ in 0..TIMES {
        let [one, other] = stores.each_mut().map(|store| {
            let facts = CaseFacts {
                address: "192.0.2.1:4711".to_owned(),
                unix_seconds: 1_700_000_000,
                ..CaseFacts::default()
            };
            engine::decide(policy, &asked.request(&lines, &facts), store, &mut (), NOW)
        });
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        told(policy, &one);
        let cost = engine::cost(one.route, &asked.request(&lines, &CaseFacts::default()));
        let charged = one.denial.is_none() && matches!(one.turn, Turn::Go | Turn::Run(_));
        if !charged {
            continue;
        }
        admitted += 1;
        for standing in one.standings.iter().filter(|standing| !standing.shadow) {
            let taken = admitted.saturating_mul(cost.clone().unwrap_or(1));
            let burst = standing.quota.burst();
            assert!(taken <= burst, "{taken} of a burst of {burst}");
        }
    }
}

/// What a caller is told is well formed.
fn told(policy: &Policy, decision: &Decision<'_>) {
    let fields = answer::fields(policy, decision);
    for list in [&fields.policy, &fields.limit] {
        assert!(
            list.is_empty() || crate::fields::names(list.as_bytes()).is_some(),
            "{list}"
        );
    }
    let Some(denial) = &decision.denial else {
        return;
    };
    let answer = answer::answer(policy, decision, denial, None);
    let known = [400, 401, 409, 413, 422, 429, 503];
    assert!(known.contains(&answer.status), "{}", answer.status);
    let problem: Value = serde_json::from_slice(&answer.body).expect("a problem is JSON");
    assert_eq!(problem["status"], answer.status);
    assert!(problem["type"].is_string() && problem["title"].is_string());
    for (name, value) in &answer.headers {
        let visible = |byte: u8| (b' '..=b'~').contains(&byte);
        assert!(value.bytes().all(visible), "{name}: {value:?}");
    }
    let waits = answer
        .headers
        .iter()
        .any(|(name, _)| *name == "retry-after");
    assert!(
        answer.status != 429 || waits,
        "a 429 says when to come back"
    );
}

/// A request that a route takes.
fn fitting(matcher: &RouteMatch) -> Vec<u8> {
    let method = matcher.methods.first().map_or("GET", String::as_str);
    let path = match &matcher.path {
        None => "/".to_owned(),
        Some(PathPattern::Exact(path)) => path.clone(),
        Some(PathPattern::Prefix(prefix)) => format!("{prefix}rest"),
        Some(PathPattern::Template(segments)) => segments
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => format!("/{text}"),
                Segment::Any => "/any".to_owned(),
            })
            .collect(),
    };
    let host = matcher.host.as_deref().unwrap_or("api.test");
    let mut request = format!("{method} {path} {host}");
    for (name, value) in &matcher.headers {
        request += &format!("\n{name}: {value}");
    }
    request.into_bytes()
}

fn split(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut over = false;
    core::iter::from_fn(move || {
        if over {
            return None;
        }
        let at = data
            .windows(DIVIDER.len())
            .position(|window| window == DIVIDER);
        let part = at.map_or(data, |at| &data[..at]);
        match at {
            Some(at) => data = &data[at + DIVIDER.len()..],
            None => over = true,
        }
        Some(part)
    })
}
