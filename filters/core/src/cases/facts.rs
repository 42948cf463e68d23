//! The facts of a request that nobody sent.

use core::cell::Cell;

use serde_json::Value;

use crate::cache::ScopeKey;
use crate::policy::SanType;
use crate::request::{Claim, Facts};

/// What a proxy would know about a made-up request.
#[derive(Debug, Clone, Default)]
pub struct CaseFacts {
    /// The trusted client address; empty if there is none.
    pub address: String,
    /// The claims of the verified token, whatever key its payload is kept under.
    pub claims: Option<Value>,
    /// The names in the validated client certificate.
    pub san: Vec<(SanType, String)>,
    /// The key for signed addresses.
    pub address_key: Vec<u8>,
    /// The time of day, in seconds since 1970.
    pub unix_seconds: u64,
    /// Whether a body comes behind the headers.
    pub has_body: bool,
    /// The key under which cache scopes are digested.
    pub scope_key: ScopeKey,
    /// How many random numbers were asked for; each is another.
    pub randoms: Cell<u64>,
}

impl Facts for CaseFacts {
    fn claim(&self, _: &str, name: &str) -> Claim<'_> {
        let Some(claims) = &self.claims else {
            return Claim::Absent;
        };
        let nested = || {
            name.split('.')
                .try_fold(claims, |value, name| value.get(name))
        };
        match claims.get(name).or_else(nested) {
            None | Some(Value::Null) => Claim::Absent,
            Some(Value::String(text)) => Claim::Text(text.as_bytes().into()),
            Some(_) => Claim::NotText,
        }
    }

    fn source_address(&self) -> Vec<u8> {
        self.address.clone().into_bytes()
    }

    fn peer_san(&self, san: SanType) -> Option<Vec<u8>> {
        let (_, name) = self.san.iter().find(|(kind, _)| *kind == san)?;
        Some(name.clone().into_bytes())
    }

    fn address_key(&self) -> &[u8] {
        &self.address_key
    }

    fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }

    fn scope_key(&self) -> &ScopeKey {
        &self.scope_key
    }

    fn has_body(&self) -> bool {
        self.has_body
    }

    fn has_token(&self) -> bool {
        self.claims.is_some()
    }

    fn random(&self) -> Option<[u8; 32]> {
        let count = self.randoms.get().wrapping_add(1);
        self.randoms.set(count);
        let mut random = [b'r'; 32];
        let (number, _) = random.split_first_chunk_mut::<8>()?;
        *number = count.to_be_bytes();
        Some(random)
    }
}
