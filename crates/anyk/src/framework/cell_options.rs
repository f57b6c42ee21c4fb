//! Options of a cell, shared by all problems whose users belong to one base station.

use crate::channel::{PathLossModel, PathLossParameter, Shadowing};
use crate::config::{Config, System};
use crate::exchange::{read_start, slip_of};
use crate::framework::options::field_of;
use crate::framework::{Error, OptionSpec, OptionValue, Options};
use crate::invalid::{Fault, Invalid};

const GROUP: &str = "Cell";

/// Number in the config: its option, unit, help text, default and field.
type Field = (&'static str, &'static str, &'static str, &'static str, fn(&mut Config) -> &mut f64);

const MAX_POWER: Field =
    ("max-power-dbm", "DBM", "Power budget P_max", "43", |config| &mut config.cell.max_power_dbm);

/// Numbers of the road on which users are placed.
const ROAD: [Field; 2] = [
    ("min-distance-m", "M", "Distance of the base station from the road", "50", |config| {
        &mut config.road.min_distance_m
    }),
    ("cell-radius-m", "M", "Radius of the cell", "250", |config| &mut config.road.cell_radius_m),
];

const MAX_SPECTRAL_EFFICIENCY: &str = "max-spectral-efficiency";

const NOISE: Field = ("noise-density-dbm-hz", "DBM/HZ", "Noise density N_0", "-173", |config| {
    &mut config.cell.noise_density_dbm_hz
});

/// Parameter of the path loss: its option, unit, help text and default, and the parameter itself.
type Part = (&'static str, &'static str, &'static str, &'static str, PathLossParameter);

/// Parameters of path losses.
const PATH_LOSS: [Part; 7] = [
    (
        "path-loss-intercept-db",
        "DB",
        "Path loss at one metre (log-distance)",
        "35.3",
        PathLossParameter::Intercept,
    ),
    (
        "path-loss-slope-db",
        "DB",
        "Path loss per decade of distance (log-distance)",
        "37.6",
        PathLossParameter::Slope,
    ),
    (
        "carrier-ghz",
        "GHZ",
        "Carrier frequency; required with free-space and TR 38.901",
        "",
        PathLossParameter::Carrier,
    ),
    (
        "base-height-m",
        "M",
        "Height of the base station (TR 38.901)",
        "25 for uma, 10 for umi, 35 for rma, 8 for inf-los, -sh and -dh, 1.5 for inf-sl and -dl",
        PathLossParameter::BaseHeight,
    ),
    ("user-height-m", "M", "Height of users (TR 38.901)", "1.5", PathLossParameter::UserHeight),
    ("street-width-m", "M", "Mean width of streets (rma)", "20", PathLossParameter::StreetWidth),
    (
        "building-height-m",
        "M",
        "Mean height of buildings (rma)",
        "5",
        PathLossParameter::BuildingHeight,
    ),
];

/// Parameters that determine which users in a factory have a line of sight; only for random users.
const CLUTTER: [Part; 3] = [
    (
        "clutter-density",
        "SHARE",
        "Share of the floor covered by clutter (inf-sl, inf-dl, inf-sh, inf-dh)",
        "0.2 if sparse, 0.6 if dense",
        PathLossParameter::ClutterDensity,
    ),
    (
        "clutter-size-m",
        "M",
        "Typical size of clutter (inf-sl, inf-dl, inf-sh, inf-dh)",
        "10 if sparse, 2 if dense",
        PathLossParameter::ClutterSize,
    ),
    (
        "clutter-height-m",
        "M",
        "Effective height of clutter (inf-sl, inf-dl, inf-sh, inf-dh)",
        "2 if sparse, 6 if dense",
        PathLossParameter::ClutterHeight,
    ),
];

/// Numbers of the frame, for problems with a loss and delay target.
const FRAME: [Field; 3] = [
    ("frame-ms", "MS", "Frame duration T_f", "0.1", |config| &mut config.frame.frame_ms),
    ("transmission-ms", "MS", "Data transmission time in a frame τ", "0.05", |config| {
        &mut config.frame.transmission_ms
    }),
    ("queueing-delay-ms", "MS", "Bound on the queueing delay", "0.8", |config| {
        &mut config.frame.queueing_delay_ms
    }),
];

/// Numbers of the service class, for problems with a loss and delay target.
const SERVICE: [Field; 3] = [
    (
        "epsilon",
        "PROBABILITY",
        "Maximum packet loss ε of users without a target of their own",
        "1e-5",
        |config| &mut config.service.epsilon,
    ),
    (
        "packet-bits",
        "BITS",
        "Packet size μ of users without a size of their own",
        "160",
        |config| &mut config.service.packet_bits,
    ),
    (
        "arrival-rate",
        "RATE",
        "Arrival rate a of users without a rate of their own, packets per frame",
        "0.2",
        |config| &mut config.service.arrival_rate,
    ),
];

/// Section of the config: its name, whether a problem uses it, and its numbers.
type Section = (&'static str, fn(CellOptions) -> bool, &'static [Field]);

static SECTIONS: [Section; 5] = [
    ("cell", |uses| uses.power, &[MAX_POWER]),
    ("road", |_| true, &ROAD),
    ("cell", |uses| uses.radio, &[NOISE]),
    ("frame", |uses| uses.service, &FRAME),
    ("service", |uses| uses.service, &SERVICE),
];

/// Parameters of a cell that a problem uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOptions {
    /// Whether the problem uses noise and path loss.
    pub radio: bool,
    /// Whether the problem uses the power budget.
    pub power: bool,
    /// Whether the problem uses antennas, frame and service classes.
    pub service: bool,
}

impl CellOptions {
    /// All parameters.
    pub const ALL: Self = Self { radio: true, power: true, service: true };
    /// Only the road on which users are placed.
    pub const ROAD: Self = Self { radio: false, power: false, service: false };

    fn fields(self) -> impl Iterator<Item = &'static Field> {
        let used = SECTIONS.iter().filter(move |(_, is_used, _)| is_used(self));
        used.flat_map(|(.., fields)| *fields)
    }

    /// Returns whether random users are drawn for a file; only then may their path loss be random.
    fn draws_users(self) -> bool {
        self == Self::ROAD
    }

    /// Returns the options for these parameters.
    pub fn specs(self) -> Vec<OptionSpec> {
        self.specs_of(self.draws_users())
    }

    /// Returns all options that a file of parameters may set, including those for random users.
    pub fn specs_of_files() -> Vec<OptionSpec> {
        Self::ALL.specs_of(true)
    }

    /// Returns the section and field of a `--config` file that set an option without a flag.
    pub fn file_field(name: &str) -> Option<(&'static str, &'static str)> {
        Self::specs_of_files().into_iter().find(|spec| spec.name == name)?.file
    }

    fn specs_of(self, draws: bool) -> Vec<OptionSpec> {
        let file = OptionSpec::new(
            "config",
            OptionValue::File,
            "TOML file with the cell's parameters, see `anyk config`; options override it",
        );
        let number = |&(name, unit, help, default, _): &Field| {
            let spec = OptionSpec::new(name, OptionValue::Number(unit), help).or(default);
            match name {
                "frame-ms" => spec.in_file("frame", "frame_ms"),
                "transmission-ms" => spec.in_file("frame", "transmission_ms"),
                _ => spec,
            }
        };
        let mut specs = vec![file];
        specs.extend(self.fields().map(number));
        if self.radio || draws {
            specs.extend(path_loss_specs(draws));
        }
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
                OptionSpec::new(
                    MAX_SPECTRAL_EFFICIENCY,
                    OptionValue::Number("BIT/S/HZ"),
                    "Largest spectral efficiency in a fading state; 256-QAM of TS 38.214 has 7.4063",
                )
                .or("none"),
            );
        }
        let essential = |name: &str| matches!(name, "config" | "max-power-dbm" | "epsilon");
        let shown = |spec: OptionSpec| if essential(spec.name) { spec } else { spec.rare() };
        specs.into_iter().map(|spec| shown(spec.of(GROUP))).collect()
    }

    /// Returns whether an option belongs to the path loss.
    pub fn is_of_path_loss(name: &str) -> bool {
        name == "path-loss" || parts().any(|part| part.0 == name)
    }

    /// Returns the options of a cell without the parameters that the path loss `other` does not have.
    pub(crate) fn before_path_loss(options: &Options, other: Option<&str>) -> Options {
        let mut options = options.clone();
        if let Some(model) = other.and_then(PathLossModel::by_name) {
            let unfit = parts().filter(|part| model.accepts(part.4).is_none());
            unfit.for_each(|part| options.remove(part.0));
        }
        options
    }

    /// Returns the options that describe a cell.
    pub fn describe(self, config: &Config) -> Options {
        let mut config = config.clone();
        let mut options = Options::default();
        for (name, .., slot) in self.fields() {
            options.set(*name, slot(&mut config).to_string());
        }
        if self.radio {
            options.set("path-loss", config.path_loss.model.to_string());
            for &(name, .., parameter) in parts() {
                if let Some(value) = config.path_loss.value(parameter) {
                    options.set(name, value.to_string());
                }
            }
        }
        if self.service {
            options.set("antennas", config.cell.antennas.to_string());
            if let Some(most) = config.cell.max_spectral_efficiency {
                options.set(MAX_SPECTRAL_EFFICIENCY, most.to_string());
            }
        }
        options
    }

    /// Maximum size of a file of parameters, in bytes; about a thousand times the size of a complete file.
    pub const MOST_BYTES: usize = 1 << 20;

    /// Returns the options for a model, without defaults, since the model's cell provides them. `group` is the heading
    /// of the options in help.
    pub fn specs_over_model(self, group: &'static str) -> Vec<OptionSpec> {
        self.specs().into_iter().map(|spec| spec.or("").of(group).rare()).collect()
    }

    /// Builds the cell. Options override the values of the file, or of `defaults` if there is no file. Returns an error
    /// if the path loss is not a function of the distance, except when random users are drawn for a file.
    pub fn system(self, options: &Options, defaults: &Config) -> Result<System, Error> {
        let system = self.system_of_file(options, defaults)?;
        if self.draws_users() {
            refuse_unused_path_loss(options, &system)?;
        } else {
            system.refuse_random_path_loss().map_err(|wrong| told(wrong, options))?;
        }
        Ok(system)
    }

    /// Builds the cell like [`system`](Self::system), but does not check whether the path loss can be used.
    pub fn system_of_file(self, options: &Options, defaults: &Config) -> Result<System, Error> {
        let mut config = match options.text("config") {
            None => defaults.clone(),
            Some(path) => {
                // Read one byte more than allowed, in order to detect longer files.
                let bytes = read_start(path.as_ref(), Self::MOST_BYTES + 1)
                    .map_err(|source| Error::Read { path: path.into(), source })?;
                let read = || -> Result<Config, Error> {
                    // Check the size before the parser builds a tree.
                    if bytes.len() > Self::MOST_BYTES {
                        return Err(Error::LongConfig);
                    }
                    let text = String::from_utf8(bytes).map_err(|_| Error::NotText)?;
                    let config = Config::from_toml(&text).map_err(with_hint)?;
                    // Validate before options override values, so that the error names the file.
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
        if self.service
            && let Some(antennas) = options.whole("antennas", 1, 1024)?
        {
            config.cell.antennas = u32::try_from(antennas).unwrap_or(u32::MAX);
        }
        if self.service
            && let Some(most) = options.number(MAX_SPECTRAL_EFFICIENCY)?
        {
            config.cell.max_spectral_efficiency = Some(most);
        }
        set_path_loss(options, &mut config)?;
        config.validate().map_err(|wrong| told(wrong, options))
    }
}

impl CellOptions {
    /// Returns section, field and option of every number of a cell.
    pub(crate) fn numbers() -> impl Iterator<Item = (&'static str, String, &'static str)> {
        let sections = SECTIONS.iter().flat_map(|(section, _, fields)| {
            fields.iter().map(|field| (*section, field_of(field.0), field.0))
        });
        let parts = parts().map(|part| ("path_loss", part.4.name().to_owned(), part.0));
        let others = ["antennas", MAX_SPECTRAL_EFFICIENCY];
        let others = others.map(|option| ("cell", field_of(option), option));
        sections.chain(parts).chain(others)
    }

    /// Returns the option that sets a field in a section of the config.
    fn option_named(section: &str, field: &str) -> String {
        if (section, field) == ("path_loss", "model") {
            return "path-loss".to_owned();
        }
        let known = Self::numbers().find(|known| (known.0, &*known.1) == (section, field));
        known.map_or_else(|| field.replace('_', "-"), |known| known.2.to_owned())
    }
}

/// Adds to the parser's message the known key that a misspelled key resembles. The message quotes keys with backticks.
fn with_hint(error: toml::de::Error) -> Error {
    let keys: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
    match keys.split_first().and_then(|(key, known)| slip_of(key, known)) {
        Some(meant) => Error::Other(format!("{error}did you mean `{meant}`?").into()),
        None => error.into(),
    }
}

/// Returns the error for an invalid config. It names the file if the value comes from the file, otherwise the option.
fn told(wrong: Invalid, options: &Options) -> Error {
    let (section, field) = wrong.field.split_once('.').unwrap_or(("", &wrong.field));
    let option = CellOptions::option_named(section, field);
    let given = options.text(&option);
    match (options.text("config"), given, &wrong.fault) {
        (Some(path), None, Fault::Value { .. }) => Error::from(wrong).in_file(path),
        _ => {
            let wrong = given.into_iter().fold(wrong, Invalid::given);
            Invalid { field: field_of(&option).into(), ..wrong }.into()
        }
    }
}

fn parts() -> impl Iterator<Item = &'static Part> {
    PATH_LOSS.iter().chain(&CLUTTER)
}

/// Returns the options of the path loss; `draws` adds those for random users.
fn path_loss_specs(draws: bool) -> Vec<OptionSpec> {
    let number = |&(name, unit, help, default, parameter): &Part| {
        let spec = OptionSpec::new(name, OptionValue::Number(unit), help).or(default);
        match parameter {
            PathLossParameter::Carrier => spec,
            _ => spec.in_file("path_loss", parameter.name()),
        }
    };
    let help = if draws {
        "Path loss; log-distance and paper write distance_m, all others gain_db"
    } else {
        "Path loss of users with distance_m, the horizontal distance for TR 38.901"
    };
    let model = OptionSpec::choice(PathLossModel::ALL, "path-loss", help).or("log-distance");
    if !draws {
        let mixed = PathLossModel::ALL.iter().filter(|entry| entry.2.is_mixed());
        let mixed: Vec<&str> = mixed.map(|entry| entry.0).collect();
        let model = model.without(&mixed);
        return std::iter::once(model).chain(PATH_LOSS.iter().map(number)).collect();
    }
    let shadowing = OptionSpec::new(
        "shadowing",
        OptionValue::Text("DB"),
        "Log-normal shadowing: standard deviation in dB, or `standard` for TR 38.901; writes gain_db, not distance_m",
    );
    let parts = parts().map(number);
    std::iter::once(model).chain(parts).chain([shadowing.or("none")]).collect()
}

/// Applies the options of the path loss to a config.
fn set_path_loss(options: &Options, config: &mut Config) -> Result<(), Invalid> {
    let path_loss = &mut config.path_loss;
    if let Some(model) = options.choice(PathLossModel::ALL, "path-loss")? {
        path_loss.rename(model);
    }
    for &(name, .., parameter) in parts() {
        if let Some(value) = options.number(name)? {
            if path_loss.model.accepts(parameter).is_none() {
                return Err(Invalid::stray(
                    field_of(name),
                    format!("the path loss {}", path_loss.model),
                ));
            }
            *path_loss.slot(parameter) = Some(value);
        }
    }
    if let Some(text) = options.text("shadowing") {
        let shadowing = text.parse();
        let shadowing =
            shadowing.map_err(|_| Invalid::value("shadowing", text, Shadowing::EXPECTED))?;
        if shadowing == Shadowing::Standard && !path_loss.model.has_standard_shadowing() {
            let model = path_loss.model;
            let expected = format!("a standard deviation in dB for the path loss {model}");
            return Err(Invalid::value("shadowing", text, expected));
        }
        path_loss.shadowing = Some(shadowing);
    }
    Ok(())
}

/// Returns an error if options of the path loss are set although users are written with their distances, since these
/// options would have no effect.
fn refuse_unused_path_loss(options: &Options, system: &System) -> Result<(), Invalid> {
    let by_distance = !system.draws_gains();
    let parts: Vec<&str> = parts().map(|part| part.0).collect();
    if by_distance {
        options.refuse(&parts, "users written with distance_m and without shadowing")
    } else {
        Ok(())
    }
}
