//! A filter that does nothing. What it costs is the price of being called: a context for each stream, and the callbacks that
//! Tidegate has, by Tidegate's own adapter.
//!
//! Its configuration may say that it does a little, and what that costs is the least that a module can do it for:
//! - `refuse`: it refuses everybody, without a look at the request and without a word;
//! - `calls`: it makes the host calls that Tidegate makes for a request under three limits with headers, and does nothing with
//!   what they return;
//! - `calls and refuse`: it makes those that Tidegate makes for a refusal, with an answer of that length.

#[path = "../../../../filters/edge/src/callbacks.rs"]
mod callbacks;
mod calls;
#[allow(dead_code, reason = "of all calls these are few")]
#[path = "../../../../filters/edge/src/host.rs"]
mod host;
#[allow(dead_code, reason = "what is read here is not looked at")]
#[path = "../../../../filters/edge/src/pairs.rs"]
mod pairs;
mod root;
