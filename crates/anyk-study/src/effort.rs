//! Extent of a study's training and measurements.

use serde::Serialize;

/// Samples and steps of a training run in a trial.
const TRIAL: (usize, u64) = (20, 60);

/// Extent of a study's training and measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Effort {
    /// A few cells, and training runs of a few steps. It checks that every table is built; its figures are meaningless.
    Trial,
    /// An amount that takes minutes.
    #[default]
    Usual,
    /// The paper's numbers of runs, samples and realizations.
    Full,
}

impl Effort {
    /// Selects one of three values: for a trial, the default effort, and the full one.
    pub(crate) fn of<T>(self, [trial, usual, full]: [T; 3]) -> T {
        match self {
            Self::Trial => trial,
            Self::Usual => usual,
            Self::Full => full,
        }
    }

    /// Returns the samples and steps of a training run, reduced in a trial.
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
