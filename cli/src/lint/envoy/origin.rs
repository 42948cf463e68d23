//! Whether the role `origin` stands where a cache's own requests pass it.

use std::collections::BTreeSet;

use tidegate_core::policy::{CacheBy, Policy, Route};

use super::Findings;
use super::mount::Role;
use super::node::Node;
use super::parts::{Chain, Cluster, Parts, walk};

/// A gate among the upstream filters of a cluster limits nobody before a cache does its work.
pub(super) fn no_gate_in_cluster(cluster: &Cluster<'_>, findings: &mut Findings) {
    for filter in &cluster.filters {
        if filter.mount.as_ref().and_then(|mount| mount.role) == Some(Role::Gate) {
            findings.warn(
                &filter.at,
                "the gate stands among the filters of a cluster, where caches and limits of the listener come first; put it into the listener's `http_filters`",
            );
        }
    }
}

pub(super) fn check(
    policy: &Policy,
    parts: &Parts<'_>,
    chain: &Chain<'_>,
    findings: &mut Findings,
) {
    let by = |by: CacheBy| {
        let says = move |route: &&Route| {
            let cache = route.cache.as_ref();
            cache.is_some_and(|cache| cache.by == by)
        };
        policy.routes.iter().find(says)
    };
    let cache = chain.filters.iter().find(|f| f.kind.is_cache());
    if let (Some(cache), Some(route)) = (cache, by(CacheBy::Header)) {
        let name = &route.name;
        findings.warn(
            &cache.at,
            format!("Envoy's caches tell copies apart by the path alone, and the route `{name}` says `\"by\": \"header\"`; write `\"by\": \"path\"`"),
        );
    }
    let Some(route) = by(CacheBy::Path) else {
        return;
    };
    let name = &route.name;
    for filter in &chain.filters {
        let is_origin = filter.mount.as_ref().and_then(|mount| mount.role) == Some(Role::Origin);
        if is_origin {
            findings.warn(
                &filter.at,
                "a cache's own requests do not pass the role `origin` in a listener; put it into the `http_filters` of the cluster's `HttpProtocolOptions`",
            );
        }
    }
    let led = led(chain);
    for cluster in &parts.clusters {
        let to_it = led
            .as_ref()
            .is_none_or(|names| names.contains(cluster.name));
        let has_origin = cluster.filters.iter().any(|filter| {
            // What is sent apart may be it.
            let role = filter.mount.as_ref().and_then(|mount| mount.role);
            filter.is_elsewhere() || role == Some(Role::Origin)
        });
        if to_it && !has_origin {
            let cluster_name = cluster.name;
            findings.warn(
                &cluster.at,
                format!("the route `{name}` has copies kept by path, and `{cluster_name}` has no role `origin` that judges what may be kept, seals it and takes our marks out of paths; add it to the `http_filters` of the cluster's `HttpProtocolOptions`"),
            );
        }
    }
}

/// The clusters to which the routes of a chain lead; `None` where its routes are sent apart.
fn led<'e>(chain: &Chain<'e>) -> Option<BTreeSet<&'e str>> {
    let routes = chain.at.get("route_config")?;
    let mut names = BTreeSet::new();
    walk(&routes, &mut |node: &Node<'e>| {
        if node.key() == "cluster" {
            names.extend(node.text());
        }
        if matches!(node.key(), "weighted_clusters" | "weightedClusters") {
            let clusters = node.get("clusters").map(|list| list.items());
            for cluster in clusters.unwrap_or_default() {
                names.extend(cluster.text_of("name"));
            }
        }
    });
    Some(names)
}
