//! Reader of allocations to judge that AnyK did not compute: JSON in the form of answers, or CSV.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::users_csv::{Lines, each_once, table};
use super::{CELL, ID};
use crate::core::{About, Allocation, Axis, Column, Instance};
use crate::exchange::{
    Documents, Input, InputError, comma_hint, decode, name_of, shorten, slip_of,
};
use crate::framework::Error;
use crate::limits::MOST_USERS;

/// Allocation from a file for the users of a cell, or for the instances of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allotment {
    /// Name of the cell, if it has one.
    pub cell: Option<String>,
    /// Amounts of each user.
    users: Vec<Allotted>,
    /// Amounts that all users share, by index of the amount.
    common: Vec<Option<f64>>,
    /// Arrays of the amounts, for each instance of a document.
    arrays: Vec<Vec<Vec<f64>>>,
    /// Reason that the file gives for a missing allocation, such as an infeasible cell.
    pub absent: Option<String>,
}

/// Amounts of one user.
#[derive(Debug, Clone, Default, PartialEq)]
struct Allotted {
    /// Id of the user; `None` if the index identifies the user.
    id: Option<String>,
    /// Values by index of the amount.
    amounts: Vec<Option<f64>>,
}

/// Status of an answer without an allocation for every user, and the prefix of the reason if a table reports an
/// error.
const INFEASIBLE: &str = "infeasible";
const ERROR: &str = "error: ";

/// Maximum number of characters of a reason that are kept.
const MOST_REASON_CHARS: usize = 1000;

/// Keys of a document in addition to its amounts.
const KEYS: [&str; 5] = [CELL, "status", "error", "users", "instances"];

/// Rejects a key that an object contains twice, since one of the values would be lost.
fn once<E: serde::de::Error>(seen: &mut Vec<&'static str>, key: &'static str) -> Result<(), E> {
    if seen.contains(&key) {
        return Err(E::duplicate_field(key));
    }
    seen.push(key);
    Ok(())
}

/// Returns the unquoted text of a name, or the digits of a number.
fn name(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

/// Describes the expected format of an allocation.
fn format_of(about: &About) -> String {
    let names: Vec<&str> = about.amounts.iter().map(|amount| amount.name).collect();
    if about.is_of_arrays() {
        let fields: Vec<String> = names.iter().map(|name| format!("\"{name}\":[1,0]")).collect();
        return format!(
            "JSON {{{}}}, or CSV with the columns link and {}",
            fields.join(","),
            names.join(", ")
        );
    }
    let each = about.amounts.iter().map(|amount| format!("\"{}\":1.5", amount.name));
    let each: Vec<String> = each.collect();
    format!(
        "JSON {{\"users\":[{{\"id\":\"a\",{}}}]}}, or CSV with the columns id, {}",
        each.join(","),
        names.join(", ")
    )
}

/// Visitor of a number, which may be null, in the field with this name.
struct Number<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Number<'_> {
    type Value = Option<f64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<f64>, D::Error> {
        let found: Option<f64> = serde::Deserialize::deserialize(deserializer)
            .map_err(|error| serde::de::Error::custom(format!("{}: {error}", self.0)))?;
        Ok(found)
    }
}

/// Visitor that concatenates the numbers in lists of any depth.
struct Flat<'a>(&'a mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for Flat<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Flat<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of numbers")
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.0.push(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.0.push(value as f64);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.0.push(value as f64);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Flat(self.0))?.is_some() {}
        Ok(())
    }
}

/// Visitor of the users of an allocation.
struct Users<'a>(&'a [Column], &'a mut Vec<Allotted>);

impl<'de> DeserializeSeed<'de> for Users<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Users<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of users")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(user) = list.next_element_seed(OneUser(self.0))? {
            self.1.push(user);
        }
        Ok(())
    }
}

struct OneUser<'a>(&'a [Column]);

impl<'de> DeserializeSeed<'de> for OneUser<'_> {
    type Value = Allotted;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Allotted, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneUser<'_> {
    type Value = Allotted;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a user")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Allotted, A::Error> {
        let mut user = Allotted { id: None, amounts: vec![None; self.0.len()] };
        let mut seen = Vec::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key == ID {
                once(&mut seen, ID)?;
                user.id = map.next_value::<Option<&RawValue>>()?.map(name);
            } else if let Some(at) = self.0.iter().position(|column| column.name == key) {
                once(&mut seen, self.0[at].name)?;
                user.amounts[at] = map.next_value_seed(Number(self.0[at].name))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(user)
    }
}

/// Visitor of one document: an allocation, or one allocation for each instance of the document.
struct Document<'a>(&'a About, &'a mut Allotment, &'a mut [Option<String>; 2]);

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an allocation")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(about, found, [status, error]) = self;
        let mut arrays: Vec<Vec<f64>> = vec![Vec::new(); about.amounts.len()];
        let mut seen = Vec::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let mut known = KEYS.into_iter().chain(about.amounts.iter().map(|column| column.name));
            if let Some(known) = known.find(|known| *known == key) {
                once(&mut seen, known)?;
            }
            let amount = about.amounts.iter().position(|column| column.name == key);
            match (&*key, amount) {
                (_, Some(at)) if about.is_of_arrays() => {
                    map.next_value_seed(Flat(&mut arrays[at]))?;
                }
                (_, Some(at)) => {
                    found.common[at] = map.next_value_seed(Number(about.amounts[at].name))?;
                }
                (CELL, _) => found.cell = map.next_value::<Option<&RawValue>>()?.map(name),
                ("status", _) => *status = map.next_value::<Option<&RawValue>>()?.map(name),
                // Only a text is a reason; `false` means that there is no error.
                ("error", _) => {
                    let why = map.next_value::<Option<&RawValue>>()?;
                    let why: Option<String> =
                        why.and_then(|raw| serde_json::from_str(raw.get()).ok());
                    // Limit the length, because the verdict repeats the reason.
                    *error = why.map(|why| why.chars().take(MOST_REASON_CHARS).collect());
                }
                ("users", _) => map.next_value_seed(Users(about.amounts, &mut found.users))?,
                ("instances", _) => map.next_value_seed(Instances(about, &mut found.arrays))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if arrays.iter().any(|values| !values.is_empty()) {
            found.arrays.push(arrays);
        }
        Ok(())
    }
}

/// Visitor of the instances of a document.
struct Instances<'a>(&'a About, &'a mut Vec<Vec<Vec<f64>>>);

impl<'de> DeserializeSeed<'de> for Instances<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Instances<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of instances")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut one =
            Allotment { common: vec![None; self.0.amounts.len()], ..Allotment::default() };
        let mut said = [None, None];
        while list.next_element_seed(Document(self.0, &mut one, &mut said))?.is_some() {}
        self.1.append(&mut one.arrays);
        Ok(())
    }
}

impl Allotment {
    /// Reads one JSON document.
    pub fn of_json(about: &About, input: Input<'_>) -> Result<Self, InputError> {
        let format = format_of(about);
        let text = decode(input.bytes, input.name, &format)?;
        // Each user or instance is an object. An empty object takes three bytes of text, but much more memory
        // when parsed.
        let objects = text.bytes().filter(|&byte| byte == b'{').count();
        if objects > MOST_USERS {
            let message = format!("there are {objects} objects, expected at most {MOST_USERS}");
            return Err(InputError::at(input.name, "", message));
        }
        let mut found = Self { common: vec![None; about.amounts.len()], ..Self::default() };
        let mut said = [None, None];
        let mut json = serde_json::Deserializer::from_str(text);
        let read = Document(about, &mut found, &mut said).deserialize(&mut json);
        read.and_then(|()| json.end()).map_err(|error| {
            InputError::json(input.name, ("", input.lines), text, &error, &format)
        })?;
        let place = format!("line {}", input.lines + 1);
        let none = found.users.is_empty() && found.arrays.is_empty();
        let [status, error] = said;
        // `solve` and `allocate` write a reason for a cell that they could not read or serve.
        if !found.has_amounts() {
            let error = error.filter(|why| !why.trim().is_empty());
            let infeasible = status.filter(|status| status == INFEASIBLE);
            found.absent = error.or(infeasible).map(|why| shorten(why.trim()));
        }
        if none && found.absent.is_none() {
            let start = shorten(text.trim());
            let message = format!("there is no allocation in {start}, expected {format}");
            return Err(InputError::at(input.name, &place, message));
        }
        Ok(found)
    }

    /// Returns whether any amount is given.
    fn has_amounts(&self) -> bool {
        let is_some = |amounts: &[Option<f64>]| amounts.iter().any(Option::is_some);
        let of_all = !self.users.is_empty() && is_some(&self.common);
        of_all || !self.arrays.is_empty() || self.users.iter().any(|user| is_some(&user.amounts))
    }

    /// Reads a table with one line for each user or link; columns contain the cell and the instance of the line.
    /// Returns the allocation of each cell with the number of the cell's first line.
    fn all_of_csv(about: &About, bytes: &[u8], file: &str) -> Result<Vec<(u64, Self)>, InputError> {
        let format = format_of(about);
        let text = decode(bytes, file, &format)?;
        let mut rows = table(text);
        let unread = |error: csv::Error| InputError::at(file, "", error.to_string());
        let header = rows.headers().map_err(unread)?.clone();
        each_once(&header).map_err(|message| InputError::at(file, "the header", message))?;
        let column = |name: &str| header.iter().position(|head| head == name);
        // In tables of users, these names have no special meaning.
        let of_arrays = |name: &str| column(name).filter(|_| about.is_of_arrays());
        let (cell, id, status) = (column(CELL), column(ID), column("status"));
        let (instance, link) = (of_arrays("instance"), of_arrays("link"));
        let amounts: Vec<Option<usize>> =
            about.amounts.iter().map(|amount| column(amount.name)).collect();
        if amounts.first().copied().flatten().is_none() {
            let near = near_names(about, &header);
            let found = shorten(&header.iter().collect::<Vec<_>>().join(","));
            let near = if near.is_empty() {
                String::new()
            } else {
                format!(" (rename {}; names include the unit)", near.join(", "))
            };
            let message = format!("the columns are {found}, expected {format}{near}");
            return Err(InputError::at(file, "the header", message));
        }
        let mut all: Vec<(u64, Self)> = Vec::new();
        let mut place_of: HashMap<String, usize> = HashMap::new();
        let mut lines = Lines::new(text);
        for (index, row) in rows.records().enumerate() {
            let row = row.map_err(unread)?;
            let line = lines.at(row.position().map_or(0, csv::Position::byte));
            let fail = |message: String| InputError::at(file, &format!("line {line}"), message);
            if row.len() != header.len() {
                let (found, expected) = (row.len(), header.len());
                return Err(fail(format!("{found} fields, expected {expected} as in the header")));
            }
            if index == MOST_USERS {
                return Err(fail(format!("there are more rows, expected at most {MOST_USERS}")));
            }
            let field = |column: Option<usize>| {
                column.and_then(|at| row.get(at)).filter(|text| !text.is_empty())
            };
            let number = |column: Option<usize>, name: &str| {
                let Some(text) = field(column) else { return Ok(None) };
                let number = text.parse().ok().filter(|number: &f64| number.is_finite());
                number.map(Some).ok_or_else(|| {
                    let (found, hint) = (shorten(text), comma_hint(text));
                    fail(format!("{name} is {found}, expected a number{hint}"))
                })
            };
            let cell = field(cell).map(str::to_owned);
            let at = *place_of.entry(cell.clone().unwrap_or_default()).or_insert_with(|| {
                let common = vec![None; about.amounts.len()];
                all.push((line, Self { cell, common, ..Self::default() }));
                all.len() - 1
            });
            let one = &mut all[at].1;
            let values = about.amounts.iter().zip(&amounts);
            let values: Vec<Option<f64>> = values
                .map(|(amount, &column)| number(column, amount.name))
                .collect::<Result<_, InputError>>()?;
            let said = field(status).unwrap_or_default();
            let is_empty = values.iter().all(Option::is_none);
            // In an infeasible cell, some users have amounts, and dropped users have none.
            let error = said.strip_prefix(ERROR).or((said == INFEASIBLE).then_some(said));
            if let Some(why) = error.filter(|_| is_empty) {
                one.absent.get_or_insert_with(|| shorten(why));
            }
            if !about.is_of_arrays() {
                one.users.push(Allotted { id: field(id).map(str::to_owned), amounts: values });
                continue;
            }
            if is_empty {
                continue;
            }
            // Networks and links must be in order, from 0, so that each row is assigned to the right network
            // and link.
            let count = one.arrays.len();
            let text = field(instance).unwrap_or("0");
            let at = text.parse().ok().filter(|&at: &usize| at <= count).ok_or_else(|| {
                let found = shorten(text);
                fail(format!("instance is {found}, expected {count}: networks must be in order"))
            })?;
            if at == count {
                one.arrays.push(vec![Vec::new(); about.amounts.len()]);
            }
            let arrays = &mut one.arrays[at];
            let expected = arrays[0].len().to_string();
            if let Some(found) = field(link).filter(|found| *found != expected) {
                let found = shorten(found);
                return Err(fail(format!(
                    "link is {found}, expected {expected}: links must be in order"
                )));
            }
            for (array, value) in arrays.iter_mut().zip(values) {
                array.extend(value);
            }
        }
        Ok(all)
    }

    /// Returns the amounts of an instance in the order of its users. Moves arrays out of the allotment. `at` is
    /// the index of the instance in its document, and `expected` the number of instances of the document.
    pub(crate) fn take(
        &mut self,
        instance: &Instance,
        (at, expected): (usize, usize),
    ) -> Result<Allocation, Error> {
        let wrong = |message: String| Error::Allocation(message);
        let about = instance.about();
        if about.is_of_arrays() {
            return match self.arrays.len() {
                0 => Err(wrong("the file contains no powers".to_owned())),
                count if count == expected => {
                    Ok(Allocation::of(std::mem::take(&mut self.arrays[at])))
                }
                count => {
                    let networks = if count == 1 { "network" } else { "networks" };
                    Err(wrong(format!("amounts for {count} {networks}, expected {expected}")))
                }
            };
        }
        let users = self.in_order_of(instance)?;
        let one = |(at, column): (usize, &Column)| -> Result<Vec<f64>, Error> {
            let of_user = |(user, given): (usize, &Allotted)| {
                let found = given.amounts[at].or(self.common[at]);
                let missing = || {
                    let (id, name) = (instance.record.id(user), column.name);
                    wrong(format!("the user {id:?} has no {name}, expected one"))
                };
                found.ok_or_else(missing)
            };
            if column.axes.first() == Some(&Axis::Users) {
                return users.iter().enumerate().map(of_user).collect();
            }
            // Amounts that all users share.
            let first = of_user((0, &users[0]))?;
            for (user, given) in users.iter().enumerate() {
                let other = of_user((user, given))?;
                if (other - first).abs() > crate::tolerance::BUDGET * first.abs() {
                    return Err(wrong(format!(
                        "{} is {first} and {other}, expected the same value for all users",
                        column.name
                    )));
                }
            }
            Ok(vec![first])
        };
        let amounts = about.amounts.iter().enumerate().map(one).collect::<Result<_, Error>>()?;
        Ok(Allocation::of(amounts))
    }

    /// Returns the amounts of one instance.
    pub fn of_instance(mut self, instance: &Instance) -> Result<Allocation, Error> {
        self.take(instance, (0, 1))
    }

    /// Returns the amounts of each user in the order of the users.
    fn in_order_of(&self, instance: &Instance) -> Result<Vec<Allotted>, Error> {
        let wrong = |message: String| Error::Allocation(message);
        let count = instance.size().users;
        if self.users.len() != count {
            let found = self.users.len();
            let users = if found == 1 { "user" } else { "users" };
            return Err(wrong(format!(
                "amounts for {found} {users}, expected {count}: one for each user of the cell",
            )));
        }
        let record = &instance.record;
        let fits =
            |(at, user): (usize, &Allotted)| user.id.as_ref().is_none_or(|id| *id == record.id(at));
        // Most files are in the order of the cell already.
        if self.users.iter().enumerate().all(fits) {
            return Ok(self.users.clone());
        }
        let mut by_id: HashMap<&str, &Allotted> = HashMap::new();
        for user in &self.users {
            let Some(id) = &user.id else {
                return Err(wrong(
                    "a user has no id, expected ids for all users or for none".into(),
                ));
            };
            if by_id.insert(id, user).is_some() {
                return Err(wrong(format!("the user {id:?} appears twice, expected once")));
            }
        }
        let found = |user: usize| {
            let id = record.id(user);
            let missing = || wrong(format!("the user {id:?} has no allocation, expected one"));
            by_id.remove(&*id).cloned().ok_or_else(missing)
        };
        (0..count).map(found).collect()
    }
}

/// Returns the names in a header that resemble columns of users, each with the column that it resembles.
fn near_names(about: &About, header: &csv::StringRecord) -> Vec<String> {
    let known: Vec<&'static str> =
        [ID].into_iter().chain(about.amounts.iter().map(|amount| amount.name)).collect();
    let near = |name: &str| {
        let plain = name.to_ascii_lowercase();
        let without_unit = |known: &&&str| known.starts_with(&format!("{plain}_"));
        let meant = match plain.as_str() {
            "user" | "user_id" | "ue" => Some(ID),
            _ if known.contains(&name) => None,
            _ => slip_of(name, &known).or(known.iter().find(without_unit).copied()),
        };
        meant.map(|meant| format!("{} to {meant}", shorten(&format!("{name:?}"))))
    };
    header.iter().filter_map(near).collect()
}

/// Allocations of a file, each of which is read when it is needed. If a file has many cells, only the
/// allocations that were read ahead are in memory.
pub struct Allotments {
    about: &'static About,
    file: String,
    /// JSON that has not been read yet.
    rest: Option<Documents<Box<dyn Read + Send>>>,
    /// Allocations that were read but not requested, by index, and their indices by name.
    waiting: BTreeMap<usize, Waiting>,
    by_name: HashMap<String, BTreeSet<usize>>,
    read: usize,
    /// Error of the first allocation of which not even the name can be read.
    broken: Option<InputError>,
    /// Names of cells that were requested.
    asked: HashMap<String, Asked>,
    /// First name that several cells share although their allocations are not at the indices of the cells.
    repeated: Option<String>,
    /// Whether an allocation was requested by its index.
    by_place: bool,
}

struct Waiting {
    line: u64,
    name: Option<String>,
    found: Result<Allotment, InputError>,
}

/// State of a requested name.
#[derive(Default)]
struct Asked {
    /// Line of the last allocation that was found.
    line: Option<u64>,
    /// Whether an allocation was found at another index than that of its cell.
    is_elsewhere: bool,
}

impl Allotments {
    /// Opens the allocations of a file.
    pub fn new(about: &'static About, reader: Box<dyn Read + Send>, file: &str) -> Self {
        Self {
            about,
            file: file.to_owned(),
            rest: Some(Documents::new(reader)),
            waiting: BTreeMap::new(),
            by_name: HashMap::new(),
            read: 0,
            broken: None,
            asked: HashMap::new(),
            repeated: None,
            by_place: false,
        }
    }

    /// Returns the allocation of a cell: by its name if both files have names, otherwise by its index, counted
    /// from 0. Returns `None` if there is none, and an error if it is invalid.
    ///
    /// Cells that share a name must have their allocations at the same indices. Threads request cells in any
    /// order, so an allocation at another index is used only if a single cell has that name.
    pub fn take(
        &mut self,
        place: usize,
        cell: Option<&str>,
    ) -> io::Result<Option<Result<Allotment, InputError>>> {
        while self.read <= place && self.read_on()? {}
        let is_own = |one: &Waiting| one.name.as_deref() == cell;
        // A file without names is read in order.
        let Some(cell) = cell.filter(|_| !self.by_name.is_empty()) else {
            self.by_place |= self.waiting.contains_key(&place);
            return Ok(self.remove(place));
        };
        let is_here = self.waiting.get(&place).is_some_and(is_own);
        if !self.ask(cell, !is_here) {
            return Ok(Some(Err(self.repeats(cell))));
        }
        let at = loop {
            let first = || self.by_name.get(cell)?.first().copied();
            let found = if is_here { Some(place) } else { first() };
            if found.is_some() || !self.read_on()? {
                break found;
            }
        };
        match (at, &self.broken) {
            (Some(at), _) => Ok(self.remove(at)),
            (None, None) => Ok(None),
            (None, Some(broken)) => {
                let (mut broken, cell) = (broken.clone(), shorten(&format!("{cell:?}")));
                broken.message += &format!("; cell {cell} has no allocation that can be read");
                Ok(Some(Err(broken)))
            }
        }
    }

    /// Records the name of a cell that cannot be read, so that the cell's allocation is not used for another
    /// cell with this name.
    pub fn pass(&mut self, cell: &str) {
        self.ask(cell, false);
    }

    /// Records that a name was requested. Returns whether an allocation with that name belongs to the cell.
    fn ask(&mut self, cell: &str, is_elsewhere: bool) -> bool {
        let Some(asked) = self.asked.get_mut(cell) else {
            self.asked.insert(cell.to_owned(), Asked { line: None, is_elsewhere });
            return true;
        };
        asked.is_elsewhere |= is_elsewhere;
        if asked.is_elsewhere && self.repeated.as_deref().is_none_or(|known| cell < known) {
            self.repeated = Some(cell.to_owned());
        }
        !asked.is_elsewhere
    }

    fn repeats(&self, cell: &str) -> InputError {
        let cell = shorten(&format!("{cell:?}"));
        let message = format!(
            "several cells are named {cell}, and their allocations are not in the same positions as the cells; give \
             each cell its own name"
        );
        InputError::at(&self.file, "", message)
    }

    /// Removes and returns a waiting allocation.
    fn remove(&mut self, at: usize) -> Option<Result<Allotment, InputError>> {
        let Waiting { line, name, found } = self.waiting.remove(&at)?;
        if let Some(name) = name {
            if let Some(places) = self.by_name.get_mut(&name) {
                places.remove(&at);
            }
            self.asked.entry(name).or_default().line = Some(line);
        }
        Some(found)
    }

    /// Returns the number of allocations that no cell has taken after all cells are done. Up to `unread`
    /// allocations may belong to cells that cannot be read and whose names are unknown; these do not count.
    /// Allocations of cells that were not judged count. Returns an error if a judged cell has a second
    /// allocation, or if several cells share a name and their allocations cannot be distinguished.
    pub fn left(&mut self, unread: usize) -> io::Result<Result<usize, InputError>> {
        if let Some(cell) = &self.repeated {
            return Ok(Err(self.repeats(cell)));
        }
        while self.read_on()? {}
        let left = self.waiting.len().saturating_sub(unread);
        if left == 0 {
            return Ok(Ok(0));
        }
        let surplus = self.waiting.iter().find_map(|(at, Waiting { line, name, found })| {
            let first = name.as_ref().and_then(|name| Some((name, self.asked.get(name)?.line?)));
            let message = match (first, found) {
                (Some((name, first)), _) => format!(
                    "cell {} has another allocation on line {first}, expected one for each cell",
                    shorten(&format!("{name:?}"))
                ),
                (None, Err(error)) if name.is_none() => return Some(error.clone()),
                (None, _) if name.is_none() || self.by_place => {
                    let number = at + 1;
                    format!(
                        "allocation {number} has no cell, expected one allocation for each cell"
                    )
                }
                _ => return None,
            };
            Some(InputError::at(&self.file, &format!("line {line}"), message))
        });
        Ok(surplus.map_or(Ok(left), Err))
    }

    /// Returns the number of allocations that have been read and not taken.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Reads the next batch; returns whether there was one.
    fn read_on(&mut self) -> io::Result<bool> {
        let Some(rest) = &mut self.rest else { return Ok(false) };
        let Some(batch) = rest.next_batch()? else {
            self.rest = None;
            return Ok(false);
        };
        for index in 0..batch.len() {
            let Some(input) = batch.input(index, &self.file) else { continue };
            let first = input.bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            let line = input.lines as u64 + 1;
            // An invalid allocation keeps its index, so that the following allocations still match their cells.
            let found = if input.part > 0 || matches!(first, Some(b'{' | b'[')) {
                vec![(line, Allotment::of_json(self.about, input))]
            } else {
                match Allotment::all_of_csv(self.about, input.bytes, input.name) {
                    Ok(all) => all.into_iter().map(|(line, one)| (line, Ok(one))).collect(),
                    Err(error) => vec![(line, Err(error))],
                }
            };
            for (line, found) in found {
                let name = match &found {
                    Ok(one) => one.cell.clone(),
                    // The cell with this name then reports the error.
                    Err(_) => name_of(input.bytes).map(name),
                };
                match (&name, &found) {
                    (Some(name), _) => {
                        self.by_name.entry(name.clone()).or_default().insert(self.read);
                    }
                    (None, Err(error)) if self.broken.is_none() => {
                        self.broken = Some(error.clone());
                    }
                    _ => {}
                }
                self.waiting.insert(self.read, Waiting { line, name, found });
                self.read += 1;
            }
        }
        Ok(true)
    }
}
