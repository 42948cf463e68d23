//! What a request costs, and whether its limits could ever admit it.

use deserr::ValuePointerRef;

use super::{header, number};
use crate::policy::document::{Cost as WireCost, CostHeader};
use crate::policy::faults::Faults;
use crate::policy::{Cost, Limit};

pub(super) fn cost(cost: WireCost, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<Cost> {
    match cost {
        WireCost::Fixed(units) => number::within(units, number::ANY, at, faults).map(Cost::Fixed),
        WireCost::Header(CostHeader { header, default }) => {
            let name = match header {
                Some(name) => header::header(&name, at.push_key("header"), faults),
                None => {
                    faults.missing(at, "header", "the header's name, like `x-cost`");
                    None
                }
            };
            let default = default.unwrap_or(1);
            let default = number::within(default, number::ANY, at.push_key("default"), faults);
            Some(Cost::Header {
                name: name?,
                default: default?,
            })
        }
    }
}

/// Checks that every bucket of `limit` can hold what a request costs: else none would ever go ahead.
pub(super) fn admissible(cost: &Cost, limit: &Limit, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let (units, at) = match cost {
        Cost::Fixed(units) => (*units, at),
        Cost::Header { default, .. } => (*default, at.push_key("default")),
    };
    if limit.shadow {
        return;
    }
    let base = (limit.quota.burst(), String::new());
    let special = [
        ("plan", &limit.plans),
        ("tenant", &limit.tenant_overrides),
        ("account", &limit.account_overrides),
    ];
    let special = special.iter().flat_map(|(kind, quotas)| {
        quotas
            .iter()
            .map(move |(value, quota)| (quota.burst(), (*kind, value)))
    });
    let least = special
        .map(|(burst, (kind, value))| {
            let value = crate::policy::mistake::shown(value);
            (burst, format!(" for the {kind} `{value}`"))
        })
        .fold(
            base,
            |least, other| if other.0 < least.0 { other } else { least },
        );
    let (burst, whose) = least;
    if units > burst {
        let name = &limit.name;
        faults.add(
            at,
            format!("a cost of {units} is above the burst of `{name}`{whose}, {burst}, and would never be admitted; write at most {burst}"),
        );
    }
}
