//! The dense interference network: every link hears every other as loud as its own.

use rand::RngExt;
use rand_distr::Exp1;

use crate::channel::GainMatrix;
use crate::math::realization_rng;

/// Gains under Rayleigh fading without geometry: every `g_kj` exponential with mean 1.
pub fn rayleigh_gains(seed: u64, size: usize, index: u64) -> GainMatrix {
    let mut rng = realization_rng(seed, size, index);
    GainMatrix::from_sound(size, (0..size * size).map(|_| rng.sample(Exp1)).collect())
}
