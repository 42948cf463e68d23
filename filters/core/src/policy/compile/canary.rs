//! The canary.

use deserr::ValuePointerRef;

use super::dimension::{Sources, dimensions};
use super::number;
use crate::policy::document::Canary as WireCanary;
use crate::policy::faults::Faults;
use crate::policy::{Canary, Dimension};

pub(in crate::policy) fn canary(
    wire: WireCanary,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Canary> {
    let WireCanary { percent, by } = wire;
    if percent.is_none() {
        faults.missing(at, "percent", "how many callers of a hundred, like `5`");
    }
    let percent = percent.and_then(|n| number::within(n, 0..=100, at.push_key("percent"), faults));
    let by = match by {
        Some(list) => dimensions(list, sources, at.push_key("by"), faults),
        // Where no account is ever known its stand-in tells callers apart.
        None => vec![Dimension::Account],
    };
    Some(Canary {
        percent: u8::try_from(percent?).ok()?,
        by,
    })
}
