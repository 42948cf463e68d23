//! Runs the cases that lie beside policies.

mod folder;
mod report;
mod search;
mod watch;

pub(crate) use self::folder::{CASES, Folder};
pub(crate) use self::report::Report;
pub(crate) use self::search::folders;
pub(crate) use self::watch::{changed, look};
