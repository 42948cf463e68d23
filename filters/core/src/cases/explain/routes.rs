//! Which route is taken, and why not those before it.

use serde::Serialize;

use crate::policy::Policy;
use crate::request::Request;
use crate::route::{Missed, missed};

/// A route that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// Why it does not take the request; `None` if it does.
    pub missed: Option<Missed>,
}

pub(super) fn tried(policy: &Policy, request: &Request<'_>) -> Vec<Route> {
    let mut tried = Vec::new();
    for route in &policy.routes {
        let missed = missed(&route.matcher, request);
        let taken = missed.is_none();
        tried.push(Route {
            name: route.name.clone(),
            missed,
        });
        if taken {
            break;
        }
    }
    tried
}
