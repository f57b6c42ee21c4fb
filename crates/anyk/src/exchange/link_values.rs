//! What a file or a flag says about each link of a network, beside the gains: weights, noise and largest power.

use npyz::Order;
use serde_json::Value;
use thiserror::Error;

use crate::exchange::InputError;
use crate::exchange::gains_csv::read_rows;
use crate::exchange::input_error::{decode, shorten};
use crate::exchange::npy::{self, Array, NpyError};
use crate::memory::{MemoryBudget, product};
use crate::tolerance;

const FORMAT: &str = "numbers of links: CSV, a JSON list, or a NumPy array (.npy, K or N×K)";

/// Memory of a number or a list in JSON: as a value, in a list that doubles as it grows, and as a number.
const ITEM_BYTES: usize = 128;

/// Which number of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkField {
    /// What a bit of its rate is worth.
    Weights,
    /// Noise power at its receiver.
    Noise,
    /// Largest power of its transmitter.
    MaxPower,
}

/// Numbers of links.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkValues {
    /// One for all links.
    One(f64),
    /// One for each link, the same in every network.
    Each(Vec<f64>),
    /// One for each link of each network.
    Rows(Vec<Vec<f64>>),
}

/// Why numbers of links were refused.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LinkValuesError {
    /// Not one for each link.
    #[error("{name} has {found} values, expected {links}, one for each link, or one for all")]
    Count {
        /// Which.
        name: &'static str,
        /// Values given.
        found: usize,
        /// Links.
        links: usize,
    },
    /// Not a row for each network.
    #[error("{name} has {rows} rows, expected {networks}, one for each network")]
    Networks {
        /// Which.
        name: &'static str,
        /// Rows given.
        rows: usize,
        /// Networks.
        networks: usize,
    },
    /// A number that is none of this kind.
    #[error("{name}[{link}] is {value}, expected {expected}")]
    Value {
        /// Which.
        name: &'static str,
        /// The link, from 0.
        link: usize,
        /// The value given.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// No link counts.
    #[error("the weights are all 0, expected a positive one")]
    NoWeight,
    /// An array with too many axes.
    #[error("{name} has the shape {shape}, expected one value, K of them, or N×K")]
    Shape {
        /// Which.
        name: &'static str,
        /// The shape found.
        shape: String,
    },
}

impl LinkField {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Weights, Self::Noise, Self::MaxPower];

    /// The name, as in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Noise => "noise",
            Self::MaxPower => "max_power",
        }
    }

    /// Refuses numbers that are none of this kind.
    pub fn check(self, values: &[f64]) -> Result<(), LinkValuesError> {
        let (sound, expected): (fn(&f64) -> bool, _) = match self {
            Self::Weights => {
                (|x| (0.0..=tolerance::LOUDEST).contains(x), "a number from 0 to 1e100")
            }
            Self::Noise | Self::MaxPower => (|x| *x > 0.0 && x.is_finite(), "a positive number"),
        };
        if let Some(link) = values.iter().position(|value| !sound(value)) {
            let (name, value) = (self.name(), values[link]);
            return Err(LinkValuesError::Value { name, link, value, expected });
        }
        let counts = self != Self::Weights || values.iter().any(|&weight| weight > 0.0);
        if counts { Ok(()) } else { Err(LinkValuesError::NoWeight) }
    }
}

impl LinkValues {
    /// The numbers of an array. Two axes are the networks and their links where they fit; a row or a column, as
    /// MATLAB has every vector, is one number for each link.
    pub(super) fn of_array(
        array: &Array,
        (networks, links): (usize, usize),
        field: LinkField,
    ) -> Result<Self, LinkValuesError> {
        let Array { shape, order, values } = array;
        match **shape {
            _ if values.len() == 1 => Ok(Self::One(values[0])),
            [_] => Ok(Self::Each(values.clone())),
            [rows, columns] if (rows, columns) == (networks, links) => {
                Ok(Self::Rows(array_rows(rows, columns, *order, values)))
            }
            [1, _] | [_, 1] => Ok(Self::Each(values.clone())),
            [rows, columns] if columns == links => {
                Ok(Self::Rows(array_rows(rows, columns, *order, values)))
            }
            _ => Err(LinkValuesError::Shape {
                name: field.name(),
                shape: shorten(&format!("{shape:?}")),
            }),
        }
    }

    /// Those of one network.
    pub fn of_network(
        &self,
        (index, networks): (usize, Option<usize>),
        links: usize,
        field: LinkField,
    ) -> Result<Vec<f64>, LinkValuesError> {
        let name = field.name();
        let values = match self {
            Self::One(value) => vec![*value; links],
            Self::Each(values) => values.clone(),
            Self::Rows(rows) => {
                // Of a stream it is not known how many there will be.
                let networks = networks.unwrap_or_else(|| rows.len().max(index + 1));
                match rows.get(index) {
                    Some(row) if rows.len() == networks => row.clone(),
                    _ => {
                        return Err(LinkValuesError::Networks { name, rows: rows.len(), networks });
                    }
                }
            }
        };
        if values.len() != links {
            return Err(LinkValuesError::Count { name, found: values.len(), links });
        }
        field.check(&values)?;
        Ok(values)
    }
}

/// Row by row, whatever the order of an array is.
fn array_rows(rows: usize, columns: usize, order: Order, values: &[f64]) -> Vec<Vec<f64>> {
    let at = |row: usize, column: usize| match order {
        Order::C => values[row * columns + column],
        Order::Fortran => values[row + rows * column],
    };
    (0..rows).map(|row| (0..columns).map(|column| at(row, column)).collect()).collect()
}

/// Reads numbers of links from a file of their own: CSV, a JSON list (or a list of lists), or a NumPy array.
///
/// `file` is only used in messages.
///
/// ```
/// use anyk::exchange::{LinkValues, read_link_values};
/// let each = LinkValues::Each(vec![1.0, 2.5]);
/// assert_eq!(read_link_values(b"1\n2.5\n", "weights.csv")?, each);
/// assert_eq!(read_link_values(b"[1, 2.5]", "weights.json")?, each);
/// # Ok::<(), anyk::exchange::InputError>(())
/// ```
pub fn read_link_values(bytes: &[u8], file: &str) -> Result<LinkValues, InputError> {
    let refuse = |message: &dyn std::fmt::Display| InputError::whole(file, message);
    if bytes.starts_with(npy::MAGIC) {
        let check = |shape: &[u64]| match shape {
            [] | [_] | [_, _] if !shape.contains(&0) => Ok(()),
            _ => Err(NpyError::shape(shape, "K or N×K, at least one number")),
        };
        let need = |shape: &[usize]| product(shape) * 24;
        let array = Array::read(bytes, FORMAT, check, ("the numbers in it", need));
        let Array { shape, order, values } = array.map_err(|error| refuse(&error))?;
        return Ok(match *shape {
            [rows, columns] if rows > 1 && columns > 1 => {
                LinkValues::Rows(array_rows(rows, columns, order, &values))
            }
            _ => LinkValues::Each(values),
        });
    }
    let text = decode(bytes, file, FORMAT)?;
    if text.trim_start().starts_with('[') {
        // Every number and every list but the first stands after a comma.
        let items = 1 + text.bytes().filter(|&byte| byte == b',').count();
        let needed = product(&[items, ITEM_BYTES]) + text.len() as u128;
        let budget = MemoryBudget::current();
        budget.allow("the numbers in it", needed).map_err(|error| refuse(&error))?;
        let value = serde_json::from_str(text);
        let value = value.map_err(|error| InputError::json(file, ("", 0), text, &error, FORMAT))?;
        return from_json(&value).ok_or_else(|| refuse(&format!("expected {FORMAT}")));
    }
    let rows = read_rows(text, file, FORMAT)?;
    Ok(if rows.len() > 1 && rows.iter().any(|row| row.len() > 1) {
        LinkValues::Rows(rows)
    } else {
        LinkValues::Each(rows.into_iter().flatten().collect())
    })
}

fn from_json(value: &Value) -> Option<LinkValues> {
    let numbers =
        |list: &Value| list.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    match numbers(value) {
        Some(values) => Some(LinkValues::Each(values)),
        None => value.as_array()?.iter().map(numbers).collect::<Option<_>>().map(LinkValues::Rows),
    }
}
