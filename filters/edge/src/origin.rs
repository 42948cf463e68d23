//! The role `origin`, behind the cache: gives the application its request as the client sent it, decides what a cache may
//! keep, and seals the response.

use tidegate_core::cache::origin::{self, Told};
use tidegate_core::policy::Policy;

use crate::callbacks::{self, Action};
use crate::copies::apply;
use crate::host::{self, Map};
use crate::pairs;

/// Where one attempt at a request leaves for the next what the gate told.
const TOLD: &[u8] = b"tidegate.told";

/// What all streams of a worker share.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    /// The policy speaks of caches, and not in shadow.
    scopes: bool,
}

impl Origin {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            scopes: policy.tells_caches(),
        }
    }
}

/// One request and its response.
pub(crate) struct Stream {
    origin: Origin,
    told: Told,
}

impl Stream {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            origin,
            told: Told::default(),
        }
    }
}

impl callbacks::Stream for Stream {
    fn on_request_headers(&mut self, _: bool) -> Action {
        let bytes = host::header_pairs(Map::Request).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        // Without a method the list is not the request's, and what is in it for us cannot be taken out.
        if pairs::first(&headers, b":method").is_none() {
            return proceed(Err(host::Failed));
        }
        let (told, edits) = origin::request(&headers);
        // What this attempt takes out, the next one does not find.
        self.told = if told.instruction.is_some() {
            let _ = host::set_property(TOLD, &told.to_bytes());
            told
        } else {
            Told::read(&host::property(TOLD).unwrap_or_default())
        };
        proceed(apply(Map::Request, &edits))
    }

    fn on_response_headers(&mut self, _: bool) -> Action {
        // What a gate told is done, whatever the policy here says: the two need not change at one moment.
        if self.told.instruction.is_none() && !self.origin.scopes {
            return Action::Continue;
        }
        let bytes = host::header_pairs(Map::Response).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        if pairs::first(&headers, b":status").is_none() {
            return proceed(Err(host::Failed));
        }
        proceed(apply(
            Map::Response,
            &origin::response(&self.told, &headers),
        ))
    }
}

/// Goes on if what had to be changed was; what was not must not be seen by the application, nor by a cache.
fn proceed(changed: Result<(), host::Failed>) -> Action {
    if changed.is_ok() {
        return Action::Continue;
    }
    let _ = host::send_response(
        502,
        "tidegate_headers_unchanged",
        &pairs::write(&[]),
        &[],
        -1,
    );
    Action::Pause
}
