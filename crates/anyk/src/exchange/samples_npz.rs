//! Columns of samples in a NumPy archive (`.npz`, as `np.savez` and `np.savez_compressed` write it).

use std::io::{self, Cursor, Read};

use npyz::{DType, NpyFile, TypeChar};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::exchange::input_error::shorten;
use crate::exchange::npy::{MAGIC, NpyError, check_header};

/// Larger arrays are refused: a small archive can unpack to any size.
const MOST_BYTES: u64 = 1 << 30;
const FORMAT: &str = "a NumPy array of one axis, whole numbers or floats";

/// Why an archive was refused.
#[derive(Debug, Error)]
pub(super) enum NpzError {
    #[error("not a readable archive: {}", shorten(&.0.to_string()))]
    Archive(#[from] ZipError),
    #[error("the array {name} is missing among {found}; expected k, x, y and, if known, instance")]
    Missing { name: &'static str, found: String },
    #[error("{file} cannot be unpacked: {}", shorten(&.error.to_string()))]
    Unpack { file: String, error: io::Error },
    #[error("{file} is larger than 1 GiB, expected less")]
    Size { file: String },
    #[error("{file}: {error}")]
    Array { file: String, error: ArrayError },
}

/// Why an array in an archive was refused.
#[derive(Debug, Error)]
pub(super) enum ArrayError {
    #[error("not an array, expected {FORMAT}")]
    NotAnArray,
    #[error(transparent)]
    Npy(#[from] NpyError),
    #[error("the type is {0}, expected {FORMAT}")]
    Type(String),
    #[error("the shape is {0}, expected {FORMAT}")]
    Shape(String),
    #[error("{count} numbers of {item_bytes} bytes each, but {found} bytes follow")]
    Length { count: u64, item_bytes: u64, found: usize },
    #[error("numbers of {0} bytes, expected {FORMAT}")]
    ItemBytes(u64),
}

/// The array of a name as numbers; an error if the archive does not have it.
pub(super) fn required_column(bytes: &[u8], name: &'static str) -> Result<Vec<f64>, NpzError> {
    column(bytes, name)?.ok_or_else(|| NpzError::Missing { name, found: names(bytes) })
}

/// The array of a name as numbers, if the archive has it.
pub(super) fn column(bytes: &[u8], name: &str) -> Result<Option<Vec<f64>>, NpzError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let file = format!("{name}.npy");
    if archive.index_for_name(&file).is_none() {
        return Ok(None);
    }
    let mut unpacked = Vec::new();
    let entry = archive.by_name(&file)?;
    if let Err(error) = entry.take(MOST_BYTES + 1).read_to_end(&mut unpacked) {
        return Err(NpzError::Unpack { file, error });
    }
    if unpacked.len() as u64 > MOST_BYTES {
        return Err(NpzError::Size { file });
    }
    numbers(&unpacked).map(Some).map_err(|error| NpzError::Array { file, error })
}

/// The names of the arrays, for messages.
fn names(bytes: &[u8]) -> String {
    let archive = ZipArchive::new(Cursor::new(bytes));
    let names = archive.map(|archive| {
        let names = archive.file_names().flatten().map(|name| name.to_string());
        names.collect::<Vec<_>>().join(", ")
    });
    shorten(&names.unwrap_or_default())
}

fn numbers(bytes: &[u8]) -> Result<Vec<f64>, ArrayError> {
    if !bytes.starts_with(MAGIC) {
        return Err(ArrayError::NotAnArray);
    }
    check_header(bytes, FORMAT)?;
    let mut data = bytes;
    let array = NpyFile::new(&mut data).map_err(NpyError::Broken)?;
    let header = array.header().clone();
    drop(array);
    let (kind, item_bytes) = match header.dtype() {
        DType::Plain(kind) => (kind.type_char(), kind.size_field()),
        other => return Err(ArrayError::Type(shorten(&other.descr()))),
    };
    let &[count] = header.shape() else {
        return Err(ArrayError::Shape(shorten(&format!("{:?}", header.shape()))));
    };
    // Before anything of that size is allocated.
    if item_bytes.checked_mul(count) != Some(data.len() as u64) {
        return Err(ArrayError::Length { count, item_bytes, found: data.len() });
    }
    let array = NpyFile::with_header(header, data);
    // Whole numbers count users or instances, and are far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    let values = match (kind, item_bytes) {
        (TypeChar::Float, 8) => array.into_vec::<f64>(),
        (TypeChar::Float, 4) => array.into_vec::<f32>().map(widened),
        (TypeChar::Int, 8) => {
            array.into_vec::<i64>().map(|values| values.into_iter().map(|v| v as f64).collect())
        }
        (TypeChar::Int, 4) => array.into_vec::<i32>().map(widened),
        (TypeChar::Int, 2) => array.into_vec::<i16>().map(widened),
        (TypeChar::Uint, 8) => {
            array.into_vec::<u64>().map(|values| values.into_iter().map(|v| v as f64).collect())
        }
        (TypeChar::Uint, 4) => array.into_vec::<u32>().map(widened),
        (TypeChar::Uint, 2) => array.into_vec::<u16>().map(widened),
        (TypeChar::Uint, 1) => array.into_vec::<u8>().map(widened),
        _ => return Err(ArrayError::ItemBytes(item_bytes)),
    };
    Ok(values.map_err(NpyError::Broken)?)
}

fn widened<T: Into<f64>>(values: Vec<T>) -> Vec<f64> {
    values.into_iter().map(Into::into).collect()
}
