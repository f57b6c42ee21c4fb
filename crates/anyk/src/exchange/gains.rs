//! Gain matrices of interference networks, read from NumPy arrays or JSON.

use std::io;

use npyz::{Order, WriterBuilder};

use crate::channel::{GainError, GainMatrix};
use crate::exchange::input_error::{decode, shorten};
use crate::exchange::npy::{self, Array, NpyError};
use crate::exchange::{InputError, gains_json};
use crate::memory::product;

const FORMAT: &str =
    "a NumPy array (.npy, float32 or float64, K×K or N×K×K) or JSON [[1,0.1],[0.2,1]]";

/// Memory that a gain takes until its network is answered: as the file has it, as its matrix, and what a solver keeps
/// of it.
pub(super) const GAIN_BYTES: usize = 32;
/// Memory that a network takes beside its gains: its matrix, its problem and its answer.
pub(super) const INSTANCE_BYTES: usize = 512;

/// Reads gain matrices: row = receiver, column = transmitter, power gains.
///
/// NumPy's `.npy`, one K×K matrix or N of them (N×K×K), float32 or float64; or JSON: a matrix
/// `[[…],…]`, a list of matrices, or objects `{"gains": …}` with either, one after the other. Whether it
/// is NumPy or JSON follows from the first bytes. Instances, rows and columns are counted from 0.
///
/// `file` is only used in messages.
///
/// ```
/// use anyk::exchange::{gains_to_npy, read_gains};
/// let gains = read_gains(b"[[1, 0.1], [0.2, 0.9]]", "gains.json")?;
/// assert_eq!(gains[0].row(1), [0.2, 0.9]);
/// assert_eq!(read_gains(&gains_to_npy(&gains)?, "gains.npy")?, gains);
/// let error = read_gains(b"[[1, 0.1], [0.2, -0.9]]", "gains.json").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "gains.json: instance 0: row 1, column 1: the gain is -0.9, expected a finite number, not negative"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_gains(bytes: &[u8], file: &str) -> Result<Vec<GainMatrix>, InputError> {
    if bytes.starts_with(npy::MAGIC) {
        let need = |shape: &[usize]| {
            product(shape) * GAIN_BYTES as u128 + product(&[instances(shape), INSTANCE_BYTES])
        };
        let array = Array::read(bytes, FORMAT, check_shape, ("the gains in it", need));
        return matrices(&array.map_err(|error| InputError::whole(file, &error))?, file);
    }
    let text = decode(bytes, file, FORMAT)?;
    let fail = |message: String| Err(InputError::whole(file, &message));
    match text.trim_start().chars().next() {
        None => fail(format!("the file is empty, expected {FORMAT}")),
        Some('{' | '[') => gains_json::read(text, file, FORMAT),
        Some(_) => {
            let start = shorten(&format!("{:?}", text.chars().take(20).collect::<String>()));
            fail(format!("the file starts with {start}, expected {FORMAT}"))
        }
    }
}

/// Gain matrices of one size as a NumPy array, N×K×K, float64.
///
/// An error if there is no matrix, or if their sizes differ.
pub fn gains_to_npy(gains: &[GainMatrix]) -> io::Result<Vec<u8>> {
    let refuse = |error: GainError| io::Error::new(io::ErrorKind::InvalidInput, error);
    let size = gains.first().map(GainMatrix::size).ok_or_else(|| refuse(GainError::Empty))?;
    if let Some(other) = gains.iter().find(|matrix| matrix.size() != size) {
        return Err(refuse(GainError::Shape { size, count: other.as_slice().len() }));
    }
    let mut bytes = Vec::new();
    let shape = [gains.len() as u64, size as u64, size as u64];
    let options = npyz::WriteOptions::<f64>::new().default_dtype().shape(&shape);
    let mut writer = options.writer(&mut bytes).begin_nd()?;
    for matrix in gains {
        writer.extend(matrix.as_slice().iter().copied())?;
    }
    writer.finish()?;
    Ok(bytes)
}

/// One square matrix of at least one link, or several.
fn check_shape(shape: &[u64]) -> Result<(), NpyError> {
    let (instances, size) = match *shape {
        [rows, columns] if rows == columns => (1, rows),
        [instances, rows, columns] if rows == columns => (instances, rows),
        _ => return Err(NpyError::shape(shape, "K×K or N×K×K")),
    };
    if instances == 0 || size == 0 {
        return Err(NpyError::shape(shape, "at least one link"));
    }
    Ok(())
}

/// How many matrices a shape has: two axes are one.
fn instances(shape: &[usize]) -> usize {
    if let [instances, _, _] = *shape { instances } else { 1 }
}

/// The matrices of an array whose shape has been checked.
fn matrices(array: &Array, file: &str) -> Result<Vec<GainMatrix>, InputError> {
    let Array { shape, order, values } = array;
    let instances = instances(shape);
    let size = shape.last().copied().unwrap_or_default();
    let matrix = |instance: usize| {
        let gains = match order {
            Order::C => values[instance * size * size..][..size * size].to_vec(),
            // The first index changes fastest.
            Order::Fortran => (0..size * size)
                .map(|at| values[instance + instances * (at / size + size * (at % size))])
                .collect(),
        };
        GainMatrix::new(size, gains).map_err(|error| {
            InputError::new(file, &format!("instance {instance}"), error.to_string())
        })
    };
    (0..instances).map(matrix).collect()
}
