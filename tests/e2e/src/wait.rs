//! Waiting for a condition, never for a time.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::{Instant, sleep, timeout_at};

/// The pause between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(10);

/// Looks again and again until `probe` gives `Ok`, for at most `limit`.
///
/// # Errors
///
/// The error of the last look, or that not even one came to its end.
pub async fn eventually<T>(
    limit: Duration,
    mut probe: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let end = Instant::now() + limit;
    let mut last = None;
    while let Ok(outcome) = timeout_at(end, probe()).await {
        match outcome {
            Ok(value) => return Ok(value),
            Err(error) => last = Some(error),
        }
        if Instant::now() + PAUSE > end {
            break;
        }
        sleep(PAUSE).await;
    }
    Err(last.unwrap_or_else(|| anyhow::anyhow!("no look at the condition came to its end")))
        .with_context(|| format!("not within {limit:?}"))
}
