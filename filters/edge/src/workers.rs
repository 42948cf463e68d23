//! How many VMs run which version of a policy. Each notes once a second that it is there, so that who ships a policy can see
//! when all of them run it, and when none runs the one before.

use tidegate_core::policy::Policy;
use tidegate_core::quota::NANOS_PER_SEC;

use crate::host::{self, MetricKind};
use crate::packed;
use crate::store;

/// For how long a mount counts as there after it was heard of last, in nanoseconds.
const HEARD: u64 = 4 * NANOS_PER_SEC;

/// The most mounts that are noted: more than any machine has workers.
const MOST_MOUNTS: usize = 1024;

/// One VM's mount of one version of a policy.
pub(crate) struct Worker {
    /// What tells it from others; made when it is heard of first.
    number: Option<[u8; 8]>,
    /// The labels of its metric.
    labels: String,
    /// The gauges by their labels. Envoy keeps each definition of a metric for ever, also of one that it has.
    gauges: Vec<(String, u32)>,
}

/// A mount as it is noted.
#[derive(Clone, Copy)]
struct Mount<'a> {
    number: [u8; 8],
    /// When it was heard of last.
    heard: u64,
    labels: &'a str,
}

impl Worker {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            number: None,
            labels: format!(
                "policy.{}.version.{}.digest.{:016x}.enforced.{}",
                policy.name,
                policy.version,
                packed::id(),
                policy.enforced_percent()
            ),
            gauges: Vec::new(),
        }
    }

    /// Notes that it is there, and counts those that run the same.
    pub(crate) fn note(&mut self, policy: &Policy, now: u64) {
        if self.number.is_none() {
            self.number = host::random().ok();
        }
        let Some(number) = self.number else { return };
        let own = Mount {
            number,
            heard: now,
            labels: &self.labels,
        };
        let mut counts: Vec<(String, u64)> = Vec::new();
        let noted = store::change(&store::name(policy, "workers"), |bytes| {
            let there = |mount: &Mount<'_>| {
                mount.number != number && now.saturating_sub(mount.heard) <= HEARD
            };
            let kept: Vec<_> = mounts(bytes).filter(there).chain([own]).collect();
            // Those that nobody runs any more are told once more, as none.
            counts.clear();
            for Mount { labels, .. } in mounts(bytes).chain([own]) {
                if !counts.iter().any(|(known, _)| known == labels) {
                    counts.push((labels.to_owned(), count(&kept, labels)));
                }
            }
            kept.iter().copied().flat_map(Mount::to_bytes).collect()
        });
        // Who could not note it does so next time.
        if noted.is_ok() {
            for (labels, count) in counts {
                self.record(labels, count);
            }
        }
    }

    fn record(&mut self, labels: String, count: u64) {
        let known = self.gauges.iter().find(|(known, _)| *known == labels);
        let id = match known {
            Some((_, id)) => *id,
            None if self.gauges.len() < MOST_MOUNTS => {
                let name = format!("tidegate_workers.{labels}");
                let Ok(id) = host::define_metric(MetricKind::Gauge, &name) else {
                    return;
                };
                self.gauges.push((labels, id));
                id
            }
            None => return,
        };
        let _ = host::record_metric(id, count);
    }
}

/// Which versions run on how many VMs, as far as it was noted. Nothing is noted here.
pub(crate) fn running(policy: &Policy, now: u64) -> Vec<(String, u64)> {
    let noted = host::shared(&store::name(policy, "workers"));
    let Ok(Some((bytes, _))) = noted else {
        return Vec::new();
    };
    let there = |mount: &Mount<'_>| now.saturating_sub(mount.heard) <= HEARD;
    let there: Vec<_> = mounts(&bytes).filter(there).collect();
    let mut counts: Vec<(String, u64)> = Vec::new();
    for Mount { labels, .. } in &there {
        if !counts.iter().any(|(known, _)| known == labels) {
            counts.push(((*labels).to_owned(), count(&there, labels)));
        }
    }
    counts
}

fn count(mounts: &[Mount<'_>], labels: &str) -> u64 {
    let same = mounts.iter().filter(|mount| mount.labels == labels);
    u64::try_from(same.count()).unwrap_or(u64::MAX)
}

/// The mounts that are noted, as far as the bytes are ours.
fn mounts(mut bytes: &[u8]) -> impl Iterator<Item = Mount<'_>> {
    core::iter::from_fn(move || {
        let (number, rest) = bytes.split_first_chunk::<8>()?;
        let (heard, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first()?;
        let (labels, rest) = rest.split_at_checked(usize::from(*length))?;
        bytes = rest;
        Some(Mount {
            number: *number,
            heard: u64::from_le_bytes(*heard),
            labels: str::from_utf8(labels).ok()?,
        })
    })
    .take(MOST_MOUNTS)
}

impl Mount<'_> {
    /// Its number, when it was heard of, and the length of its labels before them: at most 194 bytes.
    fn to_bytes(self) -> Vec<u8> {
        let length = u8::try_from(self.labels.len()).unwrap_or(u8::MAX);
        let labels = self.labels.as_bytes();
        let labels = labels.get(..usize::from(length)).unwrap_or_default();
        [
            &self.number[..],
            &self.heard.to_le_bytes(),
            &[length],
            labels,
        ]
        .concat()
    }
}
