//! Which copy a request is for, as a cache would tell it.

use crate::cache::{Plan, Use};
use crate::request::Request;

/// What a cache keeps a response under: two requests with the same one get the same copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheKey {
    /// The host.
    pub host: Vec<u8>,
    /// The path with its query, and with the marker where that is told by it.
    pub path: Vec<u8>,
    /// The marker, where that is told by a header.
    pub scope: Option<Vec<u8>>,
}

/// The key of the copy that a request is for; `None` if it is for none.
pub fn cache_key(request: &Request<'_>, plan: &Plan) -> Option<CacheKey> {
    if !matches!(plan.instruction.usage, Use::Scoped | Use::Public) {
        return None;
    }
    let by_header = plan.path.is_none();
    let marker = plan.marker.filter(|_| by_header);
    Some(CacheKey {
        host: request.host(),
        path: plan.path.clone().unwrap_or_else(|| request.path.to_vec()),
        scope: marker.map(|marker| marker.as_bytes().to_vec()),
    })
}
