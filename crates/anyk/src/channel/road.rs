//! Positions of users: a straight road that passes the base station.

use rand::{Rng, RngExt};

/// Straight road that passes the base station at distance `d_min` and ends at the cell's edge (paper, section V-A).
///
/// ```text
/// d = sqrt(d_min² + x²),   x uniform on [0, sqrt(R² − d_min²)]
/// ```
///
/// | symbol | field | unit |
/// | --- | --- | --- |
/// | `d_min` | [`min_distance_m`](Self::min_distance_m) | m |
/// | `R` | [`cell_radius_m`](Self::cell_radius_m) | m |
///
/// The paper says "users in a road, minimal distance 50 m, radius 250 m". Of the possible readings, this one
/// reproduces its tables.
///
/// ```
/// use anyk::channel::Road;
/// let road = Road { min_distance_m: 50.0, cell_radius_m: 250.0 };
/// assert_eq!(road.distance_m(0.0), 50.0);
/// assert!((road.distance_m(road.half_length_m()) - 250.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Road {
    /// Distance of the base station from the road, in m.
    pub min_distance_m: f64,
    /// Distance of the cell's edge from the base station, in m.
    pub cell_radius_m: f64,
}

impl Road {
    /// Returns the length of one half of the road inside the cell, in m.
    pub fn half_length_m(&self) -> f64 {
        (self.cell_radius_m * self.cell_radius_m - self.min_distance_m * self.min_distance_m)
            .max(0.0)
            .sqrt()
    }

    /// Returns the distance to the base station of a user at position `x` along the road, in m.
    pub fn distance_m(&self, position_m: f64) -> f64 {
        self.min_distance_m.hypot(position_m)
    }

    /// Draws the distance of one user, placed uniformly along the road, in m.
    pub fn sample_distance_m<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let position: f64 = rng.random();
        self.distance_m(position * self.half_length_m())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn samples_stay_on_the_road_and_are_uniform_along_it() {
        let road = Road { min_distance_m: 50.0, cell_radius_m: 250.0 };
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let samples = 20_000;
        let mut mean = 0.0;
        for _ in 0..samples {
            let distance = road.sample_distance_m(&mut rng);
            assert!((50.0..=250.0).contains(&distance));
            mean += (distance * distance - 2500.0).sqrt() / f64::from(samples);
        }
        let half = road.half_length_m();
        let standard_error = half / 12f64.sqrt() / f64::from(samples).sqrt();
        assert!((mean - half / 2.0).abs() < 4.0 * standard_error);
    }
}
