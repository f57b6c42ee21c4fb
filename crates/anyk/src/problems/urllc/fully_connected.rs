//! Fully connected networks for comparison (paper, section V-C3, "FNN"): one input and one output per user of the
//! largest cell; smaller cells are padded with zeros.

use crate::framework::Initialization;
use crate::math::single;
use crate::network::{Activation, Dense, DenseTape};
use crate::problems::urllc::dataset::{Pick, TrainingSet};
use crate::problems::urllc::lagrangian::LossUnits;
use crate::problems::urllc::reference::LossTerms;
use crate::problems::urllc::{TrainSettings, fnn_network};
use crate::qos::Qos;

/// Gradients of Algorithm 1 for three fully connected networks.
pub(crate) struct FullyConnected {
    network: Dense,
    initialization: Initialization,
    terms: LossTerms,
    tapes: [DenseTape<f32>; 3],
    inputs: Vec<f32>,
    slopes: [Vec<f32>; 3],
    fading: Vec<f64>,
}

/// Returns the network input of a user with `x = ln α + 30`, which runs from 1 to 7. The placed initialization
/// standardizes it approximately; 0 then means both a user in the middle of the road and a missing user. For all
/// other initializations the input is `x` as in the paper, and 0 means both a distant user and a missing user.
pub(crate) fn fnn_input(initialization: Initialization, x: f64) -> f64 {
    if initialization.is_blind() { x } else { (x - 4.0) / 1.7 }
}

impl FullyConnected {
    pub(crate) fn new(qos: &Qos, units: LossUnits, settings: &TrainSettings) -> Self {
        Self {
            network: fnn_network(settings),
            initialization: settings.recipe.initialization,
            terms: LossTerms::new(qos, units),
            tapes: Default::default(),
            inputs: Vec::new(),
            slopes: Default::default(),
            fading: Vec::new(),
        }
    }

    /// Computes the gradient of the mean loss over the picked samples and returns that loss.
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
                *input = single(fnn_input(self.initialization, f64::from(x)));
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
        gradient.fill(0.0);
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

    /// Computes the slopes at the outputs of one sample, whose row begins at `row`, and returns its loss.
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
        // The softmax includes only users that exist.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::framework::Method;
    use crate::problems::urllc::dataset::Outer;
    use rand::{RngExt, SeedableRng};

    /// Compares the gradient with finite differences of its own loss. The network trains in single precision, so
    /// the step is wide and the tolerance relative to the largest slope of each network. The network has two more
    /// inputs than the cells have users, so the test includes padding.
    #[test]
    fn gradient_matches_finite_differences() {
        let system = Config::default().validate().unwrap();
        let qos = system.qos(system.service()).unwrap();
        let settings = TrainSettings {
            method: Method::Fnn,
            train_k: vec![6],
            hidden: vec![5],
            ..TrainSettings::p_gnn(6, 8, 1e-5)
        };
        let set = TrainingSet::draw(&system, &qos, (4, 8, 2), Outer::Constant(1.7e5), 3).unwrap();
        let picks: Vec<Pick> = (0..8).map(|index| Pick { index, first: index % 2 }).collect();
        let mut engine = FullyConnected::new(&qos, LossUnits::relative(1.7e5), &settings);
        let count = engine.network.parameter_count();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(9);
        let parameters: Vec<f32> = (0..3 * count).map(|_| rng.random_range(-0.4f32..0.4)).collect();
        let mut gradient = vec![0.0; 3 * count];
        engine.gradient(&parameters, &set, &picks, 2, &mut gradient);
        let mut unused = vec![0.0; 3 * count];
        let mut kinks = 0;
        for network in 0..3 {
            // The multiplier ascends, so its gradient is negated.
            let sign = if network == 2 { -1.0 } else { 1.0 };
            let range = network * count..(network + 1) * count;
            let largest = gradient[range.clone()].iter().fold(0.0f32, |most, g| most.max(g.abs()));
            for index in range {
                let mut at = |step: f32| {
                    let mut moved = parameters.clone();
                    moved[index] += step;
                    engine.gradient(&moved, &set, &picks, 2, &mut unused)
                };
                let (minus, here, plus) = (at(-4e-3), at(0.0), at(4e-3));
                // A kink between the three points is not an error of the gradient.
                let kink = ((plus - here) - (here - minus)).abs() / 4e-3 > 0.02 * largest;
                let numeric = sign * (plus - minus) / 8e-3;
                let off = (gradient[index] - numeric).abs();
                let fine = kink || off < 0.02 * largest;
                assert!(fine, "{network}, {index}: {} {numeric}", gradient[index]);
                kinks += u32::from(kink);
            }
        }
        assert!(kinks < 20, "{kinks} of {} passed over", 3 * count);
    }
}
