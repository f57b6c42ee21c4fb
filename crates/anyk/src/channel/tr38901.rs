//! Path loss of 3GPP TR 38.901, "Study on channel model for frequencies from 0.5 to 100 GHz", table 7.4.1-1.

use std::f64::consts::PI;

/// Scenario of the standard (section 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Urban macro.
    Uma,
    /// Urban micro, street canyon.
    Umi,
    /// Rural macro.
    Rma,
    /// Indoor factory, sparse clutter, base station within it.
    InfSl,
    /// Indoor factory, dense clutter, base station within it.
    InfDl,
    /// Indoor factory, sparse clutter, base station above it.
    InfSh,
    /// Indoor factory, dense clutter, base station above it.
    InfDh,
}

impl Scenario {
    /// Returns whether the scenario is an indoor factory.
    pub fn is_factory(self) -> bool {
        matches!(self, Self::InfSl | Self::InfDl | Self::InfSh | Self::InfDh)
    }

    /// Returns whether the base station is above the clutter of its factory.
    pub fn is_above_clutter(self) -> bool {
        matches!(self, Self::InfSh | Self::InfDh)
    }
}

/// Line of sight between a user and the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Line of sight.
    Los,
    /// No line of sight.
    Nlos,
}

/// Scenario with its parameters: all that table 7.4.1-1 requires in addition to the distance.
///
/// | symbol | field | unit | used by |
/// | --- | --- | --- | --- |
/// | `f_c` | [`carrier_ghz`](Self::carrier_ghz) | GHz | all |
/// | `h_BS` | [`base_height_m`](Self::base_height_m) | m | all |
/// | `h_UT` | [`user_height_m`](Self::user_height_m) | m | all |
/// | `W` | [`street_width_m`](Self::street_width_m) | m | RMa NLOS |
/// | `h` | [`building_height_m`](Self::building_height_m) | m | RMa |
/// | `r` | [`clutter_density`](Self::clutter_density) | share | line of sight of InF |
/// | `d_clutter` | [`clutter_size_m`](Self::clutter_size_m) | m | line of sight of InF |
/// | `h_c` | [`clutter_height_m`](Self::clutter_height_m) | m | line of sight of InF-SH, InF-DH |
///
/// Distances are horizontal (`d_2D`); `d_3D = sqrt(d_2D² + (h_BS − h_UT)²)`.
///
/// ```
/// use anyk::channel::{Scenario, Sight, Tr38901};
/// let uma = Tr38901::standard(Scenario::Uma, 3.5);
/// assert!((uma.loss_db(Sight::Los, 100.0) - 83.14).abs() < 0.01);
/// assert!((uma.los_probability(100.0) - 0.348).abs() < 1e-3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tr38901 {
    /// Scenario.
    pub scenario: Scenario,
    /// Carrier frequency, in GHz.
    pub carrier_ghz: f64,
    /// Height of the base station's antenna, in m.
    pub base_height_m: f64,
    /// Height of the users' antennas, in m.
    pub user_height_m: f64,
    /// Mean width of streets, in m.
    pub street_width_m: f64,
    /// Mean height of buildings, in m.
    pub building_height_m: f64,
    /// Share of the floor that is covered by clutter.
    pub clutter_density: f64,
    /// Typical size of clutter, in m.
    pub clutter_size_m: f64,
    /// Effective height of clutter, in m.
    pub clutter_height_m: f64,
}

/// Speed of light as rounded in the breakpoints of the standard, in m/s.
const LIGHT_M_S: f64 = 3.0e8;
/// Environment height `h_E` if the standard does not draw it, in m.
pub(crate) const ENVIRONMENT_M: f64 = 1.0;

impl Tr38901 {
    /// Returns the scenario with the default heights of the standard: those of table 7.4.1-1, and for factories those
    /// of the calibration (table 7.8-7).
    pub fn standard(scenario: Scenario, carrier_ghz: f64) -> Self {
        let base_height_m = match scenario {
            Scenario::Uma => 25.0,
            Scenario::Umi => 10.0,
            Scenario::Rma => 35.0,
            Scenario::InfSl | Scenario::InfDl => 1.5,
            Scenario::InfSh | Scenario::InfDh => 8.0,
        };
        let dense = matches!(scenario, Scenario::InfDl | Scenario::InfDh);
        let (clutter_density, clutter_size_m, clutter_height_m) =
            if dense { (0.6, 2.0, 6.0) } else { (0.2, 10.0, 2.0) };
        Self {
            scenario,
            carrier_ghz,
            base_height_m,
            user_height_m: 1.5,
            street_width_m: 20.0,
            building_height_m: 5.0,
            clutter_density,
            clutter_size_m,
            clutter_height_m,
        }
    }

    /// Returns the path loss at a horizontal distance, in dB.
    pub fn loss_db(&self, sight: Sight, distance_m: f64) -> f64 {
        self.loss_over_db(sight, distance_m, ENVIRONMENT_M)
    }

    /// Returns the path loss at a horizontal distance for a given environment height of UMa, in dB.
    pub fn loss_over_db(&self, sight: Sight, distance_m: f64, environment_m: f64) -> f64 {
        let los_db = self.line_of_sight_db(distance_m, environment_m);
        match sight {
            Sight::Los => los_db,
            Sight::Nlos => los_db.max(self.obstructed_db(distance_m)),
        }
    }

    /// Returns the standard deviation `σ_SF` of log-normal shadowing at a horizontal distance, in dB.
    pub fn shadowing_db(&self, sight: Sight, distance_m: f64) -> f64 {
        let beyond =
            self.breakpoint_m(ENVIRONMENT_M).is_some_and(|breakpoint| distance_m > breakpoint);
        match (self.scenario, sight) {
            (Scenario::Uma | Scenario::Umi, Sight::Los) => 4.0,
            (Scenario::Rma, Sight::Los) => {
                if beyond {
                    6.0
                } else {
                    4.0
                }
            }
            (Scenario::Uma, Sight::Nlos) => 6.0,
            (Scenario::Umi, Sight::Nlos) => 7.82,
            (Scenario::Rma, Sight::Nlos) => 8.0,
            (_, Sight::Los) => 4.3,
            (Scenario::InfSl, Sight::Nlos) => 5.7,
            (Scenario::InfDl, Sight::Nlos) => 7.2,
            (Scenario::InfSh, Sight::Nlos) => 5.9,
            (Scenario::InfDh, Sight::Nlos) => 4.0,
        }
    }

    /// Returns the horizontal distances for which the standard defines the loss, in m.
    pub fn distances_m(&self, sight: Sight) -> (f64, f64) {
        match (self.scenario, sight) {
            (Scenario::Uma | Scenario::Umi, _) | (Scenario::Rma, Sight::Nlos) => (10.0, 5000.0),
            (Scenario::Rma, Sight::Los) => (10.0, 10_000.0),
            // 1 m to 600 m in three dimensions.
            _ => {
                let rise_m = self.base_height_m - self.user_height_m;
                let along = |length_m: f64| (length_m * length_m - rise_m * rise_m).max(0.0).sqrt();
                (along(1.0), along(600.0))
            }
        }
    }

    /// Returns the horizontal distance beyond which the loss in line of sight is steeper, in m. In cities it is
    /// `d'_BP = 4 h'_BS h'_UT f_c/c`, with heights above the environment; in the country it is
    /// `d_BP = 2π h_BS h_UT f_c/c`. Factories have no breakpoint.
    pub fn breakpoint_m(&self, environment_m: f64) -> Option<f64> {
        let waves_per_m = self.carrier_ghz * 1e9 / LIGHT_M_S;
        match self.scenario {
            Scenario::Uma | Scenario::Umi => {
                let [base, user] =
                    [self.base_height_m, self.user_height_m].map(|h| h - environment_m);
                Some(4.0 * base * user * waves_per_m)
            }
            Scenario::Rma => Some(2.0 * PI * self.base_height_m * self.user_height_m * waves_per_m),
            _ => None,
        }
    }

    fn length_m(&self, distance_m: f64) -> f64 {
        distance_m.hypot(self.base_height_m - self.user_height_m)
    }

    /// Returns `PL_LOS`.
    fn line_of_sight_db(&self, distance_m: f64, environment_m: f64) -> f64 {
        let log_length = self.length_m(distance_m).log10();
        let log_carrier = self.carrier_ghz.log10();
        let beyond = self.breakpoint_m(environment_m).filter(|breakpoint| distance_m > *breakpoint);
        match self.scenario {
            Scenario::Uma | Scenario::Umi => {
                let (intercept_db, slope_db) =
                    if self.scenario == Scenario::Uma { (28.0, 22.0) } else { (32.4, 21.0) };
                let carrier_db = 20.0 * log_carrier;
                match beyond {
                    None => intercept_db + slope_db * log_length + carrier_db,
                    Some(breakpoint_m) => {
                        // The standard rounds these factors to 9 and 9.5; here both branches meet at the breakpoint.
                        let turn_db = (40.0 - slope_db) * self.length_m(breakpoint_m).log10();
                        intercept_db + 40.0 * log_length + carrier_db - turn_db
                    }
                }
            }
            Scenario::Rma => match beyond {
                None => self.rural_db(self.length_m(distance_m)),
                Some(breakpoint_m) => {
                    self.rural_db(breakpoint_m) + 40.0 * (log_length - breakpoint_m.log10())
                }
            },
            _ => 31.84 + 21.5 * log_length + 19.0 * log_carrier,
        }
    }

    /// Returns `PL_1` of RMa at a distance in three dimensions.
    fn rural_db(&self, length_m: f64) -> f64 {
        let bulk = self.building_height_m.powf(1.72);
        20.0 * (40.0 * PI * length_m * self.carrier_ghz / 3.0).log10()
            + (0.03 * bulk).min(10.0) * length_m.log10()
            - (0.044 * bulk).min(14.77)
            + 0.002 * self.building_height_m.log10() * length_m
    }

    /// Returns `PL'_NLOS`, which applies where it exceeds `PL_LOS`.
    fn obstructed_db(&self, distance_m: f64) -> f64 {
        let log_length = self.length_m(distance_m).log10();
        let log_carrier = self.carrier_ghz.log10();
        let factory = |intercept_db: f64, slope_db: f64| {
            intercept_db + slope_db * log_length + 20.0 * log_carrier
        };
        match self.scenario {
            Scenario::Uma => {
                13.54 + 39.08 * log_length + 20.0 * log_carrier - 0.6 * (self.user_height_m - 1.5)
            }
            Scenario::Umi => {
                22.4 + 35.3 * log_length + 21.3 * log_carrier - 0.3 * (self.user_height_m - 1.5)
            }
            Scenario::Rma => {
                let log_base = self.base_height_m.log10();
                let over_base = self.building_height_m / self.base_height_m;
                161.04 - 7.1 * self.street_width_m.log10() + 7.5 * self.building_height_m.log10()
                    - (24.37 - 3.7 * over_base * over_base) * log_base
                    + (43.42 - 3.1 * log_base) * (log_length - 3.0)
                    + 20.0 * log_carrier
                    - (3.2 * (11.75 * self.user_height_m).log10().powi(2) - 4.97)
            }
            Scenario::InfSl => factory(33.0, 25.5),
            // Dense clutter causes at least the loss of sparse clutter.
            Scenario::InfDl => factory(18.6, 35.7).max(factory(33.0, 25.5)),
            Scenario::InfSh => factory(32.4, 23.0),
            Scenario::InfDh => factory(33.63, 21.9),
        }
    }
}
