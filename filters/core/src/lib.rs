//! Tidegate's core: policy + request + store + now -> decision.
//!
//! This crate cannot call the host: the host SDK is not in its manifest. Stored state and the time are
//! arguments, so the same code runs inside Envoy, in the command line and in a test on a made-up clock.

pub mod policy;
pub mod quota;
