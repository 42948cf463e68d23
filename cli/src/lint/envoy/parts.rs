//! The parts of an Envoy that matter here: HTTP filter chains and clusters.

use tidegate_core::policy::Step;

use super::filter::Filter;
use super::mount::Mount;
use super::node::Node;

/// What an Envoy has.
#[derive(Debug, Default)]
pub(super) struct Parts<'e> {
    pub(super) chains: Vec<Chain<'e>>,
    pub(super) clusters: Vec<Cluster<'e>>,
}

/// An HTTP connection manager.
#[derive(Debug)]
pub(super) struct Chain<'e> {
    pub(super) at: Node<'e>,
    /// The listener that it is in, if that is there.
    pub(super) listener: Option<Node<'e>>,
    pub(super) filters: Vec<Filter<'e>>,
}

/// A cluster.
#[derive(Debug)]
pub(super) struct Cluster<'e> {
    pub(super) at: Node<'e>,
    pub(super) name: &'e str,
    /// Its upstream filters.
    pub(super) filters: Vec<Filter<'e>>,
}

impl<'e> Parts<'e> {
    /// Finds them, wherever they stand in the files of an Envoy.
    pub(super) fn find(roots: &[Node<'e>]) -> Self {
        let mut discovered = Vec::new();
        for root in roots {
            walk(root, &mut |node| {
                if node.type_url().ends_with("core.v3.TypedExtensionConfig") {
                    discovered.push(node.clone());
                }
            });
        }
        let mut parts = Self::default();
        for root in roots {
            let mut listener: Option<Node<'e>> = None;
            walk(root, &mut |node| {
                let is_listener = node.get("filter_chains").is_some()
                    || node.get("default_filter_chain").is_some();
                if is_listener {
                    listener = Some(node.clone());
                }
                if node.type_url().ends_with(".HttpConnectionManager") {
                    let filters = filters(node, &discovered);
                    parts.chains.push(Chain {
                        at: node.clone(),
                        listener: listener.clone().filter(|listener| node.is_within(listener)),
                        filters,
                    });
                }
                if is_cluster(node) {
                    parts.clusters.extend(Cluster::new(node, &discovered));
                }
            });
        }
        parts
    }

    /// Every HTTP filter.
    pub(super) fn filters(&self) -> impl Iterator<Item = &Filter<'e>> {
        let chains = self.chains.iter().flat_map(|chain| &chain.filters);
        let clusters = self.clusters.iter().flat_map(|cluster| &cluster.filters);
        chains.chain(clusters)
    }

    /// Every mount of the module.
    pub(super) fn mounts(&self) -> impl Iterator<Item = &Mount<'e>> {
        self.filters().filter_map(|filter| filter.mount.as_ref())
    }
}

impl<'e> Cluster<'e> {
    fn new(at: &Node<'e>, discovered: &[Node<'e>]) -> Option<Self> {
        let options = at.get("typed_extension_protocol_options");
        let options = options
            .map(|options| options.children())
            .unwrap_or_default();
        let options = options
            .into_iter()
            .find(|options| options.type_url().ends_with(".HttpProtocolOptions"));
        Some(Self {
            name: at.text_of("name")?,
            at: at.clone(),
            filters: options
                .map(|options| filters(&options, discovered))
                .unwrap_or_default(),
        })
    }
}

fn filters<'e>(node: &Node<'e>, discovered: &[Node<'e>]) -> Vec<Filter<'e>> {
    let list = node.get("http_filters").map(|list| list.items());
    list.unwrap_or_default()
        .into_iter()
        .map(|filter| Filter::new(filter, discovered))
        .collect()
}

/// Looks at a value and everything inside it, from the outside in.
pub(super) fn walk<'e>(node: &Node<'e>, look: &mut impl FnMut(&Node<'e>)) {
    look(node);
    for child in node.children() {
        walk(&child, look);
    }
}

/// A cluster of a bootstrap, or one that is sent.
fn is_cluster(node: &Node<'_>) -> bool {
    node.type_url().ends_with("envoy.config.cluster.v3.Cluster")
        || matches!(
            node.steps(),
            [Step::Key(resources), Step::Key(clusters), Step::Index(_)]
                if matches!(resources.as_str(), "static_resources" | "staticResources") && clusters == "clusters"
        )
}
