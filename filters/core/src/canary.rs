//! Whether a caller is in the share for which a policy is enforced.
//!
//! # Invariants
//! - *Sticky*: the same caller gets the same answer from every worker, process and version of a policy: what tells callers
//!   apart is digested under a key that everybody knows.
//! - *Only growing*: whoever is in a share is in every larger one.

use crate::dimensions::Dimensions;
use crate::identity::Identity;
use crate::key::{Parts, Secret};
use crate::policy::{Canary, Dimension, Policy, Route};
use crate::request::Request;

/// No secret: there is nothing to hide, and everybody has to come to the same digest.
const KEY: Secret = Secret::new(*b"tidegate canary\0");

/// How many callers a share is counted of.
const ALL: u8 = 100;

impl Canary {
    /// Whether everybody is in the share, even those whom nothing tells apart.
    pub(crate) const fn is_everybody(&self) -> bool {
        self.percent >= ALL
    }

    /// Whether a caller is in the share. Those whom nothing tells from others are not, unless everybody is.
    pub(crate) fn takes(
        &self,
        policy: &Policy,
        identity: &Identity<'_>,
        request: &Request<'_>,
        route: Option<&Route>,
    ) -> bool {
        if self.is_everybody() {
            return true;
        }
        let mut dimensions = Dimensions::new(KEY, identity, request, route);
        let Some(caller) = dimensions.key(&self.by, &Dimension::Address) else {
            return false;
        };
        // Another policy begins with other callers: it is not always the same ones who are tried on.
        let mut parts = Parts::new();
        parts.push(0, policy.name.as_bytes());
        parts.push_key(1, caller);
        KEY.key(&parts).place(ALL.into()) < self.percent.into()
    }
}
