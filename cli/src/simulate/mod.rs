//! Replays a log or a generated load through a policy on a virtual clock.
//!
//! The way of a request: a line of a [`log`] or the next of a [`load`] becomes a [`record`]; [`present`] shows it to the policy
//! as Envoy would; [`player`] decides, by the engine itself over a store in memory; [`statistics`] and [`differences`]
//! count, in memory that does not grow with the log; [`report`] says what came of it.

mod caller;
mod demand;
mod differences;
mod digest;
mod field;
mod heavy;
mod input;
mod load;
mod log;
mod memo;
mod moment;
mod needs;
mod number;
mod player;
mod present;
mod progress;
mod record;
mod report;
mod sample;
mod slope;
mod stage;
mod statistics;
mod timeline;

pub(crate) use field::{Field, Fields};
pub(crate) use input::{Logs, Source, run};
pub(crate) use load::Spec;
pub(crate) use report::{Meta, build, html, text};

use report::Report;

/// Why a report is not to be believed: nothing could be read, or more than `most` percent of the lines could not, or stand in the wrong
/// place.
pub(crate) fn unbelievable(report: &Report, most: f64) -> Option<String> {
    let Report { input, totals, .. } = report;
    let what = if input.generated { "load" } else { "log" };
    if totals.requests == 0 && input.unreadable == 0 {
        return Some(format!("there is no request in the {what}"));
    }
    let too_many = |lines| report::share(lines, input.lines) * 100.0 > most;
    if too_many(input.unreadable) || totals.requests == 0 {
        return Some(format!(
            "{} of {} lines could not be read, more than {most} %; name the fields of your log by \
             `--field NAME=KEY`, or allow more by `--unreadable PERCENT`",
            input.unreadable, input.lines
        ));
    }
    // Each was decided too late, when others had taken what there was.
    too_many(input.late).then(|| {
        format!(
            "{} of {} lines stand behind requests that came up to {} after them, more than {most} %; wait longer for them by \
             `--reorder TIME`, name files that were put together one by one, or allow more by `--unreadable PERCENT`",
            input.late,
            input.lines,
            moment::length(input.late_by),
        )
    })
}
