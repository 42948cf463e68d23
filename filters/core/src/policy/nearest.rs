//! The known word that a mistyped one is nearest to.

/// The known word at most one slip in three letters away (one slip is always allowed), if there is one.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.len() > 32 {
        return None;
    }
    let most = word.len().div_ceil(3).clamp(1, 3);
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(slips, _)| *slips <= most)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// How many slips lead from one word to the other: a letter missing, added, wrong, or swapped with its neighbour.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous = None;
    for (row, letter) in from.chars().enumerate() {
        let mut cost = row.saturating_add(1);
        let mut current = vec![cost];
        for (column, other) in to.iter().enumerate() {
            let step = |row: &[usize], column: usize, more: usize| {
                row.get(column)
                    .copied()
                    .unwrap_or(usize::MAX)
                    .saturating_add(more)
            };
            let left = cost.saturating_add(1);
            let above = step(&last, column.saturating_add(1), 1);
            let diagonal = step(&last, column, usize::from(letter != *other));
            let swapped = match column.checked_sub(1) {
                Some(left) if previous == Some(*other) && to.get(left) == Some(&letter) => {
                    step(&before_last, left, 1)
                }
                _ => usize::MAX,
            };
            cost = left.min(above).min(diagonal).min(swapped);
            current.push(cost);
        }
        previous = Some(letter);
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_found_and_another_word_is_not() {
        let known = ["per", "otherwise", "rate", "burst"];
        assert_eq!(nearest("brust", &known), Some("burst"));
        assert_eq!(nearest("pre", &known), Some("per"));
        assert_eq!(nearest("otherwize", &known), Some("otherwise"));
        assert_eq!(nearest("Burst", &known), Some("burst"));
        assert_eq!(nearest("window", &known), None);
    }

    #[test]
    fn slips_are_counted() {
        for (from, to, slips) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), slips, "{from} {to}");
        }
    }
}
