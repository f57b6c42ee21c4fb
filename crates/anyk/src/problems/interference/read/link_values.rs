//! Values for each link of a network, from a file or a flag: weights, noise and maximum power.

use super::csv::read_rows;
use crate::exchange::npy::{self, Array, NpyError};
use crate::exchange::{InputError, decode};
use crate::invalid::Invalid;
use crate::tolerance;

const FORMAT: &str = "numbers of links: CSV, a JSON list, or a NumPy array (.npy, K or N×K)";

/// Field of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkField {
    /// Weight of the link's rate in the objective.
    Weights,
    /// Noise power at the link's receiver.
    Noise,
    /// Maximum power of the link's transmitter.
    MaxPower,
}

/// Values of a field for links.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkValues {
    /// One value for all links.
    One(f64),
    /// One value for each link, the same values in every network.
    Each(Vec<f64>),
    /// One value for each link of each network.
    Rows(Vec<Vec<f64>>),
}

impl LinkField {
    /// All fields.
    pub const ALL: [Self; 3] = [Self::Weights, Self::Noise, Self::MaxPower];

    /// Returns the name of the field in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Noise => "noise",
            Self::MaxPower => "max_power",
        }
    }

    /// Checks that every value is in the range of this field.
    pub fn check(self, values: &[f64]) -> Result<(), Invalid> {
        let (sound, expected): (fn(&f64) -> bool, _) = match self {
            Self::Weights => {
                (|x| (0.0..=tolerance::LOUDEST).contains(x), "a number from 0 to 1e100")
            }
            Self::Noise | Self::MaxPower => (|x| *x > 0.0 && x.is_finite(), "a positive number"),
        };
        if let Some(link) = values.iter().position(|value| !sound(value)) {
            return Err(Invalid::number(
                format!("{}[{link}]", self.name()),
                values[link],
                expected,
            ));
        }
        let counts = self != Self::Weights || values.iter().any(|&weight| weight > 0.0);
        let none = || Err(Invalid::value("the largest weight", 0, "a positive number"));
        if counts { Ok(()) } else { none() }
    }

    /// Checks that there is one valid value for each link.
    pub fn check_each(self, values: &[f64], links: usize) -> Result<(), Invalid> {
        if values.len() != links {
            let expected = format!("{links}, one for each link, or one for all");
            let count = format!("the number of values of {}", self.name());
            return Err(Invalid::value(count, values.len(), expected));
        }
        self.check(values)
    }
}

impl LinkValues {
    /// Returns the values for one network.
    pub fn of_network(
        &self,
        (index, networks): (usize, Option<usize>),
        links: usize,
        field: LinkField,
    ) -> Result<Vec<f64>, Invalid> {
        let values = match self {
            Self::One(value) => vec![*value; links],
            Self::Each(values) => values.clone(),
            Self::Rows(rows) => {
                // In a stream, the number of networks is not known in advance.
                let networks = networks.unwrap_or_else(|| rows.len().max(index + 1));
                match rows.get(index) {
                    Some(row) if rows.len() == networks => row.clone(),
                    _ => {
                        let count = format!("the number of rows of {}", field.name());
                        let expected = format!("{networks}, one for each network");
                        return Err(Invalid::value(count, rows.len(), expected));
                    }
                }
            }
        };
        field.check_each(&values, links)?;
        Ok(values)
    }
}

/// Reads values for links from a separate file: CSV, a JSON list (or a list of lists), or a NumPy array.
///
/// `file` is the name of the file for error messages.
///
/// ```
/// use anyk::problems::interference::{LinkValues, read_link_values};
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
        let array = Array::read(bytes, FORMAT, check);
        let Array { shape, values } = array.map_err(|error| refuse(&error))?;
        return Ok(match *shape {
            [rows, columns] if rows > 1 && columns > 1 => {
                LinkValues::Rows(values.chunks(columns).map(<[f64]>::to_vec).collect())
            }
            _ => LinkValues::Each(values),
        });
    }
    let text = decode(bytes, file, FORMAT)?;
    if let Some(list) = text.trim_start().strip_prefix('[') {
        let values = match list.trim_start().starts_with('[') {
            true => serde_json::from_str(text).map(LinkValues::Rows),
            false => serde_json::from_str(text).map(LinkValues::Each),
        };
        return values.map_err(|error| InputError::json(file, ("", 0), text, &error, FORMAT));
    }
    let rows = read_rows(text, file, FORMAT)?;
    Ok(if rows.len() > 1 && rows.iter().any(|row| row.len() > 1) {
        LinkValues::Rows(rows)
    } else {
        LinkValues::Each(rows.into_iter().flatten().collect())
    })
}
