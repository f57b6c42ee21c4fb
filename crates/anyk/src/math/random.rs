//! Random streams that depend on nothing but their numbers.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The generator of one realization: its own stream for each `(seed, K, index)`, so that a
/// realization depends on nothing but these three, in whatever order or thread it is drawn.
///
/// ```
/// use rand::RngExt;
/// let draw = |index| anyk::math::realization_rng(1, 10, index).random::<u64>();
/// assert_eq!(draw(3), draw(3));
/// assert_ne!(draw(3), draw(4));
/// ```
pub fn realization_rng(seed: u64, size: usize, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // 2^24 realizations of each size before two streams could meet.
    rng.set_stream(((size as u64) << 24) ^ index);
    rng
}
