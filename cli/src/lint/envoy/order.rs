//! Where the gate stands among the filters of its chain.

use super::Findings;
use super::filter::FilterKind;
use super::parts::Chain;

pub(super) fn check(chain: &Chain<'_>, gate: usize, findings: &mut Findings) {
    let Some(filter) = chain.filters.get(gate) else {
        return;
    };
    let before = chain.filters.get(..gate).unwrap_or_default();
    if before.iter().any(|f| f.kind == FilterKind::Router) {
        findings.warn(
            &filter.at,
            "the gate stands behind the router, where no request comes; put it before",
        );
    }
    if before.iter().any(|f| f.kind.is_cache()) {
        findings.warn(
            &filter.at,
            "the gate stands behind a cache filter, which answers before callers are limited or told apart; put it before",
        );
    }
}
