//! The client's key.

use tidegate_core::idempotency::key::read;

/// The longest key that a policy may allow.
const LONGEST: usize = 1024;

/// What is read is bounded visible text; who reads strictly reads no other key; and written as it should be, it reads the same.
pub fn key(data: &[u8]) {
    let (max, data) = match data.split_first() {
        Some((first, rest)) => (usize::from(*first) * 4 + 1, rest),
        None => (255, data),
    };
    let lines = || data.split(|byte| *byte == b'\n');
    let read = |lenient, max| self::read(lines(), lenient, max);
    let (strict, lenient) = (read(false, max), read(true, max));
    assert_eq!(strict, read(false, max));
    if let Ok(key) = &strict {
        assert_eq!(Ok(key), lenient.as_ref(), "strict and lenient differ");
    }
    if lines().nth(1).is_some() {
        assert!(lenient.is_err(), "two lines are one key");
    }
    let Ok(key) = lenient else {
        // A longer allowance lets no other key through than one that is too long here.
        if let Ok(Some(longer)) = read(true, usize::MAX) {
            assert!(longer.len() > max, "{longer:?} fits {max}");
        }
        return;
    };
    let key = key.expect("a line is there");
    assert!(
        !key.is_empty() && key.len() <= max,
        "{} of {max}",
        key.len()
    );
    assert!(
        key.iter().all(|byte| (b' '..=b'~').contains(byte)),
        "{key:?}"
    );
    let mut written = vec![b'"'];
    for byte in &key {
        if matches!(byte, b'"' | b'\\') {
            written.push(b'\\');
        }
        written.push(*byte);
    }
    written.push(b'"');
    for lenient in [false, true] {
        let again = self::read([&written[..]].into_iter(), lenient, LONGEST.max(max));
        assert_eq!(again, Ok(Some(key.clone())), "written again");
    }
    // With space around and parameters behind, it is the same key.
    let dressed = [b" \t", &written[..], b";a=1 "].concat();
    let again = self::read([&dressed[..]].into_iter(), false, LONGEST.max(max));
    assert_eq!(again, Ok(Some(key)), "dressed");
}
