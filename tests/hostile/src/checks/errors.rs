//! No error of the gate that the policy does not explain, and none that nobody explains.
//!
//! Whoever sends a good request on a connection of his own is answered, and nobody waits for ever. An error above 499 is the origin's own, by its number; or Envoy's, where the origin misbehaved towards that request or never saw it; or ours,
//! where shared state has no room (as the gate counts).

use super::{Broken, Counted};
use crate::history::{Answer, End, Past, Told};

pub(super) const NAME: &str = "every error has a reason";

pub(super) fn check(past: &Past, counted: &Counted) -> Vec<Broken> {
    let answered = past.ends.iter().filter_map(|(number, end)| match end {
        End::Answered(answer) if answer.status >= 500 => Some((past.told.get(number)?, answer)),
        _ => None,
    });
    let mut broken = Vec::new();
    let mut without_room = Vec::new();
    for (told, answer) in answered {
        let reason = match answer.problem.as_deref() {
            Some(kind) if kind.ends_with("#temporary-reduced-capacity") => {
                without_room.push(told.number);
                Ok(())
            }
            // A cache or an Envoy behind the gate got no answer.
            Some(kind) if kind.ends_with(":no-answer") && misbehaved(past, told.number) => Ok(()),
            Some(kind) => Err(format!("our `{kind}`")),
            None => foreign(past, told, answer),
        };
        if let Err(what) = reason {
            broken.push(Broken {
                invariant: NAME,
                what: format!("{} by {} {}: {what}", answer.status, told.method, told.path),
                requests: vec![told.number],
            });
        }
    }
    for (number, end) in &past.ends {
        let what = match end {
            End::Silent => "was not answered",
            End::Cut(_) if past.told.get(number).is_some_and(is_good) => "was cut off",
            _ => continue,
        };
        broken.push(Broken {
            invariant: NAME,
            what: what.to_owned(),
            requests: vec![*number],
        });
    }
    let explained = counted.store_full + counted.contended;
    if without_room.len() as u64 > explained {
        broken.push(Broken {
            invariant: NAME,
            what: format!(
                "{} times no room, of which the gate counted {explained}",
                without_room.len()
            ),
            requests: without_room.into_iter().take(8).collect(),
        });
    }
    broken
}

/// Whether there is no reason to end a request's connection.
const fn is_good(told: &Told) -> bool {
    told.hostile.is_empty() && !told.follows
}

/// An error that is not ours.
fn foreign(past: &Past, told: &Told, answer: &Answer) -> Result<(), String> {
    match answer.made_for {
        Some(number) => {
            let made = past.executions.iter().find(|e| e.number == number);
            if made.and_then(|made| made.status) == Some(answer.status) {
                return Ok(());
            }
            Err(format!("not the status that was made for {number}"))
        }
        None if misbehaved(past, told.number) => Ok(()),
        None => Err("nobody's".to_owned()),
    }
}

/// Whether the origin gave a request no whole answer in time, or never saw it.
fn misbehaved(past: &Past, number: u64) -> bool {
    let mut executions = past.executions.iter().filter(|e| e.number == number);
    let misbehaves = |conduct: &str| {
        ["late", "early", "deaf", "resets", "closes", "truncates"].contains(&conduct)
    };
    match executions.next() {
        None => true,
        Some(execution) => misbehaves(execution.conduct) || execution.whole.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{answer, counted, executed, holds, is_broken, told};
    use super::*;
    use crate::history::Kind;

    /// A request that got an error, of which the origin behaved like this.
    fn got(conduct: &'static str, change: impl FnOnce(&mut Answer)) -> Past {
        let mut execution = executed(1, 5);
        execution.conduct = conduct;
        let mut answer = Answer {
            status: 503,
            made_for: None,
            ..answer(1, 10)
        };
        change(&mut answer);
        Past::default()
            .sent(told(1, 0, Kind::Plain, 0))
            .ran(execution)
            .got(1, answer)
    }

    fn ours(kind: &str) -> impl FnOnce(&mut Answer) {
        |answer| answer.problem = Some(kind.to_owned())
    }

    #[test]
    fn an_origin_that_breaks_off_is_a_reason() {
        holds(&check(&got("resets", |_| {}), &counted()));
        holds(&check(
            &got("late", ours("urn:tidegate:problem:no-answer")),
            &counted(),
        ));
        is_broken(&check(&got("answers", |_| {}), &counted()), "nobody's");
        is_broken(
            &check(
                &got("answers", ours("urn:tidegate:problem:no-answer")),
                &counted(),
            ),
            "no-answer",
        );
    }

    #[test]
    fn what_the_origin_said_is_a_reason_and_what_it_did_not_is_none() {
        let mut past = got("answers", |answer| answer.made_for = Some(1));
        past.executions[0].status = Some(503);
        holds(&check(&past, &counted()));
        past.executions[0].status = Some(200);
        is_broken(&check(&past, &counted()), "not the status that was made");
    }

    fn cut() -> End {
        End::Cut("by somebody".to_owned())
    }

    #[test]
    fn a_good_request_is_answered() {
        let ended = |hostile: &'static str, follows: bool, end: End| {
            let mut told = told(1, 0, Kind::Plain, 0);
            (told.hostile, told.follows) = (hostile, follows);
            let mut past = Past::default().sent(told);
            past.ends.insert(1, end);
            past
        };
        is_broken(&check(&ended("", false, cut()), &counted()), "was cut off");
        is_broken(
            &check(&ended("pipelined", true, End::Silent), &counted()),
            "was not answered",
        );
        holds(&check(&ended("", true, cut()), &counted()));
        holds(&check(&ended("half-closed", false, cut()), &counted()));
        holds(&check(
            &ended("half-closed", false, End::Gone("there")),
            &counted(),
        ));
    }

    #[test]
    fn ours_are_explained_by_what_the_gate_counts() {
        let full = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
        is_broken(
            &check(&got("answers", ours(full)), &counted()),
            "1 times no room",
        );
        let counts = Counted {
            store_full: 1,
            ..counted()
        };
        holds(&check(&got("answers", ours(full)), &counts));
        let seal = "urn:tidegate:problem:response-owner-mismatch";
        is_broken(
            &check(&got("resets", ours(seal)), &counts),
            "response-owner-mismatch",
        );
    }
}
