//! Allocations that somebody made, to be judged: as JSON in the form of answers, or as CSV.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Read};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exchange::input_error::{comma_hint, decode, shorten};
use crate::exchange::users::{separator, slip_of};
use crate::exchange::{Documents, Input, InputError, name_of};
use crate::limits::MOST_USERS;

/// What somebody gives the users of a cell, or the links of networks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allotment {
    /// The cell's name, if it has one.
    pub cell: Option<String>,
    /// What each user gets.
    pub users: Vec<Allotted>,
    /// A bandwidth for each of all users alike, Hz.
    pub bandwidth_hz: Option<f64>,
    /// Powers of the links of each network.
    pub powers: Vec<Vec<f64>>,
    /// Why there is none: what its author says instead, such as that the cell is infeasible.
    pub absent: Option<String>,
}

/// What one user gets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allotted {
    /// The user; without one, it is the one in this place.
    pub id: Option<String>,
    /// Power, W.
    pub power_w: Option<f64>,
    /// Bandwidth, Hz.
    pub bandwidth_hz: Option<f64>,
}

const FORMAT: &str = "JSON {\"users\":[{\"id\":\"a\",\"power_w\":1.5,\"bandwidth_hz\":2e5}]}, for links \
                      {\"power\":[1,0]}, or CSV with the columns id, power_w and bandwidth_hz, for links link and power";
/// How an answer says that no allocation serves everyone, and how one in a table says that there is an error.
const INFEASIBLE: &str = "infeasible";
const ERROR: &str = "error";

#[derive(Deserialize)]
struct JsonUser<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    power_w: Option<f64>,
    bandwidth_hz: Option<f64>,
}

#[derive(Deserialize)]
struct JsonNetwork {
    power: Vec<f64>,
}

#[derive(Deserialize)]
struct JsonAllotment<'a> {
    #[serde(borrow)]
    cell: Option<&'a RawValue>,
    #[serde(borrow, default)]
    users: Vec<JsonUser<'a>>,
    bandwidth_hz: Option<f64>,
    power: Option<Vec<f64>>,
    #[serde(default)]
    instances: Vec<JsonNetwork>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A name as it stands in a text, or the digits of a number.
fn name(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

impl Allotment {
    /// Reads one document of JSON.
    pub fn of_json(input: Input<'_>) -> Result<Self, InputError> {
        let text = decode(input.bytes, input.name, FORMAT)?;
        // Each user or network is an object: an empty one takes three bytes of text, and many times that once read.
        let objects = text.bytes().filter(|&byte| byte == b'{').count();
        if objects > MOST_USERS {
            let message = format!("there are {objects} objects, expected at most {MOST_USERS}");
            return Err(InputError::whole(input.name, &message));
        }
        let read: JsonAllotment<'_> = serde_json::from_str(text).map_err(|error| {
            InputError::json(input.name, ("", input.lines), text, &error, FORMAT)
        })?;
        let place = format!("line {}", input.lines + 1);
        let fail = |message: String| InputError::new(input.name, &place, message);
        let mut powers: Vec<Vec<f64>> = read.instances.into_iter().map(|one| one.power).collect();
        powers.extend(read.power);
        let users: Vec<Allotted> = read
            .users
            .into_iter()
            .map(|user| Allotted {
                id: user.id.map(name),
                power_w: user.power_w,
                bandwidth_hz: user.bandwidth_hz,
            })
            .collect();
        let none = users.is_empty() && powers.is_empty();
        // What `solve` and `allocate` write of a cell that they could not read, or not serve.
        let infeasible = read.status.map(name).filter(|status| none && status == INFEASIBLE);
        let absent = read.error.map(name).or(infeasible).map(|why| told(&why));
        if none && absent.is_none() {
            let start = shorten(text.trim());
            return Err(fail(format!("there is no allocation in {start}, expected {FORMAT}")));
        }
        let (cell, bandwidth_hz) = (read.cell.map(name), read.bandwidth_hz);
        Ok(Self { cell, users, bandwidth_hz, powers, absent })
    }

    /// Reads a table: a line for each user or link, with the cell or network that it is of. Each allocation comes with
    /// the number of its first line.
    fn all_of_csv(bytes: &[u8], file: &str) -> Result<Vec<(u64, Self)>, InputError> {
        let text = decode(bytes, file, FORMAT)?;
        let mut rows = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .delimiter(separator(text))
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let unread = |error: csv::Error| InputError::whole(file, &error);
        let header = rows.headers().map_err(unread)?.clone();
        let column = |name: &str| header.iter().position(|head| head == name);
        let (cell, id) = (column("cell"), column("id"));
        let (instance, link, status) = (column("instance"), column("link"), column("status"));
        let (power, bandwidth) = (column("power_w"), column("bandwidth_hz"));
        // Beside the power of a user, that of a link is somebody's own column.
        let link_power = column("power").filter(|_| power.is_none() || link.is_some());
        let near = near_names(&header);
        // `power` is that of links; beside a user or a bandwidth it lacks its unit.
        let of_users = link.is_none() && instance.is_none() && near.len() > 1;
        if power.is_none() && (link_power.is_none() || of_users) {
            let found = shorten(&header.iter().collect::<Vec<_>>().join(","));
            let near = if near.is_empty() {
                String::new()
            } else {
                format!(" (near names: {}; units are part of names)", near.join(", "))
            };
            let message = format!("the columns are {found}, expected {FORMAT}{near}");
            return Err(InputError::new(file, "the header", message));
        }
        let mut all: Vec<(u64, Self)> = Vec::new();
        let mut place_of: HashMap<(String, String), usize> = HashMap::new();
        for (index, row) in rows.records().enumerate() {
            let row = row.map_err(unread)?;
            let line = row.position().map_or(0, csv::Position::line);
            if index == MOST_USERS {
                let message = format!("there are more rows, expected at most {MOST_USERS}");
                return Err(InputError::new(file, &format!("line {line}"), message));
            }
            let field = |column: Option<usize>| {
                column.and_then(|at| row.get(at)).filter(|text| !text.is_empty())
            };
            let number = |column: Option<usize>, name: &str| {
                let Some(text) = field(column) else { return Ok(None) };
                let number = text.parse().ok().filter(|number: &f64| number.is_finite());
                number.map(Some).ok_or_else(|| {
                    let (found, hint) = (shorten(text), comma_hint(text));
                    let message = format!("{name} is {found}, expected a number{hint}");
                    InputError::new(file, &format!("line {line}"), message)
                })
            };
            let text = |column| field(column).unwrap_or_default().to_owned();
            let key = (text(cell), text(instance));
            let at = *place_of.entry(key).or_insert_with(|| {
                all.push((line, Self { cell: field(cell).map(str::to_owned), ..Self::default() }));
                all.len() - 1
            });
            let one = &mut all[at].1;
            let said = field(status).unwrap_or_default();
            // Of a cell that is infeasible, some users have something, and those that are dropped nothing.
            if said == INFEASIBLE && field(power).is_none() || said.starts_with(ERROR) {
                one.absent.get_or_insert_with(|| told(said));
            }
            let of_link = number(link_power, "power")?;
            if let Some(power) = of_link {
                let powers = &mut one.powers;
                if powers.is_empty() {
                    powers.push(Vec::new());
                }
                // In their order, from 0, so that a row is that of its link.
                let expected = powers[0].len().to_string();
                if let Some(found) = field(link).filter(|found| *found != expected) {
                    let found = shorten(found);
                    let message =
                        format!("link is {found}, expected {expected}: links in their order");
                    return Err(InputError::new(file, &format!("line {line}"), message));
                }
                powers[0].push(power);
            } else {
                one.users.push(Allotted {
                    id: field(id).map(str::to_owned),
                    power_w: number(power, "power_w")?,
                    bandwidth_hz: number(bandwidth, "bandwidth_hz")?,
                });
            }
        }
        Ok(all)
    }
}

/// What an author says in the place of an allocation.
fn told(why: &str) -> String {
    shorten(why.trim_start_matches(ERROR).trim_start_matches(':').trim())
}

/// Names of a header that are nearly those of the columns of users, each with what it is near to.
fn near_names(header: &csv::StringRecord) -> Vec<String> {
    const KNOWN: [&str; 3] = ["id", "power_w", "bandwidth_hz"];
    let near = |name: &str| {
        let plain = name.to_ascii_lowercase();
        let without_unit = |known: &&&str| known.starts_with(&format!("{plain}_"));
        let meant = match plain.as_str() {
            "user" | "user_id" | "ue" => Some("id"),
            _ if KNOWN.contains(&name) => None,
            _ => slip_of(name, &KNOWN).or(KNOWN.iter().find(without_unit).copied()),
        };
        meant.map(|meant| format!("{} is {meant}", shorten(&format!("{name:?}"))))
    };
    header.iter().filter_map(near).collect()
}

/// The allocations of a file, each read when it is asked for: those of many cells take no more memory than those of
/// the few whose turn has not come.
pub struct Allotments {
    file: String,
    /// JSON that has not been read yet.
    rest: Option<Documents<Box<dyn Read + Send>>>,
    /// What was read and not asked for, by place, and the place by name.
    waiting: BTreeMap<usize, Waiting>,
    by_name: HashMap<String, VecDeque<usize>>,
    read: usize,
    /// The line of the last allocation that was asked for, by name.
    taken: HashMap<String, u64>,
    /// Whether one was asked for by its place.
    by_place: bool,
}

struct Waiting {
    line: u64,
    name: Option<String>,
    found: Result<Allotment, InputError>,
}

impl Allotments {
    /// Of a file.
    pub fn new(reader: Box<dyn Read + Send>, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            rest: Some(Documents::new(reader)),
            waiting: BTreeMap::new(),
            by_name: HashMap::new(),
            read: 0,
            taken: HashMap::new(),
            by_place: false,
        }
    }

    /// The allocation of a cell: by its name if both files have names, else by its place, counted from 0. None where
    /// there is none; what is wrong with one that is there.
    pub fn take(
        &mut self,
        place: usize,
        cell: Option<&str>,
    ) -> io::Result<Option<Result<Allotment, InputError>>> {
        loop {
            // Of several with one name, the first that is left.
            let named = cell.and_then(|cell| self.by_name.get_mut(cell)?.pop_front());
            // A file without names is gone through in its order.
            let at = named.or((cell.is_none() || self.by_name.is_empty()).then_some(place));
            if let Some(Waiting { line, name, found }) = at.and_then(|at| self.waiting.remove(&at))
            {
                self.by_place |= named.is_none();
                if let Some(name) = name {
                    self.taken.insert(name, line);
                }
                return Ok(Some(found));
            }
            if !self.read_on()? {
                return Ok(None);
            }
        }
    }

    /// The number of allocations that no cell has taken, once all cells have. `unread` of them may be those of cells
    /// that cannot be read, whose names are unknown, and do not count. An allocation of another cell than those that
    /// were judged counts; a second allocation of one of them is an error.
    pub fn left(&mut self, unread: usize) -> io::Result<Result<usize, InputError>> {
        while self.read_on()? {}
        let left = self.waiting.len().saturating_sub(unread);
        if left == 0 {
            return Ok(Ok(0));
        }
        let surplus = self.waiting.iter().find_map(|(at, Waiting { line, name, .. })| {
            let first = name.as_ref().and_then(|name| Some((name, self.taken.get(name)?)));
            let message = match first {
                Some((name, first)) => format!(
                    "cell {} has another allocation on line {first}, expected one for each cell",
                    shorten(&format!("{name:?}"))
                ),
                None if name.is_none() || self.by_place => {
                    let number = at + 1;
                    format!("allocation {number} has no cell, expected one for each cell")
                }
                None => return None,
            };
            Some(InputError::new(&self.file, &format!("line {line}"), message))
        });
        Ok(surplus.map_or(Ok(left), Err))
    }

    /// Reads some more; whether there was more.
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
            // What cannot be read keeps its place: those after it are still those of their cells.
            let found = if input.part > 0 || matches!(first, Some(b'{' | b'[')) {
                vec![(line, Allotment::of_json(input))]
            } else {
                match Allotment::all_of_csv(input.bytes, input.name) {
                    Ok(all) => all.into_iter().map(|(line, one)| (line, Ok(one))).collect(),
                    Err(error) => vec![(line, Err(error))],
                }
            };
            for (line, found) in found {
                let name = match &found {
                    Ok(one) => one.cell.clone(),
                    // So that the one that it is for is told what is wrong with it.
                    Err(_) => name_of(input.bytes).map(name),
                };
                if let Some(name) = name.clone() {
                    self.by_name.entry(name).or_default().push_back(self.read);
                }
                self.waiting.insert(self.read, Waiting { line, name, found });
                self.read += 1;
            }
        }
        Ok(true)
    }
}
