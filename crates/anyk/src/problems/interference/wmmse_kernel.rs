//! Iteration of WMMSE on a dense network, vectorized.
//!
//! With amplitudes `v` (`v² = p`, shares of `P_max`), noise 1, interference `I_k = 1 + Σ_{j≠k} g_kj p_j`
//! and `T_k = I_k + g_kk p_k`, the three updates `u`, `w`, `v` of the algorithm collapse into
//!
//! ```text
//! c_k = w_k u_k² = α_k g_kk p_k / (I_k T_k),     v_k ← min(1, (α_k g_kk v_k / I_k) / Σ_j g_jk c_j)
//! ```
//!
//! with the links' weights `α`; multiplication by a weight of 1 is exact.
//!
//! Both sums run over the links `j` that transmit, and each term adds a contiguous row: a column of the matrix
//! for `I`, which is stored transposed, and a row for `Σ_j g_jk c_j`. Most links fade out within a few iterations
//! (of 100 links on a dense network, 27 are left after 20 and 7 after 100). Links whose power is too small to
//! change the last digits of a sum are left out of it. Their own powers are still updated, so a link can recover.

use crate::channel::GainMatrix;
use crate::math::vectorised;

/// Number of links in a vector; rows are padded to a multiple of it.
const LANES: usize = 8;
/// Number of links that share a pass over the sums.
const GROUP: usize = 4;
/// Bound on a link's power times the largest gain (at least 1) squared times the spread of the weights, below
/// which the sums leave the link out.
const NEGLIGIBLE: f64 = 1e-17;

/// Numbers aligned to a cache line, so that a vector load never spans two lines.
#[derive(Debug, Clone, Default)]
struct Aligned {
    numbers: Vec<f64>,
    offset: usize,
}

impl Aligned {
    /// Resizes the buffer to `count` numbers, all 0.
    fn reset(&mut self, count: usize) {
        let line = 64 / size_of::<f64>();
        self.numbers.clear();
        self.numbers.resize(count + line, 0.0);
        // If the alignment is unknown, the code is only slower.
        self.offset = self.numbers.as_ptr().align_offset(64).min(line);
    }

    fn as_slice(&self) -> &[f64] {
        &self.numbers[self.offset..]
    }

    fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.numbers[self.offset..]
    }
}

/// Amplitudes and buffers of an iteration.
#[derive(Debug, Clone, Default)]
pub(crate) struct DenseKernel {
    size: usize,
    /// Length of a padded row.
    stride: usize,
    /// Gains without the diagonal, by receiver (`rows`) and by transmitter (`columns`).
    rows: Aligned,
    columns: Aligned,
    direct: Vec<f64>,
    /// Weight `α_k`.
    weight: Vec<f64>,
    amplitude: Vec<f64>,
    power: Vec<f64>,
    heard: Aligned,
    /// Marginal cost of interference, `c_k`.
    harm: Vec<f64>,
    /// Numerator of the update, `α_k g_kk v_k / I_k`.
    wanted: Vec<f64>,
    /// Denominator of the update, `Σ_j g_jk c_j`.
    charge: Aligned,
    /// Links whose power counts, padded to whole groups.
    active: Vec<u32>,
    least_power: f64,
}

impl DenseKernel {
    /// Loads the gains of a network, and its weights unless all are 1.
    pub(crate) fn load(&mut self, gains: &GainMatrix, weights: Option<&[f64]>) {
        let (size, gains) = (gains.size(), gains.as_slice());
        self.size = size;
        // At least one link of padding, which fills up groups.
        let stride = (size + 1).next_multiple_of(LANES);
        self.stride = stride;
        self.rows.reset((size + 1) * stride);
        self.columns.reset((size + 1) * stride);
        self.heard.reset(stride);
        self.charge.reset(stride);
        for buffer in [
            &mut self.direct,
            &mut self.weight,
            &mut self.amplitude,
            &mut self.power,
            &mut self.harm,
            &mut self.wanted,
        ] {
            buffer.clear();
            buffer.resize(stride, 0.0);
        }
        let mut largest: f64 = 1.0;
        let rows = self.rows.as_mut_slice();
        for (row, line) in gains.chunks_exact(size).enumerate() {
            let padded = &mut rows[row * stride..][..size];
            padded.copy_from_slice(line);
            self.direct[row] = std::mem::take(&mut padded[row]);
            largest = line.iter().copied().fold(largest, f64::max);
        }
        // A few rows at a time, so that source and target stay in the cache.
        let columns = self.columns.as_mut_slice();
        for first in (0..size).step_by(LANES) {
            for column in 0..size {
                let line = &mut columns[column * stride + first..][..LANES];
                for (row, gain) in (first..size).zip(line) {
                    *gain = rows[row * stride + column];
                }
            }
        }
        self.weight[..size].fill(1.0);
        let mut spread = 1.0;
        if let Some(weights) = weights {
            self.weight[..size].copy_from_slice(weights);
            let some = || weights.iter().copied().filter(|&weight| weight > 0.0);
            spread = some().fold(0.0, f64::max) / some().fold(f64::INFINITY, f64::min);
        }
        self.least_power = NEGLIGIBLE / (largest * largest * spread);
    }

    /// Sets the starting powers, as shares of `P_max`.
    pub(crate) fn start(&mut self, shares: impl Iterator<Item = f64>) {
        let places = self.amplitude.iter_mut().zip(&mut self.power);
        for ((amplitude, power), share) in places.zip(shares.take(self.size)) {
            (*amplitude, *power) = (share.sqrt(), share);
        }
    }

    /// Returns the powers as shares of `P_max`.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.power[..self.size]
    }

    /// Runs one iteration. With `measure`, returns the objective in nats *before* it, otherwise 0.
    pub(crate) fn iterate(&mut self, measure: bool) -> f64 {
        self.choose();
        dispatch_iterate(self, measure)
    }

    /// Finds the links whose power counts, and fills up the last group with padding, whose power is 0.
    fn choose(&mut self) {
        let padding = u32::try_from(self.size).unwrap_or(u32::MAX);
        self.active.resize(self.size + GROUP, padding);
        let mut count = 0;
        // Branch-free, since a branch predictor cannot predict which links fade out next.
        for (link, &power) in (0u32..).zip(&self.power[..self.size]) {
            self.active[count] = link;
            count += usize::from(power > self.least_power);
        }
        self.active[count..].fill(padding);
        self.active.truncate(count.next_multiple_of(GROUP));
    }
}

vectorised!(
    fn dispatch_iterate(kernel: &mut DenseKernel, measure: bool) -> f64 = iterate_numbers
);

#[inline(always)]
fn iterate_numbers(kernel: &mut DenseKernel, measure: bool) -> f64 {
    let (size, stride) = (kernel.size, kernel.stride);
    let DenseKernel { rows, columns, direct, weight, amplitude, power, .. } = kernel;
    let (heard, harm) = (&mut kernel.heard.as_mut_slice()[..stride], &mut kernel.harm[..stride]);
    let (wanted, charge) =
        (&mut kernel.wanted[..stride], &mut kernel.charge.as_mut_slice()[..stride]);
    let (direct, weight, active) = (&direct[..stride], &weight[..stride], &kernel.active);
    let (amplitude, power) = (&mut amplitude[..stride], &mut power[..stride]);
    heard.fill(1.0);
    add_lines(heard, columns.as_slice(), stride, active, power);
    for k in 0..stride {
        let signal = direct[k] * power[k];
        let both = heard[k] + signal;
        let inverse = 1.0 / (heard[k] * both);
        harm[k] = weight[k] * (signal * inverse);
        wanted[k] = weight[k] * (direct[k] * amplitude[k] * (both * inverse));
        // Start with the link's own term, which is not in the matrix.
        charge[k] = harm[k] * direct[k];
    }
    let objective = if measure {
        (0..size).map(|k| weight[k] * (direct[k] * power[k] / heard[k]).ln_1p()).sum()
    } else {
        0.0
    };
    add_lines(charge, rows.as_slice(), stride, active, harm);
    for k in 0..stride {
        // A link that transmits nothing (or is padding) would be 0/0; it stays off.
        let next = (wanted[k] / charge[k].max(f64::MIN_POSITIVE)).min(1.0);
        amplitude[k] = next;
        power[k] = next * next;
    }
    objective
}

/// Computes `sum ← sum + Σ_j weight_j·line_j` over the active links.
#[inline(always)]
fn add_lines(sum: &mut [f64], lines: &[f64], stride: usize, active: &[u32], weights: &[f64]) {
    let line = |link: u32| &lines[link as usize * stride..][..stride];
    let weight = |link: u32| weights[link as usize];
    for &[a, b, c, d] in active.as_chunks::<GROUP>().0 {
        let weights = [weight(a), weight(b), weight(c), weight(d)];
        let lines = [line(a), line(b), line(c), line(d)];
        add_group(sum, lines, weights);
    }
}

/// Computes `sum ← sum + Σ weight·line` over the four equally long lines of a group.
#[inline(always)]
fn add_group(sum: &mut [f64], lines: [&[f64]; GROUP], weights: [f64; GROUP]) {
    let [a, b, c, d] = lines;
    for ((((sum, a), b), c), d) in sum.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        let half = a.mul_add(weights[0], b.mul_add(weights[1], *sum));
        *sum = c.mul_add(weights[2], d.mul_add(weights[3], half));
    }
}
