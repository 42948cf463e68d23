//! Telling a cache whose copy a request is for, and holding what comes back to it.

use cached::{Cached as _, LruCache};
use tidegate_core::cache::{
    Edit, Expected, INSTRUCTION, Mismatch, Plan, SCOPE, Sender, Use, outgoing,
};
use tidegate_core::denial::Denial;
use tidegate_core::reserved;

use crate::host::{self, Failed, Map};
use crate::pairs::{self, Pair};

/// What the response to a marked request is held to.
pub(crate) struct Told {
    pub(crate) expected: Expected,
    /// The way that Envoy chose before the path was marked; `None`: it was not.
    way: Option<Way>,
}

/// Tells `origin` and caches what to make of the request whose headers these are.
///
/// # Errors
/// [`Denial::StoreUnavailable`] where the host does not let it be told: it must not go on.
pub(crate) fn tell(
    plan: Plan,
    headers: &[Pair<'_>],
    strayed: &mut Strayed,
) -> Result<Told, Denial> {
    let set = |name: &str, value: &[u8]| {
        host::set_header(Map::Request, name.as_bytes(), value)
            .map_err(|Failed| Denial::StoreUnavailable)
    };
    let Plan {
        mut instruction,
        marker,
        mut path,
        mut expected,
    } = plan;
    let mut way = path.as_ref().map(|_| Way::chosen());
    if way.as_ref().is_some_and(|way| strayed.has(way)) {
        // The marker leads elsewhere: the request goes unmarked, past every copy.
        (way, path) = (None, None);
        instruction.usage = Use::Bypass;
        instruction.marked = false;
        expected.usage = Use::Bypass;
    }
    if let Some(marker) = &marker {
        set(SCOPE, marker.as_bytes())?;
    }
    set(INSTRUCTION, &instruction.to_bytes())?;
    if let Some(path) = &path {
        #[cfg(feature = "test-switches")]
        let path = &crate::switches::path(path, headers);
        set(":path", path)?;
    }
    #[cfg(not(feature = "test-switches"))]
    let _ = headers;
    Ok(Told { expected, way })
}

/// Whether the request went the way that Envoy chose before its path was marked. A change of `:path` has Envoy choose anew,
/// and it shows what it chose only when the response is there; a way that was lost once is remembered.
///
/// # Errors
/// [`Mismatch::Way`]: what answered is not what was asked.
pub(crate) fn went_its_way(told: &Told, strayed: &mut Strayed) -> Result<(), Mismatch> {
    let Some(way) = &told.way else { return Ok(()) };
    if *way == Way::chosen() {
        return Ok(());
    }
    strayed.note(way.clone());
    Err(Mismatch::Way)
}

/// A way through Envoy: the route by its name, or by its cluster where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Way(Option<Vec<u8>>, Option<Vec<u8>>);

impl Way {
    fn chosen() -> Self {
        match host::property(b"xds\0route_name") {
            Some(name) if !name.is_empty() => Self(Some(name), None),
            _ => Self(None, host::property(b"xds\0cluster_name")),
        }
    }
}

/// How many ways a worker remembers from which a marker leads astray; the least recently used goes first.
const MOST_STRAYED: usize = 256;

/// Ways from which a marker leads astray: those of routes that look at the path as a whole.
pub(crate) struct Strayed(LruCache<Way, ()>);

impl Strayed {
    pub(crate) fn new() -> Self {
        Self(LruCache::new(MOST_STRAYED))
    }

    fn has(&mut self, way: &Way) -> bool {
        self.0.cache_size() > 0 && self.0.cache_get(way).is_some()
    }

    fn note(&mut self, way: Way) {
        self.0.cache_set(way, ());
    }
}

/// Blanks the headers that are ours and did not come from us, in shadow too: nobody speaks in our name to what stands
/// behind. They stay, so that a gate in force behind one in shadow refuses the request as it would have.
pub(crate) fn blank_reserved(headers: &[Pair<'_>]) {
    for (name, _) in headers {
        if reserved::is_header(name) {
            let _ = host::set_header(Map::Request, name, b"");
        }
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
    apply(Map::Response, &edits).map_err(|Failed| Mismatch::NoSeal)?;
    if expected.marker.is_some() && sender == Sender::Envoy {
        // The body may become shorter.
        let _ = host::remove_header(Map::Response, b"content-length");
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
