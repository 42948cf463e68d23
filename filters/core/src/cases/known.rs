//! What is known of a caller: which limits ask, and whose buckets they ask. That hangs on who calls and on the route, not on
//! the path behind it, on the time or on what was asked before; a tool that plays millions of requests keeps it, and has
//! the limits asked with it again.

use smallvec::SmallVec;

use crate::admission::Claim;
use crate::denial::Denial;
use crate::dimensions::Dimensions;
use crate::engine::{self, Charged, Decision};
use crate::identity::Identity;
use crate::key::Secret;
use crate::policy::{Policy, Route, SourceKind};
use crate::request::Request;
use crate::reserved;
use crate::store::Store;

/// How many limits ask at most, mostly; they lie in one place in memory with the rest of what is known.
const USUAL: usize = 3;

/// The limits that ask about requests of one caller on one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known(SmallVec<[Claim; USUAL]>);

impl Known {
    /// Whether anything can be known of callers under `policy`: nothing has a say on them but limits and records, and they
    /// are told apart by nothing in the path and by nothing that ages.
    pub fn is_possible(policy: &Policy) -> bool {
        let identity = &policy.identity;
        let sources = [&identity.tenant, &identity.account, &identity.plan];
        let in_path = |kind: &SourceKind| matches!(kind, SourceKind::Query(_));
        policy.canary.is_none()
            && !policy.caches()
            && identity.address.signed.is_none()
            && !sources.into_iter().flatten().any(|s| in_path(&s.kind))
    }

    /// What is known by a request of this route under a policy for which that [is possible](Self::is_possible). It holds
    /// for all with the same method, authority, headers and facts. `None` where a record or a refusal comes before the
    /// limits: that is for [`engine::decide`].
    pub fn of(
        policy: &Policy,
        request: &Request<'_>,
        route: Option<&Route>,
        secret: Secret,
    ) -> Option<Self> {
        if route.is_some_and(|route| route.idempotency.is_some()) {
            return None;
        }
        let identity = Identity::of(&policy.identity, request).ok()?;
        let mut dimensions = Dimensions::new(secret, &identity, request, route);
        let mut decision = Decision::about(policy, route);
        let claims = engine::claims(policy, request, &mut dimensions, &mut decision).ok()?;
        let keyed = decision.unkeyed.is_empty();
        keyed.then(|| Self(SmallVec::from_slice(&claims)))
    }

    /// What [`engine::decide`] says to a request of a caller of whom this is known, but for who the caller is.
    #[inline]
    pub fn decide<'p, S: Store>(
        &self,
        policy: &'p Policy,
        request: &Request<'_>,
        route: Option<&'p Route>,
        store: &mut S,
        now: u64,
    ) -> Decision<'p> {
        let Self(claims) = self;
        let mut decision = Decision::about(policy, route);
        if let Some(name) = reserved::find(request) {
            decision.denial = Some(Denial::ReservedName { name });
        } else if !claims.is_empty() {
            let good = Charged::ForGood;
            let asked = engine::admit(policy, claims, good, store, &mut (), now, &mut decision);
            decision.denial = asked.err();
        }
        decision
    }
}
