//! Whether the gate and what is behind it see one path.

use super::Findings;
use super::parts::Chain;

pub(super) fn check(chain: &Chain<'_>, findings: &mut Findings) {
    for key in ["normalize_path", "merge_slashes"] {
        if !chain.at.has(key) {
            let at = chain.at.get(key).unwrap_or_else(|| chain.at.clone());
            findings.warn(
                &at,
                format!("a path may reach the application in another spelling than the one that was decided about; write `{key}: true`"),
            );
        }
    }
}
