//! One token bucket for each account in shared data, as short as it gets: read a header, read the bucket, take a
//! token, write it back. It is here to be compared with, not to be used: two workers that meet a new account at once
//! both find a full bucket, every account keeps its key in shared data for ever, the first caller to send bytes that
//! are not UTF-8 takes down the worker's VM, and nobody is told when to come back.

use std::time::{SystemTime, UNIX_EPOCH};

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

/// Tokens a second.
const RATE: f64 = 1_000.0;

/// Tokens in a full bucket.
const BURST: f64 = 1_000_000.0;

/// How often a swap is tried.
const TRIES: u32 = 8;

struct Root;

impl Context for Root {}

impl RootContext for Root {
    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream))
    }
}

struct Stream;

impl Context for Stream {}

impl Stream {
    fn admit(&self) -> bool {
        let account = self
            .get_http_request_header("x-account")
            .unwrap_or_default();
        let now = self.get_current_time();
        for _ in 0..TRIES {
            let (bucket, cas) = self.get_shared_data(&account);
            let (tokens, then) = bucket
                .and_then(|bytes| read(&bytes))
                .unwrap_or((BURST, now));
            let passed = now.duration_since(then).unwrap_or_default();
            let tokens = RATE.mul_add(passed.as_secs_f64(), tokens).min(BURST);
            if tokens < 1.0 {
                return false;
            }
            let bucket = write(tokens - 1.0, now);
            if self.set_shared_data(&account, Some(&bucket), cas).is_ok() {
                return true;
            }
        }
        true
    }
}

/// A bucket: how many tokens there were, and when.
fn read(bytes: &[u8]) -> Option<(f64, SystemTime)> {
    let (tokens, rest) = bytes.split_first_chunk::<8>()?;
    let nanos = u64::from_le_bytes(*rest.first_chunk::<8>()?);
    let then = UNIX_EPOCH.checked_add(std::time::Duration::from_nanos(nanos))?;
    Some((f64::from_le_bytes(*tokens), then))
}

fn write(tokens: f64, now: SystemTime) -> [u8; 16] {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let mut bytes = [0; 16];
    let (front, back) = bytes.split_at_mut(8);
    front.copy_from_slice(&tokens.to_le_bytes());
    back.copy_from_slice(&nanos.to_le_bytes());
    bytes
}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        if self.admit() {
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
        proxy_wasm::set_root_context(|_| -> Box<dyn RootContext> { Box::new(super::Root) });
    }}
}
