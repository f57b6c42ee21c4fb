//! Permutation-equivariant network (paper, eq. (Out-hidd)) with any number of features and layers.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use rand_distr::{Distribution, StandardNormal};

use crate::math::realization_rng;
use crate::network::{Activation, Aggregator, Output};

/// Network on the complete graph of K users:
///
/// ```text
/// h_k^l = σ^l(U^l h_k^(l−1) + V^l·agg_{j≠k} h_j^(l−1) + c^l),   l = 1, …, L + 1
/// ```
///
/// Here `h_k^0 = x_k`. The hidden layers share one activation, and the last layer has an [`Output`]. The number of
/// parameters does not depend on K. They are stored in one slice: `U`, `V` (row by row) and `c` of the first layer,
/// then those of the second, and so on.
///
/// ```
/// use anyk::network::{Activation, Aggregator, Gnn, Output, Tape};
/// // One linear layer with U = −1 on ln g and a softmax: the closed-form power policy ∝ 1/g.
/// let gnn = Gnn::new(&[1, 1], Aggregator::Mean, Activation::LeakyRelu, Output::Softmax);
/// let gains = [0.5f64, 1.0, 2.0];
/// let mut tape = Tape::default();
/// let shares = gnn.forward(&[-1.0, 0.0, 0.3], &gains.map(f64::ln), &[], &mut tape);
/// assert!((shares[0] - 4.0 / 7.0).abs() < 1e-15 && (shares[2] - 1.0 / 7.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gnn {
    /// Numbers of features of the input, of each hidden layer and of the output (1, unless the output is
    /// elementwise).
    pub widths: Vec<usize>,
    /// Aggregator over the other users.
    pub aggregator: Aggregator,
    /// Activation of the hidden layers.
    pub hidden: Activation,
    /// Output layer.
    pub output: Output,
}

/// Intermediate values of a forward pass for the backward pass; its buffers are reused.
#[derive(Debug, Clone, Default)]
pub struct Tape {
    layers: Vec<LayerTape>,
    outputs: Vec<f64>,
    outer: Vec<f64>,
    upstream: Vec<f64>,
    downstream: Vec<f64>,
    through: Vec<f64>,
}

#[derive(Debug, Clone, Default)]
struct LayerTape {
    inputs: Vec<f64>,
    aggregate: Vec<f64>,
    chosen: Vec<usize>,
    pre_activations: Vec<f64>,
}

impl Gnn {
    /// Creates a network with the given numbers of features: input, hidden layers, output.
    pub fn new(
        widths: &[usize],
        aggregator: Aggregator,
        hidden: Activation,
        output: Output,
    ) -> Self {
        Self { widths: widths.to_vec(), aggregator, hidden, output }
    }

    /// Returns the numbers of (inputs, outputs) of the layers.
    fn layers(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator + '_ {
        self.widths.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Draws the parameters of the random network with number `network`. Weights are normal with a variance of 1
    /// divided by the number of inputs, so that the scale of the output does not depend on the widths. Biases are
    /// normal with deviation 0.3.
    pub fn random_parameters(&self, seed: u64, network: u64) -> Vec<f64> {
        // No cell has 0 users, so this random stream differs from those of the draws.
        let mut rng = realization_rng(seed, 0, network);
        let mut parameters = Vec::with_capacity(self.parameter_count());
        for pair in self.widths.windows(2) {
            let (inputs, outputs) = (pair[0], pair[1]);
            let deviation = (inputs as f64).recip().sqrt();
            let mut normal = |deviation: f64| {
                let value: f64 = StandardNormal.sample(&mut rng);
                deviation * value
            };
            parameters.extend((0..2 * inputs * outputs).map(|_| normal(deviation)));
            parameters.extend((0..outputs).map(|_| normal(0.3)));
        }
        parameters
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.layers().map(|(inputs, outputs)| outputs * (2 * inputs + 1)).sum()
    }

    /// Returns the names and shapes of the parts of the parameters, in their order: `U`, `V` and `c` of each layer.
    /// Weights are outputs × inputs.
    pub fn layout(&self) -> Vec<(String, Vec<usize>)> {
        let part = |(layer, (from, to)): (usize, (usize, usize))| {
            [
                (format!("{layer}.own"), vec![to, from]),
                (format!("{layer}.others"), vec![to, from]),
                (format!("{layer}.bias"), vec![to]),
            ]
        };
        self.layers().enumerate().flat_map(part).collect()
    }

    /// Returns the ranges of the weights of the other users, `V`, within the parameters, layer by layer.
    pub(crate) fn others(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut offset = 0;
        self.layers().map(move |(inputs, outputs)| {
            let start = offset + outputs * inputs;
            offset += outputs * (2 * inputs + 1);
            start..start + outputs * inputs
        })
    }

    /// Returns the outputs for K users, whose features are concatenated in `x`. `outer` is the pre-trained `f_k`,
    /// used only by [`Output::Pretrained`].
    ///
    /// # Panics
    ///
    /// Panics if `parameters` or `x` have the wrong length, which is a bug in the caller.
    pub fn forward<'a>(
        &self,
        parameters: &[f64],
        x: &[f64],
        outer: &[f64],
        tape: &'a mut Tape,
    ) -> &'a [f64] {
        assert_eq!(parameters.len(), self.parameter_count(), "parameters of the network");
        assert_eq!(x.len() % self.widths[0], 0, "features of the users");
        let size = x.len() / self.widths[0];
        let count = self.layers().len();
        tape.layers.resize_with(count, LayerTape::default);
        tape.outputs.clear();
        tape.outputs.extend_from_slice(x);
        let mut offset = 0;
        for (index, (inputs, outputs)) in self.layers().enumerate() {
            let layer = &mut tape.layers[index];
            std::mem::swap(&mut layer.inputs, &mut tape.outputs);
            self.aggregator.forward(&layer.inputs, inputs, &mut layer.aggregate, &mut layer.chosen);
            let weights = &parameters[offset..offset + outputs * (2 * inputs + 1)];
            offset += weights.len();
            let (own, rest) = weights.split_at(outputs * inputs);
            let (others, bias) = rest.split_at(outputs * inputs);
            layer.pre_activations.clear();
            for user in 0..size {
                let range = user * inputs..(user + 1) * inputs;
                let (h, a) = (&layer.inputs[range.clone()], &layer.aggregate[range]);
                let rows = own.chunks_exact(inputs).zip(others.chunks_exact(inputs)).zip(bias);
                for ((own, others), bias) in rows {
                    layer.pre_activations.push(dot(own, h) + dot(others, a) + bias);
                }
            }
            tape.outputs.clear();
            if index + 1 < count {
                let values = layer.pre_activations.iter().map(|&pre| self.hidden.value(pre));
                tape.outputs.extend(values);
            } else {
                tape.outputs.extend_from_slice(&layer.pre_activations);
            }
        }
        tape.outer.clear();
        tape.outer.extend_from_slice(outer);
        self.output.forward(&mut tape.outputs, outer);
        &tape.outputs
    }

    /// Adds the derivative of `Σ_k upstream_k·y_k` with respect to the parameters to `gradient`, for the last forward
    /// pass on this tape. Returns the derivative with respect to the inputs.
    ///
    /// # Panics
    ///
    /// Panics if the lengths do not match the forward pass.
    pub fn backward<'a>(
        &self,
        parameters: &[f64],
        tape: &'a mut Tape,
        upstream: &[f64],
        gradient: &mut [f64],
    ) -> &'a [f64] {
        assert_eq!(gradient.len(), self.parameter_count(), "gradient of the network");
        assert_eq!(upstream.len(), tape.outputs.len(), "gradient of the outputs");
        let Tape { layers, outputs, outer, upstream: current, downstream, through } = tape;
        current.clear();
        current.extend_from_slice(upstream);
        let mut end = parameters.len();
        for (index, (inputs, width)) in self.layers().enumerate().rev() {
            let layer = &layers[index];
            if index + 1 == layers.len() {
                self.output.backward(&layer.pre_activations, outputs, outer, current);
            } else {
                for (value, &pre) in current.iter_mut().zip(&layer.pre_activations) {
                    *value *= self.hidden.slope(pre);
                }
            }
            let start = end - width * (2 * inputs + 1);
            let (own, rest) = parameters[start..end].split_at(width * inputs);
            let others = &rest[..width * inputs];
            let (own_gradient, rest) = gradient[start..end].split_at_mut(width * inputs);
            let (others_gradient, bias_gradient) = rest.split_at_mut(width * inputs);
            let users = layer.inputs.len() / inputs;
            downstream.clear();
            downstream.resize(layer.inputs.len(), 0.0);
            through.clear();
            through.resize(layer.inputs.len(), 0.0);
            for user in 0..users {
                let range = user * inputs..(user + 1) * inputs;
                let (h, a) = (&layer.inputs[range.clone()], &layer.aggregate[range.clone()]);
                for output in 0..width {
                    let value = current[user * width + output];
                    bias_gradient[output] += value;
                    for input in 0..inputs {
                        let weight = output * inputs + input;
                        own_gradient[weight] += value * h[input];
                        others_gradient[weight] += value * a[input];
                        downstream[range.start + input] += value * own[weight];
                        through[range.start + input] += value * others[weight];
                    }
                }
            }
            self.aggregator.backward(through, inputs, &layer.chosen, downstream);
            std::mem::swap(current, downstream);
            end = start;
        }
        current
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
