//! Who is in the share of a canary.

use crate::cases::CaseFacts;
use crate::engine;
use crate::policy::Policy;
use crate::request::Request;
use crate::store::MemoryStore;

/// Whether the caller with these headers is in the share of the policy's canary; of a policy without one nobody is.
pub fn in_share(policy: &Policy, headers: &[(&[u8], &[u8])]) -> bool {
    let request = Request {
        method: b"GET",
        path: b"/",
        authority: b"api.test",
        headers,
        facts: &CaseFacts::default(),
    };
    engine::decide(policy, &request, &mut MemoryStore::new(), &mut (), 1 << 40).canary
}
