//! The way of a request through gate, cache and role `origin`.

use sha2::{Digest as _, Sha256};
use tidegate_core::cache::path::{mark, restore};
use tidegate_core::cache::{
    Edit, Expected, INSTRUCTION, Marker, SCOPE, ScopeKey, Sender, Use, origin, outgoing,
};
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine;
use tidegate_core::policy::Policy;
use tidegate_core::reserved;

use crate::asked::{Asked, Line};
use crate::values::Values;

const POLICY: &[u8] = br#"{
  "policy": "path", "version": "1",
  "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
  "routes": [
    {"name": "mine", "match": {"path": "/mine/*"}, "cache": {"scope": ["tenant", "account"]}},
    {"name": "tenant", "match": {"path": "/tenant/*"}, "cache": {"scope": ["tenant"], "by": "header"}},
    {"name": "public", "match": {"path": "/public/*"}, "cache": {"scope": "public"}},
    {"name": "any", "cache": {"scope": ["tenant", "header:x-kind"]}}
  ]
}"#;

/// A header line of its own.
type Owned = (Vec<u8>, Vec<u8>);

/// A marker in is a marker out, and the application gets its request byte for byte.
pub fn path(data: &[u8]) {
    // Nobody knows the key, so no request has its marker in it.
    let marker = Marker::from_bytes(Sha256::digest(data).into());
    let marked = mark(data, &marker);
    assert_eq!(
        restore(&marked).as_deref(),
        Some(data),
        "marked and restored"
    );
    // Envoy may have put something behind it.
    let longer = [&marked[..], b"&added=1"].concat();
    let added = restore(&longer).expect("a mark");
    assert!(
        added.ends_with(b"added=1") && added.starts_with(data),
        "what stands behind it stays"
    );
    passes(data, &marker);
}

/// Takes a request through the gate and the role `origin`.
fn passes(data: &[u8], marker: &Marker) {
    let policy = Policy::parse(POLICY).expect("a policy");
    // Nor does anybody know what is random.
    let unknown = marker
        .as_bytes()
        .first_chunk()
        .map_or(0, |first| u64::from_le_bytes(*first));
    // Behind an empty line stands what the application answers.
    let blank = data.windows(2).position(|pair| pair == b"\n\n");
    let (data, answered) = data.split_at(blank.unwrap_or(data.len()));
    let answered = Asked::read(answered.get(1..).unwrap_or_default());
    let asked = Asked::read(data);
    let lines = asked.lines();
    let facts = CaseFacts {
        address: "192.0.2.1:4711".to_owned(),
        scope_key: ScopeKey::new(marker.as_bytes()),
        randoms: unknown.into(),
        ..CaseFacts::default()
    };
    let request = asked.request(&lines, &facts);
    let mut store = Values::default();
    let decision = engine::decide(&policy, &request, &mut store, &mut (), 1);
    let reserved = lines.iter().any(|(name, _)| reserved::is_header(name));
    assert!(
        !reserved || decision.denial.is_some(),
        "a name of ours passed"
    );
    if decision.denial.is_some() {
        return;
    }
    let plan = decision.cache.expect("every route speaks of caches");
    let mut sent: Vec<Line<'_>> = vec![
        (b":method", asked.method),
        (b":path", asked.path),
        (b":authority", asked.authority),
    ];
    sent.extend(&lines);
    let asked_lines = sent.clone();
    let instruction = plan.instruction.to_bytes();
    sent.push((INSTRUCTION.as_bytes(), &instruction));
    if let Some(marker) = &plan.marker {
        sent.push((SCOPE.as_bytes(), marker.as_bytes()));
    }
    assert_eq!(plan.path.is_some(), plan.instruction.marked);
    if let Some(path) = &plan.path {
        assert_ne!(path, asked.path);
        sent[1].1 = path;
    }
    if plan.instruction.usage == Use::Scoped {
        assert!(plan.marker.is_some(), "a scope without a marker");
    }
    let (told, edits) = origin::request(&sent);
    assert_eq!(told.instruction, Some(plan.instruction));
    assert_eq!(told.marker, plan.marker);
    assert_eq!(origin::Told::read(&told.to_bytes()), told);
    let got = edited(&sent, &edits);
    let wanted = edited(&asked_lines, &[]);
    // `:path` is set anew, and stands elsewhere in a list of lines; in Envoy's map it has a place of its own.
    let split = |lines: Vec<Owned>| -> (Vec<Owned>, Vec<Owned>) {
        lines.into_iter().partition(|(name, _)| name == b":path")
    };
    assert_eq!(split(got), split(wanted), "byte for byte");
    leaves(&told, &plan.expected, &answered.lines(), marker);
}

/// A response with these lines: what must not be kept is not, and nothing of ours that came from outside is believed.
fn leaves(told: &origin::Told, expected: &Expected, lines: &[Line<'_>], forged: &Marker) {
    let mut answered: Vec<Line<'_>> = vec![(b":status", b"200")];
    answered.extend(lines);
    answered.push((b"x-tidegate-seal", forged.as_bytes()));
    let sent = edited(&answered, &origin::response(told, &answered));
    let values = |wanted: &[u8]| -> Vec<&[u8]> {
        let found = sent.iter().filter(|(name, _)| name == wanted);
        found.map(|(_, value)| &value[..]).collect()
    };
    let seals = values(b"x-tidegate-seal");
    let own = told.marker.iter();
    let own: Vec<&[u8]> = own.map(|marker| marker.as_bytes() as &[u8]).collect();
    assert_eq!(seals, own, "the seal is the caller's");
    let plain = |name: &'static [u8]| {
        let found = lines.iter().filter(move |(known, _)| *known == name);
        found.map(|(_, value)| *value)
    };
    let targeted = plain(b"cdn-cache-control").next().is_some();
    let quoted = plain(b"cache-control").any(|value| value.contains(&b'"'));
    let secret = plain(b"cache-control")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|word| {
            let word = word.trim_ascii();
            word.eq_ignore_ascii_case(b"no-store") || word.eq_ignore_ascii_case(b"private")
        });
    let cookie = plain(b"set-cookie").next().is_some();
    let bypass = told
        .instruction
        .is_some_and(|told| told.usage == Use::Bypass);
    if bypass || cookie || (secret && !targeted && !quoted) {
        assert_eq!(values(b"cache-control"), [b"no-store"], "it may be kept");
    }
    let lines: Vec<Line<'_>> = sent
        .iter()
        .map(|(name, value)| (&name[..], &value[..]))
        .collect();
    let Ok(edits) = outgoing(expected, Sender::Upstream, &lines) else {
        return;
    };
    for (name, value) in edited(&lines, &edits) {
        assert!(!reserved::is_header(&name), "{name:?} leaves");
        if let Some(own) = &told.marker {
            let marked = value
                .windows(Marker::LEN)
                .any(|part| part == own.as_bytes());
            assert!(!marked, "the marker leaves in {name:?}");
        }
    }
}

/// Header lines after changes.
fn edited(headers: &[Line<'_>], edits: &[Edit]) -> Vec<Owned> {
    let mut lines: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect();
    for edit in edits {
        match edit {
            Edit::Remove(name) => lines.retain(|(known, _)| known != name),
            Edit::Set(name, value) => {
                lines.retain(|(known, _)| known != name);
                lines.push((name.clone(), value.clone()));
            }
            Edit::Add(name, value) => lines.push((name.clone(), value.clone())),
        }
    }
    lines
}
