//! Samples of the small-scale gain as NumPy arrays.

use crate::channel::FadingSamples;
use crate::exchange::InputError;
use crate::exchange::input_error::check_format;
use crate::exchange::npy::{self, Array, MAGIC, NpyError};

const FORMAT: &str = "a NumPy array of gains (.npy, float32 or float64, one axis)";

/// Reads samples of the gain `g`: a NumPy array with one axis, float32 or float64.
///
/// Only messages use `file`.
///
/// ```
/// use anyk::exchange::{fading_samples_to_npy, read_fading_samples};
/// let bytes = fading_samples_to_npy(&[1.5; 500]);
/// assert_eq!(read_fading_samples(&bytes, "samples.npy")?.as_slice(), [1.5; 500]);
/// let error = read_fading_samples(&fading_samples_to_npy(&[1.5; 20]), "few.npy").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "few.npy: the number of samples of the gain is 20, expected at least 500"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_fading_samples(bytes: &[u8], file: &str) -> Result<FadingSamples, InputError> {
    check_format(bytes, file, FORMAT)?;
    if !bytes.starts_with(MAGIC) {
        let found = if bytes.is_empty() { "is empty" } else { "is not a NumPy array" };
        return Err(InputError::whole(file, &format!("the file {found}, expected {FORMAT}")));
    }
    let one_axis = |shape: &[u64]| match shape {
        [_] => Ok(()),
        _ => Err(NpyError::shape(shape, "one axis")),
    };
    let array = Array::read(bytes, FORMAT, one_axis);
    let values = array.map_err(|error| InputError::whole(file, &error))?.values;
    FadingSamples::new(values).map_err(|error| InputError::whole(file, &error))
}

/// Returns samples of the gain as a NumPy array with one axis, float64.
pub fn fading_samples_to_npy(samples: &[f64]) -> Vec<u8> {
    npy::write(&[samples.len()], samples.iter().copied())
}
