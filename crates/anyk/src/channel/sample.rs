//! Random cells: reproducible, whatever the number of threads.

use crate::channel::{Fading, PathLoss, Road};
use crate::math::realization_rng;

/// Distances in m of `size` users placed at random along the road.
pub fn sample_distances_m(road: &Road, seed: u64, size: usize, index: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, size, index);
    (0..size).map(|_| road.sample_distance_m(&mut rng)).collect()
}

/// Gains `g = αh` of `size` users at random along the road, each with a state of Rayleigh fading of its
/// own: `h ~ Exp(1)`, one antenna (paper, section III-A).
pub fn sample_faded_gains(
    road: &Road,
    path_loss: &PathLoss,
    seed: u64,
    size: usize,
    index: u64,
) -> Vec<f64> {
    let mut rng = realization_rng(seed, size, index);
    let fading = Fading { antennas: 1 };
    let mut draw = || {
        let alpha = path_loss.gain(road.sample_distance_m(&mut rng));
        // A draw of exactly 0, or of more than the path loss takes away, is no gain of a link.
        (alpha * fading.sample(&mut rng)).clamp(1e-30, 1.0)
    };
    (0..size).map(|_| draw()).collect()
}
