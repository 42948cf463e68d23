//! The role `origin`, behind the cache: what the application gets, and what the cache gets back.

use super::headers::{Line, find, joined, one};
use super::judge::{is_personal, is_targeted};
use super::outgoing::scrub_lines;
use super::{
    ADDED, Edit, INSTRUCTION, Instruction, KEPT, Marker, SCOPE, SEAL, Use, Verdict, judge, path,
};
use crate::reserved;

/// What the gate told about a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// What to make of it; `None`: the request did not come through the gate.
    pub instruction: Option<Instruction>,
    /// Whose copy it is for.
    pub marker: Option<Marker>,
}

impl Told {
    /// To be remembered for another attempt at the same request, whose headers are those that the first one left; empty
    /// if nothing was told.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Some(instruction) = &self.instruction else {
            return Vec::new();
        };
        let mut bytes = instruction.to_bytes();
        if let Some(marker) = &self.marker {
            bytes.push(b'\n');
            bytes.extend_from_slice(marker.as_bytes());
        }
        bytes
    }

    /// What [`Told::to_bytes`] wrote; of anything else it is nothing.
    pub fn read(bytes: &[u8]) -> Self {
        let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
        Self {
            instruction: lines.next().and_then(Instruction::read),
            marker: lines.next().and_then(Marker::read),
        }
    }
}

/// What the gate told, and what is to be changed so that the application gets the request as the client sent it.
pub fn request(headers: &[Line<'_>]) -> (Told, Vec<Edit>) {
    let one = |wanted: &str| one(headers, wanted.as_bytes());
    let told = Told {
        instruction: one(INSTRUCTION).and_then(Instruction::read),
        marker: one(SCOPE).and_then(Marker::read),
    };
    let mut edits = remove_reserved(headers);
    if let Some(marker) = &told.marker {
        // Where Envoy wrote the path down, as in `x-envoy-original-path`.
        for name in names(headers, |name| {
            !name.starts_with(b":") && !reserved::is_header(name)
        }) {
            scrub_lines(marker, name, headers, &mut edits);
        }
    }
    if told.instruction.is_some_and(|told| told.marked)
        && let Some(path) = one(":path").and_then(path::restore)
    {
        edits.push(Edit::set(":path", path));
    }
    (told, edits)
}

/// What is to be changed in the response to a request of which the gate told `told`.
pub fn response(told: &Told, headers: &[Line<'_>]) -> Vec<Edit> {
    let mut edits = remove_reserved(headers);
    let instruction = told.instruction.as_ref();
    let verdict = judge(instruction, headers);
    if verdict == Verdict::Untouched {
        return edits;
    }
    // A confirmation has no body: what it confirms was sealed when it was stored, and its seal must not become that of
    // whoever asked for the confirmation. Its fields become the copy's (RFC 9111, section 3.2), whatever it says of being stored.
    let confirms = headers.contains(&(b":status", b"304"));
    let of_a_copy = instruction.is_some_and(|told| matches!(told.usage, Use::Scoped | Use::Public));
    if confirms && of_a_copy {
        edits.extend(names(headers, is_personal).into_iter().map(Edit::remove));
    }
    if let Some(marker) = &told.marker
        && !confirms
    {
        edits.push(Edit::set(SEAL, marker.as_bytes()));
    }
    if instruction.is_some_and(|told| told.varies) {
        edits.push(Edit::add("vary", SCOPE.as_bytes()));
    }
    let control = match verdict {
        // A confirmation replaces what was kept of the copy's first one, so it must say it again.
        Verdict::Keep { control: None } if confirms => joined(headers, b"cache-control"),
        Verdict::Keep { control } => control,
        Verdict::Veto(_) => Some(b"no-store".to_vec()),
        Verdict::Untouched => None,
    };
    if let Some(control) = control {
        // Who did not come through the gate has nobody to put back what was hidden.
        if instruction.is_some() {
            edits.push(
                keep(b"cache-control", headers)
                    .unwrap_or_else(|| Edit::set(ADDED, &b"cache-control"[..])),
            );
        }
        edits.push(Edit::set("cache-control", control));
    }
    let targeted = find(headers, b"cdn-cache-control").next().is_some();
    // Where that counts, nothing else says how long a copy lives (RFC 9213, section 2.2). What is ours is gone already; kept, it
    // would be put back.
    let hidden = |name: &[u8]| {
        !reserved::is_header(name) && (hidden(name) || (targeted && name == b"expires"))
    };
    for name in names(headers, hidden) {
        if instruction.is_some() {
            edits.extend(keep(name, headers));
        }
        edits.push(Edit::remove(name));
    }
    edits
}

/// Fields that would let a cache go by something else than the marker and `Cache-Control`: the targeted ones, groups
/// of copies that reach over scopes (RFC 9875), and a leave to overlook parameters of the query.
fn hidden(name: &[u8]) -> bool {
    is_targeted(name)
        || [
            &b"cache-groups"[..],
            b"cache-group-invalidation",
            b"no-vary-search",
        ]
        .contains(&name)
}

/// Every name for which `wanted` holds, once.
fn names<'a>(headers: &[Line<'a>], wanted: impl Fn(&[u8]) -> bool) -> Vec<&'a [u8]> {
    let mut names: Vec<&[u8]> = Vec::new();
    for (name, _) in headers {
        if wanted(name) && !names.contains(name) {
            names.push(name);
        }
    }
    names
}

/// Takes out what is ours.
fn remove_reserved(headers: &[Line<'_>]) -> Vec<Edit> {
    let names = names(headers, reserved::is_header);
    names.into_iter().map(Edit::remove).collect()
}

/// Keeps a header under a name that no cache knows; `None` if it is not there.
fn keep(name: &[u8], headers: &[Line<'_>]) -> Option<Edit> {
    let kept = [KEPT.as_bytes(), name].concat();
    joined(headers, name).map(|value| Edit::set(kept, value))
}
