//! Shows a policy what a log says: each value where the policy looks for it, so that the engine decides as it does in Envoy.

use std::cell::Cell;

use smallvec::SmallVec;
use tidegate_core::cache::ScopeKey;
use tidegate_core::idempotency::key::HEADER as IDEMPOTENCY_KEY;
use tidegate_core::policy::{Cost, Policy, SanType, Source, SourceKind};
use tidegate_core::request::{Claim, Facts, Request};

use super::field::{Fields, Target};
use super::record::Record;

/// Where the values of a log's fields stand in the requests that a policy is shown.
#[derive(Debug)]
pub(crate) struct Presenter {
    method: Option<usize>,
    path: Option<usize>,
    host: Option<usize>,
    address: Option<usize>,
    /// Name, field, and whether the value is put in quotes.
    headers: Vec<(String, usize, Quote)>,
    claims: Vec<(String, usize)>,
    cookies: Vec<(String, usize)>,
    queries: Vec<(String, usize)>,
    sans: Vec<(SanType, usize)>,
    /// A number of its own for each request, from which its random bytes come.
    randoms: Cell<u64>,
    scope_key: ScopeKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    /// As it is.
    No,
    /// As a String of structured fields, unless it is one.
    Key,
}

/// What a request is made of that is in no field as it stands.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    cookie: Vec<u8>,
    path: Vec<u8>,
    key: Vec<u8>,
}

/// What Envoy knew about a request beside its headers.
struct LogFacts<'a> {
    presenter: &'a Presenter,
    record: &'a Record,
}

impl Presenter {
    pub(crate) fn new(policy: &Policy, fields: &Fields) -> Self {
        let mut presenter = Self {
            method: fields.find(&Target::Method),
            path: fields.find(&Target::Path),
            host: fields.find(&Target::Host),
            address: fields.find(&Target::Address),
            headers: Vec::new(),
            claims: Vec::new(),
            cookies: Vec::new(),
            queries: Vec::new(),
            sans: Vec::new(),
            randoms: Cell::new(0),
            scope_key: ScopeKey::default(),
        };
        // Fields that name a place go before those that name a part: a header is there once.
        for (index, field) in fields.iter().enumerate() {
            match &field.target {
                Target::Header(name) if name == IDEMPOTENCY_KEY => {
                    presenter.headers.push((name.clone(), index, Quote::Key));
                }
                Target::Header(name) => presenter.header(name, index),
                Target::Claim(name) => presenter.claims.push((name.clone(), index)),
                _ => {}
            }
        }
        let identity = &policy.identity;
        let parts = [
            (Target::Tenant, &identity.tenant),
            (Target::Account, &identity.account),
            (Target::Plan, &identity.plan),
        ];
        for (part, sources) in parts {
            if let (Some(index), Some(source)) = (fields.find(&part), sources.first()) {
                presenter.part(source, index);
            }
        }
        if let Some(index) = fields.find(&Target::Cost) {
            for route in &policy.routes {
                if let Cost::Header { name, .. } = &route.cost {
                    presenter.header(name, index);
                }
            }
        }
        presenter
    }

    /// The fields that the request is made of, all but the path.
    pub(crate) fn beside_path(&self) -> Vec<usize> {
        let places = [self.method, self.host, self.address];
        let headers = self.headers.iter().map(|(_, field, _)| *field);
        let sans = self.sans.iter().map(|(_, field)| *field);
        let named = self.claims.iter().chain(&self.cookies);
        let named = named.map(|(_, field)| *field);
        let mut fields: Vec<_> = places.into_iter().flatten().collect();
        fields.extend(headers.chain(sans).chain(named));
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    fn header(&mut self, name: &str, index: usize) {
        if !self.headers.iter().any(|(known, ..)| known == name) {
            self.headers.push((name.to_owned(), index, Quote::No));
        }
    }

    /// A part of the identity, where its first source looks.
    fn part(&mut self, source: &Source, index: usize) {
        match &source.kind {
            SourceKind::Jwt { claim, .. } => {
                if !self.claims.iter().any(|(known, _)| known == claim) {
                    self.claims.push((claim.clone(), index));
                }
            }
            SourceKind::Header(name) => self.header(name, index),
            SourceKind::Query(name) => self.queries.push((name.clone(), index)),
            SourceKind::Cookie(name) => self.cookies.push((name.clone(), index)),
            SourceKind::San(kind) => self.sans.push((*kind, index)),
        }
    }

    /// The number of the field that stands in a source of the identity, if a log can have it at all.
    pub(crate) fn field_of(&self, source: &Source) -> Option<usize> {
        let named = |list: &[(String, usize)], wanted: &str| {
            list.iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, index)| *index)
        };
        match &source.kind {
            SourceKind::Jwt { claim, .. } => named(&self.claims, claim),
            SourceKind::Header(name) => self.field_of_header(name),
            SourceKind::Query(name) => named(&self.queries, name),
            SourceKind::Cookie(name) => named(&self.cookies, name),
            SourceKind::San(kind) => self
                .sans
                .iter()
                .find(|(known, _)| known == kind)
                .map(|(_, index)| *index),
        }
    }

    /// The number of the field that stands in a header.
    pub(crate) fn field_of_header(&self, wanted: &str) -> Option<usize> {
        self.headers
            .iter()
            .find(|(name, ..)| name == wanted)
            .map(|(_, index, _)| *index)
    }

    /// Shows a request to `look`.
    pub(crate) fn show<T>(
        &self,
        record: &Record,
        scratch: &mut Scratch,
        look: impl FnOnce(&Request<'_>) -> T,
    ) -> T {
        self.write(record, scratch);
        let Scratch { cookie, path, key } = scratch;
        let mut headers = SmallVec::<[(&[u8], &[u8]); 8]>::new();
        for (name, index, quote) in &self.headers {
            let value = match quote {
                Quote::No => record.get(*index),
                Quote::Key => key,
            };
            if !value.is_empty() {
                headers.push((name.as_bytes(), value));
            }
        }
        if !cookie.is_empty() {
            headers.push((b"cookie", cookie));
        }
        let method = record.find(self.method);
        let plain = record.find(self.path);
        let facts = LogFacts {
            presenter: self,
            record,
        };
        look(&Request {
            method: if method.is_empty() { b"GET" } else { method },
            path: match (path.is_empty(), plain.is_empty()) {
                (false, _) => path,
                (true, false) => plain,
                (true, true) => b"/",
            },
            authority: record.find(self.host),
            headers: &headers,
            facts: &facts,
        })
    }

    /// Writes what has to be put together.
    fn write(&self, record: &Record, scratch: &mut Scratch) {
        let Scratch { cookie, path, key } = scratch;
        cookie.clear();
        path.clear();
        key.clear();
        for (name, index) in &self.cookies {
            let value = record.get(*index);
            if !value.is_empty() {
                if !cookie.is_empty() {
                    cookie.extend_from_slice(b"; ");
                }
                cookie.extend_from_slice(name.as_bytes());
                cookie.push(b'=');
                cookie.extend_from_slice(value);
            }
        }
        for (name, index) in &self.queries {
            let value = record.get(*index);
            if !value.is_empty() {
                if path.is_empty() {
                    let plain = record.find(self.path);
                    path.extend_from_slice(if plain.is_empty() { b"/" } else { plain });
                }
                path.push(if path.contains(&b'?') { b'&' } else { b'?' });
                encode(name.as_bytes(), path);
                path.push(b'=');
                encode(value, path);
            }
        }
        for (_, index, quote) in &self.headers {
            let value = record.get(*index);
            if *quote == Quote::Key && !value.is_empty() {
                let bare = !value.starts_with(b"\"");
                if bare {
                    key.push(b'"');
                }
                key.extend_from_slice(value);
                if bare {
                    key.push(b'"');
                }
            }
        }
    }
}

/// Percent-encodes what is not unreserved (RFC 3986, section 2.3).
fn encode(text: &[u8], into: &mut Vec<u8>) {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    for byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            into.push(*byte);
        } else {
            let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            into.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

impl Facts for LogFacts<'_> {
    fn claim(&self, _: &str, name: &str) -> Claim<'_> {
        for (known, index) in &self.presenter.claims {
            if known == name {
                let value = self.record.get(*index);
                if !value.is_empty() {
                    return Claim::Text(value.into());
                }
            }
        }
        Claim::Absent
    }

    fn source_address(&self) -> Vec<u8> {
        self.record.find(self.presenter.address).to_vec()
    }

    fn peer_san(&self, san: SanType) -> Option<Vec<u8>> {
        let (_, index) = self.presenter.sans.iter().find(|(kind, _)| *kind == san)?;
        let value = self.record.get(*index);
        (!value.is_empty()).then(|| value.to_vec())
    }

    fn address_key(&self) -> &[u8] {
        &[]
    }

    fn unix_seconds(&self) -> u64 {
        self.record.time / 1_000_000_000
    }

    fn scope_key(&self) -> &ScopeKey {
        &self.presenter.scope_key
    }

    fn random(&self) -> Option<[u8; 32]> {
        let number = self.presenter.randoms.get().wrapping_add(1);
        self.presenter.randoms.set(number);
        let mut random = [0; 32];
        *random.first_chunk_mut::<8>()? = number.to_be_bytes();
        Some(random)
    }
}
