//! A filter that does nothing. What it costs is the price of being called: a context for each stream, and a call for
//! its request headers and one for its response headers.
//!
//! Its configuration may say that it does a little, and what that costs is the least that a module can do it for:
//! - `refuse`: it refuses everybody, without a look at the request and without a word;
//! - `calls`: it makes the host calls that Tidegate makes for a request under three limits with headers, and does nothing with
//!   what they return;
//! - `calls and refuse`: it makes those that Tidegate makes for a refusal, with an answer of that length.

#![allow(
    clippy::disallowed_methods,
    reason = "the SDK's own calls are part of what is measured"
)]

mod calls;
#[allow(dead_code, reason = "of all calls these are few")]
#[path = "../../../../filters/edge/src/host.rs"]
mod host;
#[allow(dead_code, reason = "what is read here is not looked at")]
#[path = "../../../../filters/edge/src/pairs.rs"]
mod pairs;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Nothing,
    Refuse,
    Calls,
    CallsAndRefuse,
}

struct Root(Task);

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, _: usize) -> bool {
        self.0 = match self.get_plugin_configuration().as_deref() {
            None | Some(b"") => Task::Nothing,
            Some(b"refuse") => Task::Refuse,
            Some(b"calls") => Task::Calls,
            Some(b"calls and refuse") => Task::CallsAndRefuse,
            Some(_) => return false,
        };
        true
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, number: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream {
            task: self.0,
            number,
        }))
    }
}

struct Stream {
    task: Task,
    number: u32,
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        match self.task {
            Task::Nothing => return Action::Continue,
            Task::Calls => {
                calls::on_request(self.number);
                return Action::Continue;
            }
            Task::Refuse => self.send_http_response(429, vec![], None),
            Task::CallsAndRefuse => calls::on_refusal(),
        }
        Action::Pause
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        if self.task == Task::Calls {
            calls::on_response();
        }
        Action::Continue
    }
}

#[allow(unsafe_code, reason = "the macro exports the module's entry point")]
mod entry {
    use proxy_wasm::traits::RootContext;

    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| -> Box<dyn RootContext> {
            Box::new(super::Root(super::Task::Nothing))
        });
    }}
}
