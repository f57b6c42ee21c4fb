//! How much a study trains and measures.

use serde::Serialize;

/// Samples and steps of a training on trial.
const TRIAL: (usize, u64) = (20, 60);

/// How much a study trains and measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Effort {
    /// A handful of cells and trainings of a few steps: shows that every table is made, and its figures mean
    /// nothing.
    Trial,
    /// What takes minutes.
    #[default]
    Usual,
    /// The paper's numbers of trainings, samples and realizations.
    Full,
}

impl Effort {
    /// One of three numbers: on trial, as usual, in full.
    pub(crate) fn of<T>(self, [trial, usual, full]: [T; 3]) -> T {
        match self {
            Self::Trial => trial,
            Self::Usual => usual,
            Self::Full => full,
        }
    }

    /// A training's samples and steps, which are few on trial.
    pub(crate) fn of_training(self, (samples, steps): (usize, u64)) -> (usize, u64) {
        let (most_samples, most_steps) = self.of([TRIAL, (samples, steps), (samples, steps)]);
        (samples.min(most_samples), steps.min(most_steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trial_shortens() {
        let training = (2000, 30_000);
        let of = |effort: Effort| effort.of_training(training);
        assert_eq!([of(Effort::Usual), of(Effort::Full)], [training; 2]);
        assert_eq!(of(Effort::Trial), TRIAL);
        assert_eq!(Effort::Trial.of_training((5, 10)), (5, 10));
    }
}
