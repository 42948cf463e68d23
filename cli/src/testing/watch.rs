//! Waiting for a change of policies and cases.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use super::{CASES, folders};
use crate::policy_file::POLICY;

/// How often files are looked at.
const EVERY: Duration = Duration::from_millis(200);

/// When each file was written, and how long it is.
type Seen = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// What the policies and cases under `roots` look like now.
pub(crate) fn look(roots: &[PathBuf]) -> Seen {
    let folders = folders(roots).unwrap_or_default();
    let files = folders
        .iter()
        .flat_map(|folder| [folder.join(POLICY), folder.join(CASES)]);
    files
        .map(|file| {
            let about = file.metadata().ok();
            let written = about.as_ref().and_then(|about| about.modified().ok());
            (file, (written, about.map_or(0, |about| about.len())))
        })
        .collect()
}

/// Returns when something under `roots` looks otherwise than it was `seen`.
pub(crate) fn changed(roots: &[PathBuf], seen: &Seen) {
    while look(roots) == *seen {
        sleep(EVERY);
    }
}
