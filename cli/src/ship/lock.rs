//! Who may change a folder.
//!
//! There are two locks. One is held while resource files and history are changed, by whoever changes them. The other keeps
//! two ships apart, and a canary holds it all the while. A rollback wants the first alone: while a canary runs, the gate can be
//! rolled back and the candidate taken out.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// The file whose lock keeps two changes apart.
const CHANGES: &str = ".tidegate.lock";

/// The file whose lock keeps two ships apart.
const SHIPS: &str = ".tidegate.ship.lock";

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// A lock; it goes with the process.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "the lock goes with the file")] File);

/// Waits for the lock of changes, at most so long.
///
/// # Errors
/// Somebody else has it all the while, or the folder cannot be written.
pub(super) fn changes(folder: &Path, patience: Duration) -> Result<Lock> {
    take(folder, CHANGES, patience, "`tidegate ship` or `rollback`")
}

/// Takes the lock of ships.
///
/// # Errors
/// Somebody else has it, or the folder cannot be written.
pub(super) fn ships(folder: &Path) -> Result<Lock> {
    take(folder, SHIPS, Duration::ZERO, "`tidegate ship`")
}

fn take(folder: &Path, name: &str, patience: Duration, who: &str) -> Result<Lock> {
    let shown = folder.display();
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(name))
        .with_context(|| format!("`{shown}` cannot be written"))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => bail!(
                "`{shown}` is being changed by another {who}; wait until that is done, or stop it"
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("`{shown}` cannot be locked"));
            }
        }
    }
}
