//! Idempotency keys: an application with middleware for them behind a plain Envoy, and the same application without any behind
//! Tidegate.

mod calls;
mod duplicates;
mod hang_up;
mod replays;
mod stand;

use std::time::Duration;

use anyhow::Result;

use crate::table::Table;

pub(crate) use stand::express_version;

/// Measures all stands; replays so often and for so long.
pub(crate) async fn tables((rounds, time): (usize, Duration)) -> Result<Vec<Table>> {
    let stands = stand::all().await?;
    let mut once = Table::new(
        "One charge, sent again",
        &[
            "",
            "executions of 200 parallel duplicates",
            "what they got",
            "executions of 10 charges whose client hung up and came again",
            "what it got then",
            "a replay beside the first answer",
        ],
    );
    for stand in &stands {
        let (executions, got) = duplicates::measure(stand).await?;
        let (again, then) = hang_up::measure(stand).await?;
        let differs = replays::compare(stand).await?;
        once.row(
            stand.name,
            [
                executions.to_string(),
                got,
                again.to_string(),
                then,
                differs,
            ],
        );
    }
    let replays = replays::table(&stands, rounds, time).await?;
    Ok(vec![once, replays])
}
