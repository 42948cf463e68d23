//! What holds of hostile bytes, whatever they are. Each property takes bytes and panics where something does not hold; `fuzz/` has a target
//! for each, and `tests/kept.rs` feeds them what those began with and found.
//!
//! | property | bytes | holds |
//! |---|---|---|
//! | [`policy`] | a policy, and requests behind `---` | it is refused with its mistakes or decides, the same way each time, and admits no more than bursts |
//! | [`identity`] | a request | a caller is who a plain reader of the sources would say, however it is spelt |
//! | [`key`] | lines of `Idempotency-Key` | what is read is bounded visible text, and written again reads the same |
//! | [`fields`] | response header lines | what we send reads as a list, no name twice, and joining it again changes nothing |
//! | [`path`] | a request | the application gets it byte for byte, whatever the gate told caches |
//! | [`stored`] | a value of shared data | it is read as it was written, or refused; sets stay in their bounds |
//! | [`packed`] | a module, or a policy to pack | nothing is believed; what is packed comes out again, byte for byte |

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a property that does not hold panics"
)]

mod asked;
mod fields;
mod identity;
mod key;
mod packed;
mod path;
mod policy;
mod stored;
mod values;

pub use fields::fields;
pub use identity::identity;
pub use key::key;
pub use packed::packed;
pub use path::path;
pub use policy::policy;
pub use stored::stored;

/// Something that holds of any bytes, or panics.
pub type Property = fn(&[u8]);

/// Every property, by the name of its target in `fuzz/`.
pub const ALL: [(&str, Property); 7] = [
    ("policy", policy),
    ("identity", identity),
    ("key", key),
    ("fields", fields),
    ("path", path),
    ("stored", stored),
    ("packed", packed),
];
