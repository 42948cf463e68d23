//! Telling a cache whose copy a request is for, and holding what comes back to it.

use tidegate_core::cache::{
    Edit, Expected, INSTRUCTION, Instruction, Mismatch, Plan, SCOPE, Sender, Use, outgoing,
};
use tidegate_core::denial::Denial;
use tidegate_core::reserved;

use crate::host::{self, Failed, Map};
use crate::pairs::{self, Pair};

/// Tells `origin` and caches what to make of the request whose headers these are.
///
/// # Errors
/// [`Denial::RouteChanged`] where the scoped request would go another way than the one that Envoy chose, and
/// [`Denial::StoreUnavailable`] where the host does not let it be told: it must not go on.
pub(crate) fn tell(plan: Plan, headers: &[Pair<'_>]) -> Result<Expected, Denial> {
    let set = |name: &str, value: &[u8]| {
        host::set_header(Map::RequestHeaders, name.as_bytes(), value)
            .map_err(|Failed| Denial::StoreUnavailable)
    };
    // A change of headers has Envoy choose the route anew.
    let chosen = plan.path.as_ref().map(|_| route());
    if let Some(marker) = &plan.marker {
        set(SCOPE, marker.as_bytes())?;
    }
    set(INSTRUCTION, &plan.instruction.to_bytes())?;
    if let Some(path) = &plan.path {
        #[cfg(feature = "test-switches")]
        let path = &crate::switches::path(path, headers);
        set(":path", path)?;
    }
    let mut expected = plan.expected;
    let Some(chosen) = chosen else {
        return Ok(expected);
    };
    if route() != chosen {
        // The marker leads elsewhere: the request goes unmarked, past every copy.
        let bypass = Instruction {
            usage: Use::Bypass,
            marked: false,
            ..plan.instruction
        };
        expected.usage = Use::Bypass;
        set(INSTRUCTION, &bypass.to_bytes())?;
        set(":path", pairs::first(headers, b":path").unwrap_or_default())?;
        if route() != chosen {
            return Err(Denial::RouteChanged);
        }
    }
    Ok(expected)
}

/// Removes the headers that are ours and did not come from us.
pub(crate) fn remove_reserved(headers: &[Pair<'_>]) {
    for (name, _) in headers {
        if reserved::is_header(name) {
            // A name that is there twice is gone by the second time.
            let _ = host::remove_header(Map::RequestHeaders, name);
        }
    }
}

/// The route that Envoy chose, by its name; one without a name goes by its cluster.
fn route() -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    match host::property(b"xds\0route_name") {
        Some(name) if !name.is_empty() => (Some(name), None),
        _ => (None, host::property(b"xds\0cluster_name")),
    }
}

/// Holds a response to what is expected of it, and takes out what is ours; says who sent it.
///
/// # Errors
/// A [`Mismatch`]: the response must not leave.
pub(crate) fn receive(expected: &Expected, headers: &[Pair<'_>]) -> Result<Sender, Mismatch> {
    // Without a status the list is not the response's: the host hands out an empty one where it is too long.
    let Some(status) = pairs::first(headers, b":status") else {
        return Err(Mismatch::NoSeal);
    };
    let sender = sender(status);
    let edits = outgoing(expected, sender, headers)?;
    apply(Map::ResponseHeaders, &edits).map_err(|Failed| Mismatch::NoSeal)?;
    if expected.marker.is_some() && sender == Sender::Envoy {
        // The body may become shorter.
        let _ = host::remove_header(Map::ResponseHeaders, b"content-length");
    }
    Ok(sender)
}

/// Who sent the response. In doubt it is one that must have a seal: what Envoy's cache fetches has details of its own,
/// such as `cache.insert_via_upstream`, and a filter that answers a request with success may have kept what it answers.
/// A route's own answer was written into Envoy's configuration, and is for everybody.
fn sender(status: &[u8]) -> Sender {
    let details = host::property(b"response\0code_details").unwrap_or_default();
    match details.as_slice() {
        b"cache.response_from_cache_filter" => Sender::Cache,
        b"" | b"via_upstream" => Sender::Upstream,
        b"direct_response" => Sender::Envoy,
        details if details.starts_with(b"cache.") || status.starts_with(b"2") => Sender::Upstream,
        _ => Sender::Envoy,
    }
}

/// Makes changes of a header map.
pub(crate) fn apply(map: Map, edits: &[Edit]) -> Result<(), Failed> {
    for edit in edits {
        match edit {
            Edit::Remove(name) => host::remove_header(map, name)?,
            Edit::Set(name, value) => host::set_header(map, name, value)?,
            Edit::Add(name, value) => host::add_header(map, name, value)?,
        }
    }
    Ok(())
}
