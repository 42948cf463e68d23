//! What came of a simulation: as data, as text, and as one HTML page.

mod build;
mod chart;
pub(crate) mod html;
mod model;
mod numbers;
pub(crate) mod text;
mod tiers;

pub(crate) use build::{Meta, build};
pub(crate) use model::Report;
pub(crate) use numbers::share;
