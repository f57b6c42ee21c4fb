//! Path-loss models by name, with their parameters, ranges and defaults.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::channel::Scenario::{self, InfDh, InfDl, InfSh, InfSl, Rma, Uma, Umi};
use crate::channel::Sight::{self, Los, Nlos};
use crate::channel::{PathLoss, Tr38901};
use crate::invalid::Invalid;

/// Path-loss model by name.
///
/// ```
/// use anyk::channel::{PathLossModel, Scenario, Sight};
/// let model = PathLossModel::by_name("uma-nlos");
/// assert_eq!(model, Some(PathLossModel::Tr38901(Scenario::Uma, Some(Sight::Nlos))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathLossModel {
    /// `intercept + slope·log10(d)`; the paper's values by default.
    #[default]
    LogDistance,
    /// The paper's `35.3 + 37.6·log10(d)`. Values in a file cannot change these numbers.
    Paper,
    /// Free space.
    FreeSpace,
    /// Scenario of 3GPP TR 38.901. If no sight is given, it is drawn for each user.
    Tr38901(Scenario, Option<Sight>),
}

const PAPER_INTERCEPT_DB: f64 = 35.3;
const PAPER_SLOPE_DB: f64 = 37.6;

/// Parameter of a path-loss model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathLossParameter {
    /// Loss at one metre, in dB.
    Intercept,
    /// Loss per decade of distance, in dB.
    Slope,
    /// Carrier frequency, in GHz.
    Carrier,
    /// Height of the base station's antenna, in m.
    BaseHeight,
    /// Height of the users' antennas, in m.
    UserHeight,
    /// Mean width of streets, in m.
    StreetWidth,
    /// Mean height of buildings, in m.
    BuildingHeight,
    /// Share of the floor that is covered by clutter.
    ClutterDensity,
    /// Typical size of clutter, in m.
    ClutterSize,
    /// Effective height of clutter, in m.
    ClutterHeight,
}

/// Range of a parameter for which a path-loss model is defined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accepted {
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// Default value; without one, the parameter must be given.
    pub default: Option<f64>,
}

impl PathLossParameter {
    /// All parameters.
    pub const ALL: [Self; 10] = [
        Self::Intercept,
        Self::Slope,
        Self::Carrier,
        Self::BaseHeight,
        Self::UserHeight,
        Self::StreetWidth,
        Self::BuildingHeight,
        Self::ClutterDensity,
        Self::ClutterSize,
        Self::ClutterHeight,
    ];

    /// Returns the name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intercept => "intercept_db",
            Self::Slope => "slope_db",
            Self::Carrier => "carrier_ghz",
            Self::BaseHeight => "base_height_m",
            Self::UserHeight => "user_height_m",
            Self::StreetWidth => "street_width_m",
            Self::BuildingHeight => "building_height_m",
            Self::ClutterDensity => "clutter_density",
            Self::ClutterSize => "clutter_size_m",
            Self::ClutterHeight => "clutter_height_m",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Intercept => "a loss in dB",
            Self::Slope => "a loss in dB per decade",
            Self::Carrier => "a frequency in GHz",
            Self::BaseHeight | Self::UserHeight | Self::BuildingHeight | Self::ClutterHeight => {
                "a height in m"
            }
            Self::StreetWidth => "a width in m",
            Self::ClutterDensity => "a share of the floor",
            Self::ClutterSize => "a size in m",
        }
    }
}

impl PathLossModel {
    /// Names, descriptions and values of all models.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "log-distance",
            "intercept + slope·log10(d), with the paper's values by default",
            Self::LogDistance,
        ),
        ("paper", "35.3 + 37.6·log10(d)", Self::Paper),
        ("free-space", "20·log10(4π d f/c)", Self::FreeSpace),
        ("uma-los", "TR 38.901 urban macro (UMa), line of sight", Self::Tr38901(Uma, Some(Los))),
        (
            "uma-nlos",
            "TR 38.901 urban macro (UMa), no line of sight",
            Self::Tr38901(Uma, Some(Nlos)),
        ),
        ("uma", "UMa, with line of sight drawn at random for each user", Self::Tr38901(Uma, None)),
        (
            "umi-los",
            "TR 38.901 urban micro (UMi street canyon), line of sight",
            Self::Tr38901(Umi, Some(Los)),
        ),
        (
            "umi-nlos",
            "TR 38.901 urban micro (UMi street canyon), no line of sight",
            Self::Tr38901(Umi, Some(Nlos)),
        ),
        ("umi", "UMi, with line of sight drawn at random for each user", Self::Tr38901(Umi, None)),
        ("rma-los", "TR 38.901 rural macro (RMa), line of sight", Self::Tr38901(Rma, Some(Los))),
        (
            "rma-nlos",
            "TR 38.901 rural macro (RMa), no line of sight",
            Self::Tr38901(Rma, Some(Nlos)),
        ),
        ("rma", "RMa, with line of sight drawn at random for each user", Self::Tr38901(Rma, None)),
        // The loss in line of sight is the same in all factories; a base station above the clutter is in line of
        // sight more often.
        (
            "inf-los",
            "TR 38.901 indoor factory (InF), line of sight",
            Self::Tr38901(InfSh, Some(Los)),
        ),
        (
            "inf-sl-nlos",
            "InF without line of sight: sparse clutter, base within it",
            Self::Tr38901(InfSl, Some(Nlos)),
        ),
        (
            "inf-sl",
            "InF-SL, with line of sight drawn at random for each user",
            Self::Tr38901(InfSl, None),
        ),
        (
            "inf-dl-nlos",
            "InF without line of sight: dense clutter, base within it",
            Self::Tr38901(InfDl, Some(Nlos)),
        ),
        (
            "inf-dl",
            "InF-DL, with line of sight drawn at random for each user",
            Self::Tr38901(InfDl, None),
        ),
        (
            "inf-sh-nlos",
            "InF without line of sight: sparse clutter, base above it",
            Self::Tr38901(InfSh, Some(Nlos)),
        ),
        (
            "inf-sh",
            "InF-SH, with line of sight drawn at random for each user",
            Self::Tr38901(InfSh, None),
        ),
        (
            "inf-dh-nlos",
            "InF without line of sight: dense clutter, base above it",
            Self::Tr38901(InfDh, Some(Nlos)),
        ),
        (
            "inf-dh",
            "InF-DH, with line of sight drawn at random for each user",
            Self::Tr38901(InfDh, None),
        ),
    ];

    /// Returns the model called `name`, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|entry| entry.0 == name).map(|entry| entry.2)
    }

    /// Returns the name of the model.
    pub fn name(self) -> &'static str {
        let entry = Self::ALL.iter().find(|entry| entry.2 == self);
        // The others are factories in line of sight, which share one name.
        entry.map_or("inf-los", |entry| entry.0)
    }

    /// Returns whether users are drawn with and without line of sight.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::Tr38901(_, None))
    }

    /// Returns whether the standard defines the deviation of the shadowing.
    pub fn has_standard_shadowing(self) -> bool {
        matches!(self, Self::Tr38901(..))
    }

    /// Returns the accepted range of a parameter, or `None` if the parameter does not apply to the model.
    pub fn accepts(self, parameter: PathLossParameter) -> Option<Accepted> {
        let range = |low, high, default| Some(Accepted { low, high, default });
        match (self, parameter) {
            (Self::LogDistance, PathLossParameter::Intercept) => {
                range(0.0, 100.0, Some(PAPER_INTERCEPT_DB))
            }
            (Self::LogDistance, PathLossParameter::Slope) => {
                range(10.0, 60.0, Some(PAPER_SLOPE_DB))
            }
            // The range covers all radio frequencies, and at its low end the loss at one metre is still positive.
            (Self::FreeSpace, PathLossParameter::Carrier) => range(0.1, 1000.0, None),
            (Self::Tr38901(scenario, sight), parameter) => in_standard(scenario, sight, parameter),
            _ => None,
        }
    }

    /// Returns the path loss with these parameters after checking each.
    pub fn path_loss(
        self,
        given: impl Fn(PathLossParameter) -> Option<f64>,
    ) -> Result<PathLoss, Invalid> {
        for parameter in PathLossParameter::ALL {
            self.check(parameter, given(parameter))?;
        }
        let or = |parameter, default: f64| given(parameter).unwrap_or(default);
        // The checks ensure that there is a carrier if the model has one.
        let carrier_ghz = or(PathLossParameter::Carrier, f64::NAN);
        Ok(match self {
            Self::LogDistance | Self::Paper => PathLoss::LogDistance {
                intercept_db: or(PathLossParameter::Intercept, PAPER_INTERCEPT_DB),
                slope_db: or(PathLossParameter::Slope, PAPER_SLOPE_DB),
            },
            Self::FreeSpace => PathLoss::FreeSpace { carrier_ghz },
            Self::Tr38901(scenario, sight) => {
                let standard = Tr38901::standard(scenario, carrier_ghz);
                let site = Tr38901 {
                    scenario,
                    carrier_ghz,
                    base_height_m: or(PathLossParameter::BaseHeight, standard.base_height_m),
                    user_height_m: or(PathLossParameter::UserHeight, standard.user_height_m),
                    street_width_m: or(PathLossParameter::StreetWidth, standard.street_width_m),
                    building_height_m: or(
                        PathLossParameter::BuildingHeight,
                        standard.building_height_m,
                    ),
                    clutter_density: or(
                        PathLossParameter::ClutterDensity,
                        standard.clutter_density,
                    ),
                    clutter_size_m: or(PathLossParameter::ClutterSize, standard.clutter_size_m),
                    clutter_height_m: or(
                        PathLossParameter::ClutterHeight,
                        standard.clutter_height_m,
                    ),
                };
                if scenario.is_factory() && sight.is_none() {
                    check_clutter(&site)?;
                }
                PathLoss::Tr38901 { site, sight }
            }
        })
    }

    fn check(self, parameter: PathLossParameter, given: Option<f64>) -> Result<(), Invalid> {
        let Some(Accepted { low, high, default }) = self.accepts(parameter) else {
            return match given {
                None => Ok(()),
                Some(_) => Err(Invalid::stray(parameter.name(), format!("the path loss {self}"))),
            };
        };
        let unit = parameter.unit();
        let expected = || match self {
            Self::LogDistance => format!("{unit} from {low} to {high}"),
            _ if low < high => format!("{unit} from {low} to {high} for {self}"),
            _ => format!("{low}, the only height for which TR 38.901 defines {self}"),
        };
        match given.or(default) {
            None => Err(Invalid::missing(parameter.name(), expected())),
            Some(value) if !(low..=high).contains(&value) => {
                Err(Invalid::number(parameter.name(), value, expected()))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Returns the range that TR 38.901 accepts: table 7.4.1-1 and its notes, and table 7.2-4 for factories.
fn in_standard(
    scenario: Scenario,
    sight: Option<Sight>,
    parameter: PathLossParameter,
) -> Option<Accepted> {
    let standard = Tr38901::standard(scenario, 1.0);
    let range = |low, high, default| Some(Accepted { low, high, default: Some(default) });
    // Clutter affects only the probability of line of sight.
    let clutter = scenario.is_factory() && sight.is_none();
    match (parameter, scenario) {
        (PathLossParameter::Carrier, _) => {
            let high = if scenario == Rma { 30.0 } else { 100.0 };
            Some(Accepted { low: 0.5, high, default: None })
        }
        (PathLossParameter::BaseHeight, Uma | Umi) => {
            range(standard.base_height_m, standard.base_height_m, standard.base_height_m)
        }
        (PathLossParameter::BaseHeight, Rma) => range(10.0, 150.0, standard.base_height_m),
        (PathLossParameter::UserHeight, Uma | Umi) => range(1.5, 22.5, standard.user_height_m),
        (PathLossParameter::UserHeight, Rma) => range(1.0, 10.0, standard.user_height_m),
        // Ceilings of factories are up to 25 m high.
        (PathLossParameter::BaseHeight, _) => range(0.0, 25.0, standard.base_height_m),
        (PathLossParameter::UserHeight, _) => range(0.0, 25.0, standard.user_height_m),
        (PathLossParameter::StreetWidth, Rma) if sight != Some(Los) => {
            range(5.0, 50.0, standard.street_width_m)
        }
        (PathLossParameter::BuildingHeight, Rma) => range(5.0, 50.0, standard.building_height_m),
        (PathLossParameter::ClutterDensity, InfSl | InfSh) if clutter => {
            range(0.01, 0.4, standard.clutter_density)
        }
        (PathLossParameter::ClutterDensity, _) if clutter => {
            range(0.4, 0.99, standard.clutter_density)
        }
        (PathLossParameter::ClutterSize, _) if clutter => {
            range(0.1, 100.0, standard.clutter_size_m)
        }
        (PathLossParameter::ClutterHeight, _) if clutter => {
            range(0.0, 10.0, standard.clutter_height_m)
        }
        _ => None,
    }
}

/// Checks that the base station of a factory is within or above the clutter, as its name says, and that the users are
/// within it.
fn check_clutter(site: &Tr38901) -> Result<(), Invalid> {
    let &Tr38901 { base_height_m, user_height_m, clutter_height_m, .. } = site;
    let model = PathLossModel::Tr38901(site.scenario, None);
    let fail = |parameter: PathLossParameter, value: f64, expected: String| {
        Err(Invalid::number(parameter.name(), value, expected))
    };
    if !site.scenario.is_above_clutter() {
        return if base_height_m <= clutter_height_m {
            Ok(())
        } else {
            let expected = format!(
                "at most the height of the clutter, {clutter_height_m}: the base station of {model} is within it"
            );
            fail(PathLossParameter::BaseHeight, base_height_m, expected)
        };
    }
    if base_height_m < clutter_height_m {
        let expected = format!(
            "at least the height of the clutter, {clutter_height_m}: the base station of {model} is above it"
        );
        return fail(PathLossParameter::BaseHeight, base_height_m, expected);
    }
    if user_height_m >= clutter_height_m {
        let expected = format!("under the height of the clutter, {clutter_height_m}, for {model}");
        return fail(PathLossParameter::UserHeight, user_height_m, expected);
    }
    Ok(())
}

impl fmt::Display for PathLossModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for PathLossModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PathLossModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::by_name(&name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|entry| entry.0).collect();
            let short: String = name.chars().take(40).collect();
            let names = names.join(", ");
            serde::de::Error::custom(format_args!(
                "the path loss is {short:?}, expected one of {names}"
            ))
        })
    }
}
