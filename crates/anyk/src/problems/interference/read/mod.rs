//! Networks of links that share a band, read from NumPy arrays, CSV or JSON.

mod csv;
mod json;
mod link_values;

use std::io;
use std::sync::Arc;

pub use link_values::{LinkField, LinkValues, read_link_values};

use super::problem::{GAINS, INPUTS};
use crate::channel::GainMatrix;
use crate::core::{Reader, Record, Size};
use crate::exchange::npy::{self, Array, NpyError};
use crate::exchange::{Extra, Input, InputError, decode, shorten, slip_of};
use crate::invalid::Invalid;
use crate::limits::MOST_USERS;

const FORMAT: &str = "a NumPy array (.npy), CSV of K lines, or JSON [[1,0.1],[0.2,1]]";

/// Field with the name of a network.
const CELL: &str = "cell";

/// Fields of a network, by their names in files.
const FIELDS: [&str; 5] =
    [GAINS, LinkField::Weights.name(), LinkField::Noise.name(), LinkField::MaxPower.name(), CELL];

/// Returns the known field that a misspelled name resembles.
fn slip_of_field(name: &str) -> Option<&'static str> {
    // The flag of the maximum power, and its symbol in formulas.
    let flag = matches!(name, "p_max" | "P_max" | "pmax" | "Pmax");
    if flag { Some(LinkField::MaxPower.name()) } else { slip_of(name, &FIELDS) }
}

/// Network of links as read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkRecord {
    /// Power gains: row = receiver, column = transmitter.
    pub gains: GainMatrix,
    /// Weight of each link's rate, if the file contains weights.
    pub weights: Option<Vec<f64>>,
    /// Noise power at each receiver, if the file contains it.
    pub noise: Option<Vec<f64>>,
    /// Maximum power of each transmitter, if the file contains it.
    pub max_power: Option<Vec<f64>>,
    /// All other fields of a JSON document; the name of the network is the field `cell`.
    pub extra: Extra,
}

impl From<GainMatrix> for NetworkRecord {
    fn from(gains: GainMatrix) -> Self {
        Self { gains, weights: None, noise: None, max_power: None, extra: Extra::default() }
    }
}

impl NetworkRecord {
    /// Returns the file's values of a field, if there are any.
    pub fn values(&self, field: LinkField) -> Option<&[f64]> {
        match field {
            LinkField::Weights => self.weights.as_deref(),
            LinkField::Noise => self.noise.as_deref(),
            LinkField::MaxPower => self.max_power.as_deref(),
        }
    }

    fn record(self) -> Result<Record, Invalid> {
        let size = Size::users(self.gains.size());
        let mut record = Record::new(INPUTS, size).with(GAINS, self.gains.as_slice().to_vec())?;
        for field in LinkField::ALL {
            if let Some(values) = self.values(field) {
                record = record.with(field.name(), values.to_vec())?;
            }
        }
        record.extra = self.extra;
        Ok(record)
    }

    fn set(&mut self, field: LinkField, values: Vec<f64>) {
        let place = match field {
            LinkField::Weights => &mut self.weights,
            LinkField::Noise => &mut self.noise,
            LinkField::MaxPower => &mut self.max_power,
        };
        *place = Some(values);
    }
}

/// Reads networks of links: gains (row = receiver, column = transmitter, power gains) and, if the file has them,
/// weights, noise and maximum power of each link.
///
/// | format | gains | weights, noise, maximum power |
/// | --- | --- | --- |
/// | `.npy` | K×K, or N×K×K for N networks; float32 or float64 | |
/// | CSV | K lines of K numbers | |
/// | JSON | a matrix `[[…],…]`, a list of matrices, or objects `{"gains": …}` with either, one after the other | in such an object, `weights`, `noise`, `max_power`: one number, K of them, or N×K |
///
/// The first bytes determine the format. Instances, rows, columns and links are counted from 0.
///
/// `reader` contains the parameters of other problems, which the function rejects.
///
/// ```
/// use anyk::exchange::Input;
/// use anyk::problems::interference::{INTERFERENCE, gains_to_npy, read_networks};
/// let reader = anyk::problems::reader(&INTERFERENCE);
/// let read_networks = |input| read_networks(&reader, input);
/// let networks = read_networks(Input::new(b"[[1, 0.1], [0.2, 0.9]]", "gains.json"))?;
/// assert_eq!(networks[0].gains.row(1), [0.2, 0.9]);
/// assert_eq!(read_networks(Input::new(b"1, 0.1\n0.2, 0.9\n", "gains.csv"))?, networks);
/// let bytes = gains_to_npy(&[networks[0].gains.clone()])?;
/// assert_eq!(read_networks(Input::new(&bytes, "gains.npy"))?, networks);
/// let weighted = br#"{"gains": [[1, 0.1], [0.2, 0.9]], "weights": [1, 3]}"#;
/// assert_eq!(read_networks(Input::new(weighted, "gains.json"))?[0].weights, Some(vec![1.0, 3.0]));
/// let error = read_networks(Input::new(b"[[1, 0.1], [0.2, -0.9]]", "gains.json")).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "gains.json: instance 0: row 1, column 1: the gain is -0.9, expected a finite number, not negative"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_networks(reader: &Reader, input: Input<'_>) -> Result<Vec<NetworkRecord>, InputError> {
    let Input { bytes, name: file, .. } = input;
    if bytes.starts_with(npy::MAGIC) {
        let array = Array::read(bytes, FORMAT, check_shape);
        return matrices(&array.map_err(|error| InputError::whole(file, &error))?, file);
    }
    let text = decode(bytes, file, FORMAT)?;
    let fail = |message: String| Err(InputError::whole(file, &message));
    match text.trim_start().chars().next() {
        None => fail(format!("the file is empty, expected {FORMAT}")),
        // Parts of a JSON stream after the first are read as JSON in any case.
        Some(first) if input.part > 0 || matches!(first, '{' | '[') => {
            json::read(reader, text, input, FORMAT)
        }
        Some(_) if csv::looks_like(text) => Ok(vec![csv::read(text, file, FORMAT)?.into()]),
        Some(_) => {
            let start = shorten(&format!("{:?}", text.chars().take(20).collect::<String>()));
            fail(format!("the file starts with {start}, expected {FORMAT}"))
        }
    }
}

/// Reads the networks of a document as records.
pub(super) fn read(
    reader: &Reader,
    input: Input<'_>,
) -> Result<Vec<Result<Record, InputError>>, InputError> {
    let file: Arc<str> = input.name.into();
    let record = |(index, network): (usize, NetworkRecord)| {
        let index = input.part + index;
        let wrong = |error: Invalid| {
            InputError::at(input.name, &format!("instance {index}"), error.to_string())
        };
        let mut record = network.record().map_err(wrong)?;
        record.place.file = Arc::clone(&file);
        record.place.index = index;
        record.place.line = input.lines as u64 + 1;
        Ok(record)
    };
    Ok(read_networks(reader, input)?.into_iter().enumerate().map(record).collect())
}

/// Returns gain matrices of one size as a NumPy array, N×K×K, float64.
///
/// Returns an error if there is no matrix, or if their sizes differ.
pub fn gains_to_npy(gains: &[GainMatrix]) -> io::Result<Vec<u8>> {
    let refuse = |field, value: usize, expected: String| {
        io::Error::new(io::ErrorKind::InvalidInput, Invalid::value(field, value, expected))
    };
    let none = || refuse("the number of matrices", 0, "at least 1".to_owned());
    let size = gains.first().map(GainMatrix::size).ok_or_else(none)?;
    if let Some(other) = gains.iter().find(|matrix| matrix.size() != size) {
        let expected = format!("{size}, as in the first matrix");
        return Err(refuse("the number of links", other.size(), expected));
    }
    let values = gains.iter().flat_map(|matrix| matrix.as_slice().iter().copied());
    Ok(npy::write(&[gains.len(), size, size], values))
}

/// Checks that a shape is that of one square matrix with at least one link, or of several.
fn check_shape(shape: &[u64]) -> Result<(), NpyError> {
    let (instances, size) = match *shape {
        [rows, columns] if rows == columns => (1, rows),
        [instances, rows, columns] if rows == columns => (instances, rows),
        _ => return Err(NpyError::shape(shape, "K×K or N×K×K")),
    };
    if instances == 0 || size == 0 {
        return Err(NpyError::shape(shape, "at least one link"));
    }
    if instances > MOST_USERS as u64 {
        return Err(NpyError::shape(shape, "at most 10000000 instances"));
    }
    Ok(())
}

/// Returns the number of matrices in an array of a shape; two axes mean one matrix.
fn instances(shape: &[usize]) -> usize {
    if let [instances, _, _] = *shape { instances } else { 1 }
}

/// Returns the matrices of an array whose shape has been checked.
fn matrices(array: &Array, file: &str) -> Result<Vec<NetworkRecord>, InputError> {
    let Array { shape, values } = array;
    let size = shape.last().copied().unwrap_or_default();
    let matrix = |instance: usize| {
        let gains = values[instance * size * size..][..size * size].to_vec();
        GainMatrix::new(size, gains).map(NetworkRecord::from).map_err(|error| {
            InputError::at(file, &format!("instance {instance}"), error.to_string())
        })
    };
    (0..instances(shape)).map(matrix).collect()
}
