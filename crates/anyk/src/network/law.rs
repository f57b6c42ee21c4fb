//! Pre-trained outer function `B^v(α, K)` (paper, section IV-B1): a fully connected network that describes how the
//! bandwidth of a user grows with the number of users.

use serde::{Deserialize, Serialize};

use crate::network::{Activation, Dense, DenseTape};

/// Outer function `B^v(α, K)` in Hz: `softplus(FNN(ln α + 30, ln K))·10^5`.
///
/// The paper uses `K/200` as the second input (section V-B; [`SizeScale`]). The unit of 10^5 Hz keeps the network's
/// output near 1; a [`LawShape`] can set another.
#[derive(Debug, Clone, PartialEq)]
pub struct BandwidthLaw {
    network: Dense,
    scale: SizeScale,
    unit_hz: f64,
    parameters: Vec<f64>,
}

/// Default unit: bandwidth in Hz for a network output of 1.
pub(crate) const UNIT_HZ: f64 = 1e5;

/// Returns the gain in the paper's scaling: `ln α + 30`.
pub fn scaled_gain(gain: f64) -> f64 {
    gain.ln() + 30.0
}

/// Shape of an outer function, as stored in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LawShape {
    /// Numbers of neurons of the hidden layers.
    pub hidden: Vec<usize>,
    /// Transformation of the number of users.
    #[serde(default, skip_serializing_if = "SizeScale::is_linear")]
    pub scale: SizeScale,
    /// Unit: bandwidth in kHz for a network output of 1.
    #[serde(default = "usual_unit_khz", skip_serializing_if = "is_usual_unit")]
    pub unit_khz: u32,
}

fn usual_unit_khz() -> u32 {
    100
}

// Takes a reference because serde requires it.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_usual_unit(unit_khz: &u32) -> bool {
    *unit_khz == usual_unit_khz()
}

/// Transformation of the number of users before it enters the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeScale {
    /// `K/200`, as in the paper.
    #[default]
    Linear,
    /// `ln K`, for several decades of K.
    Logarithmic,
}

impl SizeScale {
    // Takes a reference because serde requires it.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_linear(&self) -> bool {
        *self == Self::Linear
    }

    fn input(self, size: usize) -> f64 {
        match self {
            Self::Linear => size as f64 / 200.0,
            Self::Logarithmic => (size as f64).ln(),
        }
    }
}

impl Default for LawShape {
    /// Returns the paper's shape (table II) with 35,901 parameters.
    fn default() -> Self {
        Self {
            hidden: vec![200, 100, 100, 50],
            scale: SizeScale::Linear,
            unit_khz: usual_unit_khz(),
        }
    }
}

impl LawShape {
    /// Returns a shape with a sixteenth of the paper's parameters and `ln K` as input. At equal power, a user's
    /// bandwidth depends only on `ln α − ln K`. This is one direction in these inputs, but a curved surface in the
    /// paper's, which requires a large network.
    pub fn logarithmic() -> Self {
        Self { hidden: vec![32, 32, 32], scale: SizeScale::Logarithmic, ..Self::default() }
    }

    /// Returns whether there are hidden layers, of sizes that fit into memory, and whether the unit is in range.
    pub(crate) fn is_sound(&self) -> bool {
        !self.hidden.is_empty()
            && self.hidden.iter().all(|width| (1..=4096).contains(width))
            && (1..=1_000_000).contains(&self.unit_khz)
    }

    /// Returns the bandwidth in Hz for a network output of 1.
    pub(crate) fn unit_hz(&self) -> f64 {
        1e3 * f64::from(self.unit_khz)
    }

    /// Returns the network's inputs for a user of a cell.
    pub(crate) fn inputs(&self, gain: f64, size: usize) -> [f64; 2] {
        [scaled_gain(gain), self.scale.input(size)]
    }

    /// Returns the network of this shape. Its output is taken before the softplus, so that it is piecewise linear.
    pub fn network(&self) -> Dense {
        let mut widths = vec![2];
        widths.extend(&self.hidden);
        widths.push(1);
        Dense::new(&widths, Activation::LeakyRelu, Activation::Identity)
    }
}

impl BandwidthLaw {
    /// Creates an outer function from its parameters. Returns `None` if their number is wrong or one is not finite.
    pub fn new(shape: &LawShape, parameters: Vec<f64>) -> Option<Self> {
        let network = shape.network();
        let sound = parameters.len() == network.parameter_count()
            && parameters.iter().all(|parameter| parameter.is_finite());
        sound.then_some(Self { network, scale: shape.scale, unit_hz: shape.unit_hz(), parameters })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Returns `B^v` in Hz for users with these gains in a cell of `size` users. This direct evaluation needs
    /// thousands of multiplications per user (36,000 for the paper's shape).
    pub fn bandwidths_hz(&self, gains: &[f64], size: usize) -> Vec<f64> {
        let second = self.scale.input(size);
        let inputs: Vec<f64> = gains.iter().flat_map(|&gain| [scaled_gain(gain), second]).collect();
        let mut tape = DenseTape::default();
        let outputs = self.network.forward(&self.parameters, &inputs, &mut tape);
        outputs.iter().map(|&output| self.unit_hz * Activation::Softplus.value(output)).collect()
    }

    /// Returns the outer function at one size as a table over the gain, exact up to rounding.
    pub fn at_size(&self, size: usize) -> CompiledLaw {
        CompiledLaw::new(&self.network, &self.parameters, self.scale.input(size), self.unit_hz)
    }
}

/// Outer function `B^v(·, K)` at one K, as a table.
///
/// At a fixed K, the network before its softplus is a piecewise *linear* function of `ln α + 30`, since its hidden
/// activations are piecewise linear. All its kinks are found layer by layer, and two numbers describe each piece. A
/// lookup takes a few nanoseconds instead of thousands of multiplications, and differs from the direct evaluation
/// only by rounding.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledLaw {
    unit_hz: f64,
    /// Ends of the pieces in ascending order, including the ends of the range.
    knots: Vec<f64>,
    /// Values at the knots, before the softplus.
    values: Vec<f64>,
    /// For each of equal bins over the range, the piece that contains its start.
    bins: Vec<u32>,
}

/// Range of `ln α + 30`: gains from −300 dB to 0 dB.
const RANGE: (f64, f64) = (-39.2, 30.1);
const BINS: usize = 4096;

impl CompiledLaw {
    fn new(network: &Dense, parameters: &[f64], second: f64, unit_hz: f64) -> Self {
        // Values of all neurons of a layer at the knots, knot by knot. Between knots they are linear. If one crosses
        // zero, its activation has a kink, which becomes a new knot.
        let mut knots = vec![RANGE.0, RANGE.1];
        let mut values: Vec<f64> = knots.iter().flat_map(|&x| [x, second]).collect();
        let mut offset = 0;
        let count = network.widths.len() - 1;
        for (layer, pair) in network.widths.windows(2).enumerate() {
            let (from, to) = (pair[0], pair[1]);
            let weights = &parameters[offset..offset + to * from];
            let biases = &parameters[offset + to * from..offset + to * (from + 1)];
            offset += to * (from + 1);
            let mut next: Vec<f64> = Vec::with_capacity(values.len() / from * to);
            for row in values.chunks_exact(from) {
                for (weights, bias) in weights.chunks_exact(from).zip(biases) {
                    let sum: f64 = weights.iter().zip(row).map(|(w, x)| w * x).sum();
                    next.push(sum + bias);
                }
            }
            if layer + 1 < count {
                (knots, next) = split_at_zeros(&knots, &next, to);
                for value in &mut next {
                    *value = Activation::LeakyRelu.value(*value);
                }
            }
            values = next;
        }
        let width = (RANGE.1 - RANGE.0) / BINS as f64;
        let mut piece = 0;
        let bins = (0..BINS)
            .map(|bin| {
                let start = RANGE.0 + bin as f64 * width;
                while piece + 2 < knots.len() && knots[piece + 1] <= start {
                    piece += 1;
                }
                u32::try_from(piece).unwrap_or(u32::MAX)
            })
            .collect();
        Self { unit_hz, knots, values, bins }
    }

    /// Returns `B^v` of one user in Hz.
    #[inline]
    pub fn bandwidth_hz(&self, gain: f64) -> f64 {
        self.at_scaled_gain(scaled_gain(gain))
    }

    /// Returns `B^v` at `ln α + 30`, in Hz.
    #[inline]
    pub(crate) fn at_scaled_gain(&self, x: f64) -> f64 {
        self.unit_hz * Activation::Softplus.value(self.before_softplus(x))
    }

    /// Returns the bandwidth in Hz for an output of 1 after the softplus.
    pub(crate) fn unit_hz(&self) -> f64 {
        self.unit_hz
    }

    /// Returns the piecewise linear part at `ln α + 30`.
    #[inline]
    pub(crate) fn before_softplus(&self, x: f64) -> f64 {
        let position = (x - RANGE.0) * (BINS as f64 / (RANGE.1 - RANGE.0));
        // `as` saturates, and maps NaN to 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bin = (position as usize).min(BINS - 1);
        let mut piece = self.bins[bin] as usize;
        while piece + 2 < self.knots.len() && self.knots[piece + 1] <= x {
            piece += 1;
        }
        let (left, right) = (self.knots[piece], self.knots[piece + 1]);
        let (low, high) = (self.values[piece], self.values[piece + 1]);
        low + (high - low) * ((x - left) / (right - left))
    }
}

/// Adds a knot wherever one of `width` piecewise linear functions crosses zero between two knots.
fn split_at_zeros(knots: &[f64], values: &[f64], width: usize) -> (Vec<f64>, Vec<f64>) {
    let mut new_knots = vec![knots[0]];
    let mut new_values = values[..width].to_vec();
    let mut crossings: Vec<f64> = Vec::new();
    for (index, ends) in knots.windows(2).enumerate() {
        let left = &values[index * width..(index + 1) * width];
        let right = &values[(index + 1) * width..(index + 2) * width];
        crossings.clear();
        for (&low, &high) in left.iter().zip(right) {
            if (low < 0.0) != (high < 0.0) {
                crossings.push(low / (low - high));
            }
        }
        crossings.sort_by(f64::total_cmp);
        for &share in &crossings {
            let knot = ends[0] + share * (ends[1] - ends[0]);
            let last = new_knots.last().copied().unwrap_or(f64::NEG_INFINITY);
            if knot > last && knot < ends[1] {
                new_knots.push(knot);
                new_values
                    .extend(left.iter().zip(right).map(|(low, high)| low + share * (high - low)));
            }
        }
        new_knots.push(ends[1]);
        new_values.extend_from_slice(right);
    }
    (new_knots, new_values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Tests that the table equals the direct evaluation at random parameters, for small and large cells.
    #[test]
    fn compiled_is_exact() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
        for (size, scale) in [
            (1, SizeScale::Linear),
            (10, SizeScale::Linear),
            (200, SizeScale::Linear),
            (5000, SizeScale::Linear),
            (5000, SizeScale::Logarithmic),
        ] {
            let shape = LawShape { hidden: vec![60, 40, 30], scale, ..LawShape::default() };
            let count = shape.network().parameter_count();
            let parameters = (0..count).map(|_| rng.random_range(-0.5..0.5)).collect();
            let law = BandwidthLaw::new(&shape, parameters).unwrap();
            let compiled = law.at_size(size);
            assert!(compiled.knots.len() > 20, "{} knots", compiled.knots.len());
            let gains: Vec<f64> =
                (0..2000).map(|_| 10f64.powf(rng.random_range(-30.0..0.0))).collect();
            for (plain, gain) in law.bandwidths_hz(&gains, size).iter().zip(&gains) {
                let off = (compiled.bandwidth_hz(*gain) / plain - 1.0).abs();
                assert!(off < 1e-9, "{gain}: off by {off}");
            }
        }
    }
}
