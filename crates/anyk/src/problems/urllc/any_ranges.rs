//! What any-gnn is trained on: cells of one size whose budgets, classes and roads are drawn from ranges, and
//! what of it was seen.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::channel::Road;
use crate::config::{RoadConfig, System};
use crate::framework::TrainError;
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::network::{CONTEXT, SplitRule};
use crate::problems::urllc::AnySettings;
use crate::qos::{Qos, ServiceClass};

/// From where training cells are drawn. In either the budget is drawn, too, from just over what the users
/// need: the powers of one user or a thousand within the cell's own budget are among those of ten users.
/// (A softmax is trained with the cell's own budget.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainRanges {
    /// The cell's own road, antennas and service class.
    Paper,
    /// Roads up to 1 km, 1 to 64 antennas, and users of many service classes side by side.
    Wide,
}

/// Service classes in a wide training: as many tables as a second makes.
const WIDE_CLASSES: usize = 160;
/// Decades of ε; bits; packets for each frame.
const WIDE_LOG_EPSILON: (f64, f64) = (-7.0, -3.0);
const WIDE_PACKET_BITS: (f64, f64) = (80.0, 1600.0);
const WIDE_ARRIVAL_RATE: (f64, f64) = (0.01, 1.0);
const WIDE_ANTENNAS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Radii, m.
const WIDE_RADIUS_M: (f64, f64) = (100.0, 1000.0);
/// Largest mean power of a user, W: 50 dBm for one alone. In a narrow training twice the cell's budget.
const WIDE_POWER_W: f64 = 100.0;
const NARROW_BUDGETS: f64 = 2.0;
/// Smallest budget, in units of what the users need at least.
const TIGHTEST: f64 = 1.02;

/// A class to train on, and the antennas of its cells.
#[derive(Debug, Clone)]
pub(crate) struct TrainingClass {
    pub(crate) qos: Qos,
    pub(crate) antennas: u32,
}

/// The context of a class: logarithms of antennas `N_t`, `κ`, `Q_G⁻¹(ε/2)` and `θS^E`, which are all that the
/// margin `M(z, v)` depends on.
pub(crate) fn context(qos: &Qos, antennas: u32) -> [f64; CONTEXT] {
    [
        f64::from(antennas).ln(),
        qos.kappa().ln(),
        qos.service().decoding_quantile().ln(),
        (qos.theta() * qos.effective_bandwidth()).ln(),
    ]
}

impl TrainingClass {
    pub(crate) fn context(&self) -> [f64; CONTEXT] {
        context(&self.qos, self.antennas)
    }
}

/// A training cell.
#[derive(Debug, Clone)]
pub(crate) struct TrainingCell {
    /// Class and least power of each user, W.
    pub(crate) users: Vec<(usize, f64)>,
    pub(crate) max_power_w: f64,
}

/// Smallest and largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span(pub f64, pub f64);

impl Span {
    pub(crate) const NONE: Self = Self(f64::INFINITY, f64::NEG_INFINITY);

    pub(crate) fn add(&mut self, value: f64) {
        *self = Self(self.0.min(value), self.1.max(value));
    }

    /// Whether a value is inside, up to rounding.
    pub fn holds(&self, value: f64) -> bool {
        let slack = 1e-9 * self.0.abs().max(self.1.abs());
        value >= self.0 - slack && value <= self.1 + slack
    }

    /// Of many values the one that is furthest outside, in words with its name; `None` if all are inside.
    pub(crate) fn furthest(
        &self,
        name: &str,
        values: impl IntoIterator<Item = f64>,
    ) -> Option<String> {
        let far = |value: f64| (self.0 - value).max(value - self.1);
        let outside = values.into_iter().filter(|&value| !self.holds(value));
        let value = outside.max_by(|&a, &b| far(a).total_cmp(&far(b)))?;
        let [value, low, high] = [value, self.0, self.1].map(shown);
        Some(format!("{name} {value}, trained {low} to {high}"))
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.0.is_finite() && self.1.is_finite() && self.0 <= self.1
    }
}

/// Four digits, or so.
fn shown(value: f64) -> String {
    if (1e-2..1e5).contains(&value.abs()) { format!("{value:.2}") } else { format!("{value:.2e}") }
}

/// What a training has seen: an answer for anything outside is given, but flagged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedRanges {
    /// Large-scale gains, dB.
    pub gain_db: Span,
    /// Budget over the number of users, W.
    pub power_per_user_w: Span,
    /// Share of the budget that the users need at least.
    pub load: Span,
    /// Largest packet losses of the classes.
    pub epsilon: Span,
    /// Packet sizes, bit.
    pub packet_bits: Span,
    /// Packets for each frame.
    pub arrival_rate: Span,
    /// Antennas.
    pub antennas: Span,
}

impl TrainedRanges {
    /// Whether all are ranges.
    pub fn is_sound(&self) -> bool {
        let Self { gain_db, power_per_user_w, load, epsilon, packet_bits, arrival_rate, antennas } =
            self;
        [gain_db, power_per_user_w, load, epsilon, packet_bits, arrival_rate, antennas]
            .iter()
            .all(|span| span.is_sound())
    }
}

/// Draws the classes of a training.
pub(crate) fn draw_classes(
    system: &System,
    settings: &AnySettings,
) -> Result<Vec<TrainingClass>, TrainError> {
    let own = system.config().cell.antennas;
    if settings.ranges == TrainRanges::Paper {
        return Ok(vec![TrainingClass { qos: system.qos(system.service())?, antennas: own }]);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    rng.set_stream(u64::MAX - 1);
    (0..WIDE_CLASSES)
        .map(|_| {
            let service = draw_service(&mut rng);
            let antennas = WIDE_ANTENNAS[rng.random_range(0..WIDE_ANTENNAS.len())];
            let mut config = system.config().clone();
            config.cell.antennas = antennas;
            let system = config.validate().map_err(|error| {
                Invalid::value("config", error, "a cell that may have 1 to 64 antennas")
            })?;
            Ok(TrainingClass { qos: system.qos(service)?, antennas })
        })
        .collect()
}

fn draw_service<R: Rng + ?Sized>(rng: &mut R) -> ServiceClass {
    ServiceClass {
        epsilon: 10f64.powf(rng.random_range(WIDE_LOG_EPSILON.0..=WIDE_LOG_EPSILON.1)),
        packet_bits: logarithmic(rng, WIDE_PACKET_BITS),
        arrival_rate: logarithmic(rng, WIDE_ARRIVAL_RATE),
    }
}

fn draw_road<R: Rng + ?Sized>(rng: &mut R, narrow: Road) -> RoadConfig {
    let min_distance_m = narrow.min_distance_m;
    let cell_radius_m = logarithmic(rng, WIDE_RADIUS_M).max(min_distance_m);
    RoadConfig { min_distance_m, cell_radius_m }
}

fn logarithmic<R: Rng + ?Sized>(rng: &mut R, (low, high): (f64, f64)) -> f64 {
    rng.random_range(low.ln()..=high.ln()).exp()
}

/// Draws the cells of a training, given the least received power of each class in W; with what was drawn.
pub(crate) fn draw_cells(
    system: &System,
    settings: &AnySettings,
    classes: &[TrainingClass],
    min_received_w: &[f64],
) -> (Vec<TrainingCell>, TrainedRanges) {
    let mut seen = TrainedRanges {
        gain_db: Span::NONE,
        power_per_user_w: Span::NONE,
        load: Span::NONE,
        epsilon: Span::NONE,
        packet_bits: Span::NONE,
        arrival_rate: Span::NONE,
        antennas: Span::NONE,
    };
    for TrainingClass { qos, antennas } in classes {
        let ServiceClass { epsilon, packet_bits, arrival_rate } = qos.service();
        seen.epsilon.add(epsilon);
        seen.packet_bits.add(packet_bits);
        seen.arrival_rate.add(arrival_rate);
        seen.antennas.add(f64::from(*antennas));
    }
    let most_w = match settings.ranges {
        TrainRanges::Paper => NARROW_BUDGETS * system.max_power_w(),
        TrainRanges::Wide => WIDE_POWER_W.max(NARROW_BUDGETS * system.max_power_w()),
    };
    let mut cells = Vec::with_capacity(settings.samples * settings.train_k.len());
    for &size in &settings.train_k {
        for index in 0..settings.samples as u64 {
            let mut rng = realization_rng(settings.seed, size, index);
            let mut road = system.road();
            // Half of the wide cells mix their classes.
            let mut one = Some(0);
            if settings.ranges == TrainRanges::Wide {
                let RoadConfig { min_distance_m, cell_radius_m } = draw_road(&mut rng, road);
                road = Road { min_distance_m, cell_radius_m };
                let class = rng.random_range(0..classes.len());
                one = rng.random::<bool>().then_some(class);
            }
            // Where users may be, and not where the last one happened to be: the edge of the cell is a part of it.
            for distance_m in [road.min_distance_m, road.cell_radius_m] {
                seen.gain_db.add(10.0 * system.path_loss().gain(distance_m).log10());
            }
            let users: Vec<(usize, f64)> = (0..size)
                .map(|_| {
                    let class = one.unwrap_or_else(|| rng.random_range(0..classes.len()));
                    let gain = system.path_loss().gain(road.sample_distance_m(&mut rng));
                    seen.gain_db.add(10.0 * gain.log10());
                    (class, min_received_w[class] / gain)
                })
                .collect();
            let least_w: f64 = users.iter().map(|user| user.1).sum();
            let high_w = (most_w * size as f64).max(2.0 * TIGHTEST * least_w);
            let max_power_w = match settings.output {
                SplitRule::Kkt => logarithmic(&mut rng, (TIGHTEST * least_w, high_w)),
                // One shape for all budgets: at its best for the one that it is for.
                SplitRule::Softmax => system.max_power_w().max(2.0 * TIGHTEST * least_w),
            };
            seen.power_per_user_w.add(max_power_w / size as f64);
            seen.load.add(least_w / max_power_w);
            cells.push(TrainingCell { users, max_power_w });
        }
    }
    (cells, seen)
}
