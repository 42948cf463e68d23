//! What Envoy knows about a request beside its headers, fetched when it is asked for.

use core::cell::OnceCell;

use tidegate_core::claims;
use tidegate_core::policy::SanType;
use tidegate_core::quota::NANOS_PER_SEC;
use tidegate_core::request::{Claim, Facts};

use crate::host::{self, Clock};

/// The facts of the stream that the host is calling about.
pub(crate) struct HostFacts<'a> {
    address_key: &'a [u8],
    metadata: OnceCell<Vec<u8>>,
}

impl<'a> HostFacts<'a> {
    pub(crate) fn new(address_key: &'a [u8]) -> Self {
        Self {
            address_key,
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
        self.address_key
    }

    fn unix_seconds(&self) -> u64 {
        host::now(Clock::Realtime).unwrap_or(0) / NANOS_PER_SEC
    }
}
