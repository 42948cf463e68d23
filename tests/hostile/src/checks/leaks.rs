//! Nobody is given what is another's, nor what only gates and caches say to each other.

use std::collections::BTreeMap;

use super::Broken;
use crate::history::{Answer, End, Execution, Kind, Past, Told};
use crate::people::{People, Who};

pub(super) const NAME: &str = "nobody sees what is another's";

pub(super) fn check(past: &Past, people: &People) -> Vec<Broken> {
    let answered = past.ends.iter().filter_map(|(number, end)| match end {
        End::Answered(answer) => Some((past.told.get(number)?, answer)),
        _ => None,
    });
    let executions = past
        .executions
        .iter()
        .map(|one| (one.number, one))
        .collect();
    answered
        .filter_map(|(told, answer)| {
            Some(Broken {
                invariant: NAME,
                what: fault(past, people, &executions, told, answer)?,
                requests: answer.made_for.into_iter().chain([told.number]).collect(),
            })
        })
        .collect()
}

fn fault(
    past: &Past,
    people: &People,
    executions: &BTreeMap<u64, &Execution>,
    told: &Told,
    answer: &Answer,
) -> Option<String> {
    if let Some(ours) = &answer.ours {
        return Some(format!("{:?} is given `{ours}`", told.who));
    }
    let own = people.secret(told.who);
    let tenants = people
        .tenant(told.who)
        .map(|tenant| people.secret_of_tenant(tenant));
    let foreign = |secret: &&String| **secret != own && Some(*secret) != tenants.as_ref();
    if let Some(secret) = answer.secrets.iter().find(foreign) {
        return Some(format!(
            "{:?} is given `{secret}` by {} {}",
            told.who, told.method, told.path
        ));
    }
    let made = past.told.get(&answer.made_for?)?;
    // An answer that was made for another request is a copy, or the answer of its own record.
    if made.number == told.number || matches!(made.kind, Kind::Public) {
        return None;
    }
    let same = match made.kind {
        // Who is nobody has no events of his own.
        Kind::Events if people.tenant(told.who).is_none() => {
            let others =
                made.record.is_some() && told.record.is_some() && made.record != told.record;
            return (people.tenant(made.who).is_some() || others)
                .then(|| format!("{:?} is given the event of {:?}", told.who, made.who));
        }
        Kind::Shared => {
            people.tenant(made.who) == people.tenant(told.who) && made.kind == told.kind
        }
        _ => made.who == told.who,
    };
    if !same || matches!(told.who, Who::Stranger(_)) {
        return Some(format!(
            "{:?} is given the answer of {:?}",
            told.who, made.who
        ));
    }
    if answer.replayed
        && told.record.is_some()
        && made.record.is_some()
        && made.record != told.record
    {
        return Some(format!(
            "{:?} is replayed as {:?}",
            made.record, told.record
        ));
    }
    let execution = executions.get(&made.number)?;
    let whole = answer.whole && told.method != "HEAD" && ![204, 304].contains(&answer.status);
    if whole && Some(answer.status) == execution.status && answer.body != execution.body {
        return Some("the body is not the one that was made".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::made::{answer, executed, holds, is_broken, people, told};
    use super::*;
    use crate::history::Record;

    /// A request of account 0, and what it got.
    fn got(kind: Kind, change: impl FnOnce(&mut Answer)) -> Past {
        let mut answer = answer(1, 10);
        change(&mut answer);
        let past = Past::default()
            .sent(told(1, 0, kind, 0))
            .ran(executed(1, 5));
        past.got(1, answer)
    }

    /// A request of account `who` that got an answer made for account 0.
    fn copy(kind: Kind, who: usize) -> Past {
        let past = got(kind, |_| {}).sent(told(2, who, kind, 20));
        past.got(2, answer(1, 30))
    }

    #[test]
    fn a_secret_is_its_owners() {
        let people = people();
        let own = people.secret(Who::Account(0));
        let tenants = people.secret_of_tenant(0);
        let past = got(Kind::Mine, |answer| answer.secrets.extend([own, tenants]));
        holds(&check(&past, &people));
        for foreign in [
            people.secret(Who::Account(1)),
            people.secret_of_tenant(1),
            "tgs-0".to_owned(),
        ] {
            let past = got(Kind::Mine, |answer| answer.secrets.extend([foreign]));
            is_broken(&check(&past, &people), "is given `tgs-");
        }
    }

    #[test]
    fn what_is_ours_leaves_nobody() {
        let past = got(Kind::Plain, |answer| {
            answer.ours = Some("x-tidegate-seal".to_owned());
        });
        is_broken(&check(&past, &people()), "x-tidegate-seal");
    }

    #[test]
    fn copies_are_for_those_who_share_them() {
        let people = people();
        holds(&check(&copy(Kind::Mine, 0), &people));
        holds(&check(&copy(Kind::Shared, 1), &people));
        holds(&check(&copy(Kind::Public, 11), &people));
        is_broken(
            &check(&copy(Kind::Mine, 1), &people),
            "is given the answer of",
        );
        is_broken(
            &check(&copy(Kind::Shared, 4), &people),
            "is given the answer of",
        );
        is_broken(
            &check(&copy(Kind::Charges, 1), &people),
            "is given the answer of",
        );
    }

    #[test]
    fn events_of_nobody_are_strangers_alone() {
        let people = people();
        let event = |number, who, key: &str| {
            let mut told = told(number, 0, Kind::Events, 0);
            told.who = who;
            told.record = Some(Record::Event(key.to_owned()));
            told
        };
        let given = |whose, key| {
            let past = Past::default().sent(event(1, whose, "e"));
            let past = past
                .ran(executed(1, 5))
                .sent(event(2, Who::Stranger(3), key));
            past.got(2, answer(1, 30))
        };
        holds(&check(&given(Who::Stranger(2), "e"), &people));
        is_broken(
            &check(&given(Who::Stranger(2), "f"), &people),
            "is given the event of",
        );
        is_broken(
            &check(&given(Who::Account(0), "e"), &people),
            "is given the event of",
        );
    }

    #[test]
    fn a_replay_is_of_its_own_record_and_byte_for_byte() {
        let people = people();
        let with = |own: &str, body: u64| {
            let record = |key: &str| Record::Once(key.to_owned());
            let past = Past::default()
                .with_record(1, 0, &record("k"))
                .ran(executed(1, 5));
            let replay = Answer {
                replayed: true,
                body,
                ..answer(1, 30)
            };
            past.with_record(2, 20, &record(own)).got(2, replay)
        };
        holds(&check(&with("k", 7), &people));
        is_broken(&check(&with("other", 7), &people), "is replayed as");
        is_broken(&check(&with("k", 8), &people), "not the one that was made");
    }
}
