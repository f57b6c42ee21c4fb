//! Inputs of the networks for each user.

use serde::{Deserialize, Serialize};

/// Inputs of the networks for each user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserInputs {
    /// Scaled gain `ln α + 30`, as in the paper.
    #[default]
    Gain,
    /// Scaled gain and `ln K`: another way to generalize to other sizes, which the paper's introduction mentions.
    GainAndSize,
}

impl UserInputs {
    /// Returns the number of inputs for each user.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Gain => 1,
            Self::GainAndSize => 2,
        }
    }

    /// Appends the inputs of all users, one user after the other, given their scaled gains.
    pub(crate) fn of_users(self, scaled_gains: &[f64], inputs: &mut Vec<f64>) {
        match self {
            Self::Gain => inputs.extend_from_slice(scaled_gains),
            Self::GainAndSize => {
                let ln_size = (scaled_gains.len() as f64).ln();
                inputs.extend(scaled_gains.iter().flat_map(|&x| [x, ln_size]));
            }
        }
    }

    // By reference, as serde requires.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_has_its_own_gain_and_the_same_size() {
        let inputs = |of: UserInputs| {
            let mut inputs = Vec::new();
            of.of_users(&[1.5, 2.5, 3.5], &mut inputs);
            assert_eq!(inputs.len(), 3 * of.count());
            inputs
        };
        assert_eq!(inputs(UserInputs::Gain), [1.5, 2.5, 3.5]);
        let ln = 3f64.ln();
        assert_eq!(inputs(UserInputs::GainAndSize), [1.5, ln, 2.5, ln, 3.5, ln]);
    }
}
