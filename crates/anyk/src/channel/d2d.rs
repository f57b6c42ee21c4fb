//! Device-to-device links on a field: geometry and short-range path loss.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

use crate::channel::GainMatrix;
use crate::math::realization_rng;
use crate::units::{Dbm, Decibel, Watt};

const LIGHT_M_S: f64 = 2.998e8;

/// Line-of-sight path loss between terminals of low height (ITU-R P.1411, median between its bounds):
///
/// ```text
/// L = L_bp + 6 + 20·log10(d/R_bp)  dB up to the breakpoint R_bp = 4 h₁h₂/λ, 40·log10(…) beyond it,
/// L_bp = |20·log10(λ²/(8π h₁h₂))|
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShortRange {
    /// Carrier frequency, in GHz.
    pub carrier_ghz: f64,
    /// Height of both antennas, in m.
    pub height_m: f64,
    /// Gain of the antennas in dB, applied once per path.
    pub antenna_gain_db: f64,
}

impl Default for ShortRange {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl ShortRange {
    /// Parameters for handsets at 2.4 GHz.
    pub const DEFAULT: Self = Self { carrier_ghz: 2.4, height_m: 1.5, antenna_gain_db: 2.5 };

    /// Returns the power gain at a distance in m.
    pub fn gain(&self, distance_m: f64) -> f64 {
        let wavelength_m = LIGHT_M_S / (1e9 * self.carrier_ghz);
        let heights = self.height_m * self.height_m;
        let breakpoint_m = 4.0 * heights / wavelength_m;
        let breakpoint_db = (20.0 * (wavelength_m.powi(2) / (8.0 * PI * heights)).log10()).abs();
        let decades = (distance_m / breakpoint_m).log10();
        let slope_db = if distance_m > breakpoint_m { 40.0 } else { 20.0 };
        let loss_db = breakpoint_db + 6.0 + slope_db * decades;
        Decibel(self.antenna_gain_db - loss_db).to_ratio()
    }
}

/// Field of device-to-device pairs with a constant density, so that the field grows with the number of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct D2dField {
    /// Number of pairs per square kilometre.
    pub pairs_per_km2: f64,
    /// Minimum length of a link, in m.
    pub min_link_m: f64,
    /// Maximum length of a link, in m.
    pub max_link_m: f64,
    /// Path loss.
    pub path_loss: ShortRange,
    /// Transmit power, in dBm.
    pub power_dbm: f64,
    /// Noise density, in dBm/Hz.
    pub noise_density_dbm_hz: f64,
    /// Bandwidth, in MHz.
    pub bandwidth_mhz: f64,
    /// Paths to which the antenna gain applies.
    pub antennas: AntennaGain,
    /// Minimum length of a path between a transmitter and any receiver, in m. A layout with a shorter path is drawn
    /// again. With 0, no layout is drawn again, and a path shorter than the minimum length of a link counts as that
    /// length.
    pub min_path_m: f64,
}

/// Paths to which the antenna gain applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AntennaGain {
    /// All paths, including interference.
    #[default]
    All,
    /// Only direct paths from a transmitter to its receiver: the antennas are aimed at each other.
    Own,
}

impl Default for D2dField {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl D2dField {
    /// Default field with 50 pairs per square kilometre.
    pub const DEFAULT: Self = Self {
        pairs_per_km2: 50.0,
        min_link_m: 2.0,
        max_link_m: 65.0,
        path_loss: ShortRange::DEFAULT,
        power_dbm: 40.0,
        noise_density_dbm_hz: -169.0,
        bandwidth_mhz: 5.0,
        antennas: AntennaGain::All,
        min_path_m: 0.0,
    };

    /// Field of the public code of "Spatial Deep Learning for Wireless Scheduling" (Cui, Shen, Yu, 2019), and of
    /// later work that was compared with it. The antenna gain applies only to direct links, and no path is shorter
    /// than 1 m.
    pub const PUBLISHED: Self =
        Self { antennas: AntennaGain::Own, min_path_m: 1.0, ..Self::DEFAULT };
}

/// Positions of the devices, in m.
#[derive(Debug, Clone, PartialEq)]
pub struct D2dLayout {
    /// Positions of the transmitters.
    pub transmitters_m: Vec<[f64; 2]>,
    /// Positions of the receivers, in the same order.
    pub receivers_m: Vec<[f64; 2]>,
}

impl D2dField {
    /// Returns the transmit power in W.
    pub fn power_w(&self) -> f64 {
        Watt::from(Dbm(self.power_dbm)).0
    }

    /// Returns the noise power in W.
    pub fn noise_w(&self) -> f64 {
        Watt::from(Dbm(self.noise_density_dbm_hz)).0 * 1e6 * self.bandwidth_mhz
    }

    /// Draws a layout. Transmitters are uniform on the square field. Each receiver is at a uniform distance and in a
    /// uniform direction from its transmitter, and is drawn again if it is outside the field.
    pub fn layout(&self, seed: u64, size: usize, index: u64) -> D2dLayout {
        let mut rng = realization_rng(seed, size, index);
        loop {
            let layout = self.place(&mut rng, size);
            if self.min_path_m <= 0.0 || layout.shortest_path_m() >= self.min_path_m {
                return layout;
            }
        }
    }

    fn place(&self, rng: &mut impl Rng, size: usize) -> D2dLayout {
        let side_m = 1e3 * (size as f64 / self.pairs_per_km2).sqrt();
        let (mut transmitters_m, mut receivers_m) = (Vec::new(), Vec::new());
        for _ in 0..size {
            // In a corner of the field, a quarter of all directions remain, so the loop ends.
            let [x, y] = [rng.random_range(0.0..side_m), rng.random_range(0.0..side_m)];
            let receiver = loop {
                let length = rng.random_range(self.min_link_m..=self.max_link_m);
                let angle: f64 = rng.random_range(0.0..TAU);
                let place = [x + length * angle.cos(), y + length * angle.sin()];
                if place.iter().all(|at| (0.0..=side_m).contains(at)) {
                    break place;
                }
            };
            transmitters_m.push([x, y]);
            receivers_m.push(receiver);
        }
        D2dLayout { transmitters_m, receivers_m }
    }

    /// Returns all gains of a layout.
    pub fn gains(&self, layout: &D2dLayout) -> GainMatrix {
        // Closer devices would be outside the range of the model.
        let least_m = if self.min_path_m > 0.0 { self.min_path_m } else { self.min_link_m };
        let gains = layout.receivers_m.iter().enumerate().flat_map(|(link, receiver)| {
            layout.transmitters_m.iter().enumerate().map(move |(other, transmitter)| {
                let distance_m = distance(receiver, transmitter).max(least_m);
                if link == other {
                    self.path_loss.gain(distance_m)
                } else {
                    self.interference_gain(distance_m)
                }
            })
        });
        GainMatrix::from_sound(layout.receivers_m.len(), gains.collect())
    }
}

impl D2dField {
    /// Returns the power gain of an interfering path at a distance in m.
    pub fn interference_gain(&self, distance_m: f64) -> f64 {
        let antenna_gain_db = match self.antennas {
            AntennaGain::All => self.path_loss.antenna_gain_db,
            AntennaGain::Own => 0.0,
        };
        ShortRange { antenna_gain_db, ..self.path_loss }.gain(distance_m)
    }
}

impl D2dLayout {
    /// Returns the length of the shortest path between a transmitter and any receiver, in m.
    fn shortest_path_m(&self) -> f64 {
        let paths = self.receivers_m.iter().flat_map(|receiver| {
            self.transmitters_m.iter().map(move |transmitter| distance(receiver, transmitter))
        });
        paths.fold(f64::INFINITY, f64::min)
    }
}

fn distance(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with values computed by hand from the recommendation's formula: λ = 0.12492 m, R_bp = 72.05 m, L_bp =
    /// 71.18 dB, so 77.18 dB at the breakpoint and 40·log10(10) more at ten times the distance.
    #[test]
    fn path_loss_at_and_beyond_the_breakpoint() {
        let model = ShortRange { antenna_gain_db: 0.0, ..ShortRange::default() };
        let db = |distance_m: f64| 10.0 * model.gain(distance_m).log10();
        assert!((db(72.048) + 77.18).abs() < 0.01, "{}", db(72.048));
        assert!((db(720.48) + 117.18).abs() < 0.01, "{}", db(720.48));
        assert!((db(7.2048) + 57.18).abs() < 0.01, "{}", db(7.2048));
    }

    /// Tests the published field: antenna gain only on direct links, and no path shorter than 1 m.
    #[test]
    fn the_published_field_aims_its_antennas() {
        let (ours, published) = (D2dField::DEFAULT, D2dField::PUBLISHED);
        let layout = published.layout(1, 50, 0);
        let [ours, theirs] = [ours, published].map(|field| field.gains(&layout));
        let ratio_db = |link: usize, other: usize| {
            10.0 * (ours.row(link)[other] / theirs.row(link)[other]).log10()
        };
        // Direct gains are equal; interference is weaker by the antenna gain.
        assert!(ratio_db(3, 3).abs() < 1e-9);
        assert!((ratio_db(3, 4) - 2.5).abs() < 1e-9, "{}", ratio_db(3, 4));
        // Dense layouts are drawn again.
        let crowded = D2dField { pairs_per_km2: 50_000.0, max_link_m: 5.0, ..published };
        for index in 0..20 {
            assert!(crowded.layout(1, 10, index).shortest_path_m() >= 1.0);
        }
        let free = D2dField { min_path_m: 0.0, ..crowded };
        let shortest = (0..200).map(|index| free.layout(1, 10, index).shortest_path_m());
        assert!(shortest.fold(f64::INFINITY, f64::min) < 1.0);
    }

    #[test]
    fn the_field_grows_with_the_pairs_and_links_keep_their_length() {
        let field = D2dField::default();
        for size in [1, 50, 200] {
            let layout = field.layout(1, size, 0);
            let side_m = 1e3 * (size as f64 / 50.0).sqrt();
            for (transmitter, receiver) in layout.transmitters_m.iter().zip(&layout.receivers_m) {
                assert!(transmitter.iter().chain(receiver).all(|at| (0.0..=side_m).contains(at)));
                let length = distance(transmitter, receiver);
                assert!((2.0 - 1e-9..=65.0 + 1e-9).contains(&length), "{length}");
            }
        }
        assert_eq!(field.layout(1, 50, 3), field.layout(1, 50, 3));
        assert!((field.power_w() - 10.0).abs() < 1e-12);
        assert!((10.0 * field.noise_w().log10() + 132.01).abs() < 0.01);
    }
}
