//! Initial parameters of networks.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

/// Rule for the initial parameters of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialization {
    /// Parameters chosen by the training code, which knows the ranges of the inputs and outputs.
    #[default]
    Placed,
    /// Weights normal with deviation 0.1, truncated at two deviations; biases 0.1.
    Normal,
    /// Weights uniform within `±√(6/(inputs + outputs))`; biases 0.
    Glorot,
    /// Weights and biases uniform within `±1/√inputs`, as in PyTorch's linear layer.
    Pytorch,
}

/// Standard deviation of the normal weights, and value of their biases.
const NORMAL: f64 = 0.1;

impl Initialization {
    /// Returns whether one rule applies to all weights and one to all biases.
    pub(crate) fn is_blind(self) -> bool {
        self != Self::Placed
    }

    /// Draws a weight of a layer; returns 0 for [`Initialization::Placed`].
    pub(crate) fn weight(self, (inputs, outputs): (usize, usize), rng: &mut impl Rng) -> f64 {
        match self {
            Self::Placed => 0.0,
            Self::Normal => loop {
                let normal: f64 = rng.sample(StandardNormal);
                if normal.abs() <= 2.0 {
                    break NORMAL * normal;
                }
            },
            Self::Glorot => {
                let most = (6.0 / (inputs + outputs) as f64).sqrt();
                rng.random_range(-most..most)
            }
            Self::Pytorch => uniform(inputs, rng),
        }
    }

    /// Draws a bias of a layer; returns 0 for [`Initialization::Placed`].
    pub(crate) fn bias(self, inputs: usize, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Placed | Self::Glorot => 0.0,
            Self::Normal => NORMAL,
            Self::Pytorch => uniform(inputs, rng),
        }
    }
}

fn uniform(inputs: usize, rng: &mut impl Rng) -> f64 {
    let most = (inputs.max(1) as f64).sqrt().recip();
    rng.random_range(-most..most)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn weights_keep_to_their_laws() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut spread = |rule: Initialization| {
            let drawn: Vec<f64> = (0..20_000).map(|_| rule.weight((16, 8), &mut rng)).collect();
            let most = drawn.iter().fold(0.0f64, |most, weight| most.max(weight.abs()));
            let square = drawn.iter().map(|weight| weight * weight).sum::<f64>() / 20_000.0;
            (most, square.sqrt())
        };
        // A normal distribution truncated at two deviations has 0.8796 of its deviation.
        let (most, deviation) = spread(Initialization::Normal);
        assert!(most <= 0.2 && (deviation - 0.08796).abs() < 1e-3, "{most} {deviation}");
        let (most, deviation) = spread(Initialization::Glorot);
        assert!(most <= 0.5 && (deviation - 0.5 / 3f64.sqrt()).abs() < 5e-3, "{most} {deviation}");
        let (most, deviation) = spread(Initialization::Pytorch);
        assert!(
            most <= 0.25 && (deviation - 0.25 / 3f64.sqrt()).abs() < 3e-3,
            "{most} {deviation}"
        );
    }

    #[test]
    fn biases_keep_to_their_laws() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let biases =
            |rule: Initialization, rng: &mut ChaCha8Rng| [rule.bias(4, rng), rule.bias(4, rng)];
        let near = |biases: [f64; 2], value: f64| biases.iter().all(|b| (b - value).abs() < 1e-12);
        assert!(near(biases(Initialization::Normal, &mut rng), 0.1));
        assert!(near(biases(Initialization::Glorot, &mut rng), 0.0));
        let [first, second] = biases(Initialization::Pytorch, &mut rng);
        assert!(first.abs() <= 0.5 && second.abs() <= 0.5 && (first - second).abs() > 1e-9);
    }
}
