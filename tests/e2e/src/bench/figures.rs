//! What is made of the figures of many rounds.

/// Which row is measured next: each round measures every row, each time beginning with another one, so that what the machine
/// does meanwhile falls on all of them alike.
pub fn turns(rounds: usize, rows: usize) -> impl Iterator<Item = usize> {
    (0..rounds).flat_map(move |round| (0..rows).map(move |step| (round + step) % rows))
}

/// What a row has more than another **of the same round**, in the middle of all rounds.
#[must_use]
pub fn added(figures: &[f64], to: &[f64]) -> f64 {
    median(&pairwise(figures, to, |a, b| a - b))
}

/// How many times a row has what another has **of the same round**, in the middle of all rounds.
#[must_use]
pub fn times(figures: &[f64], others: &[f64]) -> f64 {
    median(&pairwise(figures, others, |a, b| a / b))
}

/// The middle one; NaN where there is none.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        even if even.is_multiple_of(2) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

/// The least and the most.
#[must_use]
pub fn range(figures: &[f64]) -> (f64, f64) {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

fn pairwise(a: &[f64], b: &[f64], with: fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| with(*a, *b)).collect()
}

#[cfg(test)]
mod tests {
    use super::{added, median, times, turns};

    #[test]
    fn a_ratio_is_of_figures_of_one_round() {
        // A round that was four times as slow changes neither.
        let bare = [10.0, 40.0, 10.0];
        let with = [20.0, 80.0, 20.0];
        assert!((times(&with, &bare) - 2.0).abs() < 1e-9);
        assert!((added(&with, &bare) - 10.0).abs() < 1e-9);
        assert!((median(&[1.0, 2.0]) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn each_round_has_every_row_and_begins_with_another() {
        let turns: Vec<usize> = turns(3, 3).collect();
        assert_eq!(turns, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
    }
}
