//! Whether the chain has a cache that a caller can take Envoy down with.

use super::Findings;
use super::filter::FilterKind;
use super::parts::Chain;

/// What Envoy 1.36.4 to 1.40.0 do is pinned by `tests/e2e/tests/caches_that_fail.rs`.
pub(super) fn check(chain: &Chain<'_>, findings: &mut Findings) {
    let filters = chain.filters.iter();
    for filter in filters.filter(|filter| filter.kind == FilterKind::OldCache) {
        findings.warn(
            &filter.at,
            "Envoy crashes when a caller hangs up within an answer that this cache may keep; write `cache_v2`, or keep copies in another cache",
        );
    }
}
