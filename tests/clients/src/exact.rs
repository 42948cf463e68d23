//! What holds for every client, whatever it does: nothing is admitted before its time, and everything from then on. B3 and B34 are
//! held here, by what real clients read.

use anyhow::{Result, ensure};

use crate::attempt::Attempt;
use crate::stand::REFILL;

/// How exactly the time of a decision is known, in seconds: the log has the time at which a request came, and on a machine that
/// has more to do it is decided a while later.
const CLOCK: f64 = 0.1;

/// Checks the attempts of one account at the limit of one request in [`REFILL`] seconds.
///
/// # Errors
///
/// One was admitted too early or refused too late, or was not told its wait, rounded up to seconds.
pub(crate) fn check(attempts: &[Attempt]) -> Result<()> {
    let mut admitted: Option<f64> = None;
    for attempt in attempts {
        let left = admitted.map_or(0.0, |at| at + REFILL - attempt.at);
        match attempt.status {
            200 => {
                ensure!(left < CLOCK, "admitted {left} s early: {attempts:?}");
                admitted = Some(attempt.at);
            }
            429 => {
                ensure!(left > -CLOCK, "refused {left} s late: {attempts:?}");
                let told = attempt.told();
                let exact =
                    told >= 1.0 && told > left - CLOCK && told - 1.0 < left.max(1.0) + CLOCK;
                ensure!(exact, "told {told} s for {left} s: {attempts:?}");
            }
            status => ensure!(false, "{status} is no answer of a limit: {attempts:?}"),
        }
    }
    Ok(())
}
