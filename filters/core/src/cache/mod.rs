//! Whose copy may it see: cache keys that keep callers apart, and a seal that catches what slips.
//!
//! The gate tells a cache whose copy a request is for ([`plan`]), by a [`Marker`] in the path ([`path`]) or in a
//! header, and tells the role `origin` behind the cache what to make of it ([`Instruction`]). `origin` hides all that
//! from the application, [judges](judge) what the cache may keep, and seals the response ([`origin`]). The gate
//! lets a response out to the caller whose seal it carries, and to nobody else ([`outgoing`]).
//!
//! # Invariants
//! - *No two scopes meet*: a marker is a digest of parts that each carry their tag and their length.
//! - *Absent is nobody*: where a dimension of the scope is absent, the marker is a random one that is used once, so
//!   that strangers share no copy, whatever the cache does.
//! - *Nothing is stored unasked*: what no route scopes, and what did not come through the gate, is not stored.
//! - *Nothing of ours leaves*: neither to the application nor to the caller.

mod directives;
mod edit;
mod headers;
mod instruction;
mod judge;
mod marker;
pub mod origin;
mod outgoing;
pub mod path;
mod plan;

pub use edit::Edit;
pub use instruction::{Instruction, Use};
pub use judge::{Verdict, Veto, judge};
pub use marker::{Marker, ScopeKey};
pub use outgoing::{Mismatch, Sender, outgoing, scrub};
pub(crate) use plan::sharers;
pub use plan::{Expected, Plan, renew};

/// The request header that holds the marker: whose copy the request is for.
pub const SCOPE: &str = "x-tidegate-scope";

/// The request header that holds the [`Instruction`].
pub const INSTRUCTION: &str = "x-tidegate-cache";

/// The response header that holds the marker of the caller whom `origin` answered.
pub const SEAL: &str = "x-tidegate-seal";

/// What stands before the name of a response header that caches must not see; the gate puts it back.
pub const KEPT: &str = "x-tidegate-kept-";

/// The response header that names a header which only caches must see; the gate takes it out.
pub const ADDED: &str = "x-tidegate-added";

/// The name of the gate in `Cache-Status` (RFC 9211).
pub const CACHE_NAME: &str = "tidegate";
