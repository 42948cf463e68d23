//! Who outside is told.

use std::collections::BTreeMap;

use deserr::ValuePointerRef;

use super::address::variable;
use super::dimension::Sources;
use super::duration::{self, SECOND, duration};
use super::names;
use crate::policy::document::{Entries, Labels, Notify as WireNotify};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{Dimension, Notify};

/// The most labels of tenants, and of accounts.
const MOST_LABELS: usize = 256;

/// The longest label, in bytes.
const MOST_LABEL_BYTES: usize = 64;

pub(super) fn notify(
    wire: WireNotify,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Notify> {
    let WireNotify {
        cluster,
        path,
        host,
        key_env,
        after,
        quiet,
        interval,
        backoff,
        timeout,
        docs,
        labels,
    } = wire;
    match &cluster {
        Some(name) => {
            let at = at.push_key("cluster");
            names::visible(name, 256, "a cluster's name", at, faults);
        }
        None => faults.missing(
            at,
            "cluster",
            "the name of the Envoy cluster of the receiver",
        ),
    }
    match &path {
        Some(text) => self::path(text, at.push_key("path"), faults),
        None => faults.missing(at, "path", "where events are sent, like `/hooks/tidegate`"),
    }
    if let Some(host) = &host {
        names::visible(host, 256, "an authority", at.push_key("host"), faults);
    }
    let key_env = match key_env {
        Some(name) => variable(name, at.push_key("key_env"), faults),
        None => {
            let example = "an environment variable's name, like `NOTIFY_KEY`";
            faults.missing(at, "key_env", example);
            None
        }
    };
    if let Some(docs) = &docs {
        address(docs, at.push_key("docs"), faults);
    }
    let mut time = |text: Option<String>, key: &str, bounds, default: u64| match text {
        Some(text) => duration(&text, bounds, at.push_key(key), faults),
        None => Some(default.saturating_mul(SECOND)),
    };
    let after = time(after, "after", &duration::WAIT, 60);
    let quiet = time(quiet, "quiet", &duration::WAIT, 60);
    let interval = time(interval, "interval", &duration::MEMORY, 3600);
    let backoff = time(backoff, "backoff", &duration::CALL, 5);
    let timeout = time(timeout, "timeout", &duration::CALL, 5);
    let Labels { tenant, account } = labels.unwrap_or_default();
    let at = at.push_key("labels");
    let mut labels = |labels, dimension: Dimension, key: &str| {
        self::labels(labels, &dimension, sources, at.push_key(key), faults)
    };
    let tenants = labels(tenant, Dimension::Tenant, "tenant");
    let accounts = labels(account, Dimension::Account, "account");
    Some(Notify {
        host: host.or_else(|| cluster.clone())?,
        cluster: cluster?,
        path: path?,
        key_env: key_env?,
        after: after?,
        quiet: quiet?,
        interval: interval?,
        backoff: backoff?,
        timeout: timeout?,
        docs,
        tenants,
        accounts,
    })
}

fn path(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let good = names::visible(text, 1024, "a path", at, faults);
    if good && (!text.starts_with('/') || text.contains('#')) {
        let text = shown(text);
        faults.add(
            at,
            format!("`{text}` is not a path; write one that begins with `/`, without `#`"),
        );
    }
}

fn address(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let good = names::visible(text, 256, "an address", at, faults);
    if good && !text.starts_with("https://") && !text.starts_with("http://") {
        let text = shown(text);
        faults.add(
            at,
            format!("`{text}` is not the address of a page; write one that begins with `https://`"),
        );
    }
}

fn labels(
    entries: Option<Entries<String>>,
    dimension: &Dimension,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> BTreeMap<String, String> {
    let Some(Entries(entries)) = entries else {
        return BTreeMap::new();
    };
    sources.check(dimension, at, faults);
    faults.at_most(at, MOST_LABELS, entries.len(), "labels");
    let mut labels = BTreeMap::new();
    for (value, label) in entries {
        let at = at.push_key(&value);
        names::value(&value, at, faults);
        let Some(label) = label else { continue };
        let good = (1..=MOST_LABEL_BYTES).contains(&label.len())
            && !label.trim().is_empty()
            && !label.chars().any(char::is_control);
        if !good {
            let label = shown(&label);
            faults.add(at, format!("`{label}` is not a label; write 1 to {MOST_LABEL_BYTES} bytes, not blank, without control characters"));
        }
        labels.insert(value, label);
    }
    labels
}
