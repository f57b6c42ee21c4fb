//! Random cells, reproducible for any number of threads.

use rand::RngExt;
use rand_distr::StandardNormal;

use crate::channel::{Fading, PathLoss, Road, Shadowing, Sight};
use crate::math::realization_rng;
use crate::units::Decibel;

/// Draws the distances in m of `size` users placed at random along the road.
pub fn sample_distances_m(road: &Road, seed: u64, size: usize, index: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, size, index);
    (0..size).map(|_| road.sample_distance_m(&mut rng)).collect()
}

/// Draws the large-scale gains of `size` users along the road, for path losses that are random at a given distance.
/// Each user is in line of sight with its probability, and has its own shadowing.
///
/// The users have the distances that [`sample_distances_m`] returns for the same seed. The other quantities are drawn
/// in a fixed order, so that shadowing does not change the line of sight.
pub fn sample_gains_db(
    road: &Road,
    path_loss: &PathLoss,
    shadowing: Option<Shadowing>,
    seed: u64,
    size: usize,
    index: u64,
) -> Vec<Decibel> {
    let mut rng = realization_rng(seed, size, index);
    let distances: Vec<f64> = (0..size).map(|_| road.sample_distance_m(&mut rng)).collect();
    let views: Vec<[f64; 2]> = (0..size).map(|_| [rng.random(), rng.random()]).collect();
    let draw = |(distance_m, [seen, environment]): (f64, [f64; 2])| {
        let (gain_db, standard_db) = match path_loss {
            PathLoss::Tr38901 { site, sight } => {
                let by_chance = || {
                    if seen < site.los_probability(distance_m) { Sight::Los } else { Sight::Nlos }
                };
                let sight = sight.unwrap_or_else(by_chance);
                let environment_m = site.environment_m(distance_m, environment);
                let loss_db = site.loss_over_db(sight, distance_m, environment_m);
                (-loss_db, site.shadowing_db(sight, distance_m))
            }
            other => (other.gain_db(distance_m).0, 0.0),
        };
        let deviation_db = match shadowing {
            None => return Decibel(gain_db),
            Some(Shadowing::Standard) => standard_db,
            Some(Shadowing::Deviation(deviation_db)) => deviation_db,
        };
        let normal: f64 = rng.sample(StandardNormal);
        // The received power must be below the transmitted power, and large enough to be represented.
        Decibel((gain_db + deviation_db * normal).clamp(-299.0, -0.1))
    };
    distances.into_iter().zip(views).map(draw).collect()
}

/// Draws the gains `g = αh` of `size` users placed at random along the road, each with independent Rayleigh fading:
/// `h ~ Exp(1)`, one antenna (paper, section III-A).
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
        // Clamps gains of 0 and above 1, which no link can have.
        (alpha * fading.sample(&mut rng)).clamp(1e-30, 1.0)
    };
    (0..size).map(|_| draw()).collect()
}
