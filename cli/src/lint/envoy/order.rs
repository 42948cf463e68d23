//! Where the gate stands among the filters of its chain.

use super::Findings;
use super::filter::{Filter, FilterKind};
use super::parts::Chain;

pub(super) fn check(chain: &Chain<'_>, gate: usize, findings: &mut Findings) {
    let Some(filter) = chain.filters.get(gate) else {
        return;
    };
    let before = chain.filters.get(..gate).unwrap_or_default();
    let has = |kind| before.iter().any(|filter: &Filter<'_>| filter.kind == kind);
    if has(FilterKind::Router) {
        findings.warn(
            &filter.at,
            "the gate stands behind the router, where no request comes; put it before",
        );
    }
    if has(FilterKind::Cache) {
        findings.warn(
            &filter.at,
            "the gate stands behind a cache filter, which answers before callers are limited or told apart; put it before",
        );
    }
}
