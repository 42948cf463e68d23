//! Which statements a test is about: the numbers that its name begins with.

use crate::statement::Number;

/// The numbers at the beginning of a test's name, in order: `a1_a2_keys` is about A1 and A2, and `b1_to_b3_keys` about B1, B2
/// and B3. Modules before it do not count.
pub(crate) fn numbers(test: &str) -> Vec<Number> {
    let name = test.rsplit("::").next().unwrap_or(test);
    let mut numbers: Vec<Number> = Vec::new();
    let mut words = name.split('_').peekable();
    while let Some(word) = words.next() {
        if let Some(number) = Number::read(word) {
            numbers.push(number);
        } else if word == "to"
            && let Some(first) = numbers.last().copied()
            && let Some(last) = words.peek().and_then(|word| Number::read(word))
            && last.letter == first.letter
        {
            numbers.extend((first.count..last.count).skip(1).map(|count| Number {
                letter: first.letter,
                count,
            }));
        } else {
            break;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_the_beginning() {
        for (test, expected) in [
            ("a1_a_key", "A1"),
            ("keys::a1_a2_a5_one_key", "A1 A2 A5"),
            ("b14_to_b16_the_body", "B14 B15 B16"),
            ("a11_a25_to_a27_what", "A11 A25 A26 A27"),
            ("c3_to_know", "C3"),
            ("c3_to_d5_x", "C3"),
            ("c3_to_c3_x", "C3 C3"),
            ("a15", "A15"),
            ("e2e_is_no_number", ""),
            ("what_a1_says", ""),
            ("a1::nothing", ""),
            ("to_b2_x", ""),
        ] {
            let shown: Vec<_> = numbers(test).iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(" "), expected, "{test}");
        }
    }
}
