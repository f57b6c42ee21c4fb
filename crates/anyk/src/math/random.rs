//! Random streams that depend only on the seed, K and the index of a realization.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Returns the generator of one realization. Each `(seed, K, index)` has its own stream, so a realization is
/// independent of the order and the thread in which it is drawn.
///
/// ```
/// use rand::RngExt;
/// let draw = |index| anyk::math::realization_rng(1, 10, index).random::<u64>();
/// assert_eq!(draw(3), draw(3));
/// assert_ne!(draw(3), draw(4));
/// ```
pub fn realization_rng(seed: u64, size: usize, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // The streams of two sizes can overlap only after 2^24 realizations.
    rng.set_stream(((size as u64) << 24) ^ index);
    rng
}
