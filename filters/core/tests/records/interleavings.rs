//! Every interleaving of two and three workers.

use crate::explore::{Explored, Setup, TIMES, explore};
use crate::worker::{ANSWER, Ending, Job, Request, Rules};
use crate::world::Kind;

/// Room for all that anybody writes.
const AMPLE: u64 = 1_000;

fn request(key: u8, ending: Ending) -> Job {
    Job::Request(Request {
        key,
        body: 0,
        early: false,
        ending,
    })
}

/// A request that claims before it has read its body.
fn early(body: u8, ending: Ending) -> Job {
    Job::Request(Request {
        key: 0,
        body,
        early: true,
        ending,
    })
}

fn setup(ways: u8, room: u64, retries: bool, jobs: &[Job]) -> Setup {
    Setup {
        rules: Rules {
            ways,
            room,
            retries,
        },
        jobs: jobs.to_vec(),
        kind: Kind::Right,
        times: TIMES.len(),
        failures: 0,
    }
}

/// Explores each, and says how much that was.
fn all(name: &str, setups: &[Setup]) -> Explored {
    let mut sum = Explored::default();
    for setup in setups {
        let explored = explore(setup).unwrap_or_else(|wrong| panic!("{wrong}"));
        sum.states += explored.states;
        sum.steps += explored.steps;
        sum.schedules += explored.schedules;
    }
    println!(
        "{name}: {} set-ups, {} states, {} steps, {:.2e} schedules",
        setups.len(),
        sum.states,
        sum.steps,
        sum.schedules
    );
    sum
}

/// What one worker may be, beside another with key 0.
fn jobs() -> Vec<Job> {
    let mut jobs = vec![
        request(0, Ending::Answer),
        request(0, Ending::AnswerTwice),
        request(0, Ending::Release),
        request(0, Ending::Unknown),
        request(0, Ending::UnknownThenAnswer),
        early(0, Ending::Answer),
        early(1, Ending::Answer),
        Job::Sweep,
    ];
    jobs.push(request(1, Ending::Answer));
    jobs.push(request(1, Ending::Meddle));
    jobs
}

/// Rules under which pairs are explored: how many records, how much room, and whether an unknown outcome is tried again.
const RULES: [(u8, u64, bool); 5] = [
    (1, AMPLE, true),
    (2, AMPLE, true),
    (2, AMPLE, false),
    (2, ANSWER, true),
    (1, ANSWER + ANSWER / 2, false),
];

/// Every pair, each under the rules that are chosen for its number.
fn pairs(chosen: impl Fn(usize, usize) -> bool) -> Vec<Setup> {
    let jobs = jobs();
    let mut setups = Vec::new();
    let mut pair = 0;
    for (index, one) in jobs.iter().enumerate() {
        for other in &jobs[index..] {
            for (rule, (ways, room, retries)) in RULES.into_iter().enumerate() {
                if chosen(pair, rule) {
                    setups.push(setup(ways, room, retries, &[*one, *other]));
                }
            }
            pair += 1;
        }
    }
    setups
}

/// Three workers that meet where two do not.
fn triples() -> Vec<Setup> {
    use Ending::{Answer, Release, Unknown, UnknownThenAnswer};
    let answer = request(0, Answer);
    [
        // A race for one key, and its answer.
        (1, AMPLE, false, [answer, answer, answer]),
        (2, AMPLE, true, [answer, answer, Job::Sweep]),
        // A late owner, the one after it, and one who wants its place.
        (
            1,
            AMPLE,
            true,
            [request(0, UnknownThenAnswer), answer, request(1, Answer)],
        ),
        (1, ANSWER, false, [request(0, Release), answer, Job::Sweep]),
        // Another body under a key whose outcome is unknown, twice.
        (
            1,
            AMPLE,
            true,
            [early(0, Unknown), early(1, Answer), early(1, Answer)],
        ),
        (
            2,
            AMPLE,
            true,
            [answer, request(1, Ending::Meddle), Job::Sweep],
        ),
        // Little room. Large: last.
        (
            2,
            ANSWER,
            true,
            [answer, request(0, Unknown), request(1, Answer)],
        ),
    ]
    .iter()
    .map(|(ways, room, retries, jobs)| setup(*ways, *room, *retries, jobs))
    .collect()
}

fn failing(mut setups: Vec<Setup>, failures: u8) -> Vec<Setup> {
    for setup in &mut setups {
        setup.failures = failures;
    }
    setups
}

fn until(mut setups: Vec<Setup>, times: usize) -> Vec<Setup> {
    for setup in &mut setups {
        setup.times = times;
    }
    setups
}

#[test]
fn two_workers_in_every_order() {
    let chosen = |pair, rule| pair % RULES.len() == rule;
    let explored = all("two workers", &until(pairs(chosen), 3));
    assert!(explored.states > 200_000, "{explored:?}");
    assert!(explored.schedules > 1e12, "{explored:?}");
}

#[test]
fn a16_three_workers_in_every_order() {
    let explored = all("three workers", &until(triples()[..6].to_vec(), 2));
    assert!(explored.states > 50_000, "{explored:?}");
}

#[test]
fn two_workers_and_a_call_that_fails() {
    let chosen = |pair, rule| pair < 5 && pair % RULES.len() == rule;
    let explored = all("a call fails", &failing(until(pairs(chosen), 3), 1));
    assert!(explored.states > 100_000, "{explored:?}");
}

#[test]
#[ignore = "takes minutes, for whoever changes the records: add `-- --ignored --nocapture`"]
fn all_pairs_under_all_rules() {
    all("all pairs", &pairs(|_, _| true));
}

#[test]
#[ignore = "takes minutes, as above"]
fn all_triples() {
    all("all triples, until a lease ends", &until(triples(), 2));
    // Those that stay small enough.
    let small: Vec<_> = [0, 1, 3, 5].map(|index| triples()[index].clone()).into();
    all("triples, until a record ends", &until(small, 3));
}

#[test]
#[ignore = "takes minutes, as above"]
fn all_pairs_and_a_call_that_fails() {
    let chosen = |pair, rule| pair % RULES.len() == rule;
    all("all pairs, a call fails", &failing(pairs(chosen), 1));
}

/// A checker that cannot fail proves nothing.
#[test]
fn a_broken_store_is_noticed() {
    let (answer, unknown) = (request(0, Ending::Answer), request(0, Ending::Unknown));
    for (kind, job, wrong) in [
        (Kind::IgnoresVersions, unknown, "not theirs"),
        (Kind::ManyFirstWritings, unknown, "not theirs"),
        (Kind::CutsAnswers, answer, "not whole"),
        (Kind::DropsAnswers, answer, "not there"),
    ] {
        let mut broken = setup(2, AMPLE, false, &[job, job]);
        broken.kind = kind;
        let found = explore(&broken).unwrap_err();
        assert!(
            found.lines().next().unwrap().contains(wrong),
            "{kind:?}: {found}"
        );
    }
}
