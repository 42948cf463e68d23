//! Slots: the places in Envoy that take a policy, and the resource files through which they are told which.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A place for a policy.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub(crate) enum Slot {
    /// The policy that is enforced.
    #[default]
    Gate,
    /// A policy in shadow or a canary, before the enforced one.
    Candidate,
}

/// A resource file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file's name.
    pub(crate) file: &'static str,
    /// What the resource is called where the file does not say.
    pub(crate) name: &'static str,
    /// What is mounted there.
    pub(crate) role: &'static str,
    /// What stands behind the name of the gate's VM.
    pub(crate) suffix: &'static str,
    /// What Envoy's counters are called, before the resource's name.
    pub(crate) counters: &'static str,
}

/// Behind the cache.
const ORIGIN: Place = Place {
    file: "origin.json",
    name: "tidegate-origin",
    role: "origin",
    suffix: "-origin",
    counters: "extension_config_discovery.upstream_http_filter.",
};

/// The policy that is enforced.
pub(crate) const GATE: Place = Place {
    file: "gate.json",
    name: "tidegate-gate",
    role: "gate",
    suffix: "",
    counters: "extension_config_discovery.http_filter.",
};

/// The candidate.
const CANDIDATE: Place = Place {
    file: "candidate.json",
    name: "tidegate-candidate",
    role: "gate",
    suffix: "-candidate",
    counters: "extension_config_discovery.http_filter.",
};

impl Place {
    /// Whose file it is.
    pub(super) fn slot(self) -> Slot {
        if self == CANDIDATE {
            Slot::Candidate
        } else {
            Slot::Gate
        }
    }
}

impl Slot {
    /// The resource files of this slot, in the order in which they are changed: what a gate marks, the role behind the cache has to be
    /// able to undo already.
    pub(crate) const fn places(self) -> &'static [Place] {
        match self {
            Self::Gate => &[ORIGIN, GATE],
            Self::Candidate => &[CANDIDATE],
        }
    }

    /// The resource file that mounts the gate's role.
    pub(crate) const fn gate(self) -> Place {
        match self {
            Self::Gate => GATE,
            Self::Candidate => CANDIDATE,
        }
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gate => "gate",
            Self::Candidate => "candidate",
        })
    }
}
