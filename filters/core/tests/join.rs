//! The rate limit fields of a canary in a response that the gate in force behind it has given its own.
#![cfg(not(target_family = "wasm"))]

use tidegate_core::answer::join;

fn joined(ours: &[(&'static str, &str)], theirs: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let ours: Vec<_> = ours.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
    let theirs: Vec<_> = theirs
        .iter()
        .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
        .collect();
    join(&ours, &theirs)
}

#[track_caller]
fn is(found: &[(&'static str, String)], expected: &[(&str, &str)]) {
    let found: Vec<_> = found.iter().map(|(n, v)| (*n, v.as_str())).collect();
    assert_eq!(found, expected);
}

const OURS: [(&str, &str); 2] = [
    ("ratelimit-policy", r#""account";q=5;w=60, "new";q=9;w=9"#),
    ("ratelimit", r#""account";r=4;t=12, "new";r=8;t=1"#),
];

#[test]
fn of_one_name_the_nearer_to_refusing_is_told_whosever_it_is() {
    let policy = ("ratelimit-policy", r#""account";q=100;w=60, "old";q=3;w=3"#);
    // Fewer are left of theirs; as many, and for as long or longer; more, or as many and for less.
    for (theirs, stays) in [
        ("r=3;t=1", true),
        ("r=4;t=12", true),
        ("r=4;t=11", false),
        ("r=5;t=99", false),
        ("t=99", false),
    ] {
        let limit = format!(r#""account";{theirs}, "old";r=2;t=1"#);
        let found = joined(&OURS, &[policy, ("ratelimit", &limit)]);
        let (policies, limits) = if stays {
            (
                r#""account";q=100;w=60, "old";q=3;w=3, "new";q=9;w=9"#.to_owned(),
                format!(r#"{limit}, "new";r=8;t=1"#),
            )
        } else {
            (
                format!(r#""old";q=3;w=3, {}"#, OURS[0].1),
                format!(r#""old";r=2;t=1, {}"#, OURS[1].1),
            )
        };
        is(
            &found,
            &[("ratelimit-policy", &policies), ("ratelimit", &limits)],
        );
    }
}

#[test]
fn a_response_without_fields_or_with_none_that_can_be_read_gets_ours() {
    is(&joined(&OURS, &[]), &OURS);
    is(&joined(&OURS, &[("ratelimit", "limit=5, (")]), &OURS);
    // Lines of one field are one, and what is no limit's stays.
    let lines = [("ratelimit", r#""old";r=1;t=1"#), ("ratelimit", "token")];
    let limits = format!(r#""old";r=1;t=1, token, {}"#, OURS[1].1);
    is(&joined(&OURS, &lines), &[OURS[0], ("ratelimit", &limits)]);
}

#[test]
fn a_refusal_behind_keeps_what_it_says_and_where_we_say_nothing_nothing_changes() {
    let refusal = [("retry-after", "7"), ("ratelimit", r#""account";r=0;t=7"#)];
    is(&joined(&OURS, &refusal), &[]);
    is(&joined(&[], &[("ratelimit", r#""account";r=9;t=7"#)]), &[]);
    // The origin asks for time, and nobody told of limits.
    is(&joined(&OURS, &[("retry-after", "7")]), &OURS);
}

#[test]
fn the_older_fields_are_all_three_of_one_limit() {
    let ours = [
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "4"),
        ("x-ratelimit-reset", "12"),
    ];
    for (remaining, stays) in [("3", true), ("4", true), ("5", false), ("x", false)] {
        let theirs = [
            ("x-ratelimit-limit", "9"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", "1"),
        ];
        let expected = if stays { &[][..] } else { &ours };
        is(&joined(&ours, &theirs), expected);
    }
}

#[test]
fn a_name_that_an_origin_sends_twice_is_told_once() {
    let theirs = [
        ("ratelimit-policy", r#""old";q=3;w=3, "old";q=4;w=4"#),
        (
            "ratelimit",
            r#""old";r=2;t=1, "old";r=1;t=1, "account";r=3, "account";r=1"#,
        ),
    ];
    is(
        &joined(&OURS, &theirs),
        &[
            ("ratelimit-policy", r#""old";q=3;w=3, "new";q=9;w=9"#),
            (
                "ratelimit",
                r#""old";r=1;t=1, "account";r=1, "new";r=8;t=1"#,
            ),
        ],
    );
}
