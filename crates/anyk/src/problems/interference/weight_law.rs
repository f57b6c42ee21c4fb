//! Random weights of links, and random networks with them.

use rand::RngExt;
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};

use crate::framework::Options;
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::problems::interference::{Interference, Scenario};

/// Distribution of independent weights of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightLaw {
    /// Log-uniform from 0.1 to 10.
    LogUniform,
    /// Exponential with mean 1.
    Exponential,
}

impl WeightLaw {
    /// Name, help text and value of each choice.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("log-uniform", "Log-uniform from 0.1 to 10", Self::LogUniform),
        ("exponential", "Exponential with mean 1", Self::Exponential),
    ];
}

/// Mask of the seed for weights, so that the gains of a network are equal with and without weights.
const WEIGHT_SEED: u64 = 0x3e16_4715;

impl WeightLaw {
    /// Returns the name of the distribution in flags and files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, _, law)| *law == self).map_or("", |(name, _, _)| name)
    }

    /// Draws the weights of one realization, which depend only on the three arguments.
    pub fn draw(self, seed: u64, size: usize, index: u64) -> Vec<f64> {
        let mut rng = realization_rng(seed ^ WEIGHT_SEED, size, index);
        let one = || match self {
            Self::LogUniform => 10f64.powf(rng.random_range(-1.0..=1.0)),
            Self::Exponential => rng.sample(Exp1),
        };
        std::iter::repeat_with(one).take(size).collect()
    }
}

/// Random networks, with or without weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomLinks {
    /// Generator of the gains.
    pub scenario: Scenario,
    /// Distribution of the weights; if `None`, all weights are 1.
    pub weights: Option<WeightLaw>,
}

impl From<&Scenario> for RandomLinks {
    fn from(scenario: &Scenario) -> Self {
        Self { scenario: *scenario, weights: None }
    }
}

impl RandomLinks {
    /// Reads the generator from options; the default scenario is dense.
    pub(super) fn read(options: &Options) -> Result<Self, Invalid> {
        let scenario = options.choice(Scenario::ALL, "scenario")?.unwrap_or(Scenario::Dense);
        Ok(Self { scenario, weights: options.choice(WeightLaw::ALL, "random-weights")? })
    }

    /// Returns the options that describe the generator.
    pub(super) fn options(&self) -> Options {
        let mut options = Options::default();
        options.set("scenario", self.scenario.name());
        if let Some(law) = self.weights {
            options.set("random-weights", law.name());
        }
        options
    }

    /// Draws one realization, which depends only on the three arguments.
    pub fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Interference, Invalid> {
        let problem = self.scenario.draw(seed, size, index)?;
        match self.weights {
            None => Ok(problem),
            Some(law) => problem.with_weights(law.draw(seed, size, index)),
        }
    }
}
