//! What in an Envoy configuration would keep a policy from holding.
//!
//! Files are read into [`file`]s of [`node`]s that know their place; [`parts`] finds the HTTP filter chains and clusters in
//! them, and [`mount`] what of them is Tidegate. Each of the other modules looks at one thing that may be wrong.

mod admin;
mod bodies;
mod caches;
mod certificates;
mod environment;
mod file;
mod filter;
mod identity;
mod mount;
mod node;
mod off;
mod once;
mod order;
mod origin;
mod parts;
mod paths;
mod settings;
mod vms;
mod yaml;

use std::path::PathBuf;

use anyhow::Result;
use tidegate_core::policy::{Mistake, Policy};

use self::file::File;
use self::filter::Filter;
use self::mount::{Mount, Role};
use self::node::Node;
use self::parts::{Chain, Parts};
use super::finding::{Finding, Kind};

/// What was found so far.
#[derive(Debug, Default)]
struct Findings(Vec<(usize, Kind, Mistake)>);

impl Findings {
    fn warn(&mut self, at: &Node<'_>, message: impl Into<String>) {
        self.add(Kind::Warning, at, message.into());
    }

    fn mistake(&mut self, at: &Node<'_>, message: impl Into<String>) {
        self.add(Kind::Mistake, at, message.into());
    }

    fn add(&mut self, kind: Kind, at: &Node<'_>, message: String) {
        let path = at.path();
        self.0.push((at.file, kind, Mistake { path, message }));
    }
}

/// Looks at the configurations that lie at these paths, for these policies; returns how many files were read, and what
/// was found.
///
/// # Errors
/// Where a file cannot be read.
pub fn envoys(policies: &[Policy], paths: &[PathBuf]) -> Result<(usize, Vec<Finding>)> {
    let (mut files, mut findings) = (Vec::new(), Vec::new());
    for path in file::paths(paths)? {
        match File::read(&path)? {
            Ok(file) => files.push(file),
            Err(finding) => findings.push(finding),
        }
    }
    let read = files.len().saturating_add(findings.len());
    let mut found = Findings::default();
    for (index, file) in files.iter().enumerate() {
        let is_empty = file
            .value
            .as_object()
            .is_some_and(serde_json::Map::is_empty);
        // A wrong path must not pass for a configuration without faults.
        if file.value.is_null() || is_empty {
            let root = Node::root(index, &file.value);
            found.warn(&root, "there is nothing in this file; give what Envoy is started with, or a file of resources");
        }
    }
    for envoy in apart(&files) {
        one(policies, &files, &envoy, &mut found);
    }
    for (file, kind, mistake) in found.0 {
        let Some(file) = files.get(file) else {
            continue;
        };
        let finding = Finding::new(&file.path, &file.positions, kind, mistake);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings.sort_by(|one, other| {
        let place = |f: &Finding| (f.file.clone(), f.line, f.column);
        place(one).cmp(&place(other))
    });
    Ok((read, findings))
}

/// The files of each Envoy: a bootstrap is one of its own, and resource files go with every one.
fn apart(files: &[File]) -> Vec<Vec<usize>> {
    let of = |bootstrap: bool| {
        let all = files.iter().enumerate();
        all.filter(move |(_, file)| file.is_bootstrap() == bootstrap)
            .map(|(index, _)| index)
    };
    let resources: Vec<usize> = of(false).collect();
    let mut envoys: Vec<Vec<usize>> = of(true)
        .map(|bootstrap| {
            core::iter::once(bootstrap)
                .chain(resources.clone())
                .collect()
        })
        .collect();
    if envoys.is_empty() && !resources.is_empty() {
        envoys.push(resources);
    }
    envoys
}

/// Looks at one Envoy.
fn one(policies: &[Policy], files: &[File], own: &[usize], findings: &mut Findings) {
    let roots: Vec<Node<'_>> = own
        .iter()
        .filter_map(|index| Some(Node::root(*index, &files.get(*index)?.value)))
        .collect();
    let parts = Parts::find(&roots);
    let mounts: Vec<&Mount<'_>> = parts.mounts().collect();
    for mount in &mounts {
        settings::check(policies, mount, findings);
    }
    off::check(&roots, &parts, findings);
    vms::check(&mounts, findings);
    for cluster in &parts.clusters {
        origin::no_gate_in_cluster(cluster, findings);
    }
    for policy in policies {
        if !parts.chains.is_empty() && !mounts.iter().any(|mount| mount.may_be_of(policy)) {
            // What is sent apart, and is not here, may be the mount.
            let complete = !parts.filters().any(Filter::is_elsewhere);
            if let Some(root) = roots.first().filter(|_| complete) {
                let name = &policy.name;
                findings.warn(root, format!("the policy `{name}` is mounted nowhere here; add the filter as `envoy/gate.yaml` has it"));
            }
            continue;
        }
        for root in &roots {
            once::check(policy, root, &parts, findings);
        }
        for chain in &parts.chains {
            for (index, filter) in chain.filters.iter().enumerate() {
                let Some(mount) = filter.mount.as_ref().filter(|m| m.may_be_of(policy)) else {
                    continue;
                };
                match mount.role {
                    Some(Role::Gate) => gate(policy, &parts, chain, (index, mount), findings),
                    Some(Role::Admin) => admin::check(policy, chain, mount, &mounts, findings),
                    Some(Role::Origin) | None => {}
                }
            }
        }
    }
}

/// Looks at one mount of a policy's gate.
fn gate(
    policy: &Policy,
    parts: &Parts<'_>,
    chain: &Chain<'_>,
    (index, mount): (usize, &Mount<'_>),
    findings: &mut Findings,
) {
    order::check(chain, index, findings);
    caches::check(chain, findings);
    identity::check(policy, chain, index, findings);
    certificates::check(policy, chain, findings);
    environment::check(policy, mount, findings);
    bodies::check(policy, chain, mount, findings);
    paths::check(chain, findings);
    origin::check(policy, parts, chain, findings);
}
