//! What Envoy knows about a request beside its headers, fetched when it is asked for.

use core::cell::OnceCell;

use tidegate_core::cache::ScopeKey;
use tidegate_core::claims;
use tidegate_core::policy::{Policy, SanType};
use tidegate_core::quota::NANOS_PER_SEC;
use tidegate_core::request::{Claim, Facts};

use crate::host::{self, Clock, Level};
use crate::shadow;

/// The facts of the stream that the host is calling about.
pub(crate) struct HostFacts<'a> {
    keys: &'a Keys,
    has_body: bool,
    metadata: OnceCell<Vec<u8>>,
}

/// The keys that a policy asks for, from the environment of the VM.
pub(crate) struct Keys {
    /// For signed addresses; empty if the policy asks for none.
    pub(crate) address: Vec<u8>,
    /// For cache scopes.
    pub(crate) scope: ScopeKey,
}

impl Keys {
    /// The keys for `policy`.
    ///
    /// # Errors
    /// A line for the log, where one is missing that the policy cannot do without.
    pub(crate) fn of(policy: &Policy) -> Result<Self, String> {
        Ok(Self {
            address: address_key(policy)?,
            scope: scope_key(policy),
        })
    }
}

/// The key for signed addresses, if the policy asks for one.
fn address_key(policy: &Policy) -> Result<Vec<u8>, String> {
    let Some(rule) = &policy.identity.address.signed else {
        return Ok(Vec::new());
    };
    match std::env::var(&rule.key_env) {
        Ok(key) if !key.is_empty() => Ok(key.into_bytes()),
        _ => Err(format!(
            "`$.identity.address.signed.key_env`: the environment of the VM has no `{}`; set it under `vm_config.environment_variables`",
            rule.key_env
        )),
    }
}

/// The environment variable of the VM that holds the key for cache scopes.
const SCOPE_KEY: &str = "TIDEGATE_SCOPE_KEY";

/// The key for cache scopes.
fn scope_key(policy: &Policy) -> ScopeKey {
    let key = ScopeKey::new(std::env::var(SCOPE_KEY).unwrap_or_default().as_bytes());
    if policy.tells_caches() && !key.is_some() {
        let text = format!(
            "tidegate: the environment of the VM has no `{SCOPE_KEY}`, so cache scopes are digests that anybody could make; set it under `vm_config.environment_variables`"
        );
        host::log(Level::Warn, &text);
    }
    key
}

impl<'a> HostFacts<'a> {
    pub(crate) fn new(keys: &'a Keys, has_body: bool) -> Self {
        Self {
            keys,
            has_body,
            metadata: OnceCell::new(),
        }
    }
}

impl HostFacts<'_> {
    /// What other filters noted about the request.
    fn metadata(&self) -> &[u8] {
        let read = || host::property(b"metadata").unwrap_or_default();
        self.metadata.get_or_init(read)
    }
}

impl Facts for HostFacts<'_> {
    fn claim(&self, payload: &str, name: &str) -> Claim<'_> {
        claims::from_metadata(self.metadata(), payload, name)
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

    fn has_body(&self) -> bool {
        self.has_body
    }

    fn has_token(&self) -> bool {
        claims::any(self.metadata())
    }

    fn is_compared(&self) -> bool {
        shadow::is_compared()
    }

    fn random(&self) -> Option<[u8; 32]> {
        host::random().ok()
    }
}
