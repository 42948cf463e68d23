//! Has this already been done: idempotency keys and events, from the request's headers to the stored answer.
//!
//! [`key`] reads the client's key; [`subject`] says what a record is for, and [`body`] what the request was. The decision
//! ([`crate::engine`]) looks the record up, charges and claims, and says in a [`Turn`] what is next; [`capture`] keeps the
//! origin's answer, [`outcome`] says what became of a call, and [`replay`] what a caller gets who asks again.

pub mod body;
pub mod capture;
pub mod key;
pub mod outcome;
mod part;
pub mod replay;
mod subject;
mod turn;

pub use body::Body;
pub use capture::Capture;
pub use outcome::Outcome;
pub use replay::Replay;
pub(crate) use subject::{Subject, subject};
#[cfg(feature = "cases")]
pub(crate) use turn::head;
pub use turn::{Detached, Pending, Running, Turn, withdraw};
pub(crate) use turn::{Table, begin, proceed};
