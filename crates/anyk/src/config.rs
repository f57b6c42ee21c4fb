//! Parameters of a cell.
//!
//! A [`Config`] comes from a TOML file and flags. [`Config::validate`] checks it and turns it into a [`System`], which
//! the rest of the library uses. The defaults are those of the paper (section V-A).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::channel::{
    Fading, FadingLaw, FadingQuadrature, PathLoss, PathLossModel, PathLossParameter, Road,
    Shadowing,
};
use crate::invalid::Invalid;
use crate::qos::{Qos, ServiceClass};
use crate::units::{Dbm, Watt};

/// All parameters of a cell, as in a TOML file; every field is optional.
///
/// ```
/// let config = anyk::Config::from_toml("[cell]\nantennas = 4\n")?;
/// assert_eq!(config.cell.antennas, 4);
/// assert_eq!(config.service.epsilon, 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Base station and noise.
    pub cell: CellConfig,
    /// Road on which random users are placed.
    pub road: RoadConfig,
    /// Path loss of users whose distance is given.
    pub path_loss: PathLossConfig,
    /// Frame structure and delay bound.
    pub frame: FrameConfig,
    /// Service class of users that do not set one.
    pub service: ServiceClass,
}

/// Base station and noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CellFile")]
pub struct CellConfig {
    /// Power budget `P_max`, dBm.
    pub max_power_dbm: f64,
    /// Single-sided noise density `N_0`, dBm/Hz.
    pub noise_density_dbm_hz: f64,
    /// Number of antennas at the base station, `N_t`.
    pub antennas: u32,
    /// Largest spectral efficiency in a fading state, bit/s/Hz; unlimited if this field is omitted, as in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_spectral_efficiency: Option<f64>,
}

/// Section `cell` of a file. Files of AnyK 0.2 also contain the name of a quadrature, of which only one is still
/// supported.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CellFile {
    max_power_dbm: f64,
    noise_density_dbm_hz: f64,
    antennas: u32,
    max_spectral_efficiency: Option<f64>,
    quadrature: Option<String>,
}

impl Default for CellFile {
    fn default() -> Self {
        let CellConfig { max_power_dbm, noise_density_dbm_hz, antennas, max_spectral_efficiency } =
            CellConfig::default();
        Self {
            max_power_dbm,
            noise_density_dbm_hz,
            antennas,
            max_spectral_efficiency,
            quadrature: None,
        }
    }
}

impl TryFrom<CellFile> for CellConfig {
    type Error = String;

    fn try_from(file: CellFile) -> Result<Self, String> {
        let CellFile {
            max_power_dbm,
            noise_density_dbm_hz,
            antennas,
            max_spectral_efficiency,
            quadrature,
        } = file;
        match quadrature.as_deref() {
            None | Some("log-trapezoid") => {
                Ok(Self { max_power_dbm, noise_density_dbm_hz, antennas, max_spectral_efficiency })
            }
            Some("gauss-laguerre") => Err("cell.quadrature is gauss-laguerre, which was removed; \
                 delete the line to use log-trapezoid"
                .to_owned()),
            Some(other) => Err(format!(
                "cell.quadrature is {other:?}, but only log-trapezoid is supported; delete the line"
            )),
        }
    }
}

/// Road on which random users are placed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoadConfig {
    /// Distance of the base station from the road, m.
    pub min_distance_m: f64,
    /// Radius of the cell, m.
    pub cell_radius_m: f64,
}

/// Path loss by name, with its parameters. A missing parameter has the default of the path loss. AnyK rejects a
/// parameter that the path loss does not have.
///
/// ```
/// let uma = "[path_loss]\nmodel = \"uma-los\"\ncarrier_ghz = 3.5\n";
/// let system = anyk::Config::from_toml(uma)?.validate()?;
/// assert!((system.path_loss().gain_db(100.0).0 + 83.14).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathLossConfig {
    /// Name of the path loss.
    #[serde(default, skip_serializing_if = "is_log_distance")]
    pub model: PathLossModel,
    /// Loss at one metre, dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intercept_db: Option<f64>,
    /// Loss per decade of distance, dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_db: Option<f64>,
    /// Carrier frequency, GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_ghz: Option<f64>,
    /// Height of the base station's antenna, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_height_m: Option<f64>,
    /// Height of the users' antennas, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_height_m: Option<f64>,
    /// Mean width of streets, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub street_width_m: Option<f64>,
    /// Mean height of buildings, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub building_height_m: Option<f64>,
    /// Share of a factory's floor that is covered by clutter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clutter_density: Option<f64>,
    /// Typical size of clutter, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clutter_size_m: Option<f64>,
    /// Effective height of clutter, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clutter_height_m: Option<f64>,
    /// Log-normal shadowing of users that are drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<Shadowing>,
}

/// Returns whether the path loss is the default. Files omit the name of the default, because the first versions had no
/// other path loss.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_log_distance(model: &PathLossModel) -> bool {
    *model == PathLossModel::LogDistance
}

/// Frame structure and delay bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FrameConfig {
    /// Frame duration `T_f`, ms.
    pub frame_ms: f64,
    /// Time for data transmission in a frame, `τ`, ms.
    pub transmission_ms: f64,
    /// Bound on the queueing delay, `D`, ms (in the paper, 1 ms minus the times for transmission and decoding).
    pub queueing_delay_ms: f64,
}

impl Default for CellConfig {
    fn default() -> Self {
        Self {
            max_power_dbm: 43.0,
            noise_density_dbm_hz: -173.0,
            antennas: 8,
            max_spectral_efficiency: None,
        }
    }
}

impl CellConfig {
    /// Smallest and largest accepted [`max_spectral_efficiency`](Self::max_spectral_efficiency), bit/s/Hz.
    pub const MAX_SPECTRAL_EFFICIENCY: (f64, f64) = (0.1, 100.0);
}

impl Default for RoadConfig {
    fn default() -> Self {
        Self { min_distance_m: 50.0, cell_radius_m: 250.0 }
    }
}

impl Default for PathLossConfig {
    fn default() -> Self {
        Self::named(PathLossModel::default()).with_defaults()
    }
}

impl PathLossConfig {
    /// Returns a path loss by name, without any parameter.
    pub fn named(model: PathLossModel) -> Self {
        Self {
            model,
            intercept_db: None,
            slope_db: None,
            carrier_ghz: None,
            base_height_m: None,
            user_height_m: None,
            street_width_m: None,
            building_height_m: None,
            clutter_density: None,
            clutter_size_m: None,
            clutter_height_m: None,
            shadowing: None,
        }
    }

    /// Returns the value of a parameter, if it is given.
    pub fn value(mut self, parameter: PathLossParameter) -> Option<f64> {
        *self.slot(parameter)
    }

    /// Returns the field of a parameter.
    pub fn slot(&mut self, parameter: PathLossParameter) -> &mut Option<f64> {
        match parameter {
            PathLossParameter::Intercept => &mut self.intercept_db,
            PathLossParameter::Slope => &mut self.slope_db,
            PathLossParameter::Carrier => &mut self.carrier_ghz,
            PathLossParameter::BaseHeight => &mut self.base_height_m,
            PathLossParameter::UserHeight => &mut self.user_height_m,
            PathLossParameter::StreetWidth => &mut self.street_width_m,
            PathLossParameter::BuildingHeight => &mut self.building_height_m,
            PathLossParameter::ClutterDensity => &mut self.clutter_density,
            PathLossParameter::ClutterSize => &mut self.clutter_size_m,
            PathLossParameter::ClutterHeight => &mut self.clutter_height_m,
        }
    }

    /// Changes the name of the path loss. Keeps each parameter that the new path loss accepts, unless its value is the
    /// default of the old one. Removes the shadowing.
    pub fn rename(&mut self, model: PathLossModel) {
        self.shadowing = None;
        let former = std::mem::replace(&mut self.model, model);
        for parameter in PathLossParameter::ALL {
            let default = former.accepts(parameter).and_then(|accepted| accepted.default);
            let is_default = default.is_some() && *self.slot(parameter) == default;
            if is_default || model.accepts(parameter).is_none() {
                *self.slot(parameter) = None;
            }
        }
    }

    /// Fills in the default of every parameter that the path loss accepts.
    #[must_use]
    pub fn filled(mut self) -> Self {
        for parameter in PathLossParameter::ALL {
            let default = self.model.accepts(parameter).and_then(|accepted| accepted.default);
            let slot = self.slot(parameter);
            *slot = slot.or(default);
        }
        self
    }

    /// Fills in the defaults of log-distance, as the first versions did. With other path losses, missing parameters
    /// stay empty, so that a change of the name also changes the defaults.
    fn with_defaults(self) -> Self {
        if self.model == PathLossModel::LogDistance { self.filled() } else { self }
    }

    fn path_loss(self) -> Result<PathLoss, Invalid> {
        let path_loss = self.model.path_loss(|parameter| self.value(parameter));
        let path_loss = path_loss.map_err(|wrong| wrong.within("path_loss"))?;
        if self.shadowing == Some(Shadowing::Standard) && !self.model.has_standard_shadowing() {
            let expected = format!(
                "a standard deviation in dB from 0.1 to 20 for {}: `standard` applies only to TR 38.901",
                self.model
            );
            return Err(Invalid::value("path_loss.shadowing", "standard", expected));
        }
        Ok(path_loss)
    }
}

impl Default for FrameConfig {
    fn default() -> Self {
        Self { frame_ms: 0.1, transmission_ms: 0.05, queueing_delay_ms: 0.8 }
    }
}

impl Config {
    /// Reads a TOML document. Unknown fields are errors, so a typo does not silently select a default.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Writes the config as a TOML document, which [`Config::from_toml`] can read.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Names of the sections of a config file.
    pub const SECTIONS: [&'static str; 5] = ["cell", "road", "path_loss", "frame", "service"];

    /// Checks every value and builds the [`System`].
    pub fn validate(&self) -> Result<System, Invalid> {
        let Self { cell, road, path_loss, frame, service } = self;
        let (antennas, frame_ms) = (f64::from(cell.antennas), frame.frame_ms);
        for (field, value, low, high, unit) in [
            ("cell.max_power_dbm", cell.max_power_dbm, -60.0, 100.0, "a power in dBm"),
            (
                "cell.noise_density_dbm_hz",
                cell.noise_density_dbm_hz,
                -250.0,
                -50.0,
                "a density in dBm/Hz",
            ),
            ("cell.antennas", antennas, 1.0, 1024.0, "a number of antennas"),
            ("road.min_distance_m", road.min_distance_m, 1.0, 1e5, "a distance in m"),
            ("road.cell_radius_m", road.cell_radius_m, road.min_distance_m, 1e5, "a distance in m"),
            ("frame.frame_ms", frame_ms, 1e-4, 1e3, "a time in ms"),
            ("frame.transmission_ms", frame.transmission_ms, 1e-5, frame_ms, "a time in ms"),
            (
                "frame.queueing_delay_ms",
                frame.queueing_delay_ms,
                frame_ms,
                1e3 * frame_ms,
                "a time in ms",
            ),
        ] {
            if !(low..=high).contains(&value) {
                return Err(Invalid::number(field, value, format!("{unit} from {low} to {high}")));
            }
        }
        let (least, most) = CellConfig::MAX_SPECTRAL_EFFICIENCY;
        if let Some(value) = cell.max_spectral_efficiency
            && !(least..=most).contains(&value)
        {
            let field = "cell.max_spectral_efficiency";
            let expected = format!("a number of bit/s/Hz from {least} to {most}");
            return Err(Invalid::number(field, value, expected));
        }
        let path_loss = path_loss.path_loss()?;
        let (nearest_m, farthest_m) = path_loss.distances_m();
        for (field, value) in [
            ("road.min_distance_m", road.min_distance_m),
            ("road.cell_radius_m", road.cell_radius_m),
        ] {
            if !(nearest_m..=farthest_m).contains(&value) {
                let expected = format!("a distance in m {}", path_loss.range_in_words());
                return Err(Invalid::number(field, value, expected));
            }
        }
        service.validate().map_err(|wrong| wrong.within("service"))?;
        let config = Config { path_loss: self.path_loss.with_defaults(), ..self.clone() };
        Ok(System { config, path_loss })
    }
}

/// Checked [`Config`] of a cell, with values that are derived from it.
#[derive(Debug, Clone)]
pub struct System {
    config: Config,
    path_loss: PathLoss,
}

impl System {
    /// Returns the config that the system was built from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the power budget `P_max`, W.
    pub fn max_power_w(&self) -> f64 {
        Watt::from(Dbm(self.config.cell.max_power_dbm)).0
    }

    /// Returns the noise density `N_0`, W/Hz.
    pub fn noise_w_hz(&self) -> f64 {
        Watt::from(Dbm(self.config.cell.noise_density_dbm_hz)).0
    }

    /// Returns the road on which random users are placed.
    pub fn road(&self) -> Road {
        let RoadConfig { min_distance_m, cell_radius_m } = self.config.road;
        Road { min_distance_m, cell_radius_m }
    }

    /// Returns the path loss of users whose distance is given.
    pub fn path_loss(&self) -> PathLoss {
        self.path_loss
    }

    /// Returns the shadowing of users that are drawn at random.
    pub fn shadowing(&self) -> Option<Shadowing> {
        self.config.path_loss.shadowing
    }

    /// Returns whether random users are written with their gains. Otherwise they are written with their distances, from
    /// which every command computes the gains.
    pub fn draws_gains(&self) -> bool {
        self.shadowing().is_some() || !matches!(self.path_loss, PathLoss::LogDistance { .. })
    }

    /// Rejects a path loss that differs between users at the same distance. Commands that compute gains from distances
    /// do not support such a path loss.
    pub fn refuse_random_path_loss(&self) -> Result<(), Invalid> {
        if let Some(shadowing) = self.shadowing() {
            let expected = "no shadowing: only `anyk sample` applies it";
            return Err(Invalid::value("path_loss.shadowing", shadowing, expected));
        }
        let PathLossConfig { model, user_height_m, .. } = self.config.path_loss;
        if model.is_mixed() {
            let expected =
                "a path loss whose name ends in -los or -nlos: only `anyk sample` mixes both";
            return Err(Invalid::value("path_loss.model", model, expected));
        }
        if self.path_loss.is_random() {
            let expected = format!(
                "a height in m from 1.5 to 13 for {model}; above 13 m, TR 38.901 draws an environment height for each \
                 user, which only `anyk sample` supports"
            );
            let value = user_height_m.unwrap_or(f64::NAN);
            return Err(Invalid::number("path_loss.user_height_m", value, expected));
        }
        Ok(())
    }

    /// Returns the small-scale fading of the cell's antennas.
    pub fn fading(&self) -> Fading {
        Fading { antennas: self.config.cell.antennas }
    }

    /// Returns the service class of users that do not set one.
    pub fn service(&self) -> ServiceClass {
        self.config.service
    }

    /// Builds a quadrature of a fading distribution that is accurate enough for the cell's service class.
    pub fn fading_rule(&self, law: &FadingLaw) -> Arc<FadingQuadrature> {
        let FrameConfig { frame_ms, queueing_delay_ms, .. } = self.config.frame;
        let antennas = self.config.cell.antennas;
        let depth = self.service().expectation_depth(queueing_delay_ms / frame_ms, antennas);
        Arc::new(law.quadrature(antennas, depth))
    }

    /// Builds the QoS constraint of a service class in this cell.
    pub fn qos(&self, service: ServiceClass) -> Result<Qos, Invalid> {
        service.validate()?;
        let FrameConfig { frame_ms, transmission_ms, queueing_delay_ms } = self.config.frame;
        let delay_frames = queueing_delay_ms / frame_ms;
        let antennas = self.config.cell.antennas;
        let depth = service.expectation_depth(delay_frames, antennas);
        let fading = Arc::new(FadingQuadrature::log_trapezoid(antennas, depth));
        let qos =
            Qos::new(service, delay_frames, transmission_ms * 1e-3, self.noise_w_hz(), fading);
        Ok(qos.with_max_spectral_efficiency(self.config.cell.max_spectral_efficiency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_round_trip() {
        let config = Config::default();
        assert_eq!(Config::from_toml(&config.to_toml().unwrap()).unwrap(), config);
        assert_eq!(Config::from_toml("").unwrap(), config);
    }

    #[test]
    fn messages_name_the_field() {
        let unknown = Config::from_toml("[cell]\nantenas = 4\n").unwrap_err().to_string();
        assert!(unknown.contains("antenas") && unknown.contains("antennas"), "{unknown}");
        let mut config = Config::default();
        config.frame.transmission_ms = 0.2;
        let error = config.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "frame.transmission_ms is 0.2, expected a time in ms from 0.00001 to 0.1"
        );
        config = Config::default();
        config.service.epsilon = f64::NAN;
        assert!(config.validate().unwrap_err().to_string().starts_with("service.epsilon is NaN"));
    }

    /// Files of version 0.2 contain the name of a quadrature; only one is still supported.
    #[test]
    fn the_quadrature_of_older_files_is_ignored_or_refused_by_name() {
        let read = |name: &str| Config::from_toml(&format!("[cell]\nquadrature = {name:?}\n"));
        assert_eq!(read("log-trapezoid").unwrap(), Config::default());
        let error = read("gauss-laguerre").unwrap_err().to_string();
        let says = "cell.quadrature is gauss-laguerre, which was removed; delete the line";
        assert!(error.contains(says), "{error}");
        assert!(read("simpson").unwrap_err().to_string().contains("\"simpson\""));
        assert!(!Config::default().to_toml().unwrap().contains("quadrature"));
    }
}
