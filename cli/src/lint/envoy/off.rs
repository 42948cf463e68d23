//! Mounts that are there and turned off: by a member of the filter itself, or by a route.

use std::collections::BTreeSet;

use super::Findings;
use super::filter::Filter;
use super::node::Node;
use super::parts::{Parts, walk};

pub(super) fn check(roots: &[Node<'_>], parts: &Parts<'_>, findings: &mut Findings) {
    let mounts = parts.filters().filter(|filter| filter.mount.is_some());
    let mounts: Vec<(&Filter<'_>, &str)> = mounts
        .filter_map(|filter| Some((filter, filter.at.text_of("name")?)))
        .collect();
    let mut turned_on = BTreeSet::new();
    for root in roots {
        walk(root, &mut |node| {
            let own = node.get("typed_per_filter_config");
            for config in own.map(|own| own.children()).unwrap_or_default() {
                let Some((_, name)) = mounts.iter().find(|(_, name)| *name == config.key()) else {
                    continue;
                };
                if config.has("disabled") {
                    let message = format!(
                        "this turns the mount `{name}` off: nothing is decided here; take `disabled` away"
                    );
                    findings.warn(&config, message);
                } else {
                    turned_on.insert(*name);
                }
            }
        });
    }
    for (filter, name) in &mounts {
        if filter.at.has("disabled") && !turned_on.contains(name) {
            findings.warn(
                &filter.at,
                "this mount is turned off, and no route turns it on: nothing is decided; take `disabled` away",
            );
        }
    }
}
