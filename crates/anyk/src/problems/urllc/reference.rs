//! Reference implementation of the [`lagrangian`](crate::problems::urllc::lagrangian) for networks of any
//! architecture and aggregator, one sample at a time in `f64`. Tests compare the fused kernel with it, and it
//! trains networks that the kernel does not support.

use crate::network::{Activation, Aggregator, Gnn, Output, Tape};
use crate::problems::urllc::lagrangian::LossUnits;
use crate::qos::Qos;

/// The three networks of Algorithm 1, with equal architectures.
#[derive(Debug, Clone)]
pub(crate) struct Networks {
    pub(crate) power: Gnn,
    pub(crate) bandwidth: Gnn,
    pub(crate) multiplier: Gnn,
}

impl Networks {
    /// Builds networks with these widths: input, hidden layers (paper: `[4]`), output.
    pub(crate) fn new(widths: &[usize], aggregator: Aggregator) -> Self {
        let gnn = |output| Gnn::new(widths, aggregator, Activation::LeakyRelu, output);
        Self {
            power: gnn(Output::Softmax),
            bandwidth: gnn(Output::Pretrained),
            multiplier: gnn(Output::Elementwise(Activation::Softplus)),
        }
    }
}

/// Sample with inputs (`ln α + 30`), `v⁰` and `z⁰` for each user, and `g` for each user and draw.
pub(crate) struct Sample<'a> {
    pub(crate) x: &'a [f64],
    pub(crate) energy: &'a [f64],
    pub(crate) uses: &'a [f64],
    pub(crate) fading: &'a [f64],
}

/// Tapes of the three networks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tapes([Tape; 3]);

/// Computation of one user's term of the Lagrangian.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossTerms {
    kappa: f64,
    quantile: f64,
    demand: f64,
    most: f64,
    per_unit: f64,
    constraint: f64,
}

/// Loss of a user and its derivatives.
pub(crate) struct UserSlopes {
    pub(crate) loss: f64,
    pub(crate) by_ln_power: f64,
    pub(crate) by_ln_bandwidth: f64,
    pub(crate) by_multiplier: f64,
}

impl LossTerms {
    pub(crate) fn new(qos: &Qos, units: LossUnits) -> Self {
        Self {
            kappa: qos.kappa(),
            quantile: qos.service().decoding_quantile(),
            demand: qos.theta() * qos.effective_bandwidth(),
            most: qos.max_nats(),
            per_unit: 1.0 / (units.bandwidth_hz * qos.ln_uses_scale().exp()),
            constraint: units.constraint,
        }
    }

    /// Computes the term for received energy `v`, channel uses `z`, multiplier `λ` and fading states `g`.
    pub(crate) fn user(&self, v: f64, z: f64, lambda: f64, fading: &[f64]) -> UserSlopes {
        let lambda = self.constraint * lambda;
        let back_off = self.kappa * self.quantile * z.sqrt();
        let c = self.kappa * z;
        let (mut mean, mut mean_z, mut mean_v) = (0.0, 0.0, 0.0);
        for g in fading {
            let y = v / z * g;
            let (l, r) = (y.ln_1p(), y / (1.0 + y));
            // Above the ceiling, θs = κηz.
            if c * l - back_off >= c * self.most {
                let e = (self.demand - c * self.most).exp() / fading.len() as f64;
                mean += e;
                mean_z += e * (c * self.most + 0.5 * back_off);
                continue;
            }
            let e = (back_off + self.demand - c * l).exp() / fading.len() as f64;
            mean += e;
            mean_z += e * c * (l - r);
            mean_v += e * c * r;
        }
        UserSlopes {
            loss: z * self.per_unit + lambda * (mean - 1.0),
            by_ln_power: -lambda * mean_v,
            by_ln_bandwidth: z * self.per_unit - lambda * (mean_z - 0.5 * back_off * mean),
            by_multiplier: self.constraint * (mean - 1.0),
        }
    }
}

/// Adds the gradient of one sample's loss for the parameters of the three networks, and returns the loss. The
/// multiplier's gradient is negated, so that all networks descend.
pub(crate) fn add_gradient(
    networks: &Networks,
    parameters: [&[f64]; 3],
    sample: &Sample<'_>,
    qos: &Qos,
    units: LossUnits,
    tapes: &mut Tapes,
    gradients: [&mut [f64]; 3],
) -> f64 {
    let [power_tape, bandwidth_tape, multiplier_tape] = &mut tapes.0;
    let shares = networks.power.forward(parameters[0], sample.x, &[], power_tape).to_vec();
    let uses =
        networks.bandwidth.forward(parameters[1], sample.x, sample.uses, bandwidth_tape).to_vec();
    let multipliers =
        networks.multiplier.forward(parameters[2], sample.x, &[], multiplier_tape).to_vec();
    let size = shares.len();
    let draws = sample.fading.len() / size;
    let terms = LossTerms::new(qos, units);
    let mut slopes = [vec![0.0; size], vec![0.0; size], vec![0.0; size]];
    let mut loss = 0.0;
    for user in 0..size {
        let (z, lambda) = (uses[user], multipliers[user]);
        let fading = &sample.fading[user * draws..(user + 1) * draws];
        let slope = terms.user(sample.energy[user] * shares[user], z, lambda, fading);
        loss += slope.loss;
        slopes[0][user] = slope.by_ln_power / shares[user].max(f64::MIN_POSITIVE);
        slopes[1][user] = slope.by_ln_bandwidth / z;
        slopes[2][user] = -slope.by_multiplier;
    }
    let [power, bandwidth, multiplier] = gradients;
    networks.power.backward(parameters[0], power_tape, &slopes[0], power);
    networks.bandwidth.backward(parameters[1], bandwidth_tape, &slopes[1], bandwidth);
    networks.multiplier.backward(parameters[2], multiplier_tape, &slopes[2], multiplier);
    loss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::math::lanes::LANES;
    use crate::math::single;
    use crate::problems::urllc::lagrangian::{self, Batch, LossConstants, PARAMETERS, Parameters};
    use crate::qos::ServiceClass;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    struct Case {
        parameters: [Vec<f64>; 3],
        samples: Vec<[Vec<f64>; 4]>,
        /// Largest spectral efficiency, bit/s/Hz.
        limit: Option<f64>,
    }

    /// No limit, and one that about half of the states reach.
    const LIMITS: [Option<f64>; 2] = [None, Some(17.0)];

    fn qos(limit: Option<f64>) -> Qos {
        let mut config = Config::default();
        config.cell.max_spectral_efficiency = limit;
        let system = config.validate().unwrap();
        system.qos(ServiceClass { epsilon: 6e-6, ..system.service() }).unwrap()
    }

    /// Returns the units other than 1, so that a missing factor shows up.
    fn units() -> LossUnits {
        LossUnits { bandwidth_hz: 1e5, constraint: 0.7 }
    }

    /// Returns random parameters, and samples over the range of training.
    fn case(networks: &Networks, count: usize, size: usize, draws: usize, seed: u64) -> Case {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let parameters = [0, 1, 2].map(|_| {
            (0..networks.power.parameter_count()).map(|_| rng.random_range(-0.6..0.6)).collect()
        });
        let samples = (0..count)
            .map(|_| {
                let x: Vec<f64> = (0..size).map(|_| rng.random_range(1.0..7.2)).collect();
                // v⁰ = αP_maxτ/N_0 with ln(P_maxτ/N_0) = 40 in the paper's cell, and ln α = x − 30.
                let energy = x.iter().map(|x| (x - 30.0 + 39.8f64).exp()).collect();
                let uses = (0..size).map(|_| rng.random_range(5.0..15.0)).collect();
                let fading = (0..size * draws).map(|_| rng.random_range(2.0..15.0)).collect();
                [x, energy, uses, fading]
            })
            .collect();
        Case { parameters, samples, limit: None }
    }

    fn total_gradient(networks: &Networks, case: &Case) -> (f64, [Vec<f64>; 3]) {
        let count = networks.power.parameter_count();
        let mut gradients = [vec![0.0; count], vec![0.0; count], vec![0.0; count]];
        let mut tapes = Tapes::default();
        let mut loss = 0.0;
        for [x, energy, uses, fading] in &case.samples {
            let [a, b, c] = &mut gradients;
            loss += add_gradient(
                networks,
                [&case.parameters[0], &case.parameters[1], &case.parameters[2]],
                &Sample { x, energy, uses, fading },
                &qos(case.limit),
                units(),
                &mut tapes,
                [a, b, c],
            );
        }
        (loss, gradients)
    }

    #[test]
    fn gradient_matches_finite_differences() {
        for (aggregator, widths) in [
            (Aggregator::Mean, vec![1, 4, 1]),
            (Aggregator::Sum, vec![1, 3, 1]),
            (Aggregator::Max, vec![1, 3, 2, 1]),
        ] {
            let networks = Networks::new(&widths, aggregator);
            let limit = LIMITS[usize::from(aggregator == Aggregator::Mean)];
            let case = Case { limit, ..case(&networks, 3, 5, 2, 17) };
            let (_, gradients) = total_gradient(&networks, &case);
            for network in 0..3 {
                // The multiplier ascends, so its gradient is negated.
                let sign = if network == 2 { -1.0 } else { 1.0 };
                for index in 0..networks.power.parameter_count() {
                    let at = |step: f64| {
                        let mut parameters = case.parameters.clone();
                        parameters[network][index] += step;
                        let case = Case { parameters, samples: case.samples.clone(), limit };
                        total_gradient(&networks, &case).0
                    };
                    let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
                    let analytic = sign * gradients[network][index];
                    assert!(
                        (analytic - numeric).abs() < 1e-5 * (1.0 + analytic.abs()),
                        "{aggregator:?}, network {network}, {index}: {analytic} {numeric}"
                    );
                }
            }
        }
    }

    /// Checks that the fused kernel computes the same gradient for full and padded groups, including K = 1.
    #[test]
    fn kernel_agrees_with_the_reference() {
        let cases = [
            (Aggregator::Mean, 10, 10, 1),
            (Aggregator::Mean, 37, 3, 4),
            (Aggregator::Sum, 16, 5, 2),
            (Aggregator::Mean, 1, 1, 1),
        ];
        for ((aggregator, count, size, draws), limit) in
            cases.into_iter().flat_map(|case| LIMITS.map(|limit| (case, limit)))
        {
            let networks = Networks::new(&[1, lagrangian::HIDDEN, 1], aggregator);
            let case = Case { limit, ..case(&networks, count, size, draws, 5) };
            let (loss, gradients) = total_gradient(&networks, &case);
            let mut parameters: Parameters = [[0.0; PARAMETERS]; 3];
            for (to, from) in parameters.iter_mut().zip(&case.parameters) {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to = single(from);
                }
            }
            let mut batch = Batch::new(count, size, draws);
            for (index, [x, energy, uses, fading]) in case.samples.iter().enumerate() {
                let (group, lane) = (index / LANES, index % LANES);
                for user in 0..size {
                    let row = group * size + user;
                    batch.x[row][lane] = single(x[user]);
                    batch.energy[row][lane] = single(energy[user]);
                    batch.uses[row][lane] = single(uses[user]);
                    for draw in 0..draws {
                        batch.fading[row * draws + draw][lane] =
                            single(fading[user * draws + draw]);
                    }
                }
            }
            let constants = LossConstants::new(&qos(limit), units(), aggregator);
            let mut fused: Parameters = [[f32::NAN; PARAMETERS]; 3];
            let mut scratch = lagrangian::Scratch::default();
            let fused_loss =
                lagrangian::gradient(&parameters, &batch, &constants, &mut scratch, &mut fused);
            let mean = loss / count as f64;
            assert!((f64::from(fused_loss) / mean - 1.0).abs() < 1e-4, "{fused_loss} {mean}");
            for network in 0..3 {
                let scale = gradients[network].iter().fold(0.0f64, |m, g| m.max(g.abs()));
                for index in 0..PARAMETERS {
                    let expected = gradients[network][index];
                    let found = f64::from(fused[network][index]) * count as f64;
                    assert!(
                        (found - expected).abs() <= 1e-4 * scale,
                        "{aggregator:?} K = {size}, network {network}, {index}: {found} {expected}"
                    );
                }
            }
        }
    }
}
