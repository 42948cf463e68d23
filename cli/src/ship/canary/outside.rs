//! What callers outside a share get. Envoy does not tell whose answers failed, so it is taken for what it was before.

/// The answers before the first share was held, by which those of callers outside a share are told from the share's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outside {
    /// Answers of all listeners.
    pub(crate) answers: u64,
    /// Of these, of 500 and above.
    pub(crate) server_errors: u64,
}

impl Outside {
    /// How many answers of 500 and above callers outside a share got at most, of so many: as many as at the rate of before, and what
    /// chance may add to that. Both counts vary, by the root of what is counted; four such deviations hardly ever come by chance,
    /// and three failures may, where none was before.
    pub(super) fn expected(self, answers: u64) -> f64 {
        if answers == 0 {
            return 0.0;
        }
        let times = float(answers) / float(self.answers.max(1));
        let expected = float(self.server_errors) * times;
        let chance = 4.0 * (expected * (1.0 + times)).sqrt();
        (expected + chance.max(3.0)).min(float(answers))
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a count that large is precise enough"
)]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}
