//! Ctrl-c, and the wish to end that a supervisor sends: taken as a reason to roll back, not to leave things as they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The longest nap; a wish to end is seen after it.
const NAP: Duration = Duration::from_millis(50);

/// What is said of such a wish.
pub(super) const STOPPED: &str = "somebody stopped it";

/// Whether somebody wishes this to end.
#[derive(Debug, Clone)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens for it from now on.
    ///
    /// # Errors
    /// The system does not let us.
    pub(super) fn listen() -> Result<Self> {
        let wished = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&wished);
        ctrlc::set_handler(move || heard.store(true, Ordering::Relaxed))
            .context("ctrl-c cannot be listened for")?;
        Ok(Self(wished))
    }

    pub(super) fn is_wished(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits, and says whether somebody wishes this to end.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now().checked_add(time);
        while end.is_some_and(|end| Instant::now() < end) && !self.is_wished() {
            std::thread::sleep(NAP.min(time));
        }
        self.is_wished()
    }
}
