//! What benchmarks share: a core for the proxy that is measured, a lean origin and a lean client, and what is made of figures.

mod cpu;
mod figures;
mod load;
mod origin;

pub use cpu::{OTHERS, PROXY, Thread, of_process, pin};
pub use figures::{added, median, range, times, turns};
pub use load::{Load, Statuses};
pub use origin::LeanOrigin;
