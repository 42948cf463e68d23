//! What an Envoy is started with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::cache::Cache;
use super::mount::{self, Mount, Policy};
use crate::Origin;
use crate::jwt::Issuer;
use crate::tls::{Authority, Identity};

/// What the TLS listener makes of client certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Does not ask for one.
    Ignored,
    /// One that is shown must be valid.
    Optional,
    /// A valid one must be shown.
    Required,
}

#[derive(Debug)]
pub(super) struct Tls {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) authority: String,
    pub(super) clients: ClientCertificates,
}

/// An Envoy to be. Without a policy there is no module in it; without an origin it answers `{}` itself.
#[derive(Debug)]
pub struct Builder {
    pub(super) concurrency: u32,
    pub(super) module: PathBuf,
    pub(super) policy: Option<Policy>,
    pub(super) root_id: String,
    pub(super) vm_id: String,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) ecds: bool,
    pub(super) lds: bool,
    pub(super) origin: Option<SocketAddr>,
    pub(super) issuers: Vec<Issuer>,
    pub(super) tls: Option<Tls>,
    pub(super) trusted_hops: u32,
    pub(super) underscores: &'static str,
    pub(super) max_headers: u32,
    pub(super) max_headers_kb: u32,
    pub(super) as_sent: bool,
    pub(super) h1_to_origin: bool,
    pub(super) access_log: bool,
    pub(super) log_beginnings: bool,
    pub(super) before: Vec<Value>,
    pub(super) after: Vec<Value>,
    pub(super) cache: Option<Cache>,
    pub(super) gate: bool,
    pub(super) admin_role: Option<&'static str>,
    pub(super) origin_role: bool,
    pub(super) one_vm: bool,
    pub(super) upstream: Vec<Value>,
    pub(super) routes: Option<Vec<Value>>,
    pub(super) retry: Option<Value>,
    pub(super) local_reply: Option<Value>,
    pub(super) cluster: Value,
    pub(super) receivers: BTreeMap<String, SocketAddr>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            concurrency: 1,
            module: mount::default_module(),
            policy: None,
            root_id: "gate".into(),
            vm_id: "tidegate-e2e".into(),
            environment: BTreeMap::new(),
            ecds: false,
            lds: false,
            origin: None,
            issuers: Vec::new(),
            tls: None,
            trusted_hops: 0,
            underscores: "ALLOW",
            // Envoy's own defaults.
            max_headers: 100,
            max_headers_kb: 60,
            as_sent: false,
            h1_to_origin: false,
            access_log: true,
            log_beginnings: false,
            before: Vec::new(),
            after: Vec::new(),
            cache: None,
            gate: true,
            admin_role: None,
            origin_role: false,
            one_vm: false,
            upstream: Vec::new(),
            routes: None,
            retry: None,
            local_reply: None,
            cluster: Value::Null,
            receivers: BTreeMap::new(),
        }
    }
}

impl Builder {
    /// The number of workers; 1 unless said otherwise.
    #[must_use]
    pub const fn concurrency(mut self, workers: u32) -> Self {
        self.concurrency = workers;
        self
    }

    /// Mounts the gate with this policy, as a `StringValue`.
    #[must_use]
    pub fn policy(self, policy: &Value) -> Self {
        self.policy_text(policy.to_string())
    }

    /// Mounts the gate with this text for a policy, which need not be JSON.
    #[must_use]
    pub fn policy_text(mut self, policy: impl Into<String>) -> Self {
        self.policy = Some(Policy::Text(policy.into()));
        self
    }

    /// Mounts the gate with this policy, as a `Struct`.
    #[must_use]
    pub fn policy_struct(mut self, policy: Value) -> Self {
        self.policy = Some(Policy::Struct(policy));
        self
    }

    /// Another module than the default one.
    #[must_use]
    pub fn module(mut self, path: impl Into<PathBuf>) -> Self {
        self.module = path.into();
        self
    }

    /// Another role than `gate`.
    #[must_use]
    pub fn root_id(mut self, root_id: &str) -> Self {
        self.root_id = root_id.into();
        self
    }

    /// Another `vm_id` than `tidegate-e2e`.
    #[must_use]
    pub fn vm_id(mut self, vm_id: &str) -> Self {
        self.vm_id = vm_id.into();
        self
    }

    /// An environment variable of the VM.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Lets the policy and the module be changed while Envoy runs: [`Envoy::update_policy`], [`Envoy::update_module`].
    #[must_use]
    pub const fn ecds(mut self) -> Self {
        self.ecds = true;
        self
    }

    /// Lets listeners be changed while Envoy runs: [`Envoy::update_listeners`].
    #[must_use]
    pub const fn lds(mut self) -> Self {
        self.lds = true;
        self
    }

    /// Passes requests on to this origin.
    #[must_use]
    pub const fn origin(mut self, origin: &Origin) -> Self {
        self.origin = Some(origin.address());
        self
    }

    /// Passes requests on to an origin that is not the harness's.
    #[must_use]
    pub const fn origin_at(mut self, origin: SocketAddr) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Adds a cluster of this name, for calls of the module's own.
    #[must_use]
    pub fn receiver(mut self, name: &str, receiver: SocketAddr) -> Self {
        self.receivers.insert(name.into(), receiver);
        self
    }

    /// Leaves the access log out: it grows with each request, and costs about as much as a filter.
    #[must_use]
    pub const fn without_access_log(mut self) -> Self {
        self.access_log = false;
        self
    }

    /// Writes each request down when it begins as well: its `line` is then `DownstreamStart`, and `DownstreamEnd` when it is over.
    #[must_use]
    pub const fn log_beginnings(mut self) -> Self {
        self.log_beginnings = true;
        self
    }

    /// Verifies tokens of this issuer by `jwt_authn`, before the module. Requests without a token pass.
    #[must_use]
    pub fn jwt(mut self, issuer: Issuer) -> Self {
        self.issuers.push(issuer);
        self
    }

    /// Adds a listener with TLS; client certificates are validated against `authority`.
    #[must_use]
    pub fn tls(
        mut self,
        authority: &Authority,
        server: &Identity,
        clients: ClientCertificates,
    ) -> Self {
        self.tls = Some(Tls {
            certificate: server.pem(),
            key: server.key_pem(),
            authority: authority.pem(),
            clients,
        });
        self
    }

    /// `xff_num_trusted_hops`: how many proxies before this one are believed.
    #[must_use]
    pub const fn trusted_hops(mut self, hops: u32) -> Self {
        self.trusted_hops = hops;
        self
    }

    /// `headers_with_underscores_action`: `ALLOW` (the default), `REJECT_REQUEST` or `DROP_HEADER`.
    #[must_use]
    pub const fn underscores(mut self, action: &'static str) -> Self {
        self.underscores = action;
        self
    }

    /// How many request headers are taken, and their size in KiB; Envoy's default is 100 and 60.
    #[must_use]
    pub const fn max_headers(mut self, count: u32, kilobytes: u32) -> Self {
        self.max_headers = count;
        self.max_headers_kb = kilobytes;
        self
    }

    /// Leaves paths as clients sent them: no segments are removed or merged, and escaped slashes pass.
    #[must_use]
    pub const fn as_sent(mut self) -> Self {
        self.as_sent = true;
        self
    }

    /// Speaks HTTP/1.1 to the origin, whatever the client speaks.
    #[must_use]
    pub const fn h1_to_origin(mut self) -> Self {
        self.h1_to_origin = true;
        self
    }

    /// Mounts a gate with this policy before the one under test, in VMs of its own: the slot of a candidate.
    #[must_use]
    pub fn candidate(self, policy: &Value) -> Self {
        let mount = self.gate_of_its_own(policy, "candidate");
        self.filter_before(mount.fixed())
    }

    /// Mounts a gate with this policy behind the one under test, in VMs of its own: the policy in force, where it is the
    /// candidate that changes.
    #[must_use]
    pub fn in_force_behind(self, policy: &Value) -> Self {
        let mount = self.gate_of_its_own(policy, "in-force");
        self.filter_after(mount.fixed())
    }

    fn gate_of_its_own(&self, policy: &Value, slot: &str) -> Mount {
        Mount {
            module: self.module.clone(),
            policy: Policy::Text(policy.to_string()),
            root_id: "gate".into(),
            vm_id: format!("{}-{slot}", self.vm_id),
            environment: self.environment.clone(),
        }
    }

    /// Mounts the role `admin` on a listener of its own at this address of the machine: [`Envoy::live`].
    #[must_use]
    pub const fn admin_role(mut self, address: &'static str) -> Self {
        self.admin_role = Some(address);
        self
    }

    /// Adds an HTTP filter before the gate.
    #[must_use]
    pub fn filter_before(mut self, filter: Value) -> Self {
        self.before.push(filter);
        self
    }

    /// Adds an HTTP filter after the gate.
    #[must_use]
    pub fn filter_after(mut self, filter: Value) -> Self {
        self.after.push(filter);
        self
    }

    /// Adds an HTTP filter to the cluster, after the role `origin` if that is mounted: it runs once per attempt.
    #[must_use]
    pub fn filter_upstream(mut self, filter: Value) -> Self {
        self.upstream.push(filter);
        self
    }
}
