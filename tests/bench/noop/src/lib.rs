//! A filter that does nothing. What it costs is the price of being called: a context for each stream, and a call for
//! its request headers and one for its response headers.
//!
//! Where its configuration says `refuse` it refuses everybody, without a look at the request and without a word. What that
//! costs is the least that a refusal by a module costs: an answer that Envoy makes and sends.

#![allow(
    clippy::disallowed_methods,
    reason = "the SDK's own calls are part of what is measured"
)]

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

struct Root {
    refuses: bool,
}

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, _: usize) -> bool {
        self.refuses = self.get_plugin_configuration().as_deref() == Some(b"refuse");
        true
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream {
            refuses: self.refuses,
        }))
    }
}

struct Stream {
    refuses: bool,
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        if !self.refuses {
            return Action::Continue;
        }
        self.send_http_response(429, vec![], None);
        Action::Pause
    }
}

#[allow(unsafe_code, reason = "the macro exports the module's entry point")]
mod entry {
    use proxy_wasm::traits::RootContext;

    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| -> Box<dyn RootContext> {
            Box::new(super::Root { refuses: false })
        });
    }}
}
