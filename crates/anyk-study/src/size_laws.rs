//! Propositions 2 to 4: effect of the number of users on a network's output for a given `x_k`.
//!
//! Two quantities are measured over random networks. The *spread* is the standard deviation of `ŷ_k` over the draws of
//! the other users. If it vanishes, `ŷ_k` becomes a function `q̂(x_k, K)`; proposition 2 states this for the mean
//! aggregator, and the first sentence of proposition 4 for sum and max. The *movement* is `|E ŷ_k(2K) − E ŷ_k(K)|`. If
//! it vanishes so fast that its sum over all doublings is finite, `q̂` no longer depends on K; proposition 3 states
//! this for the mean, and proposition 4 denies it for sum and max.

use rand::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use anyk::math::{Exponent, Input, Moments, median, over_others};
use anyk::network::{Activation, Aggregator, Gnn, Output, Tape};

/// Numbers of features of the input, the hidden layers and the output.
const WIDTHS: [usize; 4] = [1, 6, 6, 1];
/// Input of the observed user, inside the support of every [`Input`].
const OWN: f64 = 0.5;
/// Smallest size used to fit rates; below it, terms of higher order matter.
const FIT_FROM: usize = 16;

/// Family of random networks with two hidden layers, with the distribution of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// Aggregator over the other users.
    pub aggregator: Aggregator,
    /// Activation of the hidden layers.
    pub hidden: Activation,
    /// Activation of the output.
    pub output: Activation,
    /// Distribution of the inputs.
    pub input: Input,
}

/// Movement and spread at one size, as medians over the networks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeLawPoint {
    /// Number of users K.
    pub k: usize,
    /// Movement `|E ŷ_k(2K) − E ŷ_k(K)|`.
    pub movement: f64,
    /// Standard deviation of `ŷ_k(K)` over draws of the other users.
    pub spread: f64,
}

/// Effect of the number of users on a family of networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeLaw {
    /// Family of the networks.
    pub family: Family,
    /// Medians over the networks at each size.
    pub points: Vec<SizeLawPoint>,
    /// Exponent of the movement in K, fitted to the medians; `None` if they are 0 to machine accuracy.
    pub movement_exponent: Option<Exponent>,
    /// Exponent of the spread in K, fitted to the medians; `None` if they are 0 to machine accuracy.
    pub spread_exponent: Option<Exponent>,
}

/// Measures `networks` random networks of a family. `progress` is called once for each network, from any thread.
pub fn size_law(
    family: Family,
    sizes: &[usize],
    (networks, draws): (u64, u64),
    seed: u64,
    progress: impl Fn() + Sync,
) -> SizeLaw {
    let output = Output::Elementwise(family.output);
    let gnn = Gnn::new(&WIDTHS, family.aggregator, family.hidden, output);
    let measured: Vec<Vec<SizeLawPoint>> = (0..networks)
        .into_par_iter()
        .map(|network| {
            let parameters = gnn.random_parameters(seed, network);
            let points = sizes.iter().map(|&k| {
                let draws = (draws, seed + 1 + network);
                measure(&gnn, &parameters, family.input, k, draws)
            });
            let points = points.collect();
            progress();
            points
        })
        .collect();
    let points = sizes.iter().enumerate().map(|(index, &k)| SizeLawPoint {
        k,
        movement: median(measured.iter().map(|points| points[index].movement).collect()),
        spread: median(measured.iter().map(|points| points[index].spread).collect()),
    });
    let points: Vec<SizeLawPoint> = points.collect();
    let exponent = |value: fn(&SizeLawPoint) -> f64| {
        let fitted = points.iter().filter(|point| point.k >= FIT_FROM);
        Exponent::fit(&fitted.map(|point| (point.k as f64, value(point))).collect::<Vec<_>>())
    };
    let movement_exponent = exponent(|point| point.movement);
    let spread_exponent = exponent(|point| point.spread);
    SizeLaw { family, points, movement_exponent, spread_exponent }
}

/// Measures one network at K and 2K users.
///
/// The 2K − 1 other users are drawn once; their halves serve as two independent draws of K − 1 users. Terms that are
/// linear in the other users cancel between the whole and the mean of its halves. This makes the movement measurable,
/// although the spread is √K times larger.
fn measure(
    gnn: &Gnn,
    parameters: &[f64],
    input: Input,
    k: usize,
    draws: (u64, u64),
) -> SizeLawPoint {
    let sample = |rng: &mut dyn Rng| input.sample(rng);
    let [change, first, second] = over_others((2 * k, OWN), draws, sample, || {
        let mut tape = Tape::default();
        let mut half = vec![OWN; k];
        move |x: &[f64]| {
            let mut output = |x: &[f64]| gnn.forward(parameters, x, &[], &mut tape)[0];
            half[1..].copy_from_slice(&x[1..k]);
            let first = output(&half);
            half[1..].copy_from_slice(&x[k..2 * k - 1]);
            let second = output(&half);
            [output(x) - 0.5 * (first + second), first, second]
        }
    });
    let spread = Moments::merge(first, second).deviation();
    SizeLawPoint { k, movement: change.mean.abs(), spread }
}
