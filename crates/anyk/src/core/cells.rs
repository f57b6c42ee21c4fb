//! Common parts of the problems for users of one cell: positions, gains and service classes of users.

use super::{About, Column, Need, Parameter, ParameterKind, Record, Size};
use crate::channel::{PathLossModel, sample_distances_m, sample_gains_db};
use crate::config::{Config, System};
use crate::framework::{CellOptions, Error, OptionSpec, OptionValue, Options, Verb};
use crate::invalid::Invalid;
use crate::qos::ServiceClass;
use crate::units::{Dbm, Decibel, Watt};

/// Columns of users of a cell: one that determines the gain, and those of the service class.
pub static CELL_INPUTS: &[Column] = &[
    Column::each("gain").need(Need::OneOf).arrays_only(),
    Column::each("distance_m").need(Need::OneOf).what("a number of metres"),
    Column::each("gain_db").need(Need::OneOf).what("a number of dB"),
    Column::each("path_loss_db").need(Need::OneOf).what("a number of dB"),
    Column::each("snr_db").need(Need::OneOf).what("a number of dB"),
    Column::each("rsrp_dbm").need(Need::OneOf).what("a number of dBm"),
    Column::each("epsilon").need(Need::Optional),
    Column::each("packet_bits").need(Need::Optional),
    Column::each("arrival_rate").need(Need::Optional),
];
const GAIN: usize = 0;
const DISTANCE: usize = 1;
const GAIN_DB: usize = 2;
const PATH_LOSS_DB: usize = 3;
const SNR: usize = 4;
const RSRP: usize = 5;
const EPSILON: usize = 6;
const PACKET_BITS: usize = 7;
const ARRIVAL_RATE: usize = 8;

/// Option that names the file of service classes.
pub(crate) const CLASSES: &str = "classes";

/// Cell with its options.
#[derive(Debug, Clone)]
pub struct Cells {
    uses: CellOptions,
    system: System,
    /// Power in dBm at which `snr_db` or `rsrp_dbm` was measured.
    reference_dbm: Option<f64>,
    /// Bandwidth in Hz at which `snr_db` was measured.
    reference_hz: Option<f64>,
}

/// Returns the options that describe how `snr_db` or `rsrp_dbm` in the input was measured.
fn reference_options() -> [OptionSpec; 2] {
    [
        OptionSpec::new(
            "reference-power-dbm",
            OptionValue::Number("DBM"),
            "Power P at which `snr_db` was measured (α = SNR·N_0·B/P); for `rsrp_dbm`, the power per resource \
             element (α = RSRP/P)",
        )
        .of("Input")
        .rare(),
        OptionSpec::new(
            "reference-bandwidth-hz",
            OptionValue::Number("HZ"),
            "Bandwidth B of the noise in `snr_db`",
        )
        .of("Input")
        .rare(),
    ]
}

impl Cells {
    /// Builds the cell from options; a problem uses only some of its parameters.
    pub fn new(uses: CellOptions, options: &Options) -> Result<Self, Error> {
        // The reader of files applies the classes; arrays name none.
        if options.has(CLASSES) {
            let what = "arrays; set epsilon, packet_bits and arrival_rate of each user";
            return Err(Invalid::stray(CLASSES, what).into());
        }
        let system = uses.system(options, &Config::default())?;
        let power = options.number("reference-power-dbm")?;
        let bandwidth = options.positive("reference-bandwidth-hz")?;
        if let Some(power_dbm) = power.filter(|power| !(-200.0..=200.0).contains(power)) {
            let expected = "a power in dBm from -200 to 200";
            return Err(Invalid::number("reference_power_dbm", power_dbm, expected).into());
        }
        // The power alone is sufficient for `rsrp_dbm`.
        if power.is_none() && bandwidth.is_some() {
            let expected = "a power in dBm, since `reference_bandwidth_hz` is given";
            return Err(Invalid::missing("reference_power_dbm", expected).into());
        }
        Ok(Self { uses, system, reference_dbm: power, reference_hz: bandwidth })
    }

    /// Builds the cell from a system that has been checked.
    pub fn of(uses: CellOptions, system: &System) -> Self {
        Self { uses, system: system.clone(), reference_dbm: None, reference_hz: None }
    }

    /// Builds a cell for drawing random users.
    pub fn drawing(options: &Options) -> Result<Self, Error> {
        let uses = CellOptions::ROAD;
        let system = uses.system(options, &Config::default())?;
        Ok(Self { uses, system, reference_dbm: None, reference_hz: None })
    }

    /// Returns the checked parameters of the cell.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Returns all options that describe the cell.
    pub fn options(&self) -> Options {
        let mut options = self.uses.describe(self.system.config());
        let [power_dbm, bandwidth_hz] = [self.reference_dbm, self.reference_hz];
        for (name, value) in
            [("reference-power-dbm", power_dbm), ("reference-bandwidth-hz", bandwidth_hz)]
        {
            if let Some(value) = value {
                options.set(name, value.to_string());
            }
        }
        options
    }

    /// Returns the gain and the service class of each user.
    pub fn users(&self, record: &Record) -> Result<Vec<(f64, ServiceClass)>, Invalid> {
        let needs_bandwidth = record.has(SNR) || !record.has(RSRP);
        if needs_bandwidth && self.reference_dbm.is_some() && self.reference_hz.is_none() {
            let expected = "a bandwidth in Hz, since `reference_power_dbm` is given; only `rsrp_dbm` needs no bandwidth";
            return Err(Invalid::missing("reference_bandwidth_hz", expected));
        }
        let default = self.system.service();
        let has_classes = [EPSILON, PACKET_BITS, ARRIVAL_RATE].iter().any(|&at| record.has(at));
        // Adjacent users mostly share their class.
        let mut last = default;
        let mut user = |user: usize| {
            let gain = self.gain(record, user).map_err(|wrong| wrong.of_user(user))?;
            if !has_classes {
                return Ok((gain, default));
            }
            let own = |column: usize, default: f64| record.at(column, user).unwrap_or(default);
            let service = ServiceClass {
                epsilon: own(EPSILON, default.epsilon),
                packet_bits: own(PACKET_BITS, default.packet_bits),
                arrival_rate: own(ARRIVAL_RATE, default.arrival_rate),
            };
            if service != last {
                service.validate().map_err(|wrong| wrong.of_user(user))?;
                last = service;
            }
            Ok((gain, service))
        };
        // An iterator of results does not know its length, so reserve it here.
        let mut users = Vec::with_capacity(record.size().users);
        for at in 0..record.size().users {
            users.push(user(at)?);
        }
        Ok(users)
    }

    /// Returns the gains of users for a problem without service classes. Users with their own loss target or
    /// packets are an error, since AnyK would ignore these values. `because` says what all users share, and which
    /// problem supports classes.
    pub fn gains(&self, record: &Record, because: &str) -> Result<Vec<f64>, Error> {
        let users = self.users(record)?;
        match users.iter().position(|(_, service)| *service != self.system.service()) {
            None => Ok(users.into_iter().map(|(gain, _)| gain).collect()),
            Some(user) => {
                let expected = format!("none: {because}");
                Err(Error::OwnClass { user: record.id(user), expected })
            }
        }
    }

    /// Returns the gain of a user from its only column that determines it.
    fn gain(&self, record: &Record, user: usize) -> Result<f64, Invalid> {
        let given = |column: usize| record.at(column, user);
        let wrong = |column: usize, value: f64, expected: String| {
            Err(Invalid::number(CELL_INPUTS[column].name, value, expected))
        };
        if let Some(metres) = given(DISTANCE) {
            let path_loss = self.system.path_loss();
            let expected = |_| path_loss.distance_expected();
            return match path_loss.checked_gain(metres).map_err(expected) {
                Ok(gain) => Ok(gain),
                Err(expected) => wrong(DISTANCE, metres, expected),
            };
        }
        if let Some(gain) = given(GAIN) {
            let expected = "a power ratio above 1e-60 and at most 1".to_owned();
            return if gain > 1e-60 && gain <= 1.0 {
                Ok(gain)
            } else {
                wrong(GAIN, gain, expected)
            };
        }
        if let Some(gain_db) = given(GAIN_DB) {
            if (-300.0..0.0).contains(&gain_db) {
                return Ok(Decibel(gain_db).to_ratio());
            }
            let expected = "a negative number of dB (10·log10 of the gain), down to -300";
            return wrong(GAIN_DB, gain_db, expected.to_owned());
        }
        if let Some(loss_db) = given(PATH_LOSS_DB) {
            if loss_db > 0.0 && loss_db <= 300.0 {
                return Ok(Decibel(-loss_db).to_ratio());
            }
            let expected = "a positive number of dB, up to 300".to_owned();
            return wrong(PATH_LOSS_DB, loss_db, expected);
        }
        if let Some(rsrp_dbm) = given(RSRP) {
            return self.gain_of_rsrp(rsrp_dbm);
        }
        let snr_db = given(SNR).unwrap_or(f64::NAN);
        if !(-200.0..=200.0).contains(&snr_db) {
            return wrong(SNR, snr_db, "a number of dB from -200 to 200".to_owned());
        }
        let (Some(power_dbm), Some(bandwidth_hz)) = (self.reference_dbm, self.reference_hz) else {
            let expected = "another column, or `reference_power_dbm` and `reference_bandwidth_hz`, the power and \
                            bandwidth at which it was measured";
            return wrong(SNR, snr_db, expected.to_owned());
        };
        // Gain from the SNR: α = SNR·N_0·B/P.
        let power_w = Watt::from(Dbm(power_dbm)).0;
        let gain = Decibel(snr_db).to_ratio() * self.system.noise_w_hz() * bandwidth_hz / power_w;
        if gain > 1e-30 && gain < 1.0 {
            return Ok(gain);
        }
        let decibels = Decibel::from_ratio(gain).0;
        let expected = format!(
            "a gain from -300 to 0 dB: at the reference power and bandwidth it is {decibels:.1} dB"
        );
        wrong(SNR, snr_db, expected)
    }

    /// Returns the gain of a user from the received power of the reference signal: α = RSRP/P.
    fn gain_of_rsrp(&self, rsrp_dbm: f64) -> Result<f64, Invalid> {
        let wrong =
            |expected: String| Err(Invalid::number(CELL_INPUTS[RSRP].name, rsrp_dbm, expected));
        let Some(power_dbm) = self.reference_dbm else {
            return wrong(
                "another column, or `reference_power_dbm`, the transmit power of the reference signal per resource \
                 element"
                    .to_owned(),
            );
        };
        let gain_db = rsrp_dbm - power_dbm;
        if (-300.0..0.0).contains(&gain_db) {
            return Ok(Decibel(gain_db).to_ratio());
        }
        wrong(format!("a power below the {power_dbm} dBm of the reference signal, by up to 300 dB"))
    }

    /// Draws random users along the road. The record contains distances if every command can compute the gains
    /// from them, otherwise gains ([`System::draws_gains`]).
    pub fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        let system = &self.system;
        let (road, path_loss, shadowing) = (system.road(), system.path_loss(), system.shadowing());
        let (name, values) = if system.draws_gains() {
            let gains = sample_gains_db(&road, &path_loss, shadowing, seed, size, index);
            ("gain_db", gains.into_iter().map(|gain| gain.0).collect())
        } else {
            ("distance_m", sample_distances_m(&road, seed, size, index))
        };
        let mut record = Record::new(CELL_INPUTS, Size::users(size)).with(name, values)?;
        (1..=size).for_each(|number| record.ids.push(&format!("u{number}")));
        Ok(record)
    }
}

/// Returns whether a path loss has this name.
fn is_path_loss(word: &str) -> bool {
    PathLossModel::by_name(word).is_some()
}

impl CellOptions {
    /// Returns the value of an option in effect: the given one, or the default of the path loss.
    pub(crate) fn in_effect(options: &Options, name: &str) -> Option<String> {
        if let Some(text) = options.text(name) {
            return Some(text.to_owned());
        }
        if !Self::is_of_path_loss(name) {
            return None;
        }
        let own = options.only(&Self::ALL.specs());
        let mut config = Self::ALL.system(&own, &Config::default()).ok()?.config().clone();
        config.path_loss = config.path_loss.filled();
        Self::ALL.describe(&config).text(name).map(str::to_owned)
    }

    /// Returns the options of a verb for a problem whose users belong to one cell: those of the problem, those
    /// for `snr_db`, and those of the cell. `other_cell` is the heading of the cell options for models that
    /// also allocate in other cells.
    pub(crate) fn flags(
        self,
        (about, verb): (&About, Verb),
        mut own: Vec<OptionSpec>,
        other_cell: Option<&'static str>,
    ) -> Vec<OptionSpec> {
        if matches!(verb, Verb::Solve | Verb::Assess | Verb::Allocate) {
            own.extend(reference_options());
            if self.service {
                let help = "CSV file of service classes (class, epsilon, packet_bits, arrival_rate), which users name \
                            in `class`";
                own.push(OptionSpec::new(CLASSES, OptionValue::File, help).of("Input").rare());
            }
        }
        match (verb, other_cell) {
            (Verb::Sample, _) => {
                own.extend(about.sample_options("Users in each cell; required", "Number of cells"));
                own.extend(Self::ROAD.specs());
            }
            (Verb::Solve | Verb::Assess | Verb::Train, _) => own.extend(self.specs()),
            (Verb::Allocate | Verb::Evaluate, Some(group)) => {
                own.extend(self.specs_over_model(group));
            }
            _ => {}
        }
        own
    }

    /// Returns the parameters of a cell that files may set, with their names in files.
    pub fn parameters(self) -> Vec<(Parameter, Vec<String>)> {
        let options: Vec<&str> = self.specs().into_iter().map(|spec| spec.name).collect();
        let mut all = Vec::new();
        for (section, field, option) in Self::numbers() {
            // Parameters that affect only random draws are recognized, but have no effect.
            let is_of_draws = section == "road" || option.starts_with("clutter");
            let parameter = Parameter::number(option);
            let parameter = if is_of_draws { parameter.without_effect() } else { parameter };
            if is_of_draws || options.contains(&option) {
                let names = [format!("{section}_{field}"), format!("{section}.{field}")];
                all.push((parameter, std::iter::once(field).chain(names).collect()));
            }
        }
        if self.radio {
            // `model` may also be the model of a phone, and `path_loss` may be a number of decibels.
            for (names, kind) in [
                (vec!["path_loss_model", "path_loss.model"], ParameterKind::Name(is_path_loss)),
                (vec!["model"], ParameterKind::Word(is_path_loss)),
                (vec!["path_loss"], ParameterKind::Choice(is_path_loss)),
            ] {
                let parameter = Parameter { kind, ..Parameter::number("path-loss") };
                all.push((parameter, names.into_iter().map(str::to_owned).collect()));
            }
        }
        let of_draws = Parameter::number("shadowing").without_effect();
        let names = ["shadowing", "path_loss_shadowing", "path_loss.shadowing"];
        all.push((of_draws, names.map(str::to_owned).into()));
        if self.power {
            let kind = ParameterKind::Converted(|watts| Dbm::from(Watt(watts)).0);
            let watts = Parameter { kind, ..Parameter::number("max-power-dbm") };
            all.push((watts, vec!["max_power_w".to_owned()]));
        }
        for name in ["reference-power-dbm", "reference-bandwidth-hz"] {
            all.push((Parameter::number(name), vec![name.replace('-', "_")]));
        }
        all
    }
}
