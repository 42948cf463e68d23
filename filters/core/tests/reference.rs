//! The reference of the policy document, docs/policy.md, held to the code: every key of the schema has a row and every row
//! is a key; every example is taken; every default is what leaving the key out means; every bound is where it is said to be.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

#[path = "reference/base.rs"]
mod base;
#[path = "reference/rows.rs"]
mod rows;
#[path = "reference/schema.rs"]
mod schema;

use std::collections::BTreeSet;

use base::{Place, checked, with, without};
use rows::{Row, rows};
use serde_json::{Value, json};

#[test]
fn every_key_of_the_schema_has_a_row_and_every_row_is_a_key() {
    let documented: BTreeSet<String> = rows().into_iter().map(|row| row.path).collect();
    let known = schema::paths();
    assert!(known.len() > 75, "{}", known.len());
    let is_around = |path: &str| {
        documented
            .iter()
            .any(|row| row.starts_with(&format!("{path}.")))
    };
    let missing: Vec<_> = known
        .iter()
        .filter(|path| !documented.contains(*path) && !is_around(path))
        .collect();
    assert!(missing.is_empty(), "no row: {missing:?}");
    let unknown: Vec<_> = documented.difference(&known).collect();
    assert!(unknown.is_empty(), "no key: {unknown:?}");
}

#[test]
fn every_row_says_what_the_key_means() {
    for Row { path, cells, .. } in rows() {
        // The address of the schema means nothing more.
        assert!(cells.meaning.len() > 8, "{path}");
        assert!(!cells.kind.is_empty(), "{path}");
        assert!(
            !cells.default.is_empty() || !cells.example.is_empty(),
            "{path}"
        );
    }
}

#[test]
fn every_example_is_taken() {
    for Row { path, cells, .. } in rows() {
        let example = rows::value(&cells.example).unwrap_or_else(|| panic!("{path}: no example"));
        let place = Place::of(&path);
        let document = with(&place, &example);
        if let Err(mistakes) = checked(&document) {
            panic!("{path}: {mistakes:#?}");
        }
    }
}

/// A39: how long a key is good for is published, and is what the policy means where it says nothing.
#[test]
fn a39_the_expiry_of_a_key_is_published() {
    let rows = rows();
    for (path, published, nanos) in [
        (
            "routes[].idempotency.ttl",
            "`\"24h\"`",
            24 * 3_600 * 1_000_000_000_u64,
        ),
        (
            "routes[].dedupe.ttl",
            "`\"80h\"`",
            80 * 3_600 * 1_000_000_000,
        ),
    ] {
        let row = rows.iter().find(|row| row.path == path).unwrap();
        assert_eq!(row.cells.default, published, "{path}");
        let policy = checked(&without(&Place::of(path))).unwrap();
        let mut rules = policy
            .routes
            .iter()
            .filter_map(|route| route.idempotency.as_ref());
        assert!(rules.any(|rule| rule.ttl == nanos), "{path}");
    }
}

#[test]
fn every_default_is_what_leaving_the_key_out_means() {
    let (mut values, mut required) = (0, 0);
    for Row { path, cells, .. } in rows() {
        let place = Place::of(&path);
        let left_out = checked(&without(&place));
        if cells.default == "required" {
            let key = place.key();
            let mistakes = left_out.expect_err(&path);
            let missing = format!("missing key `{key}`");
            assert!(
                mistakes.iter().any(|m| m.message.starts_with(&missing)),
                "{path}: {mistakes:#?}"
            );
            required += 1;
            continue;
        }
        let left_out = left_out.unwrap_or_else(|mistakes| panic!("{path}: {mistakes:#?}"));
        // A default in words is told of in the lists below.
        if let Some(default) = rows::value(&cells.default) {
            let written = checked(&with(&place, &default));
            let written = written.unwrap_or_else(|mistakes| panic!("{path}: {mistakes:#?}"));
            assert!(left_out == written, "{path}: the default is not {default}");
            values += 1;
        }
    }
    assert!(values >= 30 && required >= 10, "{values} {required}");
}

/// What the cell of a key's default says in words, and a value that means the same.
#[test]
fn defaults_in_words_are_what_they_say() {
    for (path, words, same) in [
        ("problem_base", "`urn:tidegate:problem:`", None),
        (
            "limits.NAME.burst",
            "one minute's worth, at least 1",
            Some(json!(60)),
        ),
        (
            "limits.NAME.plans.NAME.burst",
            "one minute's worth, at least 1",
            Some(json!(600)),
        ),
        ("routes[].dedupe.status", "the stored answer", None),
        ("routes[].mode", "the policy's", None),
        ("routes[].match", "every request", Some(json!({}))),
        ("routes[].limits", "none", Some(json!([]))),
        ("always", "none", Some(json!([]))),
        ("routes", "none", Some(json!([]))),
        ("limits.NAME.plans", "none", Some(json!({}))),
        ("limits.NAME.overrides", "none", Some(json!({}))),
    ] {
        let row = rows().into_iter().find(|row| row.path == path).unwrap();
        assert_eq!(row.cells.default, words, "{path}");
        if let Some(same) = same {
            let place = Place::of(path);
            let left_out = checked(&without(&place)).unwrap();
            assert!(left_out == checked(&with(&place, &same)).unwrap(), "{path}");
        }
    }
}

/// Texts of so many bytes.
fn text(bytes: usize) -> Value {
    "a".repeat(bytes).into()
}

fn list(item: &Value, count: usize) -> Value {
    vec![item.clone(); count].into()
}

/// So many different texts, each with the number in place of `#`.
fn numbered(text: &str, count: usize) -> Value {
    (0..count)
        .map(|number| Value::from(text.replace('#', &number.to_string())))
        .collect()
}

/// The words of a bound, values on its good side, and values on its bad side.
type Bound = (&'static str, &'static str, Vec<Value>, Vec<Value>);

fn bounds() -> Vec<Bound> {
    let routes = |count: usize| -> Value {
        (0..count)
            .map(|number| json!({"name": format!("r{number}")}))
            .collect()
    };
    let limits = |count: usize| -> Value {
        let limits =
            (0..count).map(|n| (format!("l{n}"), json!({"per": ["address"], "rate": "1/s"})));
        limits.collect::<serde_json::Map<_, _>>().into()
    };
    let base = |bytes: usize| Value::from(format!("https://{}/", "a".repeat(bytes - 9)));
    let labels = |count: usize| -> Value {
        let labels = (0..count).map(|n| (format!("c{n}"), text(64)));
        labels.collect::<serde_json::Map<_, _>>().into()
    };
    let label = |value: Value| json!({"amy": value});
    let wait = "duration, `1s` to `1h`";
    let call = "duration, `1ms` to `1h`";
    let claim = "claim, at most 256 bytes";
    let days = "duration, `1s` to `366d`";
    let body = "size, up to `64MiB`";
    vec![
        (
            "policy",
            "name",
            vec![text(64), json!("0-a")],
            vec![text(65), json!(""), json!("-a"), json!("A")],
        ),
        (
            "version",
            "1 to 64 of `A-Z a-z 0-9 . _ -`",
            vec![text(64), json!("A-z.9_")],
            vec![text(65), json!(""), json!("a b")],
        ),
        (
            "canary.percent",
            "0 to 100",
            vec![json!(0), json!(100)],
            vec![json!(101), json!(-1), json!(0.5)],
        ),
        (
            "canary.by",
            "list of 1 to 8 dimensions, none twice",
            vec![numbered("header:x-#", 8)],
            vec![
                numbered("header:x-#", 9),
                json!([]),
                json!(["host", "host"]),
            ],
        ),
        (
            "notify.cluster",
            "1 to 256 visible characters",
            vec![text(256)],
            vec![text(257), json!(""), json!("a b")],
        ),
        (
            "notify.path",
            "1 to 1,024 visible characters that begin with `/`",
            vec![json!("/"), json!(format!("/{}", "a".repeat(1023)))],
            vec![
                json!(format!("/{}", "a".repeat(1024))),
                json!("a"),
                json!("/#"),
            ],
        ),
        (
            "notify.host",
            "1 to 256 visible characters",
            vec![text(256)],
            vec![text(257), json!("")],
        ),
        (
            "notify.after",
            wait,
            vec![json!("1s"), json!("1h")],
            vec![json!("999ms"), json!("61min")],
        ),
        (
            "notify.quiet",
            wait,
            vec![json!("1s"), json!("1h")],
            vec![json!("999ms"), json!("61min")],
        ),
        (
            "notify.interval",
            days,
            vec![json!("1s"), json!("366d")],
            vec![json!("999ms"), json!("367d")],
        ),
        (
            "notify.backoff",
            call,
            vec![json!("1ms"), json!("1h")],
            vec![json!("0ms"), json!("61min")],
        ),
        (
            "notify.timeout",
            call,
            vec![json!("1ms"), json!("1h")],
            vec![json!("0ms"), json!("61min")],
        ),
        (
            "notify.docs",
            "`http(s)://` address, at most 256 characters",
            vec![base(256)],
            vec![base(257), json!("ftp://a/"), json!("")],
        ),
        (
            "notify.labels.tenant",
            "name to label of 1 to 64 bytes, at most 256",
            vec![labels(256)],
            vec![labels(257), label(text(65)), label(json!(" "))],
        ),
        (
            "notify.labels.account",
            "name to label of 1 to 64 bytes, at most 256",
            vec![labels(256)],
            vec![labels(257), label(text(65)), label(json!("\n"))],
        ),
        ("limits", "At most 64", vec![limits(64)], vec![limits(65)]),
        (
            "routes",
            "At most 512",
            vec![routes(512)],
            vec![routes(513)],
        ),
        (
            "problem_base",
            "at most 256 characters",
            vec![base(256)],
            vec![base(257), json!("https://a"), json!("ftp://a/")],
        ),
        (
            "capacity.records",
            "1 to 16,777,216",
            vec![json!(1), json!(16_777_216)],
            vec![json!(0), json!(16_777_217)],
        ),
        (
            "capacity.bytes",
            "size, up to `4096MiB`",
            vec![json!("1B"), json!("4096MiB")],
            vec![json!("0B"), json!("4097MiB")],
        ),
        (
            "admin.addresses",
            "list of up to 16 addresses or networks",
            vec![
                list(&json!("10.0.0.0/8"), 16),
                json!(["192.0.2.1", "2001:db8::/32", "::1"]),
            ],
            vec![
                list(&json!("10.0.0.0/8"), 17),
                json!(["10.0.0.0/33"]),
                json!(["10.0.0.1/8"]),
                json!(["localhost"]),
            ],
        ),
        (
            "admin.hosts",
            "list of up to 16 hosts in lower case",
            vec![list(&json!("tidegate.internal"), 16)],
            vec![
                list(&json!("a"), 17),
                json!(["A"]),
                json!(["a:80"]),
                json!([""]),
            ],
        ),
        (
            "store.redis.cluster",
            "1 to 256 visible characters",
            vec![text(256)],
            vec![text(257), json!("")],
        ),
        (
            "identity.tenant[].jwt",
            claim,
            vec![text(256)],
            vec![text(257), json!("a..b")],
        ),
        (
            "identity.tenant[].query",
            "1 to 128 visible characters, none of `& = # + %`",
            vec![text(128)],
            vec![text(129), json!(""), json!("a&b"), json!("__tidegate")],
        ),
        (
            "identity.tenant[].payload",
            "1 to 128 visible characters",
            vec![text(128)],
            vec![text(129), json!("")],
        ),
        (
            "identity.tenant[].header",
            "header",
            vec![json!("X-Key")],
            vec![
                json!(":path"),
                json!("x-tidegate-a"),
                json!("x-forwarded-for"),
                json!("host"),
            ],
        ),
        (
            "identity.address.ipv6_prefix",
            "1 to 128",
            vec![json!(1), json!(128)],
            vec![json!(0), json!(129)],
        ),
        (
            "identity.address.signed.key_env",
            "`[A-Z_][A-Z0-9_]*`, at most 128 characters",
            vec![json!("A".repeat(128)), json!("_1")],
            vec![json!("A".repeat(129)), json!("1A"), json!("a")],
        ),
        (
            "identity.address.signed.max_age",
            "duration, `1s` to `1h`",
            vec![json!("1s"), json!("1h")],
            vec![json!("999ms"), json!("61min")],
        ),
        (
            "limits.NAME.per",
            "list of 1 to 8 dimensions, none twice",
            vec![numbered("header:x-#", 8)],
            vec![
                numbered("header:x-#", 9),
                json!([]),
                json!(["host", "host"]),
            ],
        ),
        (
            "limits.NAME.otherwise",
            "a dimension that is not in `per`",
            vec![json!("host")],
            vec![json!("account"), json!("nobody")],
        ),
        (
            "limits.NAME.rate",
            "rate",
            vec![json!("1/day"), json!("1000000/s"), json!("60000000/min")],
            vec![json!("0/s"), json!("1000001/s"), json!("60/minute")],
        ),
        (
            "limits.NAME.burst",
            "1 or more",
            vec![json!(1), json!(31_622_400)],
            vec![json!(0), json!(31_622_401), json!(1.5)],
        ),
        (
            "limits.NAME.max_keys",
            "16 to 1,048,576",
            vec![json!(16), json!(1_048_576)],
            vec![json!(15), json!(1_048_577)],
        ),
        (
            "limits.NAME.plans.NAME.burst",
            "1 or more",
            vec![json!(1)],
            vec![json!(0)],
        ),
        (
            "routes[].name",
            "name, no other route's",
            vec![text(64)],
            vec![text(65), json!("once")],
        ),
        (
            "routes[].cost",
            "1 or more, or",
            vec![json!(1), json!({"header": "x-cost"})],
            vec![json!(0), json!("1")],
        ),
        (
            "routes[].cost.default",
            "1 or more",
            vec![json!(1)],
            vec![json!(0)],
        ),
        (
            "routes[].match.methods",
            "list of at least one, in upper case",
            vec![json!(["GET"])],
            vec![json!([]), json!(["get"])],
        ),
        (
            "routes[].match.path",
            "pattern, at most 1024 bytes",
            vec![json!(format!("/{}", "a".repeat(1023)))],
            vec![json!(format!("/{}", "a".repeat(1024))), json!("a")],
        ),
        (
            "routes[].match.host",
            "host in lower case, without port",
            vec![json!("a.test")],
            vec![json!("A.test"), json!("a.test:80")],
        ),
        (
            "routes[].cache.scope",
            "list of 1 to 8 dimensions",
            vec![numbered("header:x-#", 8)],
            vec![numbered("header:x-#", 9), json!([])],
        ),
        (
            "routes[].idempotency.ttl",
            days,
            vec![json!("60s"), json!("366d")],
            vec![json!("999ms"), json!("367d")],
        ),
        (
            "routes[].idempotency.lease",
            "duration, `1s` to `ttl`",
            vec![json!("15s"), json!("24h")],
            vec![json!("999ms"), json!("25h")],
        ),
        (
            "routes[].idempotency.fingerprint.json",
            "list of 1 to 16 JSON pointers",
            vec![numbered("/#", 16)],
            vec![numbered("/#", 17), json!([]), json!(["a"])],
        ),
        (
            "routes[].idempotency.max_key_length",
            "1 to 1,024",
            vec![json!(1), json!(1024)],
            vec![json!(0), json!(1025)],
        ),
        (
            "routes[].idempotency.max_body",
            body,
            vec![json!("1B"), json!("64MiB")],
            vec![json!("0B"), json!("65MiB"), json!("1GB")],
        ),
        (
            "routes[].idempotency.timeout",
            "duration, `1ms` to `1h`, at most `lease`",
            vec![json!("1ms"), json!("60s")],
            vec![json!("0ms"), json!("61s")],
        ),
        (
            "routes[].idempotency.release_statuses",
            "list of 100 to 599, none twice",
            vec![json!([100, 599]), json!([])],
            vec![json!([99]), json!([600]), json!([503, 503])],
        ),
        (
            "routes[].dedupe.by",
            "list of 1 to 8 of",
            vec![list(&json!({"header": "x-a"}), 8)],
            vec![list(&json!({"header": "x-a"}), 9), json!([])],
        ),
        (
            "routes[].dedupe.ttl",
            days,
            vec![json!("60s"), json!("366d")],
            vec![json!("999ms"), json!("367d")],
        ),
        (
            "routes[].dedupe.lease",
            "duration, `1s` to `ttl`",
            vec![json!("1s"), json!("80h")],
            vec![json!("999ms"), json!("81h")],
        ),
        (
            "routes[].dedupe.max_body",
            body,
            vec![json!("64MiB")],
            vec![json!("65MiB")],
        ),
        (
            "routes[].dedupe.status",
            "200 to 299",
            vec![json!(200), json!(299)],
            vec![json!(199), json!(300)],
        ),
    ]
}

#[test]
fn every_bound_is_where_it_is_said_to_be() {
    let rows = rows();
    for (path, words, good, bad) in bounds() {
        let row = rows.iter().find(|row| row.path == path);
        let row = row.unwrap_or_else(|| panic!("{path}: no row"));
        let said = [&row.cells.kind, &row.cells.meaning];
        assert!(
            said.iter().any(|cell| cell.contains(words)),
            "{path}: `{words}`"
        );
        let place = Place::of(path);
        for value in good {
            if let Err(mistakes) = checked(&with(&place, &value)) {
                panic!("{path}, {value}: {mistakes:#?}");
            }
        }
        for value in bad {
            let mistakes = checked(&with(&place, &value)).expect_err(&format!("{path}, {value}"));
            let own = mistakes.iter().any(|m| m.path.contains(place.key()));
            assert!(own, "{path}, {value}: {mistakes:#?}");
        }
    }
}

/// A row that names numbers or sizes has its bound in the list above.
#[test]
fn no_bound_goes_untested() {
    let tested: BTreeSet<&str> = bounds().into_iter().map(|(path, ..)| path).collect();
    let bounded = |cells: &rows::Cells| {
        let kind = &cells.kind;
        kind.contains(" to ") && kind.contains(|char: char| char.is_ascii_digit())
            || kind.contains("at most")
            || kind.contains("or more")
            || kind.contains("up to")
    };
    let untested: Vec<String> = rows()
        .into_iter()
        .filter(|row| bounded(&row.cells) && !tested.contains(row.path.as_str()))
        .map(|row| row.path)
        // Their parts have rows of their own.
        .filter(|path| {
            !matches!(
                path.as_str(),
                "capacity" | "routes[].idempotency.fingerprint"
            )
        })
        .collect();
    assert!(untested.is_empty(), "{untested:?}");
}

/// The words that a key takes are those in its cell, and no others.
#[test]
fn every_word_in_a_cell_is_taken() {
    let mut words = 0;
    for Row { path, cells, .. } in rows() {
        let choices: Vec<Value> = cells
            .kind
            .split('`')
            .skip(1)
            .step_by(2)
            .filter_map(|word| serde_json::from_str(word).ok())
            .filter(|word: &Value| word.is_string() || word.is_boolean())
            .collect();
        let place = Place::of(&path);
        for choice in &choices {
            if let Err(mistakes) = checked(&with(&place, choice)) {
                panic!("{path}, {choice}: {mistakes:#?}");
            }
            words += 1;
        }
        if choices.iter().any(Value::is_string) {
            assert!(
                checked(&with(&place, &json!("no-such-word"))).is_err(),
                "{path}"
            );
        }
    }
    assert!(words > 30, "{words}");
}
