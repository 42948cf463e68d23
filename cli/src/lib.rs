//! What of the command-line tool reads files from anywhere: policies, Envoy configurations, modules. It is a library so that
//! hostile files can be fed to it (`tests/properties`), and no interface for others.

pub mod lint;
pub mod packed;
pub mod policy_file;
