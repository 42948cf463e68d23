//! The files to copy for Istio and Envoy Gateway, and the page that quotes them.
//!
//! There is no cluster here. So each object is held against its types, and the Envoy configuration in it is put where Istio or Envoy
//! Gateway would put it, into a configuration as they write it, and shown to a real Envoy with the module.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod envoy_gateway;
mod istio;
mod kubernetes;
mod merge;
mod page;
mod stand;
mod traffic;
