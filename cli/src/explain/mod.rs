//! A decision in words.

mod request;
mod words;

pub(crate) use self::request::{Given, request};
pub(crate) use self::words::words;
