//! Path losses by name: what each is made of, what it accepts and what holds where nothing is said.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::channel::Scenario::{self, InfDh, InfDl, InfSh, InfSl, Rma, Uma, Umi};
use crate::channel::Sight::{self, Los, Nlos};
use crate::channel::{PathLoss, Tr38901};
use crate::invalid::Invalid;

/// A path loss by its name.
///
/// ```
/// use anyk::channel::{PathLossModel, Scenario, Sight};
/// let model = PathLossModel::by_name("uma-nlos");
/// assert_eq!(model, Some(PathLossModel::Tr38901(Scenario::Uma, Some(Sight::Nlos))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathLossModel {
    /// `intercept + slope·log10(d)`; the paper's where neither is given.
    #[default]
    LogDistance,
    /// The paper's `35.3 + 37.6·log10(d)`, whatever a file says of the two.
    Paper,
    /// Free space.
    FreeSpace,
    /// A scenario of 3GPP TR 38.901; without a sight it is drawn for each user.
    Tr38901(Scenario, Option<Sight>),
}

const PAPER_INTERCEPT_DB: f64 = 35.3;
const PAPER_SLOPE_DB: f64 = 37.6;

/// What a path loss is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathLossParameter {
    /// Loss at one metre, dB.
    Intercept,
    /// Loss for each decade of distance, dB.
    Slope,
    /// Carrier frequency, GHz.
    Carrier,
    /// Height of the base station's antenna, m.
    BaseHeight,
    /// Height of the users' antennas, m.
    UserHeight,
    /// Mean width of streets, m.
    StreetWidth,
    /// Mean height of buildings, m.
    BuildingHeight,
    /// Share of the floor that is clutter.
    ClutterDensity,
    /// Typical size of clutter, m.
    ClutterSize,
    /// Effective height of clutter, m.
    ClutterHeight,
}

/// The values of a parameter that a path loss is given for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accepted {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// What holds where none is given; without it, one must be.
    pub default: Option<f64>,
}

impl PathLossParameter {
    /// All of them.
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

    /// Its name in files.
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
    /// Name, meaning and value of each.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("log-distance", "intercept + slope·log10(d), the paper's by default", Self::LogDistance),
        ("paper", "35.3 + 37.6·log10(d)", Self::Paper),
        ("free-space", "20·log10(4π d f/c)", Self::FreeSpace),
        ("uma-los", "TR 38.901 urban macro (UMa), line of sight", Self::Tr38901(Uma, Some(Los))),
        (
            "uma-nlos",
            "TR 38.901 urban macro (UMa), no line of sight",
            Self::Tr38901(Uma, Some(Nlos)),
        ),
        ("uma", "Either, drawn for each user by its probability", Self::Tr38901(Uma, None)),
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
        ("umi", "Either, drawn for each user by its probability", Self::Tr38901(Umi, None)),
        ("rma-los", "TR 38.901 rural macro (RMa), line of sight", Self::Tr38901(Rma, Some(Los))),
        (
            "rma-nlos",
            "TR 38.901 rural macro (RMa), no line of sight",
            Self::Tr38901(Rma, Some(Nlos)),
        ),
        ("rma", "Either, drawn for each user by its probability", Self::Tr38901(Rma, None)),
        // All factories have the same loss in line of sight; a base station above the clutter has more of it.
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
        ("inf-sl", "Either, drawn for each user by its probability", Self::Tr38901(InfSl, None)),
        (
            "inf-dl-nlos",
            "InF without line of sight: dense clutter, base within it",
            Self::Tr38901(InfDl, Some(Nlos)),
        ),
        ("inf-dl", "Either, drawn for each user by its probability", Self::Tr38901(InfDl, None)),
        (
            "inf-sh-nlos",
            "InF without line of sight: sparse clutter, base above it",
            Self::Tr38901(InfSh, Some(Nlos)),
        ),
        ("inf-sh", "Either, drawn for each user by its probability", Self::Tr38901(InfSh, None)),
        (
            "inf-dh-nlos",
            "InF without line of sight: dense clutter, base above it",
            Self::Tr38901(InfDh, Some(Nlos)),
        ),
        ("inf-dh", "Either, drawn for each user by its probability", Self::Tr38901(InfDh, None)),
    ];

    /// The one of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|entry| entry.0 == name).map(|entry| entry.2)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let entry = Self::ALL.iter().find(|entry| entry.2 == self);
        // The others are factories in line of sight, which is the same in all.
        entry.map_or("inf-los", |entry| entry.0)
    }

    /// The name of a scenario whose users are drawn with and without line of sight.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::Tr38901(_, None))
    }

    /// Whether the standard says how much shadowing varies.
    pub fn has_standard_shadowing(self) -> bool {
        matches!(self, Self::Tr38901(..))
    }

    /// What it accepts for a parameter; `None` where that has no meaning for it.
    pub fn accepts(self, parameter: PathLossParameter) -> Option<Accepted> {
        let range = |low, high, default| Some(Accepted { low, high, default });
        match (self, parameter) {
            (Self::LogDistance, PathLossParameter::Intercept) => {
                range(0.0, 100.0, Some(PAPER_INTERCEPT_DB))
            }
            (Self::LogDistance, PathLossParameter::Slope) => {
                range(10.0, 60.0, Some(PAPER_SLOPE_DB))
            }
            // Low enough for any radio, high enough that a metre loses something.
            (Self::FreeSpace, PathLossParameter::Carrier) => range(0.1, 1000.0, None),
            (Self::Tr38901(scenario, sight), parameter) => in_standard(scenario, sight, parameter),
            _ => None,
        }
    }

    /// The path loss with these parameters, each checked.
    pub fn path_loss(
        self,
        given: impl Fn(PathLossParameter) -> Option<f64>,
    ) -> Result<PathLoss, Invalid> {
        for parameter in PathLossParameter::ALL {
            self.check(parameter, given(parameter))?;
        }
        let or = |parameter, default: f64| given(parameter).unwrap_or(default);
        // Checked: it is there for those that have one.
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
            _ => format!("{low}, the one height for which TR 38.901 gives {self}"),
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

/// What TR 38.901 accepts: table 7.4.1-1 and its notes, table 7.2-4 for factories.
fn in_standard(
    scenario: Scenario,
    sight: Option<Sight>,
    parameter: PathLossParameter,
) -> Option<Accepted> {
    let standard = Tr38901::standard(scenario, 1.0);
    let range = |low, high, default| Some(Accepted { low, high, default: Some(default) });
    // Clutter decides who is in line of sight, and nothing else.
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

/// Whether the base station of a factory stands where its name says, and users within the clutter.
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
                "at most the height of the clutter, {clutter_height_m}: the base station of {model} stands within it"
            );
            fail(PathLossParameter::BaseHeight, base_height_m, expected)
        };
    }
    if base_height_m < clutter_height_m {
        let expected = format!(
            "at least the height of the clutter, {clutter_height_m}: the base station of {model} stands above it"
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
