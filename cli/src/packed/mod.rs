//! Packed modules: the engine and one policy in one file.
//!
//! The engine exports four functions that say whether it carries a policy. Unpacked they say that it does not;
//! [`write::pack`] gives them other bodies, adds the document as a passive data segment, and names what is in
//! the file in a custom section. [`read::look`] takes the same apart again, from the file alone.

mod anatomy;
mod digest;
mod engine;
mod read;
mod section;
mod write;

pub use anatomy::{Anatomy, Part};
pub use digest::Digest;
pub use engine::{Engine, embedded_digest};
pub use read::{Contents, Packed, look, open};
pub use section::{ModeNow, Section};
pub use write::pack;

/// The name of the custom section that says what was packed.
pub const SECTION: &str = "tidegate";

/// The name of the custom section by which an engine tells its version.
pub const ENGINE_SECTION: &str = "tidegate-engine";

/// The exports of an engine that packing gives other bodies.
pub mod exports {
    /// `() -> i32`: bytes of the document, 0 if there is none.
    pub const SIZE: &str = "tidegate_policy_size";
    /// `(address: i32) -> ()`: copies the document there.
    pub const READ: &str = "tidegate_policy_read";
    /// `() -> i32`: 0 as the document says, 1 in shadow.
    pub const MODE: &str = "tidegate_policy_mode";
    /// `() -> i64`: the first eight bytes of the digest, the first byte first.
    pub const ID: &str = "tidegate_module_id";
}

/// The first bytes of any module.
const MAGIC: &[u8] = b"\0asm";

/// The largest file that is taken for a module, in bytes: 64 MiB.
pub const MAX_MODULE_BYTES: u64 = 64 << 20;

/// Whether these are the first bytes of a module.
pub fn is_module(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}
