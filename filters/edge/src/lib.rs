//! The module that Envoy loads: Tidegate's core behind the proxy-wasm ABI.
//!
//! The mount's `root_id` picks the role. [`root`] reads the policy; [`gate`] is the role that decides, [`origin`] the one
//! behind the cache, [`admin`] the one for operators; every host call is in [`host`], and every call by the host in [`callbacks`].

mod admin;
mod callbacks;
mod copies;
mod detached;
mod facts;
mod gate;
mod gauges;
mod host;
mod memory;
mod metrics;
mod notify;
mod once;
mod origin;
mod packed;
mod pairs;
mod refused;
mod response;
mod root;
mod send;
mod shadow;
mod store;
#[cfg(feature = "test-switches")]
mod switches;
mod workers;
