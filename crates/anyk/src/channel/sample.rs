//! Random cells: reproducible, whatever the number of threads.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::channel::{Fading, PathLoss, Road};

/// The generator of one realization: its own stream for each `(seed, K, index)`, so that a
/// realization depends on nothing but these three, in whatever order or thread it is drawn.
///
/// ```
/// use rand::RngExt;
/// let draw = |index| anyk::channel::realization_rng(1, 10, index).random::<u64>();
/// assert_eq!(draw(3), draw(3));
/// assert_ne!(draw(3), draw(4));
/// ```
pub fn realization_rng(seed: u64, size: usize, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // 2^24 realizations of each size before two streams could meet.
    rng.set_stream(((size as u64) << 24) ^ index);
    rng
}

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
