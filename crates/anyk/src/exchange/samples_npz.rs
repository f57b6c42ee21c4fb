//! Columns of samples in a NumPy archive (`.npz`, as `np.savez` and `np.savez_compressed` write it).

use std::io::{Cursor, Read};

use npyz::{DType, NpyFile, TypeChar};
use zip::ZipArchive;

use crate::exchange::input_error::shorten;
use crate::exchange::npy::{MAGIC, check_header};

/// Unpacked arrays that are larger are refused: an archive may claim anything.
const MOST_BYTES: u64 = 1 << 30;
const FORMAT: &str = "a NumPy array of one axis, whole numbers or floats";

/// The array of a name as numbers, if the archive has it; an error says what is wrong with it.
pub(super) fn column(bytes: &[u8], name: &str) -> Result<Option<Vec<f64>>, String> {
    let broken = |error: zip::result::ZipError| {
        format!("not a readable archive: {}", shorten(&error.to_string()))
    };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    let file = format!("{name}.npy");
    if archive.index_for_name(&file).is_none() {
        return Ok(None);
    }
    let mut unpacked = Vec::new();
    let entry = archive.by_name(&file).map_err(broken)?;
    entry
        .take(MOST_BYTES + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| format!("{file} cannot be unpacked: {}", shorten(&error.to_string())))?;
    if unpacked.len() as u64 > MOST_BYTES {
        return Err(format!("{file} is larger than 1 GiB, expected less"));
    }
    numbers(&unpacked).map(Some).map_err(|message| format!("{file}: {message}"))
}

/// The names of the arrays, for messages.
pub(super) fn names(bytes: &[u8]) -> String {
    let archive = ZipArchive::new(Cursor::new(bytes));
    let names = archive.map(|archive| {
        let names = archive.file_names().flatten().map(|name| name.to_string());
        names.collect::<Vec<_>>().join(", ")
    });
    shorten(&names.unwrap_or_default())
}

fn numbers(bytes: &[u8]) -> Result<Vec<f64>, String> {
    if !bytes.starts_with(MAGIC) {
        return Err(format!("not an array, expected {FORMAT}"));
    }
    check_header(bytes, FORMAT).map_err(|(_, message)| message)?;
    let broken = |error: std::io::Error| {
        format!("the array's header is broken: {}", shorten(&error.to_string()))
    };
    let mut data = bytes;
    let array = NpyFile::new(&mut data).map_err(broken)?;
    let header = array.header().clone();
    drop(array);
    let (kind, item_bytes) = match header.dtype() {
        DType::Plain(kind) => (kind.type_char(), kind.size_field()),
        other => return Err(format!("the type is {}, expected {FORMAT}", shorten(&other.descr()))),
    };
    let &[count] = header.shape() else {
        let shape = shorten(&format!("{:?}", header.shape()));
        return Err(format!("the shape is {shape}, expected {FORMAT}"));
    };
    // Before anything of that size is allocated.
    if item_bytes.checked_mul(count) != Some(data.len() as u64) {
        let found = data.len();
        return Err(format!(
            "{count} numbers of {item_bytes} bytes each, but {found} bytes follow"
        ));
    }
    let array = NpyFile::with_header(header, data);
    // Whole numbers of this field (users, instances) are far under 2^53.
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
        _ => return Err(format!("numbers of {item_bytes} bytes, expected {FORMAT}")),
    };
    values.map_err(broken)
}

fn widened<T: Into<f64>>(values: Vec<T>) -> Vec<f64> {
    values.into_iter().map(Into::into).collect()
}
