//! Line of sight: probabilities of 3GPP TR 38.901, table 7.4.2-1, and the environment height of UMa.

use crate::channel::tr38901::ENVIRONMENT_M;
use crate::channel::{Scenario, Tr38901};

/// User height above which the standard draws the environment height of UMa at random, in m.
pub(crate) const TALL_USER_M: f64 = 13.0;

impl Tr38901 {
    /// Returns the probability that a user at a horizontal distance is in line of sight. Users are outdoors or, for a
    /// factory, inside it.
    ///
    /// ```text
    /// UMi, UMa:  1 up to 18 m, then 18/d + e^(−d/L)·(1 − 18/d), L = 36 m and 63 m; more for tall users of UMa
    /// RMa:       1 up to 10 m, then e^(−(d − 10)/1000)
    /// InF:       e^(−d/k),  k = −d_clutter/ln(1 − r), times (h_BS − h_UT)/(h_c − h_UT) from above the clutter
    /// ```
    pub fn los_probability(&self, distance_m: f64) -> f64 {
        let street = |length_m: f64| {
            // Distances below 18 m count as 18 m.
            let near = 18.0 / distance_m.max(18.0);
            near + (-distance_m / length_m).exp() * (1.0 - near)
        };
        match self.scenario {
            // For tall users just beyond 18 m, the product in the standard slightly exceeds 1.
            Scenario::Uma => (street(63.0) * (1.0 + self.tall_user(distance_m))).min(1.0),
            Scenario::Umi => street(36.0),
            Scenario::Rma => (-(distance_m - 10.0) / 1000.0).exp().min(1.0),
            _ => {
                let mut free_m = -self.clutter_size_m / (-self.clutter_density).ln_1p();
                if self.scenario.is_above_clutter() {
                    free_m *= (self.base_height_m - self.user_height_m)
                        / (self.clutter_height_m - self.user_height_m);
                }
                (-distance_m / free_m).exp()
            }
        }
    }

    /// Returns `C(d, h_UT)` of UMa, which is 0 for users up to 13 m.
    fn tall_user(&self, distance_m: f64) -> f64 {
        if self.user_height_m <= TALL_USER_M || distance_m <= 18.0 {
            return 0.0;
        }
        let height = ((self.user_height_m - TALL_USER_M) / 10.0).powf(1.5);
        height * 1.25 * (distance_m / 100.0).powi(3) * (-distance_m / 150.0).exp()
    }

    /// Returns whether the standard draws the environment height, so that the loss is random even in line of sight.
    pub fn draws_environment(&self) -> bool {
        self.scenario == Scenario::Uma && self.user_height_m > TALL_USER_M
    }

    /// Returns the environment height `h_E` of one user in m, given a number drawn uniformly from [0, 1). It is 1 m,
    /// except for tall users of UMa: with probability `C/(1 + C)` it is one of 12, 15, … up to `h_UT − 1.5` (table
    /// 7.4.1-1, note 1).
    pub fn environment_m(&self, distance_m: f64, uniform: f64) -> f64 {
        let low =
            1.0 / (1.0 + if self.draws_environment() { self.tall_user(distance_m) } else { 0.0 });
        let roofs = ((self.user_height_m - 1.5 - 12.0) / 3.0).floor() + 1.0;
        if uniform < low || roofs < 1.0 {
            return ENVIRONMENT_M;
        }
        let roof = (roofs * (uniform - low) / (1.0 - low)).floor().min(roofs - 1.0);
        12.0 + 3.0 * roof
    }
}
