//! Networks: gradients compared with finite differences at random parameters, and permutation equivariance, for every
//! aggregator and output.

#![allow(clippy::unwrap_used)]

use anyk::network::{Activation, Aggregator, Gnn, Output, Tape};
use proptest::prelude::*;

/// Returns networks of one to three layers with one to three input features, and every combination of parts.
fn arbitrary_network() -> impl Strategy<Value = Gnn> {
    (
        prop::collection::vec(1usize..5, 1..4),
        prop::sample::select(Aggregator::ALL.to_vec()),
        prop::sample::select(Activation::ALL.to_vec()),
        prop::sample::select(Output::ALL.to_vec()),
    )
        .prop_map(|(mut widths, aggregator, hidden, output)| {
            widths.push(1);
            Gnn::new(&widths, aggregator, hidden, output)
        })
}

/// Returns a network with random parameters, features of K users, and weights of the outputs.
fn arbitrary_case() -> impl Strategy<Value = (Gnn, Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>)> {
    (arbitrary_network(), 1usize..9).prop_flat_map(|(network, size)| {
        let numbers = |count: usize| prop::collection::vec(-1.5f64..1.5, count);
        let (parameters, inputs) = (network.parameter_count(), network.widths[0] * size);
        (
            Just(network),
            numbers(parameters),
            numbers(inputs),
            prop::collection::vec(0.5f64..2.0, size),
            numbers(size),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn gradients_match_finite_differences(
        (network, parameters, x, outer, weights) in arbitrary_case(),
    ) {
        let objective = |parameters: &[f64], x: &[f64]| -> f64 {
            let mut tape = Tape::default();
            let outputs = network.forward(parameters, x, &outer, &mut tape);
            outputs.iter().zip(&weights).map(|(output, weight)| output * weight).sum()
        };
        let mut tape = Tape::default();
        network.forward(&parameters, &x, &outer, &mut tape);
        let mut gradient = vec![0.0; parameters.len()];
        let by_input = network.backward(&parameters, &mut tape, &weights, &mut gradient).to_vec();
        let step = 1e-6;
        let numeric = |plus: f64, minus: f64| (plus - minus) / (2.0 * step);
        // If there is a kink (ReLU, max) between the two evaluations, the difference quotient is wrong, not the
        // gradient. Then the one-sided differences disagree, and the case is skipped.
        let check = |analytic: f64, plus: f64, minus: f64, here: f64| {
            let kink = ((plus - here) - (here - minus)).abs() / step > 1e-4;
            kink || (analytic - numeric(plus, minus)).abs() < 1e-6 * (1.0 + analytic.abs())
        };
        let here = objective(&parameters, &x);
        for (index, &analytic) in gradient.iter().enumerate() {
            let at = |step: f64| {
                let mut parameters = parameters.clone();
                parameters[index] += step;
                objective(&parameters, &x)
            };
            prop_assert!(check(analytic, at(step), at(-step), here), "parameter {index}: {analytic}");
        }
        for (index, &analytic) in by_input.iter().enumerate() {
            let at = |step: f64| {
                let mut x = x.clone();
                x[index] += step;
                objective(&parameters, &x)
            };
            prop_assert!(check(analytic, at(step), at(-step), here), "input {index}: {analytic}");
        }
    }

    #[test]
    fn permuting_users_permutes_the_outputs(
        (network, parameters, x, outer, _) in arbitrary_case(), seed in any::<u64>(),
    ) {
        use rand::{SeedableRng, seq::SliceRandom};
        let width = network.widths[0];
        let mut order: Vec<usize> = (0..outer.len()).collect();
        order.shuffle(&mut rand_chacha::ChaCha8Rng::seed_from_u64(seed));
        let mut tape = Tape::default();
        let straight = network.forward(&parameters, &x, &outer, &mut tape).to_vec();
        let shuffled: Vec<f64> =
            order.iter().flat_map(|&user| x[user * width..(user + 1) * width].to_vec()).collect();
        let outer: Vec<f64> = order.iter().map(|&user| outer[user]).collect();
        let permuted = network.forward(&parameters, &shuffled, &outer, &mut tape);
        for (position, &user) in order.iter().enumerate() {
            // Sums are computed in another order. Three layers and a softplus far below 0 amplify the rounding.
            let off = (permuted[position] - straight[user]).abs();
            prop_assert!(off < 1e-9 * (1.0 + straight[user].abs()), "{off}");
        }
    }

    /// Tests that the outputs of softmax and sum-normalization sum to 1.
    #[test]
    fn normalised_outputs_sum_to_one((network, parameters, x, outer, _) in arbitrary_case()) {
        let mut tape = Tape::default();
        let outputs = network.forward(&parameters, &x, &outer, &mut tape);
        if matches!(network.output, Output::Softmax | Output::SumNormalisation) {
            prop_assert!((outputs.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(outputs.iter().all(|&share| share >= 0.0));
        }
    }
}

/// Tests that the paper's network has 21 parameters for any K.
#[test]
fn the_papers_size() {
    let network = Gnn::new(&[1, 4, 1], Aggregator::Mean, Activation::LeakyRelu, Output::Softmax);
    assert_eq!(network.parameter_count(), 21);
}
