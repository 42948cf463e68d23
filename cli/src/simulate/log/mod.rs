//! Access logs: one JSON object on each line.

mod flat;
mod line;
mod lines;
mod reorder;
mod time;

pub(crate) use line::Reader;
pub(crate) use lines::{Line, Lines, MAX_LINE};
pub(crate) use reorder::Reorder;
