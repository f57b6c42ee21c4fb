//! Fast allocation with the paper's pair of networks (one hidden layer of four features, mean or sum aggregator),
//! sixteen users at a time.

use crate::framework::Method;
use crate::math::lanes::{self, LANES, Lanes};
use crate::math::{single, vectorised};
use crate::network::{Aggregator, CompiledLaw, scaled_gain};
use crate::problems::urllc::TrainSettings;
use crate::problems::urllc::UrllcAllocation;
use crate::problems::urllc::lagrangian::{HIDDEN, PARAMETERS};

/// Networks and buffers for cells of one size.
#[derive(Debug, Clone)]
pub(crate) struct FusedPair {
    networks: [[f32; PARAMETERS]; 2],
    scale: f32,
    x: Vec<Lanes>,
    /// Piecewise linear part of the outer function.
    law: Vec<Lanes>,
    /// Outputs of the power network.
    output: Vec<Lanes>,
    bandwidth: Vec<Lanes>,
}

impl FusedPair {
    /// Builds the pair; `None` for networks of another architecture or kind.
    pub(crate) fn new(
        training: &TrainSettings,
        power: &[f64],
        bandwidth: &[f64],
        size: usize,
    ) -> Option<Self> {
        let fits = training.method != Method::Fnn && training.is_of_kernel_shape();
        let scale = training.aggregator.scale(size).filter(|_| fits)?;
        debug_assert!(training.aggregator != Aggregator::Max);
        let mut networks = [[0.0; PARAMETERS]; 2];
        for (to, from) in networks.iter_mut().zip([power, bandwidth]) {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = single(from);
            }
        }
        let zeros = vec![lanes::all(0.0); size.div_ceil(LANES)];
        Some(Self {
            networks,
            scale: single(scale),
            x: zeros.clone(),
            law: zeros.clone(),
            output: zeros.clone(),
            bandwidth: zeros,
        })
    }

    /// Computes the powers and bandwidths of the users with the given gains.
    pub(crate) fn allocate(
        &mut self,
        gains: &[f64],
        law: Option<&CompiledLaw>,
        unit_hz: f64,
        max_power_w: f64,
        allocation: &mut UrllcAllocation,
    ) {
        let mut sum_x = 0.0;
        for (group, gains) in gains.chunks(LANES).enumerate() {
            for (lane, &gain) in gains.iter().enumerate() {
                let x = scaled_gain(gain);
                sum_x += x;
                self.x[group][lane] = single(x);
                if let Some(law) = law {
                    self.law[group][lane] = single(law.before_softplus(x));
                }
            }
        }
        run(self, gains.len(), single(sum_x), law.is_some());
        let unit_hz = law.map_or(unit_hz, CompiledLaw::unit_hz);
        let (power, bandwidth) = (self.output.as_flattened(), self.bandwidth.as_flattened());
        // Sums in f64, so that they are as accurate for a million users as for ten.
        let total: f64 = power[..gains.len()].iter().map(|&share| f64::from(share)).sum();
        let per_share = max_power_w / total;
        allocation.power_w.clear();
        let powers = power[..gains.len()].iter().map(|&share| f64::from(share) * per_share);
        allocation.power_w.extend(powers);
        allocation.bandwidth_hz.clear();
        let bandwidths = bandwidth[..gains.len()].iter().map(|&value| f64::from(value) * unit_hz);
        allocation.bandwidth_hz.extend(bandwidths);
    }
}

vectorised!(
    /// Computes shares (not yet normalized) in `output` and bandwidths in `bandwidth` from `x` and `law`.
    fn run(pair: &mut FusedPair, size: usize, sum_x: f32, with_law: bool) = kernel
);

/// Computes the hidden features of sixteen users.
#[inline(always)]
fn hidden(parameters: &[f32; PARAMETERS], x: &Lanes, others: &Lanes) -> [Lanes; HIDDEN] {
    let mut result = [lanes::all(0.0); HIDDEN];
    for (feature, result) in result.iter_mut().enumerate() {
        let mut h = lanes::all(parameters[2 * HIDDEN + feature]);
        lanes::add_scaled(&mut h, x, parameters[feature]);
        lanes::add_scaled(&mut h, others, parameters[HIDDEN + feature]);
        *result = lanes::map(&h, |h| h.max(0.01 * h));
    }
    result
}

#[inline(always)]
fn kernel(pair: &mut FusedPair, size: usize, sum_x: f32, with_law: bool) {
    let FusedPair { networks, scale, x, law, output, bandwidth } = pair;
    let scale = *scale;
    let others = |x: &Lanes| lanes::map(x, |own| scale * (sum_x - own));
    // First pass: sums of the hidden features, accumulated in f64; all users share them.
    let mut sums = [[0.0f64; HIDDEN]; 2];
    for (group, x) in x.iter().enumerate() {
        let others = others(x);
        let present = (size - group * LANES).min(LANES);
        for (parameters, sums) in networks.iter().zip(&mut sums) {
            for (sum, mut h) in sums.iter_mut().zip(hidden(parameters, x, &others)) {
                h[present..].fill(0.0);
                *sum += f64::from(lanes::total(&h));
            }
        }
    }
    let mut shared = [0.0f32; 2];
    let mut own = [[0.0f32; HIDDEN]; 2];
    for network in 0..2 {
        let parameters = &networks[network];
        let mut sum = f64::from(parameters[5 * HIDDEN]);
        for feature in 0..HIDDEN {
            let through = scale * parameters[4 * HIDDEN + feature];
            own[network][feature] = parameters[3 * HIDDEN + feature] - through;
            sum += f64::from(through) * sums[network][feature];
        }
        shared[network] = single(sum);
    }
    // Second pass: outputs. Computing the hidden features again is cheaper than storing them.
    let mut most = f32::MIN;
    for (group, x) in x.iter().enumerate() {
        let others = others(x);
        let mut outputs = [lanes::all(shared[0]), lanes::all(shared[1])];
        for network in 0..2 {
            let h = hidden(&networks[network], x, &others);
            for feature in 0..HIDDEN {
                lanes::add_scaled(&mut outputs[network], &h[feature], own[network][feature]);
            }
        }
        let present = (size - group * LANES).min(LANES);
        most = outputs[0][..present].iter().fold(most, |most, &value| most.max(value));
        output[group] = outputs[0];
        let (inner, _) = lanes::softplus(&outputs[1]);
        bandwidth[group] = if with_law {
            let (outer, _) = lanes::softplus(&law[group]);
            lanes::zip(&inner, &outer, |inner, outer| inner * outer)
        } else {
            inner
        };
    }
    for output in output.iter_mut() {
        *output = lanes::map(output, |value| lanes::exp(value - most));
    }
}
