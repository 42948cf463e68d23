//! The module as an upstream HTTP filter: the role `origin`.

use serde_json::{Value, json};

use super::Builder;
use super::mount::Mount;

/// The role that is mounted there.
const ROLE: &str = "origin";

impl Builder {
    /// Mounts the module in the cluster too, with the role `origin`; policy and environment are the gate's, the VM is its own.
    ///
    /// This mount is fixed: with [`Builder::ecds`] updates reach the gate alone.
    #[must_use]
    pub const fn origin_role(mut self) -> Self {
        self.origin_role = true;
        self
    }

    /// Has that mount share the gate's VM, which nobody is told to do.
    #[must_use]
    pub const fn one_vm(mut self) -> Self {
        self.one_vm = true;
        self
    }

    /// Leaves the gate out of the listeners. With [`Builder::origin_role`] this is the Envoy beside an application,
    /// behind a cache that another Envoy's gate stands before.
    #[must_use]
    pub const fn without_gate(mut self) -> Self {
        self.gate = false;
        self
    }

    /// Puts these fields into the cluster `origin`, in place of those that are there.
    #[must_use]
    pub fn cluster(mut self, fields: Value) -> Self {
        self.cluster = fields;
        self
    }
}

/// The cluster with what [`Builder::cluster`] says of it.
pub(super) fn changed(builder: &Builder, mut cluster: Value) -> Value {
    for (name, value) in builder.cluster.as_object().into_iter().flatten() {
        cluster[name] = value.clone();
    }
    cluster
}

/// The filters of the cluster, in the order in which a request passes them, or none.
pub(super) fn filters(builder: &Builder, mount: Option<&Mount>) -> Vec<Value> {
    let mut filters = Vec::new();
    if let Some(mount) = mount
        && builder.origin_role
    {
        let mount = Mount {
            root_id: ROLE.into(),
            // Before Envoy 1.40, mounts that share a VM share its environment and the names of its metrics.
            vm_id: if builder.one_vm {
                mount.vm_id.clone()
            } else {
                format!("{}-{ROLE}", mount.vm_id)
            },
            ..mount.clone()
        };
        filters.push(mount.fixed());
    }
    filters.extend(builder.upstream.iter().cloned());
    if !filters.is_empty() {
        // Envoy wants it last, and puts it there by itself only when there are no others.
        filters.push(json!({
            "name": "envoy.filters.http.upstream_codec",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec",
            },
        }));
    }
    filters
}
