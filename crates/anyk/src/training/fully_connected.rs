//! The paper's comparison with fully-connected networks (section V-C3, "FNN"): one input and one output
//! for each user of the largest cell, smaller cells padded with zeros.

use crate::network::{Activation, Dense, DenseTape, single};
use crate::problem::Qos;
use crate::training::dataset::{Pick, TrainingSet};
use crate::training::reference::LossTerms;
use crate::training::{TrainSettings, fnn_network};

/// Gradients of Algorithm 1 for three fully-connected networks.
pub(crate) struct FullyConnected {
    network: Dense,
    terms: LossTerms,
    tapes: [DenseTape<f32>; 3],
    inputs: Vec<f32>,
    slopes: [Vec<f32>; 3],
    fading: Vec<f64>,
}

/// `ln α + 30` runs from 1 to 7: about standard after this, and 0 is a user in the middle of the road
/// as well as none at all. That ambiguity is the method's, as the paper has it.
pub(crate) fn fnn_input(x: f64) -> f64 {
    (x - 4.0) / 1.7
}

impl FullyConnected {
    pub(crate) fn new(qos: &Qos, unit_hz: f64, settings: &TrainSettings) -> Self {
        Self {
            network: fnn_network(settings),
            terms: LossTerms::new(qos, unit_hz),
            tapes: Default::default(),
            inputs: Vec::new(),
            slopes: Default::default(),
            fading: Vec::new(),
        }
    }

    pub(crate) fn parameter_count(&self) -> usize {
        self.network.parameter_count()
    }

    /// Gradient of the mean loss over the picked samples; returns that loss.
    pub(crate) fn gradient(
        &mut self,
        parameters: &[f32],
        set: &TrainingSet,
        picks: &[Pick],
        draws: usize,
        gradient: &mut [f32],
    ) -> f32 {
        let width = self.network.widths[0];
        let count = self.network.parameter_count();
        self.inputs.clear();
        self.inputs.resize(picks.len() * width, 0.0);
        for (row, pick) in self.inputs.chunks_exact_mut(width).zip(picks) {
            for (input, &x) in row.iter_mut().zip(set.x(*pick)) {
                *input = single(fnn_input(f64::from(x)));
            }
        }
        for network in 0..3 {
            let parameters = &parameters[network * count..(network + 1) * count];
            self.network.forward(parameters, &self.inputs, &mut self.tapes[network]);
            self.slopes[network].clear();
            self.slopes[network].resize(picks.len() * width, 0.0);
        }
        let mut loss = 0.0;
        let per_sample = 1.0 / picks.len() as f64;
        for (index, pick) in picks.iter().enumerate() {
            loss += self.sample(index * width, set, *pick, draws, per_sample);
        }
        for network in 0..3 {
            let range = network * count..(network + 1) * count;
            self.network.backward(
                &parameters[range.clone()],
                &mut self.tapes[network],
                &self.slopes[network],
                &mut gradient[range],
            );
        }
        single(loss * per_sample)
    }

    /// Slopes at the outputs of one sample, whose row begins at `row`; returns its loss.
    fn sample(
        &mut self,
        row: usize,
        set: &TrainingSet,
        pick: Pick,
        draws: usize,
        per_sample: f64,
    ) -> f64 {
        let output =
            |network: usize, user: usize| f64::from(self.tapes[network].outputs()[row + user]);
        // The softmax is over the users that are there.
        let most = (0..set.size).map(|user| output(0, user)).fold(f64::MIN, f64::max);
        let sum: f64 = (0..set.size).map(|user| (output(0, user) - most).exp()).sum();
        let (mut loss, mut sum_slopes) = (0.0, 0.0);
        for user in 0..set.size {
            let share = (output(0, user) - most).exp() / sum;
            let pre = output(1, user);
            let inner = Activation::Softplus.value(pre).max(1e-9);
            let (energy, uses) = set.energy_and_uses(pick, user);
            let lambda = Activation::Softplus.value(output(2, user));
            set.fading(pick, user, draws, &mut self.fading);
            let slope = self.terms.user(energy * share, uses * inner, lambda, &self.fading);
            loss += slope.loss;
            sum_slopes += slope.by_ln_power;
            self.slopes[0][row + user] = single(per_sample * slope.by_ln_power);
            let by_pre = slope.by_ln_bandwidth * Activation::Softplus.slope(pre) / inner;
            self.slopes[1][row + user] = single(per_sample * by_pre);
            let by_lambda = slope.by_multiplier * Activation::Softplus.slope(output(2, user));
            self.slopes[2][row + user] = single(-per_sample * by_lambda);
        }
        for user in 0..set.size {
            let share = (output(0, user) - most).exp() / sum;
            self.slopes[0][row + user] -= single(per_sample * share * sum_slopes);
        }
        loss
    }
}
