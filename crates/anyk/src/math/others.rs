//! Output of one user over random draws of the other users: the paper's `y_k` for a given `x_k`.

use std::ops::Range;

use rand::Rng;
use rand_distr::{Distribution, Exp1, StandardNormal, StandardUniform};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::math::Moments;
use crate::math::realization_rng;

/// Number of realizations that share a random stream and run on one thread.
const BLOCK: u64 = 100;

/// Distribution of the inputs `x_j`, which are independent and identically distributed over the users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Standard normal: unbounded, with thin tails.
    Gaussian,
    /// Uniform on (0, 1): bounded.
    Uniform,
    /// Exponential with mean 1: the gain `g` of a Rayleigh channel.
    Exponential,
}

impl Input {
    /// Draws one input.
    pub fn sample<R: Rng + ?Sized>(self, rng: &mut R) -> f64 {
        match self {
            Self::Gaussian => StandardNormal.sample(rng),
            Self::Uniform => StandardUniform.sample(rng),
            Self::Exponential => Exp1.sample(rng),
        }
    }

    /// Returns the name used in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian",
            Self::Uniform => "uniform on (0, 1)",
            Self::Exponential => "exponential",
        }
    }
}

/// Runs `work` on blocks of the realizations `0..count` in parallel. The results are returned in the order of the
/// blocks, so a reduction does not depend on the number of threads. `work` receives the number of the block, which
/// identifies its random stream, and its realizations.
pub fn in_blocks<T: Send>(count: u64, work: impl Fn(u64, Range<u64>) -> T + Sync) -> Vec<T> {
    (0..count.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| work(block, block * BLOCK..((block + 1) * BLOCK).min(count)))
        .collect()
}

/// Returns the moments of `N` outputs of user 0 with the input `own`, over `draws` realizations of the other users.
///
/// `policy` returns a function of all `size` inputs, user 0 first. It is called once per block, so that the function
/// can own buffers.
pub fn over_others<const N: usize, F: FnMut(&[f64]) -> [f64; N]>(
    (size, own): (usize, f64),
    (draws, seed): (u64, u64),
    input: impl Fn(&mut dyn Rng) -> f64 + Sync,
    policy: impl Fn() -> F + Sync,
) -> [Moments; N] {
    let blocks = in_blocks(draws, |block, realizations| {
        let mut rng = realization_rng(seed, size, block);
        let mut policy = policy();
        let mut moments = [Moments::default(); N];
        let mut x = vec![own; size];
        for _ in realizations {
            x[1..].fill_with(|| input(&mut rng));
            for (moments, output) in moments.iter_mut().zip(policy(&x)) {
                moments.push(output);
            }
        }
        moments
    });
    blocks.into_iter().fold([Moments::default(); N], |mut whole, block| {
        for (whole, part) in whole.iter_mut().zip(block) {
            *whole = whole.merge(part);
        }
        whole
    })
}
