//! Users of a cell, read from JSON or CSV.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::config::System;
use crate::exchange::InputError;
use crate::exchange::documents::{Refused, each_document};
use crate::exchange::input_error::{check_fields, decode, shorten};
use crate::memory::Tally;
use crate::qos::{ServiceClass, ServiceError};
use crate::units::Decibel;

/// One user of a file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRecord {
    /// Name, unique in its cell.
    pub id: String,
    /// Large-scale gain `α`, a power ratio.
    pub gain: f64,
    /// The user's own service class, or the system's.
    pub service: ServiceClass,
}

/// What `distance_m` accepts, in words.
const DISTANCE_EXPECTED: &str = "a number of metres from 1 to 100000";
/// What `gain_db` accepts, in words.
const GAIN_EXPECTED: &str = "a negative number of dB (10·log10 of the gain), down to -300";

const COLUMNS: [&str; 6] =
    ["id", "distance_m", "gain_db", "epsilon", "packet_bits", "arrival_rate"];
const FORMAT: &str = "JSON {\"users\":[{\"id\":\"a\",\"distance_m\":60}]} or CSV with a header";
const MAX_ID_CHARS: usize = 200;
/// Memory that a user takes beside its id, until it is answered: its record here, and later its place in the
/// problem, in the solver's buffers and in the answer. A cell takes as much as so many users, beside them.
const USER_BYTES: usize = 512;
const CELL_USERS: usize = 4;

/// Reads the cells in a file. JSON: one `{"users":[…]}` after the other, each a cell. CSV: one cell.
/// Which of the two it is follows from the first character.
///
/// `file` is only used in messages.
///
/// ```
/// use anyk::Config;
/// use anyk::exchange::read_users;
/// let system = Config::default().validate()?;
/// let cells = read_users(b"id,distance_m\na,60\nb,90\n", "users.csv", &system)?;
/// assert_eq!(cells[0].len(), 2);
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
) -> Result<Vec<Vec<UserRecord>>, InputError> {
    let fail = |place: String, message: String| InputError::new(file, &place, message);
    let text = decode(bytes, file, FORMAT)?;
    let reader = Reader { system, file, fail: &fail };
    let mut tally = Tally::new("the users in it", bytes.len());
    match text.trim_start().chars().next() {
        None => Err(fail(String::new(), format!("the file is empty, expected {FORMAT}"))),
        Some('{' | '[') => reader.json(text, &mut tally),
        Some(_) => reader.csv(text, &mut tally).map(|cell| vec![cell]),
    }
}

/// The values of one user as the file has them, and where.
struct Fields<'a> {
    /// Number of the line or of the user.
    number: u64,
    id: Option<&'a str>,
    /// In the order of [`COLUMNS`] without the id.
    numbers: [Option<&'a str>; 5],
}

struct Reader<'a> {
    system: &'a System,
    file: &'a str,
    fail: &'a dyn Fn(String, String) -> InputError,
}

/// Raw values, so that a message can show what the file says (`1e400`, not `inf`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonUser<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    distance_m: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gain_db: Option<&'a RawValue>,
    #[serde(borrow, default)]
    epsilon: Option<&'a RawValue>,
    #[serde(borrow, default)]
    packet_bits: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arrival_rate: Option<&'a RawValue>,
}

impl Reader<'_> {
    fn json(&self, text: &str, tally: &mut Tally) -> Result<Vec<Vec<UserRecord>>, InputError> {
        let mut cells = Vec::new();
        each_document((text, self.file, FORMAT), |document| {
            // With several cells in a file, a user's number alone does not say where it is.
            let cell = match cells.len() {
                0 => String::new(),
                before => format!("cell {}", before + 1),
            };
            let comma = if cell.is_empty() { "" } else { ", " };
            let label = format!("{cell}{comma}user ");
            let mut records = Cell::new(self, label, tally).map_err(Refused::Input)?;
            let mut refused = None;
            let object = CellObject { cell: &mut records, refused: &mut refused };
            let read = object.deserialize(document);
            if let Some(error) = refused {
                return Err(Refused::Input(error));
            }
            read.map_err(Refused::Json)?;
            cells.push(records.finish(&cell).map_err(Refused::Input)?);
            Ok(())
        })?;
        Ok(cells)
    }

    /// An id is a string; a whole number is accepted too, as its digits.
    fn json_id(
        &self,
        place: impl Fn() -> String,
        raw: Option<&RawValue>,
    ) -> Result<Option<String>, InputError> {
        let Some(raw) = raw.map(RawValue::get) else {
            return Ok(None);
        };
        if let Ok(id) = serde_json::from_str::<String>(raw) {
            return Ok(Some(id));
        }
        if raw.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Some(raw.to_owned()));
        }
        let message = format!("id is {}, expected a string", shorten(raw));
        Err((self.fail)(place(), message))
    }

    fn csv(&self, text: &str, tally: &mut Tally) -> Result<Vec<UserRecord>, InputError> {
        check_fields(text, self.file)?;
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .flexible(true)
            .from_reader(text.as_bytes());
        let header_line = "line 1".to_owned();
        let header = reader
            .headers()
            .map_err(|error| (self.fail)(header_line.clone(), error.to_string()))?
            .clone();
        let mut position_of = [None; COLUMNS.len()];
        for (position, name) in header.iter().enumerate() {
            let Some(column) = COLUMNS.iter().position(|&column| column == name) else {
                let message = format!(
                    "the column is {}, expected one of {}",
                    shorten(&format!("{name:?}")),
                    COLUMNS.join(", ")
                );
                return Err((self.fail)(header_line, message));
            };
            if position_of[column].replace(position).is_some() {
                let message = format!("the column {name} stands twice, expected once");
                return Err((self.fail)(header_line, message));
            }
        }
        if position_of[0].is_none() || (position_of[1].is_none() && position_of[2].is_none()) {
            let message = format!(
                "the header is {}, expected the columns id and distance_m or gain_db",
                shorten(&format!("{:?}", header.iter().collect::<Vec<_>>().join(",")))
            );
            return Err((self.fail)(header_line, message));
        }
        let mut records = Cell::new(self, "line ".to_owned(), tally)?;
        let mut row = csv::StringRecord::new();
        loop {
            let more = reader
                .read_record(&mut row)
                .map_err(|error| (self.fail)(String::new(), error.to_string()))?;
            if !more {
                break;
            }
            let line = row.position().map_or(0, csv::Position::line);
            if row.len() != header.len() {
                let message =
                    format!("{} fields, expected {} as in the header", row.len(), header.len());
                return Err((self.fail)(format!("line {line}"), message));
            }
            let cell = |column: usize| {
                let text = position_of[column].and_then(|position| row.get(position));
                text.filter(|text| !text.is_empty())
            };
            let numbers = [1, 2, 3, 4, 5].map(cell);
            records.push(&Fields { number: line, id: cell(0), numbers })?;
        }
        records.finish("")
    }

    /// Checks one user; the label goes before its number: `line ` or `user `.
    fn record(&self, label: &str, fields: &Fields<'_>) -> Result<UserRecord, InputError> {
        let fail = |message: String| {
            // "user 2 (user "b")" would say it twice.
            let user = if label.contains("user") { "" } else { "user " };
            let user = fields.id.map_or(String::new(), |id| format!(" ({user}{})", quote(id)));
            (self.fail)(format!("{label}{}{user}", fields.number), message)
        };
        let id = fields
            .id
            .ok_or_else(|| fail("id is missing, expected a name for each user".to_owned()))?;
        let too_long = id.chars().nth(MAX_ID_CHARS).is_some();
        if id.is_empty() || too_long || id.chars().any(char::is_control) {
            return Err(fail(format!(
                "id is {}, expected 1 to {MAX_ID_CHARS} printable characters",
                shorten(&quote(id))
            )));
        }
        let number = |slot: usize, expected: &str| -> Result<Option<f64>, InputError> {
            let Some(text) = fields.numbers[slot] else {
                return Ok(None);
            };
            // Rust also reads "inf" and "nan"; the range checks below refuse them.
            text.parse().map(Some).map_err(|_| {
                fail(format!("{} is {}, expected {expected}", COLUMNS[slot + 1], shorten(text)))
            })
        };
        let distance = number(0, DISTANCE_EXPECTED)?;
        let gain_db = number(1, GAIN_EXPECTED)?;
        let shown = |slot: usize| shorten(fields.numbers[slot].unwrap_or_default());
        let gain = match (distance, gain_db) {
            (Some(_), Some(_)) => {
                return Err(fail(format!(
                    "distance_m is {} and gain_db is {}, expected only one of them",
                    shown(0),
                    shown(1)
                )));
            }
            (None, None) => {
                return Err(fail("distance_m or gain_db is missing, expected one of them".into()));
            }
            (Some(distance_m), None) => {
                if !(1.0..=1e5).contains(&distance_m) {
                    return Err(fail(format!(
                        "distance_m is {}, expected {DISTANCE_EXPECTED}",
                        shown(0)
                    )));
                }
                self.system.path_loss().gain(distance_m)
            }
            (None, Some(gain_db)) => {
                if !(-300.0..0.0).contains(&gain_db) {
                    return Err(fail(format!("gain_db is {}, expected {GAIN_EXPECTED}", shown(1))));
                }
                Decibel(gain_db).to_ratio()
            }
        };
        let default = self.system.service();
        let service = ServiceClass {
            epsilon: number(2, ServiceClass::EPSILON_EXPECTED)?.unwrap_or(default.epsilon),
            packet_bits: number(3, ServiceClass::PACKET_BITS_EXPECTED)?
                .unwrap_or(default.packet_bits),
            arrival_rate: number(4, ServiceClass::ARRIVAL_RATE_EXPECTED)?
                .unwrap_or(default.arrival_rate),
        };
        service.validate().map_err(|error| match error {
            ServiceError::Value { field, expected, .. } => {
                let slot = COLUMNS.iter().position(|&column| column == field).unwrap_or(1) - 1;
                fail(format!("{field} is {}, expected {expected}", shown(slot)))
            }
            other => fail(other.to_string()),
        })?;
        Ok(UserRecord { id: id.to_owned(), gain, service })
    }
}

/// The users of one cell, with unique ids.
struct Cell<'a, 'b> {
    reader: &'a Reader<'b>,
    /// What goes before a user's number in messages.
    label: String,
    records: Vec<UserRecord>,
    numbers: Vec<u64>,
    tally: &'a mut Tally,
}

impl<'a, 'b> Cell<'a, 'b> {
    fn new(
        reader: &'a Reader<'b>,
        label: String,
        tally: &'a mut Tally,
    ) -> Result<Self, InputError> {
        let mut cell = Self { reader, label, records: Vec::new(), numbers: Vec::new(), tally };
        cell.hold(CELL_USERS * USER_BYTES)?;
        Ok(cell)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), InputError> {
        self.tally.add(bytes).map_err(|error| InputError::whole(self.reader.file, &error))
    }

    fn push(&mut self, fields: &Fields<'_>) -> Result<(), InputError> {
        let record = self.reader.record(&self.label, fields)?;
        self.hold(USER_BYTES + record.id.len())?;
        self.records.push(record);
        self.numbers.push(fields.number);
        Ok(())
    }

    fn push_json(&mut self, user: &JsonUser<'_>) -> Result<(), InputError> {
        let number = self.records.len() as u64 + 1;
        let id = self.reader.json_id(|| format!("{}{number}", self.label), user.id)?;
        let JsonUser { distance_m, gain_db, epsilon, packet_bits, arrival_rate, .. } = user;
        let numbers = [distance_m, gain_db, epsilon, packet_bits, arrival_rate]
            .map(|raw| raw.map(RawValue::get));
        self.push(&Fields { number, id: id.as_deref(), numbers })
    }

    fn finish(self, place: &str) -> Result<Vec<UserRecord>, InputError> {
        let Self { reader, label, records, numbers, .. } = self;
        if records.is_empty() {
            let message = format!("there are no users, expected at least one: {FORMAT}");
            return Err((reader.fail)(place.to_owned(), message));
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
            return Err((reader.fail)(place(pair[1]), message));
        }
        Ok(records)
    }
}

/// `{"users":[…]}`, whose users are checked one by one: a list of what the text says would take many times the
/// memory of the text.
struct CellObject<'c, 'a, 'b> {
    cell: &'c mut Cell<'a, 'b>,
    /// Why a user was refused; the document is then not read on.
    refused: &'c mut Option<InputError>,
}

impl<'de> DeserializeSeed<'de> for CellObject<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for CellObject<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with users")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key != "users" {
                return Err(A::Error::unknown_field(&key, &["users"]));
            }
            if std::mem::replace(&mut seen, true) {
                return Err(A::Error::duplicate_field("users"));
            }
            map.next_value_seed(UserList(self.cell, self.refused))?;
        }
        if seen { Ok(()) } else { Err(A::Error::missing_field("users")) }
    }
}

/// The users of a [`CellObject`].
struct UserList<'c, 'a, 'b>(&'c mut Cell<'a, 'b>, &'c mut Option<InputError>);

impl<'de> DeserializeSeed<'de> for UserList<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for UserList<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of users")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut users: A) -> Result<(), A::Error> {
        while let Some(user) = users.next_element::<JsonUser<'de>>()? {
            if let Err(error) = self.0.push_json(&user) {
                *self.1 = Some(error);
                return Err(A::Error::custom("a user is refused"));
            }
        }
        Ok(())
    }
}

fn quote(id: &str) -> String {
    shorten(&format!("{id:?}"))
}
