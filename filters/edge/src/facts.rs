//! What Envoy knows about a request beside its headers, fetched when it is asked for.

use core::cell::OnceCell;

use tidegate_core::cache::ScopeKey;
use tidegate_core::claims;
use tidegate_core::policy::SanType;
use tidegate_core::quota::NANOS_PER_SEC;
use tidegate_core::request::{Claim, Facts};

use crate::host::{self, Clock};

/// The facts of the stream that the host is calling about.
pub(crate) struct HostFacts<'a> {
    keys: &'a Keys,
    metadata: OnceCell<Vec<u8>>,
}

/// The keys that a policy asks for, from the environment of the VM.
#[derive(Default)]
pub(crate) struct Keys {
    /// For signed addresses; empty if the policy asks for none.
    pub(crate) address: Vec<u8>,
    /// For cache scopes.
    pub(crate) scope: ScopeKey,
}

impl<'a> HostFacts<'a> {
    pub(crate) fn new(keys: &'a Keys) -> Self {
        Self {
            keys,
            metadata: OnceCell::new(),
        }
    }
}

impl Facts for HostFacts<'_> {
    fn claim(&self, payload: &str, name: &str) -> Claim {
        let metadata = self
            .metadata
            .get_or_init(|| host::property(b"metadata").unwrap_or_default());
        claims::from_metadata(metadata, payload, name)
    }

    fn source_address(&self) -> Vec<u8> {
        host::property(b"source\0address").unwrap_or_default()
    }

    fn peer_san(&self, san: SanType) -> Option<Vec<u8>> {
        // A truth value is one byte.
        if host::property(b"connection\0mtls")? != [1] {
            return None;
        }
        host::property(match san {
            SanType::Uri => b"connection\0uri_san_peer_certificate",
            SanType::Dns => b"connection\0dns_san_peer_certificate",
        })
    }

    fn address_key(&self) -> &[u8] {
        &self.keys.address
    }

    fn unix_seconds(&self) -> u64 {
        host::now(Clock::Realtime).unwrap_or(0) / NANOS_PER_SEC
    }

    fn scope_key(&self) -> &ScopeKey {
        &self.keys.scope
    }

    fn random(&self) -> Option<[u8; 32]> {
        host::random().ok()
    }
}
