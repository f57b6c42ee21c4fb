//! The options that describe a cell, for all problems of users of one base station.

use crate::channel::QuadratureRule;
use crate::config::{Config, System};
use crate::exchange::read_start;
use crate::framework::{Choice, Error, OptionSpec, OptionValue, Options};

const GROUP: &str = "Cell";

impl Choice for QuadratureRule {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "log-trapezoid",
            "Trapezoidal rule in ln g, accurate at any number of antennas",
            Self::LogTrapezoid,
        ),
        (
            "gauss-laguerre",
            "Generalized Gauss–Laguerre, 64 points; refused where it is not accurate (few antennas)",
            Self::GaussLaguerre,
        ),
    ];
}

/// A number of the config: its option, its unit, what it is, its default, and where it stands.
type Field = (&'static str, &'static str, &'static str, &'static str, fn(&mut Config) -> &mut f64);

const MAX_POWER: Field =
    ("max-power-dbm", "DBM", "Power budget P_max", "43", |config| &mut config.cell.max_power_dbm);

/// Where users are.
const ROAD: [Field; 2] = [
    ("min-distance-m", "M", "Distance of the base station from the road", "50", |config| {
        &mut config.road.min_distance_m
    }),
    ("cell-radius-m", "M", "Radius of the cell", "250", |config| &mut config.road.cell_radius_m),
];

/// What every problem of users of a cell knows.
const RADIO: [Field; 3] = [
    ("noise-density-dbm-hz", "DBM/HZ", "Noise density N_0", "-173", |config| {
        &mut config.cell.noise_density_dbm_hz
    }),
    ("path-loss-intercept-db", "DB", "Path loss at one metre", "35.3", |config| {
        &mut config.path_loss.intercept_db
    }),
    ("path-loss-slope-db", "DB", "Path loss for each decade of distance", "37.6", |config| {
        &mut config.path_loss.slope_db
    }),
];

/// What those with a loss and delay target know as well.
const SERVICE: [Field; 6] = [
    ("frame-ms", "MS", "Frame duration T_f", "0.1", |config| &mut config.frame.frame_ms),
    ("transmission-ms", "MS", "Data transmission time in a frame τ", "0.05", |config| {
        &mut config.frame.transmission_ms
    }),
    ("queueing-delay-ms", "MS", "Bound on the queueing delay", "0.8", |config| {
        &mut config.frame.queueing_delay_ms
    }),
    ("epsilon", "PROBABILITY", "Largest packet loss ε of users that name none", "1e-5", |config| {
        &mut config.service.epsilon
    }),
    ("packet-bits", "BITS", "Packet size μ of users that name none", "160", |config| {
        &mut config.service.packet_bits
    }),
    (
        "arrival-rate",
        "RATE",
        "Arrivals a of users that name none, packets per frame",
        "0.2",
        |config| &mut config.service.arrival_rate,
    ),
];

/// Which parameters of a cell a problem has a use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOptions {
    /// Noise and path loss.
    pub radio: bool,
    /// The power budget.
    pub power: bool,
    /// Antennas, frame and service classes.
    pub service: bool,
}

impl CellOptions {
    /// All parameters.
    pub const ALL: Self = Self { radio: true, power: true, service: true };
    /// The road alone: where users are.
    pub const ROAD: Self = Self { radio: false, power: false, service: false };

    fn fields(self) -> impl Iterator<Item = &'static Field> {
        let power = self.power.then_some(&MAX_POWER);
        let radio: &[Field] = if self.radio { &RADIO } else { &[] };
        let service: &[Field] = if self.service { &SERVICE } else { &[] };
        power.into_iter().chain(&ROAD).chain(radio).chain(service)
    }

    /// The options.
    pub fn specs(self) -> Vec<OptionSpec> {
        let file = OptionSpec::new(
            "config",
            OptionValue::File,
            "TOML file with the cell's parameters, see `anyk config`; options override it",
        );
        let number = |&(name, unit, help, default, _): &Field| {
            OptionSpec::new(name, OptionValue::Number(unit), help).or(default)
        };
        let mut specs = vec![file];
        specs.extend(self.fields().map(number));
        if self.service {
            specs.push(
                OptionSpec::new(
                    "antennas",
                    OptionValue::Whole("N"),
                    "Antennas N_t at the base station",
                )
                .or("8"),
            );
            specs.push(
                OptionSpec::choice::<QuadratureRule>(
                    "quadrature",
                    "Rule for expectations over fading",
                )
                .or("log-trapezoid"),
            );
        }
        specs.into_iter().map(|spec| spec.of(GROUP)).collect()
    }

    /// The options that describe a cell.
    pub fn describe(self, config: &Config) -> Options {
        let mut config = config.clone();
        let mut options = Options::default();
        for (name, .., slot) in self.fields() {
            options.set(*name, slot(&mut config).to_string());
        }
        if self.service {
            options.set("antennas", config.cell.antennas.to_string());
            let rule = QuadratureRule::ALL.iter().find(|choice| choice.2 == config.cell.quadrature);
            if let Some((name, ..)) = rule {
                options.set("quadrature", *name);
            }
        }
        options
    }

    /// Longest file of parameters, in bytes: a thousand times what there is to say.
    pub const MOST_BYTES: usize = 1 << 20;

    /// The same for a model, whose own cell is the default; `group` says so.
    pub fn specs_over_model(self, group: &'static str) -> Vec<OptionSpec> {
        self.specs().into_iter().map(|spec| spec.or("").of(group)).collect()
    }

    /// The cell that options describe: the file, or the defaults, overridden by what was given.
    pub fn system(self, options: &Options, defaults: &Config) -> Result<System, Error> {
        let mut config = match options.text("config") {
            None => defaults.clone(),
            Some(path) => {
                // One more than may be: an endless one is not read on.
                let bytes = read_start(path.as_ref(), Self::MOST_BYTES + 1)
                    .map_err(|source| Error::Read { path: path.into(), source })?;
                let read = || -> Result<Config, Error> {
                    // Before the parser, which makes a tree of it.
                    if bytes.len() > Self::MOST_BYTES {
                        return Err(Error::LongConfig);
                    }
                    let text = String::from_utf8(bytes).map_err(|_| Error::NotText)?;
                    let config = Config::from_toml(&text)?;
                    // Checked before the options are laid over it, so that the message names the file.
                    config.validate()?;
                    Ok(config)
                };
                read().map_err(|error| error.in_file(path))?
            }
        };
        for (name, .., slot) in self.fields() {
            if let Some(value) = options.number(name)? {
                *slot(&mut config) = value;
            }
        }
        if self.service {
            if let Some(antennas) = options.whole("antennas", 1, 1024)? {
                config.cell.antennas = u32::try_from(antennas).unwrap_or(u32::MAX);
            }
            if let Some(rule) = options.choice("quadrature")? {
                config.cell.quadrature = rule;
            }
        }
        Ok(config.validate()?)
    }
}
