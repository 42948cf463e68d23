//! How far a simulation has come, on a terminal alone.

use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over bytes.
pub(crate) fn bytes(total: u64) -> ProgressBar {
    styled(
        ProgressBar::new(total),
        "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left  {msg}",
    )
}

/// A bar over requests.
pub(crate) fn requests(total: u64) -> ProgressBar {
    styled(
        ProgressBar::new(total),
        "{bar:30} {human_pos}/{human_len} requests, {eta} left",
    )
}

/// A sign of life where nobody knows how much is to come.
pub(crate) fn stream() -> ProgressBar {
    let bar = styled(
        ProgressBar::no_length(),
        "{spinner} {bytes} {bytes_per_sec}  {msg}",
    );
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
