//! Generated loads: who sends what, how often, over time.

mod emit;
mod generate;
mod rate;
mod spec;
mod words;

pub(crate) use emit::Emitter;
pub(crate) use generate::Generator;
pub(crate) use spec::Spec;
