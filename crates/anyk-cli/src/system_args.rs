//! The part of the command line that describes the cell.

use std::path::PathBuf;

use anyk::channel::QuadratureRule;
use anyk::{Config, System};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::input;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Quadrature {
    /// Trapezoidal rule in ln g, accurate at any number of antennas
    LogTrapezoid,
    /// Generalized Gauss–Laguerre, 64 points
    GaussLaguerre,
}

/// Parameters of the cell; each flag overrides the file.
#[derive(Debug, Args)]
#[command(next_help_heading = "System (defaults are the paper's; see `anyk config`)")]
pub(crate) struct SystemArgs {
    /// TOML file with the system's parameters
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Power budget P_max [default: 43]
    #[arg(long, value_name = "DBM", allow_negative_numbers = true)]
    pub(crate) max_power_dbm: Option<f64>,
    /// Noise density N_0 [default: -173]
    #[arg(long, value_name = "DBM/HZ", allow_negative_numbers = true)]
    noise_density_dbm_hz: Option<f64>,
    /// Antennas N_t at the base station [default: 8]
    #[arg(long, value_name = "N")]
    antennas: Option<u32>,
    /// Rule for expectations over fading [default: log-trapezoid]
    #[arg(long, value_enum, value_name = "RULE")]
    quadrature: Option<Quadrature>,
    /// Distance of the base station from the road [default: 50]
    #[arg(long, value_name = "M")]
    min_distance_m: Option<f64>,
    /// Radius of the cell [default: 250]
    #[arg(long, value_name = "M")]
    cell_radius_m: Option<f64>,
    /// Path loss at one metre [default: 35.3]
    #[arg(long, value_name = "DB")]
    path_loss_intercept_db: Option<f64>,
    /// Path loss for each decade of distance [default: 37.6]
    #[arg(long, value_name = "DB")]
    path_loss_slope_db: Option<f64>,
    /// Frame duration T_f [default: 0.1]
    #[arg(long, value_name = "MS")]
    frame_ms: Option<f64>,
    /// Data transmission time in a frame τ [default: 0.05]
    #[arg(long, value_name = "MS")]
    transmission_ms: Option<f64>,
    /// Bound on the queueing delay [default: 0.8]
    #[arg(long, value_name = "MS")]
    queueing_delay_ms: Option<f64>,
    /// Largest packet loss ε of users that name none [default: 1e-5]
    #[arg(long, value_name = "PROBABILITY")]
    epsilon: Option<f64>,
    /// Packet size μ of users that name none [default: 160]
    #[arg(long, value_name = "BITS")]
    packet_bits: Option<f64>,
    /// Arrivals a of users that name none, packets per frame [default: 0.2]
    #[arg(long, value_name = "RATE")]
    arrival_rate: Option<f64>,
}

impl SystemArgs {
    /// All flags, and whether they are given.
    pub(crate) fn flags(&self) -> Vec<(&'static str, bool)> {
        let mut flags = vec![
            ("--config", self.config.is_some()),
            ("--max-power-dbm", self.max_power_dbm.is_some()),
            ("--noise-density-dbm-hz", self.noise_density_dbm_hz.is_some()),
            ("--min-distance-m", self.min_distance_m.is_some()),
            ("--cell-radius-m", self.cell_radius_m.is_some()),
            ("--path-loss-intercept-db", self.path_loss_intercept_db.is_some()),
            ("--path-loss-slope-db", self.path_loss_slope_db.is_some()),
        ];
        flags.extend(self.urllc_flags());
        flags
    }

    /// The flags that only the URLLC problem has a use for, and whether they are given.
    pub(crate) fn urllc_flags(&self) -> [(&'static str, bool); 8] {
        [
            ("--antennas", self.antennas.is_some()),
            ("--quadrature", self.quadrature.is_some()),
            ("--frame-ms", self.frame_ms.is_some()),
            ("--transmission-ms", self.transmission_ms.is_some()),
            ("--queueing-delay-ms", self.queueing_delay_ms.is_some()),
            ("--epsilon", self.epsilon.is_some()),
            ("--packet-bits", self.packet_bits.is_some()),
            ("--arrival-rate", self.arrival_rate.is_some()),
        ]
    }

    /// Refuses all flags, for a model whose cell is fixed.
    pub(crate) fn refuse(&self, model: &str) -> Result<(), Failure> {
        match self.flags().iter().find(|flag| flag.1) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::input(format!(
                "{flag}: the cell of {model} is fixed, only any-gnn is for others; leave it out"
            ))),
        }
    }

    /// The file, if any, or the defaults, overridden by the flags.
    pub(crate) fn system(&self) -> Result<System, Failure> {
        self.system_over(Config::default())
    }

    /// The same with other defaults.
    pub(crate) fn system_over(&self, defaults: Config) -> Result<System, Failure> {
        let mut config = match &self.config {
            None => defaults,
            Some(path) => {
                let name = path.display();
                let text = String::from_utf8(input::read(&path.to_string_lossy())?)
                    .map_err(|_| Failure::input(format!("{name}: not UTF-8, expected TOML")))?;
                let config = Config::from_toml(&text)
                    .map_err(|error| Failure::input(format!("{name}: {error}")))?;
                // Checked before the flags are laid over it, so that the message names the file.
                config.validate().map_err(|error| Failure::input(format!("{name}: {error}")))?;
                config
            }
        };
        fn set<T: Copy>(slot: &mut T, flag: Option<T>) {
            if let Some(value) = flag {
                *slot = value;
            }
        }
        set(&mut config.cell.max_power_dbm, self.max_power_dbm);
        set(&mut config.cell.noise_density_dbm_hz, self.noise_density_dbm_hz);
        set(&mut config.cell.antennas, self.antennas);
        set(
            &mut config.cell.quadrature,
            self.quadrature.map(|rule| match rule {
                Quadrature::LogTrapezoid => QuadratureRule::LogTrapezoid,
                Quadrature::GaussLaguerre => QuadratureRule::GaussLaguerre,
            }),
        );
        set(&mut config.road.min_distance_m, self.min_distance_m);
        set(&mut config.road.cell_radius_m, self.cell_radius_m);
        set(&mut config.path_loss.intercept_db, self.path_loss_intercept_db);
        set(&mut config.path_loss.slope_db, self.path_loss_slope_db);
        set(&mut config.frame.frame_ms, self.frame_ms);
        set(&mut config.frame.transmission_ms, self.transmission_ms);
        set(&mut config.frame.queueing_delay_ms, self.queueing_delay_ms);
        set(&mut config.service.epsilon, self.epsilon);
        set(&mut config.service.packet_bits, self.packet_bits);
        set(&mut config.service.arrival_rate, self.arrival_rate);
        config.validate().map_err(|error| Failure::input(format!("command line: {error}")))
    }
}
