//! Networks on the links of an interference network, with features on the paths between them.

use serde::{Deserialize, Serialize};

use crate::math::vectorised;
use crate::network::{Aggregator, Real};

/// Network whose messages contain the gains of a path in both directions:
///
/// ```text
/// h_k⁰ = relu(w x_k + w' α_k + c)
/// m_kj = relu(A h_j + B (e_kj, e_jk) + b),   h_k ← relu(U h_k + V·agg_j m_kj + c),   a few rounds
/// o_k = w·relu(W h_k + c) + c
/// ```
///
/// Every relu has a slope of 0.01 below 0. Every sum of messages is multiplied by the same factor, for all networks and
/// sizes. Features are then of the order of 1, as the learning rate requires. Without this factor, one training run in
/// five started with saturated outputs and collapsed.
///
/// `x_k` is the feature of the link's own gain, `α_k` that of its weight if links have weights, and `e_kj` that of
/// the path from transmitter j to receiver k. `o_k` is one number per link. The number of parameters does not depend
/// on the number of links, and the network is permutation-equivariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeGnn {
    /// Number of features of a link and of a message, one of [`EdgeGnn::WIDTHS`].
    pub hidden: usize,
    /// Number of message rounds.
    pub rounds: usize,
    /// Aggregator over the messages of a link.
    pub aggregator: Aggregator,
    /// Whether links have weights as a second feature. Files without this field contain networks without weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weighted: bool,
}

/// Features of links and of the paths between them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkGraph<T> {
    /// Start of the neighbours of each link in `neighbours`, and the end of the last.
    pub offsets: Vec<u32>,
    /// Neighbours of all links.
    pub neighbours: Vec<u32>,
    /// Features `e_kj` of the path to link k from each neighbour j.
    pub hears: Vec<T>,
    /// Features `e_jk` of the path from link k to each neighbour j.
    pub harms: Vec<T>,
    /// Features `x_k` of the links.
    pub links: Vec<T>,
    /// Features `α_k` of the weights, for networks that use them.
    pub weights: Vec<T>,
    /// Factor on a sum of messages, independent of the number of links.
    pub per_neighbour: T,
}

impl<T> LinkGraph<T> {
    /// Returns the number of links.
    pub fn size(&self) -> usize {
        self.links.len()
    }

    fn range(&self, link: usize) -> std::ops::Range<usize> {
        self.offsets[link] as usize..self.offsets[link + 1] as usize
    }
}

/// Intermediate values of a forward pass for the backward pass. Its buffers are reused, so that later passes allocate
/// no memory.
#[derive(Debug, Clone, Default)]
pub struct EdgeTape<T> {
    /// `h` before the first round and after each, link by link.
    features: Vec<T>,
    /// `A h_j + b` in each round.
    sent: Vec<T>,
    /// Aggregate of each link in each round.
    heard: Vec<T>,
    /// For the maximum, the path that each feature came from in each round.
    chosen: Vec<u32>,
    /// `relu(W h_k + c)` before the output.
    last: Vec<T>,
    /// `o_k`.
    outputs: Vec<T>,
    /// Derivatives in the backward pass, with respect to `h` and to `A h_j + b`.
    of_features: Vec<T>,
    of_sent: Vec<T>,
}

/// Marks a maximum over no messages.
const NONE: u32 = u32::MAX;

/// Parts of the parameters.
struct Parts<'a, T> {
    encode: &'a [T],
    encode_bias: &'a [T],
    rounds: std::slice::ChunksExact<'a, T>,
    last: &'a [T],
    last_bias: &'a [T],
    output: &'a [T],
    output_bias: T,
}

impl EdgeGnn {
    /// Supported numbers of features, which fill whole vector registers.
    pub const WIDTHS: [usize; 3] = [8, 16, 32];

    /// Returns the number of parameters of one round: A, B, b, U, V, c, with matrices stored input by input.
    fn round_len(&self) -> usize {
        3 * self.hidden * self.hidden + 4 * self.hidden
    }

    /// Returns the number of parameters in `w` (and `w'`) and `c`.
    fn encode_len(&self) -> usize {
        (2 + usize::from(self.weighted)) * self.hidden
    }

    /// Returns the number of parameters: `w` (and `w'`), `c`; the rounds; `W`, `c`, `w`, `c`.
    pub fn parameter_count(&self) -> usize {
        let h = self.hidden;
        self.encode_len() + self.rounds * self.round_len() + h * h + 2 * h + 1
    }

    /// Returns the names and shapes of the parts of the parameters, in their order. Matrices are inputs × outputs.
    pub fn layout(&self) -> Vec<(String, Vec<usize>)> {
        let h = self.hidden;
        let part = |name: &str, shape: &[usize]| (name.to_owned(), shape.to_vec());
        let encode: &[usize] = if self.weighted { &[2, h] } else { &[h] };
        let mut layout = vec![part("encode.weight", encode), part("encode.bias", &[h])];
        for round in 0..self.rounds {
            let part = |name: &str, shape: &[usize]| part(&format!("{round}.{name}"), shape);
            layout.extend([
                part("message.sender", &[h, h]),
                part("message.path", &[2, h]),
                part("message.bias", &[h]),
                part("update.own", &[h, h]),
                part("update.heard", &[h, h]),
                part("update.bias", &[h]),
            ]);
        }
        layout.extend([
            part("last.weight", &[h, h]),
            part("last.bias", &[h]),
            part("output.weight", &[h]),
            part("output.bias", &[1]),
        ]);
        layout
    }

    /// Draws initial parameters: normal weights whose variance decreases with the number of inputs, a normal bias of
    /// the first layer, and 0 for all other biases.
    pub fn initialize(&self, normal: &mut impl FnMut() -> f64) -> Vec<f64> {
        let h = self.hidden;
        let mut parameters = Vec::with_capacity(self.parameter_count());
        let mut block = |count: usize, inputs: usize| {
            let scale = if inputs == 0 { 0.0 } else { (2.0 / inputs as f64).sqrt() };
            parameters.extend((0..count).map(|_| scale * normal()));
        };
        let zero = 0;
        if self.weighted {
            block(2 * h, 2);
        } else {
            block(h, 1);
        }
        block(h, 1);
        for _ in 0..self.rounds {
            block(h * h, 2 * h);
            block(2 * h, 4);
            block(h, zero);
            block(h * h, 2 * h);
            block(h * h, 2 * h);
            block(h, zero);
        }
        block(h * h, h);
        block(h, zero);
        block(h, 16 * h);
        block(1, zero);
        parameters
    }

    fn parts<'a, T: Real>(&self, parameters: &'a [T]) -> Parts<'a, T> {
        assert_eq!(parameters.len(), self.parameter_count(), "parameters of an edge GNN");
        let h = self.hidden;
        let (encode, rest) = parameters.split_at(self.encode_len() - h);
        let (encode_bias, rest) = rest.split_at(h);
        let (rounds, rest) = rest.split_at(self.rounds * self.round_len());
        let (last, rest) = rest.split_at(h * h);
        let (last_bias, rest) = rest.split_at(h);
        let (output, rest) = rest.split_at(h);
        Parts {
            encode,
            encode_bias,
            rounds: rounds.chunks_exact(self.round_len()),
            last,
            last_bias,
            output,
            output_bias: rest[0],
        }
    }

    /// Returns the outputs `o_k`.
    pub fn forward<'t, T: Real>(
        &self,
        parameters: &[T],
        graph: &LinkGraph<T>,
        tape: &'t mut EdgeTape<T>,
    ) -> &'t [T] {
        match self.hidden {
            8 => dispatch_forward::<T, 8>(self, parameters, graph, tape),
            16 => dispatch_forward::<T, 16>(self, parameters, graph, tape),
            _ => dispatch_forward::<T, 32>(self, parameters, graph, tape),
        }
        &tape.outputs
    }

    /// Adds the gradient of a loss to `gradient`, given its derivatives with respect to the outputs of the last
    /// forward pass.
    pub fn backward<T: Real>(
        &self,
        parameters: &[T],
        graph: &LinkGraph<T>,
        tape: &mut EdgeTape<T>,
        of_outputs: &[T],
        gradient: &mut [T],
    ) {
        match self.hidden {
            8 => dispatch_backward::<T, 8>(self, parameters, graph, tape, of_outputs, gradient),
            16 => dispatch_backward::<T, 16>(self, parameters, graph, tape, of_outputs, gradient),
            _ => dispatch_backward::<T, 32>(self, parameters, graph, tape, of_outputs, gradient),
        }
    }
}

vectorised!(
    fn dispatch_forward[T: Real, const H: usize][T, H](
        network: &EdgeGnn,
        parameters: &[T],
        graph: &LinkGraph<T>,
        tape: &mut EdgeTape<T>,
    ) = forward
);
vectorised!(
    fn dispatch_backward[T: Real, const H: usize][T, H](
        network: &EdgeGnn,
        parameters: &[T],
        graph: &LinkGraph<T>,
        tape: &mut EdgeTape<T>,
        of_outputs: &[T],
        gradient: &mut [T],
    ) = backward
);

/// Computes `sum ← sum + scalar·row`.
#[inline(always)]
fn add_scaled<T: Real, const H: usize>(sum: &mut [T; H], scalar: T, row: &[T; H]) {
    for i in 0..H {
        sum[i] = scalar.mul_add(row[i], sum[i]);
    }
}

/// Computes `sum ← sum + M x` for a matrix stored input by input.
#[inline(always)]
fn add_product<T: Real, const H: usize>(sum: &mut [T; H], matrix: &[[T; H]], x: &[T; H]) {
    for (row, &x) in matrix.iter().zip(x) {
        add_scaled(sum, x, row);
    }
}

/// Computes `sum ← sum + Mᵀ d`, and adds the gradient of `M` for the input `x`.
#[inline(always)]
fn pull_back<T: Real, const H: usize>(
    sum: &mut [T; H],
    matrix: &[[T; H]],
    of_matrix: &mut [[T; H]],
    x: &[T; H],
    d: &[T; H],
) {
    for i in 0..H {
        add_scaled(&mut of_matrix[i], x[i], d);
        let mut dot = T::zero();
        for (weight, d) in matrix[i].iter().zip(d) {
            dot = weight.mul_add(*d, dot);
        }
        sum[i] = sum[i] + dot;
    }
}

#[inline(always)]
fn relu<T: Real, const H: usize>(values: &mut [T; H]) {
    for value in values {
        *value = leaky(*value);
    }
}

/// Slope of a relu below 0, so that a feature that is negative for every link can recover.
const LEAK: f64 = 0.01;

#[inline(always)]
fn leaky<T: Real>(value: T) -> T {
    value.max(T::of(LEAK) * value)
}

/// Multiplies the derivatives by the slope of the relu.
#[inline(always)]
fn through_relu<T: Real, const H: usize>(of: &mut [T; H], value: &[T; H]) {
    for i in 0..H {
        of[i] = if value[i] > T::zero() { of[i] } else { T::of(LEAK) * of[i] };
    }
}

/// Matrices and vectors of one round.
struct Round<'a, T, const H: usize> {
    a: &'a [[T; H]],
    b: &'a [[T; H]],
    b_bias: &'a [T; H],
    u: &'a [[T; H]],
    v: &'a [[T; H]],
    bias: &'a [T; H],
}

impl<'a, T: Real, const H: usize> Round<'a, T, H> {
    #[inline(always)]
    fn new(numbers: &'a [T]) -> Self {
        let rows = numbers.as_chunks::<H>().0;
        Self {
            a: &rows[..H],
            b: &rows[H..H + 2],
            b_bias: &rows[H + 2],
            u: &rows[H + 3..2 * H + 3],
            v: &rows[2 * H + 3..3 * H + 3],
            bias: &rows[3 * H + 3],
        }
    }
}

/// Returns a message before its relu.
#[inline(always)]
fn message<T: Real, const H: usize>(sent: &[T; H], b: &[[T; H]], hears: T, harms: T) -> [T; H] {
    let mut result = *sent;
    add_scaled(&mut result, hears, &b[0]);
    add_scaled(&mut result, harms, &b[1]);
    result
}

/// Returns the factor on the sum of messages: for the mean, 1 divided by the number of neighbours plus 1 (1/K on a
/// complete graph); for a sum, the same number for every link.
#[inline(always)]
fn scale_of<T: Real>(aggregator: Aggregator, degree: usize, per_neighbour: T) -> T {
    match aggregator {
        Aggregator::Mean => T::of(1.0 / (degree + 1) as f64),
        Aggregator::Sum => per_neighbour,
        Aggregator::Max => T::one(),
    }
}

#[inline(always)]
fn forward<T: Real, const H: usize>(
    network: &EdgeGnn,
    parameters: &[T],
    graph: &LinkGraph<T>,
    tape: &mut EdgeTape<T>,
) {
    let size = graph.size();
    let parts = network.parts(parameters);
    let zero = [T::zero(); H];
    let rounds = network.rounds;
    for (buffer, blocks) in [
        (&mut tape.features, rounds + 1),
        (&mut tape.sent, rounds),
        (&mut tape.heard, rounds),
        (&mut tape.last, 1),
    ] {
        buffer.resize(blocks * size * H, T::zero());
    }
    let takes_max = network.aggregator == Aggregator::Max;
    tape.chosen.resize(if takes_max { rounds * size * H } else { 0 }, NONE);
    let features = tape.features.as_chunks_mut::<H>().0;
    let (encode, bias) = (as_row::<T, H>(parts.encode), as_row::<T, H>(parts.encode_bias));
    let of_weight = parts.encode.as_chunks::<H>().0.get(1);
    for (link, (feature, &x)) in features[..size].iter_mut().zip(&graph.links).enumerate() {
        let mut h = *bias;
        add_scaled(&mut h, x, encode);
        if let Some(row) = of_weight {
            add_scaled(&mut h, graph.weights[link], row);
        }
        relu(&mut h);
        *feature = h;
    }
    for (round, numbers) in parts.rounds.enumerate() {
        let Round { a, b, b_bias, u, v, bias } = Round::<T, H>::new(numbers);
        let (before, after) = features[round * size..].split_at_mut(size);
        let sent = &mut tape.sent.as_chunks_mut::<H>().0[round * size..][..size];
        let heard = &mut tape.heard.as_chunks_mut::<H>().0[round * size..][..size];
        for (sent, feature) in sent.iter_mut().zip(&*before) {
            *sent = *b_bias;
            add_product(sent, a, feature);
        }
        for link in 0..size {
            let range = graph.range(link);
            let mut sum = zero;
            if takes_max {
                let chosen = &mut tape.chosen.as_chunks_mut::<H>().0[round * size + link];
                *chosen = [NONE; H];
                for path in range {
                    let other = graph.neighbours[path] as usize;
                    let m = message(&sent[other], b, graph.hears[path], graph.harms[path]);
                    for i in 0..H {
                        let m = leaky(m[i]);
                        if m > sum[i] || chosen[i] == NONE {
                            sum[i] = m;
                            #[allow(clippy::cast_possible_truncation)]
                            {
                                chosen[i] = path as u32;
                            }
                        }
                    }
                }
            } else {
                let degree = range.len();
                let features = graph.hears[range.clone()].iter().zip(&graph.harms[range.clone()]);
                for ((&hears, &harms), &other) in features.zip(&graph.neighbours[range]) {
                    let m = message(&sent[other as usize], b, hears, harms);
                    for i in 0..H {
                        sum[i] = sum[i] + leaky(m[i]);
                    }
                }
                let scale = scale_of(network.aggregator, degree, graph.per_neighbour);
                for value in &mut sum {
                    *value = *value * scale;
                }
            }
            heard[link] = sum;
            let mut h = *bias;
            add_product(&mut h, u, &before[link]);
            add_product(&mut h, v, &sum);
            relu(&mut h);
            after[link] = h;
        }
    }
    let (matrix, bias) = (parts.last.as_chunks::<H>().0, as_row::<T, H>(parts.last_bias));
    let output = as_row::<T, H>(parts.output);
    tape.outputs.clear();
    let last = tape.last.as_chunks_mut::<H>().0;
    for (feature, last) in features[rounds * size..].iter().zip(last) {
        let mut h = *bias;
        add_product(&mut h, matrix, feature);
        relu(&mut h);
        *last = h;
        let mut sum = T::zero();
        for (weight, h) in output.iter().zip(&h) {
            sum = weight.mul_add(*h, sum);
        }
        tape.outputs.push(sum + parts.output_bias);
    }
}

#[inline(always)]
fn backward<T: Real, const H: usize>(
    network: &EdgeGnn,
    parameters: &[T],
    graph: &LinkGraph<T>,
    tape: &mut EdgeTape<T>,
    of_outputs: &[T],
    gradient: &mut [T],
) {
    let size = graph.size();
    let parts = network.parts(parameters);
    let (head, tail) = gradient.split_at_mut(network.encode_len());
    let (round_gradients, tail) = tail.split_at_mut(network.rounds * network.round_len());
    tape.of_features.resize(size * H, T::zero());
    tape.of_sent.resize(size * H, T::zero());
    let of_features = tape.of_features.as_chunks_mut::<H>().0;
    let of_sent = tape.of_sent.as_chunks_mut::<H>().0;
    let features = tape.features.as_chunks::<H>().0;
    {
        let (of_matrix, rest) = tail.split_at_mut(H * H);
        let (of_bias, rest) = rest.split_at_mut(H);
        let (of_weights, of_constant) = rest.split_at_mut(H);
        let of_matrix = of_matrix.as_chunks_mut::<H>().0;
        let matrix = parts.last.as_chunks::<H>().0;
        let (of_bias, of_weights) = (as_row_mut::<T, H>(of_bias), as_row_mut::<T, H>(of_weights));
        let weights = as_row::<T, H>(parts.output);
        let last = tape.last.as_chunks::<H>().0;
        for link in 0..size {
            let d = of_outputs[link];
            of_constant[0] = of_constant[0] + d;
            add_scaled(of_weights, d, &last[link]);
            let mut of_last = [T::zero(); H];
            add_scaled(&mut of_last, d, weights);
            through_relu(&mut of_last, &last[link]);
            add_scaled(of_bias, T::one(), &of_last);
            of_features[link] = [T::zero(); H];
            let feature = &features[network.rounds * size + link];
            pull_back(&mut of_features[link], matrix, of_matrix, feature, &of_last);
        }
    }
    let numbers = parts.rounds.rev();
    let gradients = round_gradients.chunks_exact_mut(network.round_len()).rev();
    for ((back, numbers), gradient) in numbers.enumerate().zip(gradients) {
        let round = network.rounds - 1 - back;
        let Round { a, b, u, v, .. } = Round::<T, H>::new(numbers);
        let rows = gradient.as_chunks_mut::<H>().0;
        let (of_a, rows) = rows.split_at_mut(H);
        let (of_b, rows) = rows.split_at_mut(2);
        let (of_b_bias, rows) = rows.split_at_mut(1);
        let (of_u, rows) = rows.split_at_mut(H);
        let (of_v, of_bias) = rows.split_at_mut(H);
        let before = &features[round * size..][..size];
        let after = &features[(round + 1) * size..][..size];
        let sent = &tape.sent.as_chunks::<H>().0[round * size..][..size];
        let heard = &tape.heard.as_chunks::<H>().0[round * size..][..size];
        of_sent.fill([T::zero(); H]);
        for link in 0..size {
            let mut d = of_features[link];
            through_relu(&mut d, &after[link]);
            add_scaled(&mut of_bias[0], T::one(), &d);
            let mut of_before = [T::zero(); H];
            pull_back(&mut of_before, u, of_u, &before[link], &d);
            of_features[link] = of_before;
            let mut of_heard = [T::zero(); H];
            pull_back(&mut of_heard, v, of_v, &heard[link], &d);
            let range = graph.range(link);
            if network.aggregator == Aggregator::Max {
                let chosen = &tape.chosen.as_chunks::<H>().0[round * size + link];
                for i in 0..H {
                    if chosen[i] != NONE {
                        let path = chosen[i] as usize;
                        let other = graph.neighbours[path] as usize;
                        let shut = heard[link][i] <= T::zero();
                        let d = if shut { T::of(LEAK) * of_heard[i] } else { of_heard[i] };
                        of_sent[other][i] = of_sent[other][i] + d;
                        of_b[0][i] = of_b[0][i] + d * graph.hears[path];
                        of_b[1][i] = of_b[1][i] + d * graph.harms[path];
                    }
                }
                continue;
            }
            let scale = scale_of(network.aggregator, range.len(), graph.per_neighbour);
            for value in &mut of_heard {
                *value = *value * scale;
            }
            for path in range {
                let other = graph.neighbours[path] as usize;
                let m = message(&sent[other], b, graph.hears[path], graph.harms[path]);
                let mut d = of_heard;
                through_relu(&mut d, &m);
                add_scaled(&mut of_sent[other], T::one(), &d);
                add_scaled(&mut of_b[0], graph.hears[path], &d);
                add_scaled(&mut of_b[1], graph.harms[path], &d);
            }
        }
        for link in 0..size {
            add_scaled(&mut of_b_bias[0], T::one(), &of_sent[link]);
            pull_back(&mut of_features[link], a, of_a, &before[link], &of_sent[link]);
        }
    }
    let (of_encode, of_bias) = head.split_at_mut(head.len() - H);
    let of_encode = of_encode.as_chunks_mut::<H>().0;
    let of_bias = as_row_mut::<T, H>(of_bias);
    for link in 0..size {
        let mut d = of_features[link];
        through_relu(&mut d, &features[link]);
        add_scaled(&mut of_encode[0], graph.links[link], &d);
        if let Some(row) = of_encode.get_mut(1) {
            add_scaled(row, graph.weights[link], &d);
        }
        add_scaled(of_bias, T::one(), &d);
    }
}

#[inline(always)]
fn as_row<T, const H: usize>(numbers: &[T]) -> &[T; H] {
    &numbers.as_chunks::<H>().0[0]
}

#[inline(always)]
fn as_row_mut<T, const H: usize>(numbers: &mut [T]) -> &mut [T; H] {
    &mut numbers.as_chunks_mut::<H>().0[0]
}
