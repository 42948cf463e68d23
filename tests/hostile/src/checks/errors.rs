//! No error of the gate that the policy does not explain, and none that nobody explains.
//!
//! Whoever sends a good request on a connection of his own is answered, and nobody waits for ever. An error above 499 is the origin's own, by
//! its number; or Envoy's, where the origin misbehaved towards that request, or closed a connection under it and never saw it (as
//! Envoy's access log confirms, [`UNSEEN`]); or ours, where shared state has no room (as the gate counts). One from 400 on, of a good request, is the origin's own, or
//! ours for a reason that the policy has to refuse that request ([`policy::refuses`]).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Broken, Counted};
use crate::history::{Answer, End, Micros, Past, Told};
use crate::log::Log;
use crate::policy;

pub(super) const NAME: &str = "every error has a reason";

/// The response code details of a request that was sent on a connection which the origin was closing: Envoy's; what is left of that
/// behind a cache, whose own request it is; and ours, for either.
const UNSEEN: [&str; 3] = [
    "upstream_reset_before_response_started{connection_termination}",
    "via_upstream",
    "tidegate_no-answer",
];

/// The conduct by which the origin closes a connection that Envoy may be about to use again, for it was answered on.
const CLOSING: &str = "early";

/// How long Envoy may take to see that a connection is closed, on a machine that has other work.
const SEEN_CLOSED: Micros = 200_000;

/// The conducts of the origin by which a request has no whole answer, or none in time.
const MISBEHAVES: [&str; 6] = ["late", "early", "deaf", "resets", "closes", "truncates"];

/// How the details begin that Envoy's access log has of our own answers.
const OURS: &str = "tidegate_";

/// How each request ended, by Envoy's access log.
type Ended<'a> = BTreeMap<u64, &'a Value>;

pub(super) fn check(past: &Past, counted: &Counted, log: &Log) -> Vec<Broken> {
    let ended = log.by_number();
    let answered = past.ends.iter().filter_map(|(number, end)| {
        let End::Answered(answer) = end else {
            return None;
        };
        let told = past.told.get(number)?;
        let judged = answer.status >= 500 || (answer.status >= 400 && told.hostile.is_empty());
        judged.then_some((told, answer))
    });
    let mut broken = Vec::new();
    let mut without_room = Vec::new();
    for (told, answer) in answered {
        let reason = match answer.problem.as_deref() {
            Some(kind) if kind.ends_with("#temporary-reduced-capacity") => {
                without_room.push(told.number);
                Ok(())
            }
            _ if answer.made_for.is_some() => made(past, answer),
            _ if answer.status < 500 => explained(&ended, told, answer),
            // A cache or an Envoy behind the gate got no answer.
            Some(kind) if !kind.ends_with(":no-answer") => Err(format!("our `{kind}`")),
            _ => unanswered(past, &ended, told, answer),
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

/// Whether an answer is what the origin made.
fn made(past: &Past, answer: &Answer) -> Result<(), String> {
    let number = answer.made_for;
    let mut executions = past.executions.iter();
    let made = executions.find(|execution| Some(execution.number) == number);
    if made.and_then(|made| made.status) == Some(answer.status) {
        return Ok(());
    }
    let number = number.unwrap_or_default();
    Err(format!("not the status that was made for {number}"))
}

/// Whether the policy has a reason to refuse a good request so. The access log knows it: a HEAD is refused without a body.
fn explained(ended: &Ended<'_>, told: &Told, answer: &Answer) -> Result<(), String> {
    let details = text(ended, told.number, "details");
    match details.strip_prefix(OURS) {
        Some(reason) if policy::refuses(told, reason) == Some(answer.status) => Ok(()),
        _ => Err(format!(
            "`{details}`, which the policy says of no such request"
        )),
    }
}

/// Whether there is a reason that the origin's answer to a request did not come.
fn unanswered(past: &Past, ended: &Ended<'_>, told: &Told, answer: &Answer) -> Result<(), String> {
    let mut executions = past.executions.iter();
    let seen = executions.find(|execution| execution.number == told.number);
    let Some(execution) = seen else {
        let details = text(ended, told.number, "details");
        if UNSEEN.contains(&details) && closed_meanwhile(past, told, answer) {
            return Ok(());
        }
        let flags = text(ended, told.number, "flags");
        return Err(format!(
            "the origin never saw it, and the access log has `{flags}`, `{details}`"
        ));
    };
    // Whose body does not come as a whole is not to be answered; a good request's does.
    let cut = execution.whole.is_none() && !is_good(told);
    if cut || MISBEHAVES.contains(&execution.conduct) {
        return Ok(());
    }
    Err(match &answer.problem {
        Some(kind) => format!("our `{kind}`"),
        None => "nobody's".to_owned(),
    })
}

/// Whether the origin closed a connection that Envoy may have sent a request on.
fn closed_meanwhile(past: &Past, told: &Told, answer: &Answer) -> bool {
    let closing = past.executions.iter().filter(|one| one.conduct == CLOSING);
    let mut closed = closing.filter_map(|one| one.ended);
    closed.any(|at| at <= answer.at && told.sent <= at + SEEN_CLOSED)
}

/// What the access log has of a request by this name; nothing where it does not have the request.
fn text<'a>(ended: &Ended<'a>, number: u64, name: &str) -> &'a str {
    let line = ended.get(&number).copied();
    line.and_then(|line| line[name].as_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::made::{SECOND, answer, counted, executed, holds, is_broken, told};
    use super::*;
    use crate::history::{Execution, Kind, Record};
    use crate::people::Who;

    /// What is found where the access log says nothing.
    fn check(past: &Past, counted: &Counted) -> Vec<Broken> {
        super::check(past, counted, &Log::default())
    }

    /// An access log in which request 1 ended so.
    fn logged(flags: &str, details: &str) -> Log {
        Log::new(vec![
            json!({"line": "DownstreamEnd", "number": "1", "flags": flags, "details": details}),
        ])
    }

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

    #[test]
    fn what_the_origin_never_saw_it_closed_a_connection_under() {
        let unseen = |closed: Micros, details: &str| {
            let mut past = got("", |answer| answer.at = SECOND);
            past.told.entry(1).and_modify(|told| told.sent = SECOND / 2);
            past.executions = vec![executed(2, closed)];
            past.executions[0].ended = Some(closed);
            past.executions[0].conduct = CLOSING;
            super::check(&past, &counted(), &logged("UC", details))
        };
        let [ended, ..] = UNSEEN;
        holds(&unseen(SECOND / 2, ended));
        holds(&unseen(SECOND / 2 - SEEN_CLOSED, ended));
        is_broken(&unseen(SECOND / 4, ended), "never saw it");
        is_broken(&unseen(SECOND + 1, ended), "never saw it");
        is_broken(&unseen(SECOND / 2, "direct_response"), "`direct_response`");
        is_broken(&unseen(SECOND / 2, ""), "never saw it");
        // What it saw is to be answered, whatever else it closed.
        let mut past = got("answers", |_| {});
        past.executions.push(Execution {
            conduct: CLOSING,
            ..executed(2, 5)
        });
        is_broken(
            &super::check(&past, &counted(), &logged("UC", ended)),
            "nobody's",
        );
    }

    #[test]
    fn a_good_request_comes_to_the_origin_as_a_whole() {
        let partly = |hostile: &'static str| {
            let mut past = got("answers", |_| {});
            past.executions[0].whole = None;
            past.told.entry(1).and_modify(|told| told.hostile = hostile);
            check(&past, &counted())
        };
        holds(&partly("half-closed within the body"));
        is_broken(&partly(""), "nobody's");
    }

    #[test]
    fn a_good_request_is_refused_for_what_the_policy_says() {
        let refused = |status: u16, reason: &str, change: fn(&mut Told)| {
            let mut past = got("", |answer| answer.status = status);
            past.executions.clear();
            past.told.entry(1).and_modify(change);
            let details = format!("tidegate_{reason}");
            super::check(&past, &counted(), &logged("-", &details))
        };
        let stranger = |told: &mut Told| told.who = Who::Stranger(2);
        let private = |told: &mut Told| (told.who, told.kind) = (Who::Stranger(2), Kind::Private);
        let once = |told: &mut Told| {
            (told.kind, told.record) = (Kind::Charges, Some(Record::Once("amy k".to_owned())));
        };
        holds(&refused(429, "quota-exceeded", |_| {}));
        is_broken(&refused(403, "quota-exceeded", |_| {}), "403 by");
        holds(&refused(401, "identity-required", private));
        is_broken(
            &refused(401, "identity-required", stranger),
            "identity-required",
        );
        holds(&refused(422, "idempotency-key-reused", once));
        is_broken(
            &refused(422, "idempotency-key-reused", |_| {}),
            "key-reused",
        );
        holds(&refused(413, "body-too-large", |told| told.large = true));
        is_broken(&refused(413, "body-too-large", once), "body-too-large");
        is_broken(
            &refused(400, "identity-ambiguous", |_| {}),
            "identity-ambiguous",
        );
        // What is hostile may be refused for anything.
        holds(&refused(400, "identity-ambiguous", |told| {
            told.hostile = "an identity twice";
        }));
        let envoys = got("", |answer| answer.status = 400);
        let log = logged("DPE", "http1.codec_error");
        is_broken(
            &super::check(&envoys, &counted(), &log),
            "http1.codec_error",
        );
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
