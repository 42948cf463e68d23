//! The module that Envoy loads.
