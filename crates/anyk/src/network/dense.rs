//! Fully connected networks, evaluated on batches.

use num_traits::Float;
use serde::{Deserialize, Serialize};

use crate::network::Activation;

/// Floating-point type with a matrix product: `f32` for fast training, `f64` for the price policy and for checking gradients.
pub trait Real: Float + std::iter::Sum + std::fmt::Debug + Send + Sync + 'static {
    /// Computes `c ← a·b + beta·c` for `a` of m×k and `b` of k×n, each given with its row and column stride.
    #[allow(clippy::too_many_arguments)]
    fn product(
        shape: (usize, usize, usize),
        a: (&[Self], [usize; 2]),
        b: (&[Self], [usize; 2]),
        beta: Self,
        c: &mut [Self],
    );
    /// Rounds a value from `f64`.
    fn of(value: f64) -> Self;
    /// Converts the value to `f64`.
    fn to(self) -> f64;
}

macro_rules! real {
    ($type:ty, $product:path) => {
        impl Real for $type {
            #[allow(unsafe_code, clippy::cast_possible_wrap)]
            fn product(
                (m, k, n): (usize, usize, usize),
                (a, [a_row, a_column]): (&[Self], [usize; 2]),
                (b, [b_row, b_column]): (&[Self], [usize; 2]),
                beta: Self,
                c: &mut [Self],
            ) {
                let last = |rows: usize, columns: usize, [row, column]: [usize; 2]| {
                    (rows.max(1) - 1) * row + (columns.max(1) - 1) * column
                };
                assert!(m > 0 && k > 0 && n > 0 && c.len() == m * n);
                assert!(last(m, k, [a_row, a_column]) < a.len());
                assert!(last(k, n, [b_row, b_column]) < b.len());
                // SAFETY: all strides are within the slices, as just asserted, and `c` is exclusive.
                unsafe {
                    $product(
                        m,
                        k,
                        n,
                        1.0,
                        a.as_ptr(),
                        a_row as isize,
                        a_column as isize,
                        b.as_ptr(),
                        b_row as isize,
                        b_column as isize,
                        beta,
                        c.as_mut_ptr(),
                        n as isize,
                        1,
                    );
                }
            }

            #[allow(clippy::cast_possible_truncation)]
            fn of(value: f64) -> Self {
                value as Self
            }

            fn to(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
real!(f32, matrixmultiply::sgemm);
real!(f64, matrixmultiply::dgemm);

/// Fully connected network. The parameters are stored in one slice: for each layer the weights, row by row (outputs ×
/// inputs), then the biases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Numbers of inputs, hidden neurons and outputs.
    pub widths: Vec<usize>,
    /// Activation of the hidden layers.
    pub hidden: Activation,
    /// Activation of the output layer.
    pub output: Activation,
}

/// Intermediate values of a forward pass for the backward pass; its buffers are reused.
#[derive(Debug, Clone)]
pub struct DenseTape<T> {
    /// Inputs of each layer, and the outputs of the last.
    values: Vec<Vec<T>>,
    pre_activations: Vec<Vec<T>>,
    upstream: Vec<T>,
    downstream: Vec<T>,
}

impl<T> Default for DenseTape<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            pre_activations: Vec::new(),
            upstream: Vec::new(),
            downstream: Vec::new(),
        }
    }
}

impl<T> DenseTape<T> {
    /// Returns the outputs of the last forward pass.
    pub fn outputs(&self) -> &[T] {
        self.values.last().map_or(&[], Vec::as_slice)
    }
}

impl Dense {
    /// Creates a network with the given widths.
    pub fn new(widths: &[usize], hidden: Activation, output: Activation) -> Self {
        Self { widths: widths.to_vec(), hidden, output }
    }

    fn layers(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator + '_ {
        self.widths.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.layers().map(|(inputs, outputs)| outputs * (inputs + 1)).sum()
    }

    /// Returns the names and shapes of the parts of the parameters, in their order. Weights are outputs × inputs.
    pub fn layout(&self) -> Vec<(String, Vec<usize>)> {
        let part = |(layer, (from, to)): (usize, (usize, usize))| {
            [(format!("{layer}.weight"), vec![to, from]), (format!("{layer}.bias"), vec![to])]
        };
        self.layers().enumerate().flat_map(part).collect()
    }

    fn activation(&self, layer: usize) -> Activation {
        if layer + 2 == self.widths.len() { self.output } else { self.hidden }
    }

    /// Returns the outputs for a batch of concatenated inputs.
    ///
    /// # Panics
    ///
    /// Panics if a length does not match the network, which is a bug in the caller.
    pub fn forward<'a, T: Real>(
        &self,
        parameters: &[T],
        inputs: &[T],
        tape: &'a mut DenseTape<T>,
    ) -> &'a [T] {
        assert_eq!(parameters.len(), self.parameter_count(), "parameters of the network");
        assert_eq!(inputs.len() % self.widths[0], 0, "inputs of the network");
        let batch = inputs.len() / self.widths[0];
        tape.values.resize_with(self.widths.len(), Vec::new);
        tape.pre_activations.resize_with(self.widths.len() - 1, Vec::new);
        tape.values[0].clear();
        tape.values[0].extend_from_slice(inputs);
        let mut offset = 0;
        for (layer, (from, to)) in self.layers().enumerate() {
            let weights = &parameters[offset..offset + to * from];
            let biases = &parameters[offset + to * from..offset + to * (from + 1)];
            offset += to * (from + 1);
            let pre = &mut tape.pre_activations[layer];
            pre.clear();
            for _ in 0..batch {
                pre.extend_from_slice(biases);
            }
            if batch > 0 {
                let values = (&tape.values[layer][..], [from, 1]);
                T::product((batch, from, to), values, (weights, [1, from]), T::one(), pre);
            }
            let activation = self.activation(layer);
            let values = &mut tape.values[layer + 1];
            values.clear();
            values.extend(pre.iter().map(|&pre| value(activation, pre)));
        }
        &tape.values[self.widths.len() - 1]
    }

    /// Adds the derivative of `Σ upstream·y` with respect to the parameters to `gradient`, for the last forward pass
    /// on this tape.
    ///
    /// # Panics
    ///
    /// Panics if a length does not match the forward pass.
    pub fn backward<T: Real>(
        &self,
        parameters: &[T],
        tape: &mut DenseTape<T>,
        upstream: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count(), "gradient of the network");
        let DenseTape { values, pre_activations, upstream: current, downstream } = tape;
        current.clear();
        current.extend_from_slice(upstream);
        let mut end = parameters.len();
        for (layer, (from, to)) in self.layers().enumerate().rev() {
            let activation = self.activation(layer);
            for (value, &pre) in current.iter_mut().zip(&pre_activations[layer]) {
                *value = *value * slope(activation, pre);
            }
            let batch = current.len() / to;
            let start = end - to * (from + 1);
            let (weights, biases) = gradient[start..end].split_at_mut(to * from);
            let product = (&values[layer][..], [from, 1]);
            T::product((to, batch, from), (current, [1, to]), product, T::one(), weights);
            for row in current.chunks_exact(to) {
                for (bias, &value) in biases.iter_mut().zip(row) {
                    *bias = *bias + value;
                }
            }
            if layer > 0 {
                downstream.clear();
                downstream.resize(batch * from, T::zero());
                let weights = (&parameters[start..start + to * from], [from, 1]);
                T::product((batch, to, from), (current, [to, 1]), weights, T::zero(), downstream);
                std::mem::swap(current, downstream);
            }
            end = start;
        }
    }
}

/// Returns the value of an activation. Piecewise linear activations are computed in `T`, the others in `f64`.
fn value<T: Real>(activation: Activation, x: T) -> T {
    match activation {
        Activation::Identity => x,
        Activation::LeakyRelu => x.max(T::of(0.01) * x),
        Activation::Relu => x.max(T::zero()),
        _ => T::of(activation.value(x.to())),
    }
}

fn slope<T: Real>(activation: Activation, x: T) -> T {
    match activation {
        Activation::Identity => T::one(),
        Activation::LeakyRelu => {
            if x > T::zero() {
                T::one()
            } else {
                T::of(0.01)
            }
        }
        Activation::Relu => {
            if x > T::zero() {
                T::one()
            } else {
                T::zero()
            }
        }
        _ => T::of(activation.slope(x.to())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn gradient_matches_finite_differences() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        for (hidden, output) in [
            (Activation::LeakyRelu, Activation::Softplus),
            (Activation::Tanh, Activation::Identity),
            (Activation::Sigmoid, Activation::Sigmoid),
        ] {
            let network = Dense::new(&[3, 5, 4, 2], hidden, output);
            let mut draw = |count: usize| -> Vec<f64> {
                (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
            };
            let (parameters, inputs) = (draw(network.parameter_count()), draw(3 * 7));
            let upstream = draw(2 * 7);
            let objective = |parameters: &[f64]| -> f64 {
                let mut tape = DenseTape::default();
                let outputs = network.forward(parameters, &inputs, &mut tape);
                outputs.iter().zip(&upstream).map(|(output, weight)| output * weight).sum()
            };
            let mut tape = DenseTape::default();
            network.forward(&parameters, &inputs, &mut tape);
            let mut gradient = vec![0.0; parameters.len()];
            network.backward(&parameters, &mut tape, &upstream, &mut gradient);
            for (index, analytic) in gradient.iter().enumerate() {
                let shifted = |step: f64| {
                    let mut parameters = parameters.clone();
                    parameters[index] += step;
                    objective(&parameters)
                };
                let numeric = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                assert!((analytic - numeric).abs() < 1e-7, "{index}: {analytic} {numeric}");
            }
        }
    }
}
