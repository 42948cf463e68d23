//! Envoy and the module's VMs are as they were, and no larger than they may be.

use tidegate_e2e::envoy::Vms;

use super::Broken;

pub(super) const NAME: &str = "Envoy and its VMs are well";
pub(super) const MEMORY: &str = "memory stays within its bound";

/// What else Envoy's heap may grow by while it serves: connections, buffers, series of metrics.
const SLACK: u64 = 1 << 20;

/// What Envoy's own cache needs for a copy beside its bytes.
pub(crate) const COPY: u64 = 4 << 10;

/// Words in Envoy's log that tell of a VM that failed.
const WORDS: [&str; 7] = [
    "Caught ",
    "panic",
    "Uncaught",
    "unreachable",
    "wasm failed",
    "Function: proxy",
    "Proxy-Wasm plugin in-VM backtrace",
];

/// What is known of Envoy.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) before: Vms,
    /// None: it is gone.
    pub(crate) after: Option<Vms>,
    /// How many requests Envoy did not let go of when all callers had gone.
    pub(crate) left: u64,
    pub(crate) log: String,
    pub(crate) store_errors: u64,
    pub(crate) mismatches: u64,
    /// What the role `admin` answered that it should not.
    pub(crate) operators: Vec<String>,
}

/// Envoy's heap, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// What the policies may take.
    pub(crate) bound: u64,
    /// How many copies a cache may hold, and their bytes.
    pub(crate) copies: (u64, u64),
}

impl Memory {
    /// The most by which the heap may have grown.
    pub(crate) const fn most(&self) -> u64 {
        let (copies, bytes) = self.copies;
        self.bound + copies * COPY + bytes + SLACK
    }
}

pub(super) fn check(health: &Health) -> Vec<Broken> {
    let mut found = Vec::new();
    let mut broken = |what: String| {
        found.push(Broken {
            invariant: NAME,
            what,
            requests: Vec::new(),
        });
    };
    match health.after {
        None => broken("Envoy is gone".to_owned()),
        Some(after) if after != health.before => {
            broken(format!("VMs: {:?}, then {after:?}", health.before));
        }
        Some(_) => {}
    }
    let lines = health.log.lines();
    let failing = lines.filter(|line| WORDS.iter().any(|word| line.contains(word)));
    for line in failing.take(5) {
        broken(format!("its log has `{line:.200}`"));
    }
    if health.left > 0 {
        broken(format!("{} requests are still there", health.left));
    }
    if health.store_errors > 0 {
        broken(format!("{} store errors", health.store_errors));
    }
    if health.mismatches > 0 {
        broken(format!(
            "{} answers were withheld as another's",
            health.mismatches
        ));
    }
    for answer in health.operators.iter().take(5) {
        broken(format!("operators got {answer}"));
    }
    found
}

pub(super) fn fits(memory: &Memory) -> Vec<Broken> {
    let grown = memory.after.saturating_sub(memory.before);
    if grown <= memory.most() {
        return Vec::new();
    }
    vec![Broken {
        invariant: MEMORY,
        what: format!(
            "the heap grew by {grown} bytes, and may by {}",
            memory.most()
        ),
        requests: Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::super::made::{holds, is_broken};
    use super::*;

    fn health(change: impl FnOnce(&mut Health)) -> Health {
        let vms = Vms {
            active: 4,
            created: 5,
            reloads: 0,
        };
        let mut health = Health {
            before: vms,
            after: Some(vms),
            left: 0,
            log: "[info] all is well\n".to_owned(),
            store_errors: 0,
            mismatches: 0,
            operators: Vec::new(),
        };
        change(&mut health);
        health
    }

    fn seen(change: impl FnOnce(&mut Health)) -> Vec<Broken> {
        check(&health(change))
    }

    #[test]
    fn what_fails_is_seen() {
        is_broken(&seen(|h| h.left = 1), "1 requests are still there");
        holds(&seen(|_| {}));
        is_broken(&seen(|h| h.after = None), "Envoy is gone");
        is_broken(
            &seen(|h| h.after = h.after.map(|v| Vms { reloads: 1, ..v })),
            "VMs",
        );
        is_broken(
            &seen(|h| h.log = "[critical] wasm failed: x".to_owned()),
            "wasm failed",
        );
        is_broken(&seen(|h| h.store_errors = 1), "store errors");
        is_broken(&seen(|h| h.mismatches = 1), "withheld");
        is_broken(
            &seen(|h| h.operators.push("/: 500".to_owned())),
            "operators got /: 500",
        );
    }

    #[test]
    fn what_grows_too_much_is_seen() {
        let grown = |bytes| Memory {
            before: 100,
            after: 100 + bytes,
            bound: 1_000,
            copies: (2, 500),
        };
        holds(&fits(&grown(1_000 + 2 * COPY + 500 + SLACK)));
        is_broken(
            &fits(&grown(1_001 + 2 * COPY + 500 + SLACK)),
            "the heap grew by",
        );
    }
}
