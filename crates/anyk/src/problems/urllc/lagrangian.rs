//! The Lagrangian of problem (P2) and its gradient, for one batch of samples of one size.
//!
//! For user k with power share `p_k` (softmax), bandwidth `z_k = z⁰_k·softplus(o^B_k)` in channel uses
//! and multiplier `λ_k = softplus(o^λ_k)`, and with D fading draws `g`,
//!
//! ```text
//! L = Σ_k [ z_k/z_unit + λ_k·( (1/D) Σ_g e^(θS^E − θs) − 1 ) ],
//! θs = κz·ln(1 + g·v⁰_k p_k/z_k) − κq√z
//! ```
//!
//! (`v⁰ = αP_maxτ/N_0`; paper, eq. (P2) with (sk-URLLC)). The constraint is divided by `e^(−θS^E)`, so that the
//! multiplier is of the order of 1; with [`LossUnits::raw`] it is as in the paper. Powers and bandwidths descend,
//! multipliers ascend. `z⁰` is `τB^v(α_k, K)` for P-GNN and a constant for M-GNN.

use crate::math::lanes::{self, LANES, Lanes};
use crate::math::{single, vectorised};
use crate::network::Aggregator;
use crate::qos::Qos;

/// Number of hidden features of each user in the fused kernel, as in the paper's network.
pub(crate) const HIDDEN: usize = 4;
/// Number of parameters of a network in the fused kernel; their order is that of [`Gnn`](crate::network::Gnn).
pub(crate) const PARAMETERS: usize = 5 * HIDDEN + 1;
const OTHERS: usize = HIDDEN;
const BIAS: usize = 2 * HIDDEN;
const OUT_OWN: usize = 3 * HIDDEN;
const OUT_OTHERS: usize = 4 * HIDDEN;
const OUT_BIAS: usize = 5 * HIDDEN;

/// Order of the networks of Algorithm 1.
pub(crate) const POWER: usize = 0;
pub(crate) const BANDWIDTH: usize = 1;
pub(crate) const MULTIPLIER: usize = 2;

/// Parameters of the three networks, or their gradient.
pub(crate) type Parameters = [[f32; PARAMETERS]; 3];

/// Units of the two parts of the loss; plain gradient steps depend on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossUnits {
    /// Unit of bandwidth, Hz.
    pub(crate) bandwidth_hz: f64,
    /// Factor on the constraint, which is divided by its target.
    pub(crate) constraint: f64,
}

impl LossUnits {
    /// Returns units in which the constraint is relative to its target.
    pub(crate) fn relative(bandwidth_hz: f64) -> Self {
        Self { bandwidth_hz, constraint: 1.0 }
    }

    /// Returns the paper's units: bandwidth in MHz, and the constraint as `e^(−θs) − e^(−θS^E)`.
    pub(crate) fn raw(qos: &Qos) -> Self {
        let target = (-qos.theta() * qos.effective_bandwidth()).exp();
        Self { bandwidth_hz: 1e6, constraint: target }
    }
}

/// Constants of the cell in the loss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossConstants {
    kappa: f32,
    quantile: f32,
    /// Demand `θS^E`.
    demand: f32,
    /// Largest rate in nats for each channel use; infinite without a limit.
    most: f32,
    /// Factor `1/z_unit`.
    per_unit: f32,
    /// Factor on the constraint.
    constraint: f32,
    aggregator: Aggregator,
}

impl LossConstants {
    /// Computes the constants for the QoS at `ε_D`.
    pub(crate) fn new(qos: &Qos, units: LossUnits, aggregator: Aggregator) -> Self {
        Self {
            kappa: single(qos.kappa()),
            quantile: single(qos.service().decoding_quantile()),
            demand: single(qos.theta() * qos.effective_bandwidth()),
            most: single(qos.max_nats()),
            per_unit: single(1.0 / (units.bandwidth_hz * qos.ln_uses_scale().exp())),
            constraint: single(units.constraint),
            aggregator,
        }
    }
}

/// Batch in groups of sixteen samples, padded with samples of weight 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) size: usize,
    pub(crate) draws: usize,
    /// Weight of each sample by group: 1 for a sample, 0 for padding.
    pub(crate) weight: Vec<Lanes>,
    /// Values by group and user: `ln α + 30`, `v⁰`, `z⁰`.
    pub(crate) x: Vec<Lanes>,
    pub(crate) energy: Vec<Lanes>,
    pub(crate) uses: Vec<Lanes>,
    /// Values `g` by group, user and draw.
    pub(crate) fading: Vec<Lanes>,
}

impl Batch {
    /// Allocates `samples` samples of `size` users.
    pub(crate) fn new(samples: usize, size: usize, draws: usize) -> Self {
        let groups = samples.div_ceil(LANES);
        let mut weight = vec![lanes::all(0.0); groups];
        for sample in 0..samples {
            weight[sample / LANES][sample % LANES] = 1.0;
        }
        let one = lanes::all(1.0);
        Self {
            size,
            draws,
            weight,
            x: vec![one; groups * size],
            energy: vec![one; groups * size],
            uses: vec![one; groups * size],
            fading: vec![one; groups * size * draws],
        }
    }
}

/// Buffers of the kernel, reused between steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    others: Vec<Lanes>,
    hidden: Vec<[Lanes; HIDDEN]>,
    output: Vec<Lanes>,
    by_power: Vec<Lanes>,
}

vectorised!(
    /// Computes the gradient of the mean loss over the batch for all parameters and returns the loss. The
    /// multiplier's gradient is negated, so that every network descends. The kernel does not support the
    /// aggregator `max`.
    pub(crate) fn gradient(
        parameters: &Parameters,
        batch: &Batch,
        constants: &LossConstants,
        scratch: &mut Scratch,
        gradient: &mut Parameters,
    ) -> f32 = kernel
);

#[inline(always)]
fn kernel(
    parameters: &Parameters,
    batch: &Batch,
    constants: &LossConstants,
    scratch: &mut Scratch,
    gradient: &mut Parameters,
) -> f32 {
    let size = batch.size;
    let scale = match constants.aggregator {
        Aggregator::Sum => 1.0,
        _ => 1.0 / size as f32,
    };
    let zero = lanes::all(0.0);
    scratch.others.resize(size, zero);
    scratch.hidden.resize(3 * size, [zero; HIDDEN]);
    scratch.output.resize(3 * size, zero);
    scratch.by_power.resize(size, zero);
    let mut sums = [[zero; PARAMETERS]; 3];
    let mut loss = zero;
    let mut samples = 0.0;
    for (group, weight) in batch.weight.iter().enumerate() {
        let users = group * size..(group + 1) * size;
        let x = &batch.x[users.clone()];
        samples += lanes::total(weight);
        let mut sum_x = zero;
        for x in x {
            lanes::add(&mut sum_x, x);
        }
        for (others, x) in scratch.others.iter_mut().zip(x) {
            *others = lanes::zip(&sum_x, x, |sum, own| scale * (sum - own));
        }
        let mut hidden_sums = [[zero; HIDDEN]; 3];
        for network in 0..3 {
            hidden_sums[network] = forward(
                &parameters[network],
                scale,
                x,
                &scratch.others,
                &mut scratch.hidden[network * size..(network + 1) * size],
                &mut scratch.output[network * size..(network + 1) * size],
            );
        }
        let (power, rest) = scratch.output.split_at_mut(size);
        let (bandwidth, multiplier) = rest.split_at_mut(size);
        let data = LossInput {
            weight,
            energy: &batch.energy[users.clone()],
            uses: &batch.uses[users.clone()],
            fading: &batch.fading[users.start * batch.draws..users.end * batch.draws],
            draws: batch.draws,
        };
        let by_power = &mut scratch.by_power;
        // Without a limit, the loop over fading states has no comparison.
        let losses = if constants.most.is_finite() {
            loss_and_slopes::<true>(constants, &data, power, bandwidth, multiplier, by_power)
        } else {
            loss_and_slopes::<false>(constants, &data, power, bandwidth, multiplier, by_power)
        };
        lanes::add(&mut loss, &losses);
        for network in 0..3 {
            backward(
                &parameters[network],
                scale,
                x,
                &scratch.others,
                &scratch.hidden[network * size..(network + 1) * size],
                &hidden_sums[network],
                &scratch.output[network * size..(network + 1) * size],
                &mut sums[network],
            );
        }
    }
    for (gradient, sums) in gradient.iter_mut().zip(&sums) {
        for (gradient, sum) in gradient.iter_mut().zip(sums) {
            *gradient = lanes::total(sum) / samples;
        }
    }
    lanes::total(&loss) / samples
}

/// Computes the hidden features and outputs of one network and returns the sums of the hidden features over
/// users.
#[inline(always)]
fn forward(
    parameters: &[f32; PARAMETERS],
    scale: f32,
    x: &[Lanes],
    others: &[Lanes],
    hidden: &mut [[Lanes; HIDDEN]],
    output: &mut [Lanes],
) -> [Lanes; HIDDEN] {
    let mut sums = [lanes::all(0.0); HIDDEN];
    for ((x, others), hidden) in x.iter().zip(others).zip(&mut *hidden) {
        for feature in 0..HIDDEN {
            let mut h = lanes::all(parameters[BIAS + feature]);
            lanes::add_scaled(&mut h, x, parameters[feature]);
            lanes::add_scaled(&mut h, others, parameters[OTHERS + feature]);
            let h = lanes::map(&h, |h| h.max(0.01 * h));
            lanes::add(&mut sums[feature], &h);
            hidden[feature] = h;
        }
    }
    // Σ_f u_f h_f + v_f·scale·(Σ_j h_j − h); all users share the part with the sum.
    let mut shared = lanes::all(parameters[OUT_BIAS]);
    let mut own = [0.0; HIDDEN];
    for feature in 0..HIDDEN {
        let through = scale * parameters[OUT_OTHERS + feature];
        own[feature] = parameters[OUT_OWN + feature] - through;
        lanes::add_scaled(&mut shared, &sums[feature], through);
    }
    for (hidden, output) in hidden.iter().zip(output) {
        // A local variable, so that the compiler keeps the lanes in registers.
        let mut sum = shared;
        for feature in 0..HIDDEN {
            lanes::add_scaled(&mut sum, &hidden[feature], own[feature]);
        }
        *output = sum;
    }
    sums
}

/// Data of one group for the loss.
struct LossInput<'a> {
    weight: &'a Lanes,
    energy: &'a [Lanes],
    uses: &'a [Lanes],
    fading: &'a [Lanes],
    draws: usize,
}

/// Computes the loss of each sample, and replaces the networks' outputs by the slopes of the loss at them.
#[inline(always)]
fn loss_and_slopes<const LIMITED: bool>(
    constants: &LossConstants,
    data: &LossInput<'_>,
    power: &mut [Lanes],
    bandwidth: &mut [Lanes],
    multiplier: &mut [Lanes],
    by_power: &mut [Lanes],
) -> Lanes {
    let LossConstants { kappa, quantile, demand, most: limit, per_unit, constraint, .. } =
        *constants;
    let zero = lanes::all(0.0);
    let mut most = lanes::all(f32::MIN);
    for output in &*power {
        most = lanes::zip(&most, output, f32::max);
    }
    let mut sum = zero;
    for output in &mut *power {
        *output = lanes::zip(output, &most, |output, most| lanes::exp(output - most));
        lanes::add(&mut sum, output);
    }
    let normal = lanes::map(&sum, |sum| 1.0 / sum);
    let mut loss = zero;
    let mut sum_slopes = zero;
    let per_draw = 1.0 / data.draws as f32;
    for user in 0..power.len() {
        let share = lanes::zip(&power[user], &normal, |power, normal| power * normal);
        let (inner, inner_slope) = lanes::softplus(&bandwidth[user]);
        let (mut lambda, mut lambda_slope) = lanes::softplus(&multiplier[user]);
        for i in 0..LANES {
            lambda[i] *= constraint;
            lambda_slope[i] *= constraint;
        }
        let z = lanes::zip(&inner, &data.uses[user], |inner, uses| inner * uses);
        let mut snr = zero;
        let mut back_off = zero;
        for i in 0..LANES {
            snr[i] = data.energy[user][i] * share[i] / z[i];
            back_off[i] = kappa * quantile * z[i].sqrt();
        }
        // Means over the draws of e^(θS^E − θs), and of its products with κz(l − r) and κz·r.
        let (mut mean, mut mean_z, mut mean_v) = (zero, zero, zero);
        for g in &data.fading[user * data.draws..(user + 1) * data.draws] {
            for i in 0..LANES {
                let y = snr[i] * g[i];
                let one = 1.0 + y;
                let mut l = lanes::ln(one);
                let mut r = y / one;
                let c = kappa * z[i];
                if LIMITED {
                    // Above the limit, `c·l` is `κηz + κq√z`: it does not depend on the power, and its slope by ln z
                    // is `c·l − κq√z/2`.
                    let most = limit + quantile / z[i].sqrt();
                    let is_above = l > most;
                    l = if is_above { most } else { l };
                    let above_z = 0.5 * back_off[i] / c;
                    let e = per_draw * lanes::exp((-c).mul_add(l, back_off[i] + demand));
                    mean[i] += e;
                    mean_z[i] += e * c * (l - if is_above { above_z } else { r });
                    r = if is_above { 0.0 } else { r };
                    mean_v[i] += e * c * r;
                    continue;
                }
                let e = per_draw * lanes::exp((-c).mul_add(l, back_off[i] + demand));
                mean[i] += e;
                mean_z[i] = (e * c).mul_add(l - r, mean_z[i]);
                mean_v[i] = (e * c).mul_add(r, mean_v[i]);
            }
        }
        for i in 0..LANES {
            let weight = data.weight[i];
            let miss = mean[i] - 1.0;
            loss[i] += weight * lambda[i].mul_add(miss, z[i] * per_unit);
            // Derivatives with respect to ln z and ln v.
            let by_z = z[i] * per_unit - lambda[i] * (mean_z[i] - 0.5 * back_off[i] * mean[i]);
            let by_v = -lambda[i] * mean_v[i];
            by_power[user][i] = by_v;
            sum_slopes[i] += by_v;
            bandwidth[user][i] = weight * by_z * inner_slope[i] / inner[i];
            multiplier[user][i] = -weight * miss * lambda_slope[i];
        }
        power[user] = share;
    }
    // Derivative through the softmax with respect to o_k: ∂L/∂ln p_k − p_k·Σ_j ∂L/∂ln p_j.
    for (share, slope) in power.iter_mut().zip(by_power) {
        for i in 0..LANES {
            share[i] = data.weight[i] * (-share[i]).mul_add(sum_slopes[i], slope[i]);
        }
    }
    loss
}

/// Adds the gradient of one network, given the slopes at its outputs.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn backward(
    parameters: &[f32; PARAMETERS],
    scale: f32,
    x: &[Lanes],
    others: &[Lanes],
    hidden: &[[Lanes; HIDDEN]],
    hidden_sums: &[Lanes; HIDDEN],
    slopes: &[Lanes],
    sums: &mut [Lanes; PARAMETERS],
) {
    let mut slope_sum = lanes::all(0.0);
    for slope in slopes {
        lanes::add(&mut slope_sum, slope);
    }
    lanes::add(&mut sums[OUT_BIAS], &slope_sum);
    for feature in 0..HIDDEN {
        let through = scale * parameters[OUT_OTHERS + feature];
        let own = parameters[OUT_OWN + feature] - through;
        let shared = lanes::map(&slope_sum, |slope| through * slope);
        let zero = lanes::all(0.0);
        let (mut by_out, mut by_own, mut by_others, mut by_bias) = (zero, zero, zero, zero);
        for (((slope, hidden), x), others) in slopes.iter().zip(hidden).zip(x).zip(others) {
            let h = &hidden[feature];
            lanes::add_product(&mut by_out, slope, h);
            let mut before = shared;
            lanes::add_scaled(&mut before, slope, own);
            // The sign of a leaky ReLU's output is that of its input.
            let before = lanes::zip(&before, h, |b, h| if h > 0.0 { b } else { 0.01 * b });
            lanes::add_product(&mut by_own, &before, x);
            lanes::add_product(&mut by_others, &before, others);
            lanes::add(&mut by_bias, &before);
        }
        lanes::add(&mut sums[feature], &by_own);
        lanes::add(&mut sums[OTHERS + feature], &by_others);
        lanes::add(&mut sums[BIAS + feature], &by_bias);
        lanes::add(&mut sums[OUT_OWN + feature], &by_out);
        let mut by_out_others = zero;
        lanes::add_product(&mut by_out_others, &slope_sum, &hidden_sums[feature]);
        let by_out_others = lanes::zip(&by_out_others, &by_out, |all, own| scale * (all - own));
        lanes::add(&mut sums[OUT_OTHERS + feature], &by_out_others);
    }
}
