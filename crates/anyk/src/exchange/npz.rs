//! NumPy archives (`.npz`, as `np.savez` and `np.savez_compressed` write them), unpacked within bounds.

use std::io::{self, BufReader, Cursor, Read};

use npyz::{DType, NpyFile, Order, TypeChar};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::exchange::input_error::shorten;
use crate::exchange::npy::{MAGIC, MOST_HEADER_BYTES, NpyError, check_header};

/// Most files of an archive, as many as the plain format can count: the crate allocates as many as are claimed.
const MOST_FILES: u64 = 65_535;
/// What stands before the header of an array: magic, version and length.
const PREFACE_BYTES: usize = 12;

/// Why an archive was refused.
#[derive(Debug, Error)]
pub(super) enum NpzError {
    #[error("not a readable archive: {}", shorten(&.0.to_string()))]
    Archive(#[from] ZipError),
    #[error("the archive claims {0} files, expected at most {MOST_FILES}")]
    Files(u64),
    #[error("the array {name} is missing among {found}; expected {expected}")]
    Missing { name: &'static str, found: String, expected: &'static str },
    #[error("{file} cannot be unpacked: {}", shorten(&.error.to_string()))]
    Unpack { file: String, error: io::Error },
    #[error("{file}: {error}")]
    Array { file: String, error: ArrayError },
}

/// Why an array in an archive was refused.
#[derive(Debug, Error)]
pub(super) enum ArrayError {
    #[error("not an array, expected {0}")]
    NotAnArray(&'static str),
    #[error(transparent)]
    Npy(#[from] NpyError),
    #[error("the type is {0}, expected {1}")]
    Type(String, &'static str),
    #[error("the shape is {0}, expected {1}")]
    Shape(String, &'static str),
    #[error("{count} numbers of {item_bytes} bytes each, but {found} bytes follow")]
    Length { count: u64, item_bytes: u64, found: u64 },
    #[error("numbers of {0} bytes, expected {1}")]
    ItemBytes(u64, &'static str),
}

/// An archive; nothing of its arrays has been unpacked yet.
pub(super) struct Archive<'a> {
    files: ZipArchive<Cursor<&'a [u8]>>,
    /// What its arrays are expected to be.
    format: &'static str,
}

/// An array of an archive, whose length fits what the archive says.
pub(super) struct Entry {
    file: String,
    pub(super) shape: Vec<usize>,
    pub(super) order: Order,
    /// Numbers in it.
    pub(super) count: usize,
    kind: TypeChar,
    item_bytes: u64,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8], format: &'static str) -> Result<Self, NpzError> {
        match bytes.windows(56).find_map(claimed_files) {
            Some(files) => Err(NpzError::Files(files)),
            None => Ok(Self { files: ZipArchive::new(Cursor::new(bytes))?, format }),
        }
    }

    /// The array of a name, if there is one: only its header is unpacked.
    pub(super) fn find(&mut self, name: &str) -> Result<Option<Entry>, NpzError> {
        let file = format!("{name}.npy");
        if self.files.index_for_name(&file).is_none() {
            return Ok(None);
        }
        let mut head = Vec::new();
        let entry = self.files.by_name(&file)?;
        let unpacked_bytes = entry.size();
        let most = (PREFACE_BYTES + MOST_HEADER_BYTES + 1) as u64;
        if let Err(error) = entry.take(most).read_to_end(&mut head) {
            return Err(NpzError::Unpack { file, error });
        }
        match read_head(&head, unpacked_bytes, self.format) {
            Ok((shape, order, count, kind, item_bytes)) => {
                Ok(Some(Entry { file, shape, order, count, kind, item_bytes }))
            }
            Err(error) => Err(NpzError::Array { file, error }),
        }
    }

    /// The numbers of an array, unpacked one by one: no more than its count, whatever is packed.
    pub(super) fn numbers(&mut self, entry: &Entry) -> Result<Vec<f64>, NpzError> {
        let Entry { file, count, kind, item_bytes, .. } = entry;
        let unpack = |error| NpzError::Unpack { file: file.clone(), error };
        let format = self.format;
        let refuse = |error| NpzError::Array { file: file.clone(), error };
        let mut reader = BufReader::new(self.files.by_name(file)?);
        let array = NpyFile::new(&mut reader).map_err(unpack)?;
        // Whole numbers count users or instances, and are far below 2^53.
        #[allow(clippy::cast_precision_loss)]
        let values = match (kind, item_bytes) {
            (TypeChar::Float, 8) => widened::<f64>(array, *count, |value| value),
            (TypeChar::Float, 4) => widened::<f32>(array, *count, Into::into),
            (TypeChar::Int, 8) => widened::<i64>(array, *count, |value| value as f64),
            (TypeChar::Int, 4) => widened::<i32>(array, *count, Into::into),
            (TypeChar::Int, 2) => widened::<i16>(array, *count, Into::into),
            (TypeChar::Uint, 8) => widened::<u64>(array, *count, |value| value as f64),
            (TypeChar::Uint, 4) => widened::<u32>(array, *count, Into::into),
            (TypeChar::Uint, 2) => widened::<u16>(array, *count, Into::into),
            (TypeChar::Uint, 1) => widened::<u8>(array, *count, Into::into),
            _ => return Err(refuse(ArrayError::ItemBytes(*item_bytes, format))),
        };
        let values = values.map_err(unpack)?;
        // Past the last number, where the checksum is verified, too.
        match reader.read(&mut [0]).map_err(unpack)? {
            0 => Ok(values),
            _ => Err(unpack(io::Error::other("it is larger than the archive says"))),
        }
    }

    /// The names of the first arrays, as `np.savez` was given them.
    pub(super) fn arrays(&self, most: usize) -> Vec<String> {
        let names = self.files.file_names().flatten().map(|name| name.to_string());
        let arrays = names.filter_map(|name| name.strip_suffix(".npy").map(str::to_owned));
        arrays.take(most).collect()
    }

    /// The names of the files, for messages.
    pub(super) fn names(&self) -> String {
        let names = self.files.file_names().flatten().map(|name| name.to_string());
        shorten(&names.take(20).collect::<Vec<_>>().join(", "))
    }
}

impl Entry {
    /// An error about this array's shape.
    pub(super) fn misshapen(&self, expected: &'static str) -> NpzError {
        let shape = shorten(&format!("{:?}", self.shape));
        NpzError::Array { file: self.file.clone(), error: ArrayError::Shape(shape, expected) }
    }
}

/// How many files a record of a large archive (`PK\x06\x06`, with the same number of a disk twice) claims, if more
/// than may be.
fn claimed_files(record: &[u8]) -> Option<u64> {
    let is_one = record.starts_with(b"PK\x06\x06") && record[16..20] == record[20..24];
    let files = u64::from_le_bytes(*record[32..].first_chunk()?);
    (is_one && files > MOST_FILES).then_some(files)
}

/// Shape, order, numbers, their type and the bytes of each.
type Head = (Vec<usize>, Order, usize, TypeChar, u64);

/// What an array is, by its header and by how many bytes its archive says that it unpacks to.
fn read_head(head: &[u8], unpacked_bytes: u64, format: &'static str) -> Result<Head, ArrayError> {
    if !head.starts_with(MAGIC) {
        return Err(ArrayError::NotAnArray(format));
    }
    check_header(head, format)?;
    let mut rest = head;
    let header = NpyFile::new(&mut rest).map_err(NpyError::Broken)?.header().clone();
    let (kind, item_bytes) = match header.dtype() {
        DType::Plain(kind) => (kind.type_char(), kind.size_field()),
        other => return Err(ArrayError::Type(shorten(&other.descr()), format)),
    };
    let axes = header.shape();
    let product = axes.iter().try_fold(1u64, |product, &axis| product.checked_mul(axis));
    let found = unpacked_bytes.saturating_sub((head.len() - rest.len()) as u64);
    let count = product.unwrap_or(u64::MAX);
    let fits = item_bytes.checked_mul(count) == Some(found);
    let shape = axes.iter().map(|&axis| usize::try_from(axis)).collect::<Result<Vec<_>, _>>();
    match (usize::try_from(count), shape) {
        (Ok(count), Ok(shape)) if fits => Ok((shape, header.order(), count, kind, item_bytes)),
        _ => Err(ArrayError::Length { count, item_bytes, found }),
    }
}

/// The numbers of an array; as many as the header says have been allowed.
fn widened<T: npyz::Deserialize>(
    array: NpyFile<impl Read>,
    count: usize,
    widen: impl Fn(T) -> f64,
) -> io::Result<Vec<f64>> {
    let mut values = Vec::with_capacity(count);
    let numbers = array.data::<T>().map_err(io::Error::other)?;
    for value in numbers.take(count) {
        values.push(widen(value?));
    }
    Ok(values)
}
