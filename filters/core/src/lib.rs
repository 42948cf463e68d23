//! Tidegate's core: policy + request + store + now -> decision -> answer.
//!
//! This crate cannot call the host: the host SDK is not in its manifest. Stored state and the time are
//! arguments, so the same code runs inside Envoy, in the command line and in a test on a made-up clock.
//!
//! The way of a request: [`engine`] finds its [`route`], decides its [`identity`] and the [`key`] of each
//! [`policy::Limit`] that applies; [`admission`] asks the buckets ([`gcra`]) that the [`store`] keeps in
//! [`table`]s; [`answer`] puts the outcome into HTTP. Who was refused is in the [`ledger`], for operators.

pub mod admin;
pub mod admission;
pub mod answer;
pub mod cache;
mod canary;
#[cfg(feature = "cases")]
pub mod cases;
pub mod claims;
pub mod denial;
mod dimensions;
pub mod engine;
pub mod gcra;
mod hex;
pub mod idempotency;
pub mod identity;
pub mod key;
pub mod ledger;
mod limit;
pub mod policy;
mod protobuf;
pub mod quota;
pub mod records;
pub mod report;
pub mod request;
pub mod reserved;
pub mod route;
pub mod ruling;
pub mod store;
pub mod table;
