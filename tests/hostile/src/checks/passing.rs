//! What reaches the origin is what was sent, once, and nothing that was refused.

use std::collections::BTreeMap;

use super::Broken;
use crate::history::{End, Past};

pub(super) const NAME: &str = "the origin sees what was sent and allowed";

pub(super) fn check(past: &Past) -> Vec<Broken> {
    let broken = |what: String, number: u64| Broken {
        invariant: NAME,
        what,
        requests: vec![number],
    };
    let mut found: Vec<Broken> = past
        .unknown
        .iter()
        .map(|text| Broken {
            invariant: NAME,
            what: format!("nobody sent {text}"),
            requests: Vec::new(),
        })
        .collect();
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for execution in &past.executions {
        let number = execution.number;
        let Some(told) = past.of(execution) else {
            continue;
        };
        *times.entry(number).or_default() += 1;
        if let Some(ours) = &execution.ours {
            found.push(broken(format!("the application is told `{ours}`"), number));
        }
        if (&execution.path, &execution.method) != (&told.path, &told.method) {
            let (method, path) = (&execution.method, &execution.path);
            found.push(broken(format!("it became {method} {path}"), number));
        }
        if let Some(End::Answered(answer)) = past.ends.get(&number)
            && let Some(kind) = &answer.problem
            && !kind.ends_with(":no-answer")
        {
            found.push(broken(
                format!("it was refused by `{kind}`, and reached the origin"),
                number,
            ));
        }
    }
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    found.extend(
        twice.map(|(number, times)| broken(format!("one request came {times} times"), number)),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::super::made::{answer, executed, holds, is_broken, told};
    use super::*;
    use crate::history::{Answer, Execution, Kind};

    fn one(change: impl FnOnce(&mut Execution)) -> Past {
        let mut execution = executed(1, 5);
        change(&mut execution);
        Past::default()
            .sent(told(1, 0, Kind::Plain, 0))
            .ran(execution)
    }

    #[test]
    fn a_request_comes_once_as_it_was_sent() {
        holds(&check(&one(|_| {})));
        is_broken(&check(&one(|_| {}).ran(executed(1, 9))), "came 2 times");
        is_broken(
            &check(&one(|e| e.path = "/?__tidegate=0".to_owned())),
            "it became",
        );
        is_broken(&check(&one(|e| e.method = "POST".to_owned())), "it became");
        is_broken(
            &check(&one(|e| e.ours = Some("x-tidegate-scope".to_owned()))),
            "is told `x-tidegate-scope`",
        );
    }

    #[test]
    fn what_nobody_sent_does_not_come() {
        let mut past = one(|_| {});
        past.unknown.push("GET /smuggled".to_owned());
        is_broken(&check(&past), "nobody sent GET /smuggled");
    }

    #[test]
    fn what_is_refused_does_not_come() {
        let refused = Answer {
            problem: Some("urn:tidegate:problem:identity-ambiguous".to_owned()),
            ..answer(1, 10)
        };
        is_broken(
            &check(&one(|_| {}).got(1, refused)),
            "and reached the origin",
        );
    }
}
