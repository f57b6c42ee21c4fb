//! Dense interference network, in which every interfering path is as strong on average as the direct one.

use rand::RngExt;
use rand_distr::Exp1;

use crate::channel::GainMatrix;
use crate::math::realization_rng;

/// Draws gains of Rayleigh fading without geometry: every `g_kj` is exponential with mean 1.
pub fn rayleigh_gains(seed: u64, size: usize, index: u64) -> GainMatrix {
    let mut rng = realization_rng(seed, size, index);
    GainMatrix::from_sound(size, (0..size * size).map(|_| rng.sample(Exp1)).collect())
}
