//! Structured fields: what others send, what we send, and both as one.

use sfv::{BareItem, FieldType as _, List, ListEntry, Parser};
use tidegate_core::answer::join;

const POLICY: &str = "ratelimit-policy";
const LIMIT: &str = "ratelimit";

/// Our fields joined with others read as lists, no name twice; and what was joined once stays as it is.
pub fn fields(data: &[u8]) {
    let (numbers, lines) = data.split_at_checked(4).unwrap_or((&[], data));
    let theirs: Vec<(&[u8], &[u8])> = lines
        .split(|byte| *byte == b'\n')
        .map(|line| {
            let mut halves = line.splitn(2, |byte| *byte == b':');
            let name = halves.next().unwrap_or_default();
            (name, halves.next().unwrap_or_default().trim_ascii())
        })
        .collect();
    let ours = ours(numbers);
    let joined = join(&ours, &theirs);
    let again: Vec<(&[u8], &[u8])> = joined
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let twice = join(&ours, &again);
    for (name, value) in &joined {
        if !name.starts_with("ratelimit") {
            assert!(
                value.bytes().all(|byte| byte.is_ascii_digit()),
                "{name}: {value}"
            );
            continue;
        }
        let names = names(value.as_bytes()).unwrap_or_else(|| panic!("{name}: {value}"));
        let mut once = names.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), names.len(), "a name twice: {value}");
        let same = twice.iter().find(|(other, _)| other == name);
        assert_eq!(same.map(|(_, value)| value), Some(value), "{name} again");
    }
    // Who has one of our limits is told something of it.
    let told = joined.iter().find(|(name, _)| *name == LIMIT);
    if let Some((_, told)) = told {
        let told = names(told.as_bytes()).unwrap_or_default();
        for (_, own) in ours.iter().filter(|(name, _)| *name == LIMIT) {
            for name in names(own.as_bytes()).expect("ours is a list") {
                assert!(told.contains(&name), "{name} is told nothing of");
            }
        }
    }
}

/// What we would send, with these numbers.
fn ours(numbers: &[u8]) -> Vec<(&'static str, String)> {
    let [units, wait, others, last] = *numbers else {
        return Vec::new();
    };
    vec![
        (
            POLICY,
            r#""tenant-ceiling";q=600;w=6, "account";q=10;w=10"#.to_owned(),
        ),
        (
            LIMIT,
            format!(r#""tenant-ceiling";r={others};t={last}, "account";r={units};t={wait}"#),
        ),
        ("x-ratelimit-limit", "10".to_owned()),
        ("x-ratelimit-remaining", units.to_string()),
        ("x-ratelimit-reset", wait.to_string()),
    ]
}

/// The names of a list, where it is one and is written as it would be.
pub(crate) fn names(field: &[u8]) -> Option<Vec<String>> {
    let list: List = Parser::new(field).parse().ok()?;
    let written = list.serialize()?;
    assert_eq!(written.as_bytes(), field, "written otherwise");
    let name = |entry: &ListEntry| match entry {
        ListEntry::Item(item) => match &item.bare_item {
            BareItem::String(text) => Some(text.as_str().to_owned()),
            _ => None,
        },
        ListEntry::InnerList(_) => None,
    };
    Some(list.iter().filter_map(name).collect())
}
