//! The role `admin`: shows operators the live state, and changes what they say. It answers each request itself.

use core::cell::RefCell;
use std::rc::Rc;

use tidegate_core::admin::{self, Asked, Engine, MOST_BODY, Reply};
use tidegate_core::ledger::event::Moment;
use tidegate_core::policy::Policy;

use crate::callbacks::{self, Action};
use crate::gate;
use crate::host::{self, Clock, Level, Map};
use crate::packed;
use crate::pairs;
use crate::store::SharedStore;
use crate::workers;

/// What all streams of a worker share.
pub(crate) struct Admin {
    policy: Policy,
    store: RefCell<SharedStore>,
}

/// One request.
pub(crate) struct Stream {
    admin: Rc<Admin>,
    /// Its headers, while its body is read.
    headers: Vec<u8>,
}

impl Admin {
    /// Gets ready to show the state of a policy.
    ///
    /// # Errors
    /// A line for the log.
    pub(crate) fn new(policy: Policy) -> Result<Self, String> {
        let store = SharedStore::open(&policy).map_err(|_| {
            "the shared data of this `vm_id` cannot be used; give it the `vm_id` of the gate"
                .to_owned()
        })?;
        Ok(Self {
            policy,
            store: RefCell::new(store),
        })
    }

    fn answer(&self, asked: &Asked<'_>) -> Reply {
        // Without a clock everything counts as full; it is the host's, and has one.
        let now = gate::now().unwrap_or(0);
        let running = || workers::running(&self.policy, now);
        let engine = Engine {
            version: env!("CARGO_PKG_VERSION"),
            digest: packed::id(),
            running: &running,
        };
        let at = Moment {
            now,
            of_day: host::now(Clock::Realtime).unwrap_or(0),
        };
        let store = &mut *self.store.borrow_mut();
        admin::answer(&self.policy, &engine, store, asked, at)
    }
}

impl Stream {
    pub(crate) const fn new(admin: Rc<Admin>) -> Self {
        Self {
            admin,
            headers: Vec::new(),
        }
    }

    /// Looks at the headers, and at the body if it is there.
    fn asked(&self, body: Option<&[u8]>) -> Option<Reply> {
        let headers = pairs::read(&self.headers).unwrap_or_default();
        let first = |name: &[u8]| pairs::first(&headers, name).unwrap_or_default();
        let asked = Asked {
            method: first(b":method"),
            path: first(b":path"),
            authority: first(b":authority"),
            headers: &headers,
            body: body.unwrap_or_default(),
            local: &host::property(b"destination\0address").unwrap_or_default(),
        };
        match body {
            Some(_) => Some(self.admin.answer(&asked)),
            // Who may not ask need not send anything.
            None => admin::refusal(&self.admin.policy, &asked),
        }
    }
}

impl callbacks::Stream for Stream {
    fn on_request_headers(&mut self, ends: bool) -> Action {
        self.headers = host::header_pairs(Map::Request).unwrap_or_default();
        if let Some(reply) = self.asked(ends.then_some(&[])) {
            send(&reply);
        }
        Action::Pause
    }

    fn on_request_body(&mut self, length: usize, ends: bool) -> Action {
        if length > MOST_BODY {
            let _ = host::send_response(413, "tidegate_admin", &pairs::write(&[]), &[], -1);
        } else if ends {
            let body = host::request_body(0, length).unwrap_or_default();
            if let Some(reply) = self.asked(Some(&body)) {
                send(&reply);
            }
        }
        Action::Pause
    }

    fn on_request_trailers(&mut self) -> Action {
        // The body has come as a whole.
        let body = host::request_body(0, MOST_BODY).unwrap_or_default();
        if let Some(reply) = self.asked(Some(&body)) {
            send(&reply);
        }
        Action::Pause
    }
}

/// Sends an answer; what it changed is logged.
fn send(reply: &Reply) {
    if let Some(line) = &reply.log {
        host::log(Level::Warn, line);
    }
    let headers: Vec<(&[u8], &[u8])> = reply
        .headers
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let headers = pairs::write(&headers);
    let _ = host::send_response(reply.status, "tidegate_admin", &headers, &reply.body, -1);
}
