//! Made-up histories.

use std::collections::BTreeMap;

use tidegate_e2e::jwt::Issuer;

use super::{Broken, Counted};
use crate::history::{Answer, End, Execution, Kind, Micros, Past, Record, Told};
use crate::people::{People, Who};

/// A second.
pub(super) const SECOND: Micros = 1_000_000;

pub(super) fn people() -> People {
    People::new(1, &Issuer::new("made-up").unwrap()).unwrap()
}

pub(super) fn told(number: u64, who: usize, kind: Kind, sent: Micros) -> Told {
    Told {
        number,
        who: Who::Account(who),
        kind,
        hostile: "",
        protocol: "",
        method: "GET".to_owned(),
        path: "/".to_owned(),
        record: None,
        cost: 1,
        large: false,
        follows: false,
        sent,
    }
}

/// An execution that is answered with a 200 a millisecond after it arrived.
pub(super) fn executed(number: u64, arrived: Micros) -> Execution {
    Execution {
        number,
        arrived,
        whole: Some(arrived),
        ended: Some(arrived + 1_000),
        conduct: "answers",
        status: Some(200),
        complete: true,
        kept: 0,
        body: 7,
        method: "GET".to_owned(),
        path: "/".to_owned(),
        ours: None,
    }
}

/// The whole answer of an execution.
pub(super) fn answer(made_for: u64, at: Micros) -> Answer {
    Answer {
        status: 200,
        made_for: Some(made_for),
        whole: true,
        body: 7,
        at,
        ..Answer::default()
    }
}

impl Past {
    pub(super) fn sent(mut self, told: Told) -> Self {
        self.told.insert(told.number, told);
        self
    }

    pub(super) fn with_record(self, number: u64, sent: Micros, record: &Record) -> Self {
        let record = Some(record.clone());
        self.sent(Told {
            record,
            ..told(number, 0, Kind::Charges, sent)
        })
    }

    pub(super) fn ran(mut self, execution: Execution) -> Self {
        self.executions.push(execution);
        self
    }

    pub(super) fn got(mut self, number: u64, answer: Answer) -> Self {
        self.ends.insert(number, End::Answered(answer));
        self
    }
}

/// The counts that agree with one request that was allowed.
pub(super) fn counted() -> Counted {
    Counted {
        decisions: BTreeMap::from([(("none".to_owned(), "allowed".to_owned()), 1)]),
        logged: vec![(Some(1), "allowed".to_owned())],
        ..Counted::default()
    }
}

#[track_caller]
pub(super) fn holds(found: &[Broken]) {
    assert_eq!(found, []);
}

#[track_caller]
pub(super) fn is_broken(found: &[Broken], by: &str) {
    assert!(
        found.iter().any(|one| one.what.contains(by)),
        "no `{by}` in {found:#?}"
    );
}
