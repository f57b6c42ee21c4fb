//! Users of a cell, read from JSON or CSV.
//!
//! Files are people's own: what is beside the columns that are known is kept, and comes back with the answer. Two things
//! are refused: what looks like a slip of the pen, since a misspelt column would silently be a default, and parameters
//! of the cell that are not in effect.

mod arrays;
mod csv;
mod extra;
mod json;
mod spelling;

pub(super) use csv::separator;
pub use extra::Extra;
pub(super) use extra::Others;
pub(super) use spelling::slip_of;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::System;
use crate::exchange::input_error::{comma_hint, decode, shorten};
use crate::exchange::{Input, InputError, Parameters};
use crate::qos::ServiceClass;
use crate::units::{Dbm, Decibel, Watt};

/// One user of a file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRecord {
    /// Name, unique in its cell.
    pub id: String,
    /// Large-scale gain `α`, a power ratio.
    pub gain: f64,
    /// The user's own service class, or the system's.
    pub service: ServiceClass,
    /// What the file says beside that.
    pub extra: Extra,
}

/// One cell of a file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CellRecord {
    /// Its users, at least one.
    pub users: Vec<UserRecord>,
    /// Its name as `cell`, if it has one, and what the file says beside that.
    pub extra: Extra,
}

/// What the ways to a gain that are no distance accept, in words.
const GAIN_EXPECTED: &str = "a negative number of dB (10·log10 of the gain), down to -300";
const PATH_LOSS_EXPECTED: &str = "a positive number of dB, up to 300";
const SNR_EXPECTED: &str = "a number of dB from -200 to 200";

const COLUMNS: [&str; 8] = [
    "id",
    "distance_m",
    "gain_db",
    "path_loss_db",
    "snr_db",
    "epsilon",
    "packet_bits",
    "arrival_rate",
];
/// Of the columns, those that say where a user is: each user has one of them.
const PLACES: std::ops::Range<usize> = 1..5;
/// What answers say of a user and of a cell. What a file has under one of these names comes back under another, and an
/// answer is as good an input as any.
const OF_ANSWERS: [&str; 37] = [
    "power_w",
    "bandwidth_hz",
    "packet_loss",
    "certified",
    "rate_bps",
    "status",
    "total_bandwidth_hz",
    "total_power_w",
    "duality_gap",
    "price_hz_per_w",
    "availability",
    "raised_users",
    "lowered_users",
    "added_bandwidth_hz",
    "uncertified",
    "in_distribution",
    "out_of_range",
    "guarantee",
    "max_bandwidth_hz",
    "price_w_per_hz",
    "kkt_residual",
    "gap_percent",
    "max_power_w",
    "required_power_w",
    "shortfall_w",
    "admissible_count",
    "admissible_at_most",
    "dropped",
    "admissible",
    "error",
    "instances",
    "objective",
    "missed",
    "total_cost",
    "snr",
    "cost",
    "price",
];
/// The name of a cell.
pub(super) const CELL: &str = "cell";
const FORMAT: &str = "JSON {\"users\":[{\"id\":\"a\",\"distance_m\":60}]} or CSV with a header";
const MAX_ID_CHARS: usize = 200;

/// Reads the cells in a file. JSON: one `{"users":[…]}` after the other, each a cell. CSV: one cell, or several that a
/// column `cell` tells apart. Which of the two it is follows from the first character.
///
/// `file` is only used in messages.
///
/// ```
/// use anyk::Config;
/// use anyk::exchange::read_users;
/// let system = Config::default().validate()?;
/// let cells = read_users(b"id,distance_m\na,60\nb,90\n", "users.csv", &system)?;
/// assert_eq!(cells[0].users.len(), 2);
/// let error = read_users(b"id,distance_m\na,-60\n", "users.csv", &system).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "users.csv: line 2 (user \"a\"): distance_m is -60, expected a number of metres from 1 to 100000"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_users(
    bytes: &[u8],
    file: &str,
    system: &System,
) -> Result<Vec<CellRecord>, InputError> {
    let parameters = &Parameters::of(system);
    UserReader { system, reference: None, parameters }.read(Input::new(bytes, file))
}

/// The power and the bandwidth at which `snr_db` was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Power that was sent, dBm.
    pub power_dbm: f64,
    /// Bandwidth of the noise, Hz.
    pub bandwidth_hz: f64,
}

impl Reference {
    /// `α = SNR·N_0·B/P`.
    fn gain(&self, snr_db: f64, noise_w_hz: f64) -> f64 {
        let power_w = Watt::from(Dbm(self.power_dbm)).0;
        Decibel(snr_db).to_ratio() * noise_w_hz * self.bandwidth_hz / power_w
    }
}

/// How users are read.
#[derive(Debug, Clone, Copy)]
pub struct UserReader<'a> {
    /// The cell: path loss and noise, and the class of users that name none.
    pub system: &'a System,
    /// What an `snr_db` refers to; without it, users with one are refused.
    pub reference: Option<Reference>,
    /// The parameters that users may repeat.
    pub parameters: &'a Parameters,
}

/// The values of one user as the file has them, and where.
struct Fields<'a> {
    /// Number of the line or of the user.
    number: u64,
    /// Without one, the number is the id.
    id: Option<&'a str>,
    /// In the order of [`COLUMNS`] without the id.
    numbers: [Option<&'a str>; COLUMNS.len() - 1],
    /// Or what is wrong with it.
    extra: Result<Extra, String>,
}

impl UserReader<'_> {
    /// The cells of an input; the first that is refused ends it.
    pub fn read(&self, input: Input<'_>) -> Result<Vec<CellRecord>, InputError> {
        self.read_each(input).into_iter().collect()
    }

    /// The cells of an input, each with what is wrong with it. What is wrong with the whole input is a cell's that is
    /// the only one.
    pub fn read_each(&self, input: Input<'_>) -> Vec<Result<CellRecord, InputError>> {
        self.cells(input).unwrap_or_else(|error| vec![Err(error)])
    }

    fn cells(&self, input: Input<'_>) -> Result<Vec<Result<CellRecord, InputError>>, InputError> {
        let file = input.name;
        let text = decode(input.bytes, file, FORMAT)?;
        match text.trim_start().chars().next() {
            None => Err(InputError::new(file, "", format!("the file is empty, expected {FORMAT}"))),
            // What stands in a stream of JSON is meant to be JSON.
            Some(first) if input.part > 0 || matches!(first, '{' | '[') => {
                Ok(json::read(self, text, input)?.into_iter().map(Ok).collect())
            }
            Some(_) => csv::read(self, text, file),
        }
    }

    /// Checks one user; the label goes before its number: `line ` or `user `.
    fn record(
        &self,
        file: &str,
        label: &str,
        fields: Fields<'_>,
    ) -> Result<UserRecord, InputError> {
        let Fields { number: place, id, numbers, extra } = fields;
        let fail = |message: String| {
            // "user 2 (user "b")" would say it twice.
            let user = if label.contains("user") { "" } else { "user " };
            let user = id.map_or(String::new(), |id| format!(" ({user}{})", quote(id)));
            InputError::new(file, &format!("{label}{place}{user}"), message)
        };
        let extra = extra.map_err(fail)?;
        let id = match id {
            None => place.to_string(),
            Some(id) => id.to_owned(),
        };
        // Most ids are short and plain: one look at the bytes tells.
        let plain = id.len() <= MAX_ID_CHARS && id.bytes().all(|byte| byte.is_ascii_graphic());
        let too_long = || id.chars().nth(MAX_ID_CHARS).is_some();
        if id.is_empty() || !plain && (too_long() || id.chars().any(char::is_control)) {
            return Err(fail(format!(
                "id is {}, expected 1 to {MAX_ID_CHARS} printable characters",
                shorten(&quote(&id))
            )));
        }
        let shown = |column: usize| shorten(numbers[column - 1].unwrap_or_default());
        let number = |column: usize, expected: &str| -> Result<Option<f64>, InputError> {
            let Some(text) = numbers[column - 1] else {
                return Ok(None);
            };
            // Rust also reads "inf" and "nan"; the range checks below refuse them.
            text.parse().map(Some).map_err(|_| {
                let (name, hint) = (COLUMNS[column], comma_hint(text));
                fail(format!("{name} is {}, expected {expected}{hint}", shorten(text)))
            })
        };
        let mut given = PLACES.filter(|&column| numbers[column - 1].is_some());
        let gain = match (given.next(), given.next()) {
            (Some(column), None) => {
                let text = numbers[column - 1].unwrap_or_default();
                let gain = match text.parse() {
                    Ok(value) => self.gain(column, value),
                    Err(_) => Err(None),
                };
                gain.map_err(|why| {
                    let expected = why.unwrap_or_else(|| self.expected(column));
                    let (name, hint) = (COLUMNS[column], comma_hint(text));
                    fail(format!("{name} is {}, expected {expected}{hint}", shown(column)))
                })?
            }
            (Some(one), Some(two)) => {
                return Err(fail(format!(
                    "{} is {} and {} is {}, expected only one of them",
                    COLUMNS[one],
                    shown(one),
                    COLUMNS[two],
                    shown(two)
                )));
            }
            _ => {
                let names = COLUMNS[PLACES].join(", ");
                return Err(fail(format!("none of {names} is given, expected one of them")));
            }
        };
        let default = self.system.service();
        let own = PLACES.end;
        let service = ServiceClass {
            epsilon: number(own, ServiceClass::EPSILON_EXPECTED)?.unwrap_or(default.epsilon),
            packet_bits: number(own + 1, ServiceClass::PACKET_BITS_EXPECTED)?
                .unwrap_or(default.packet_bits),
            arrival_rate: number(own + 2, ServiceClass::ARRIVAL_RATE_EXPECTED)?
                .unwrap_or(default.arrival_rate),
        };
        if service != default {
            service.validate().map_err(|wrong| {
                let column = COLUMNS.iter().position(|column| wrong.field == *column);
                fail(wrong.given(shown(column.unwrap_or(own))).to_string())
            })?;
        }
        Ok(UserRecord { id, gain, service, extra })
    }

    /// What a way to a gain accepts, in words.
    fn expected(&self, column: usize) -> String {
        match column {
            1 => return self.system.path_loss().distance_expected(),
            2 => GAIN_EXPECTED,
            3 => PATH_LOSS_EXPECTED,
            _ => SNR_EXPECTED,
        }
        .to_owned()
    }

    /// The gain that a column's value stands for; the error says what is expected, if that is not what the column
    /// expects of any file.
    fn gain(&self, column: usize, value: f64) -> Result<f64, Option<String>> {
        let within = |inside: bool| if inside { Ok(()) } else { Err(None) };
        Ok(match column {
            1 => self.system.path_loss().checked_gain(value).map_err(|_| None)?,
            2 => {
                within((-300.0..0.0).contains(&value))?;
                Decibel(value).to_ratio()
            }
            3 => {
                within(value > 0.0 && value <= 300.0)?;
                Decibel(-value).to_ratio()
            }
            _ => {
                within((-200.0..=200.0).contains(&value))?;
                let Some(reference) = self.reference else {
                    let message = "another column, or the power and bandwidth that it was measured at, by \
                                   `reference_power_dbm` and `reference_bandwidth_hz`";
                    return Err(Some(message.to_owned()));
                };
                let gain = reference.gain(value, self.system.noise_w_hz());
                if !(gain > 1e-30 && gain < 1.0) {
                    let decibels = Decibel::from_ratio(gain).0;
                    return Err(Some(format!(
                        "a gain from -300 to 0 dB: at the reference power and bandwidth it is {decibels:.1} dB"
                    )));
                }
                gain
            }
        })
    }
}

/// The users of one cell, with unique ids.
struct Cell<'a> {
    reader: &'a UserReader<'a>,
    file: &'a str,
    /// What goes before a user's number in messages.
    label: String,
    records: Vec<UserRecord>,
    numbers: Vec<u64>,
}

impl<'a> Cell<'a> {
    fn new(reader: &'a UserReader<'a>, file: &'a str, label: String) -> Self {
        Self { reader, file, label, records: Vec::new(), numbers: Vec::new() }
    }

    /// Checks a user.
    fn record(&self, fields: Fields<'_>) -> Result<UserRecord, InputError> {
        self.reader.record(self.file, &self.label, fields)
    }

    /// Takes a user.
    fn keep(&mut self, number: u64, record: UserRecord) {
        self.records.push(record);
        self.numbers.push(number);
    }

    fn finish(self, place: &str) -> Result<Vec<UserRecord>, InputError> {
        let Self { file, label, records, numbers, .. } = self;
        if records.is_empty() {
            let message = format!("there are no users, expected at least one: {FORMAT}");
            return Err(InputError::new(file, place, message));
        }
        // Sorted, the same ids are neighbours, in the order of the file: no second copy of all ids.
        let mut order: Vec<usize> = (0..records.len()).collect();
        order.sort_unstable_by(|&a, &b| records[a].id.cmp(&records[b].id).then(a.cmp(&b)));
        let twice = order.windows(2).filter(|pair| records[pair[0]].id == records[pair[1]].id);
        if let Some(pair) = twice.min_by_key(|pair| pair[1]) {
            let place = |user: usize| format!("{label}{}", numbers[user]);
            let message = format!(
                "id is {}, which {} has already; expected a different id for each user",
                quote(&records[pair[1]].id),
                place(pair[0])
            );
            return Err(InputError::new(file, &place(pair[1]), message));
        }
        Ok(records)
    }
}

/// The name of the cell in a document of JSON, of which nothing else may be readable by any other rule.
pub fn name_of(document: &[u8]) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        cell: Option<&'a RawValue>,
    }
    let is_object = document.trim_ascii_start().starts_with(b"{");
    let named: Option<Named<'_>> =
        if is_object { serde_json::from_slice(document).ok() } else { None };
    named.and_then(|named| named.cell)
}

fn quote(id: &str) -> String {
    shorten(&format!("{id:?}"))
}
