//! Many at once on one URL, while the origin takes its time.

use std::collections::BTreeMap;

use tidegate_e2e::flood;

use crate::stand::{Kind, Stand};
use crate::{PUBLIC, SAY, is_clean, lines};

const CALLERS: usize = 8;
const EACH: usize = 3;

/// c1: what is on its way for one caller is waited for by that caller alone.
pub(crate) async fn at_once(stand: &Stand, kind: Kind) {
    let url = stand.gate.at("/mine/slow?a=1");
    let caller = |n: usize| format!("slow-{}", n % CALLERS);
    let answers = flood(CALLERS * EACH, CALLERS * EACH, move |client, n| {
        let call = client.get(&url).header("x-api-key", caller(n));
        call.header("x-origin-respond-after", "200")
            .header(SAY, lines(PUBLIC))
    });
    for (n, answer) in answers.await.unwrap().iter().enumerate() {
        assert_eq!(answer.status, 200, "{kind:?} {answer:?}");
        assert!(
            answer.text().contains(&format!("\"{}\"", caller(n))),
            "{kind:?} {answer:?}"
        );
        is_clean(answer);
    }
    let mut executed = BTreeMap::new();
    for seen in stand.origin.seen("/mine/slow") {
        let caller = seen.headers["x-api-key"].to_str().unwrap().to_owned();
        *executed.entry(caller).or_insert(0) += 1;
    }
    assert_eq!(executed.len(), CALLERS, "{kind:?}");
    assert!(
        executed.values().all(|times| *times <= EACH),
        "{kind:?} {executed:?}"
    );
}
