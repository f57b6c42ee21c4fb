//! Columns of samples in a Parquet file, as pandas, polars and Arrow write it.

mod error;
mod pages;
mod quiet;
mod thrift;

use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::exchange::input_error::shorten;
use crate::exchange::parquet_file::error::{Damage, DecodeError};
use crate::exchange::parquet_file::pages::Pages;
use crate::exchange::parquet_file::quiet::catch_quietly;
use crate::exchange::parquet_file::thrift::{Compact, Kind, ThriftError};

pub(super) use crate::exchange::parquet_file::error::ParquetFileError;

/// Last bytes of a Parquet file, and of one whose footer is encrypted.
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";
/// Larger footers are refused: the crate allocates as much as their lists claim.
const MOST_FOOTER_BYTES: usize = 1 << 21;
/// Columns to look at: four names are known, and any other is refused.
const MOST_COLUMNS: usize = 16;
/// Rows decoded at a time.
const BATCH: usize = 1 << 16;

/// The footer of a file; so far, only its schema has been read.
#[derive(Debug)]
pub(super) struct Footer<'a> {
    bytes: &'a [u8],
    /// Everything before the footer.
    pages: &'a [u8],
    elements: Vec<Element>,
}

/// A file in which every column holds numbers.
#[derive(Debug)]
pub(super) struct ParquetSamples<'a> {
    pages: &'a [u8],
    columns: Vec<Column>,
    metadata: ParquetMetaData,
}

#[derive(Debug)]
struct Column {
    name: String,
    numbers: Numbers,
    optional: bool,
}

/// What the bytes of a number mean.
#[derive(Debug, Clone, Copy)]
enum Numbers {
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float,
    Double,
}

impl<'a> Footer<'a> {
    /// Finds the footer and reads its schema.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ParquetFileError> {
        let (rest, tail) =
            bytes.split_at_checked(bytes.len().saturating_sub(8)).unwrap_or_default();
        let (length, magic) = tail.split_first_chunk().unwrap_or((&[0; 4], &[]));
        match magic {
            ENCRYPTED => return Err(ParquetFileError::Encrypted),
            MAGIC => {}
            _ => return Err(Damage::NotWhole.into()),
        }
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let start = rest.len().checked_sub(length).filter(|&start| start >= MAGIC.len());
        let (pages, footer) = start
            .and_then(|start| rest.split_at_checked(start))
            .ok_or(Damage::FooterClaim(length))?;
        if length > MOST_FOOTER_BYTES {
            return Err(ParquetFileError::FooterSize { length, most: MOST_FOOTER_BYTES });
        }
        let elements = schema(footer).map_err(Damage::from)?;
        Ok(Self { bytes: footer, pages, elements })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(|element| element.name.as_str())
    }

    /// Checks the types of the columns and the number of rows.
    pub(super) fn open(self, most_rows: usize) -> Result<ParquetSamples<'a>, ParquetFileError> {
        let Self { bytes, pages, elements } = self;
        let columns = elements.into_iter().map(Element::column).collect::<Result<Vec<_>, _>>()?;
        let metadata = guarded(|| decode(bytes, &columns)).map_err(Damage::from)?;
        let groups = metadata.row_groups().iter();
        let counts = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(usize::MAX));
        let rows = counts.fold(0_usize, usize::saturating_add);
        if rows > most_rows {
            return Err(ParquetFileError::Rows { rows, most: most_rows });
        }
        if i64::try_from(rows).ok() != Some(metadata.file_metadata().num_rows()) {
            return Err(Damage::Rows.into());
        }
        Ok(ParquetSamples { pages, columns, metadata })
    }
}

impl ParquetSamples<'_> {
    /// How many rows the groups of the file say that they have, all together.
    pub(super) fn rows(&self) -> usize {
        // Not negative: `open` has compared it with the sum over the groups.
        usize::try_from(self.metadata.file_metadata().num_rows()).unwrap_or_default()
    }

    /// All numbers of a column.
    pub(super) fn column(&self, position: usize) -> Result<Vec<f64>, ParquetFileError> {
        let Column { name, .. } = &self.columns[position];
        // Groups that share pages could keep the reader busy for hours.
        let sizes = self.metadata.row_groups().iter().map(|group| {
            usize::try_from(group.column(position).compressed_size()).unwrap_or(usize::MAX)
        });
        if sizes.fold(0_usize, usize::saturating_add) > self.pages.len() {
            return Err(Damage::ColumnSize(name.clone()).into());
        }
        let mut values = Vec::new();
        for group in self.metadata.row_groups() {
            let null = guarded(|| self.append(position, group, &mut values))
                .map_err(|error| ParquetFileError::Column { column: name.clone(), error })?;
            if let Some(row) = null {
                return Err(ParquetFileError::Null { column: name.clone(), row });
            }
        }
        Ok(values)
    }

    /// Appends the numbers of a group of rows, up to the first null, whose row it returns.
    fn append(
        &self,
        position: usize,
        group: &RowGroupMetaData,
        values: &mut Vec<f64>,
    ) -> Result<Option<usize>, DecodeError> {
        let (column, chunk) = (&self.columns[position], group.column(position));
        // Not negative: `open` counts a negative number as too many rows.
        let rows = usize::try_from(group.num_rows()).unwrap_or_default();
        let bytes = chunk_bytes(self.pages, chunk)?;
        let pages = |width| -> Box<dyn PageReader> {
            Box::new(Pages::new(bytes, chunk.compression(), (width, column.optional), rows))
        };
        let schema = chunk.column_descr_ptr();
        // Whole numbers count users or instances, and are far below 2^53.
        #[allow(clippy::cast_precision_loss)]
        match column.numbers {
            Numbers::Int32 => {
                let reader = ColumnReaderImpl::<Int32Type>::new(schema, pages(4));
                append_all(reader, rows, values, |value| f64::from(*value))
            }
            Numbers::Uint32 => {
                let reader = ColumnReaderImpl::<Int32Type>::new(schema, pages(4));
                append_all(reader, rows, values, |value| f64::from(value.cast_unsigned()))
            }
            Numbers::Int64 => {
                let reader = ColumnReaderImpl::<Int64Type>::new(schema, pages(8));
                append_all(reader, rows, values, |value| *value as f64)
            }
            Numbers::Uint64 => {
                let reader = ColumnReaderImpl::<Int64Type>::new(schema, pages(8));
                append_all(reader, rows, values, |value| value.cast_unsigned() as f64)
            }
            Numbers::Float => {
                let reader = ColumnReaderImpl::<FloatType>::new(schema, pages(4));
                append_all(reader, rows, values, |value| f64::from(*value))
            }
            Numbers::Double => {
                let reader = ColumnReaderImpl::<DoubleType>::new(schema, pages(8));
                append_all(reader, rows, values, |value| *value)
            }
        }
    }
}

fn append_all<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<f64>,
    widened: impl Fn(&T::T) -> f64,
) -> Result<Option<usize>, DecodeError> {
    let (mut decoded, mut marks) = (Vec::new(), Vec::new());
    let mut left = rows;
    while left > 0 {
        decoded.clear();
        marks.clear();
        let batch = left.min(BATCH);
        let (read, present, _) =
            reader.read_records(batch, Some(&mut marks), None, &mut decoded)?;
        if read == 0 {
            return Err(DecodeError::EndsEarly(left));
        }
        if present < read {
            let null = marks.iter().position(|&mark| mark == 0).unwrap_or_default();
            return Ok(Some(values.len() + null));
        }
        values.extend(decoded.iter().map(&widened));
        left -= read;
    }
    Ok(None)
}

/// The pages of a column in a group of rows.
fn chunk_bytes<'a>(bytes: &'a [u8], chunk: &ColumnChunkMetaData) -> Result<&'a [u8], DecodeError> {
    if chunk.file_path().is_some() {
        return Err(DecodeError::OtherFile);
    }
    // Some writers give a dictionary's offset as 0 if there is no dictionary.
    let first = match chunk.dictionary_page_offset() {
        Some(offset) if offset > 0 => offset.min(chunk.data_page_offset()),
        _ => chunk.data_page_offset(),
    };
    let start = usize::try_from(first).ok();
    let length = usize::try_from(chunk.compressed_size()).ok();
    let range =
        start.zip(length).and_then(|(start, length)| bytes.get(start..start.checked_add(length)?));
    range.ok_or(DecodeError::OutsideTheFile(first))
}

/// Groups of rows and their columns. The crate's reader of schemas recurses as deep, and allocates as much, as a
/// file claims, so it gets a schema that has been checked here.
fn decode(footer: &[u8], columns: &[Column]) -> Result<ParquetMetaData, DecodeError> {
    let fields = columns.iter().map(|column| {
        let physical = match column.numbers {
            Numbers::Int32 | Numbers::Uint32 => Physical::INT32,
            Numbers::Int64 | Numbers::Uint64 => Physical::INT64,
            Numbers::Float => Physical::FLOAT,
            Numbers::Double => Physical::DOUBLE,
        };
        let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(&column.name, physical);
        field.with_repetition(repetition).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder("samples").with_fields(fields).build()?;
    let options = ParquetMetaDataOptions::new()
        .with_schema(Arc::new(SchemaDescriptor::new(Arc::new(root))))
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    Ok(ParquetMetaDataReader::decode_metadata_with_options(footer, Some(&options))?)
}

/// Numbers of the fields of an element.
const PHYSICAL: usize = 1;
const REPETITION: usize = 3;
const NAME: usize = 4;
const CHILDREN: usize = 5;
const OLD_MEANING: usize = 6;
const MEANING: usize = 10;

/// One element of a schema, which lists a tree from the root down.
#[derive(Debug, Default)]
struct Element {
    name: String,
    /// The fields that are whole numbers, by the number of the field.
    numbers: [Option<i64>; 10],
    /// What the values mean: the kind of meaning and, for whole numbers, whether they have a sign.
    meaning: Option<(usize, Option<i64>)>,
}

/// The elements right under the root: deeper ones belong to nested columns, which are refused.
fn schema(footer: &[u8]) -> Result<Vec<Element>, ThriftError> {
    let mut elements = Vec::new();
    // Elements still to skip: the root, later the rest of a nested column.
    let mut deeper = 1_i64;
    Compact::new(footer).fields(&mut |reader, id, kind| {
        if id != 2 {
            return Ok(false);
        }
        for index in 0..reader.structs(kind)? {
            let element = element(reader)?;
            let children = element.numbers[CHILDREN].unwrap_or_default();
            if deeper == 0 {
                deeper = children;
                if elements.len() < MOST_COLUMNS {
                    elements.push(element);
                }
            } else {
                // Saturating, since the counts are what the file claims, down to the least number.
                let rest = deeper.saturating_sub(1).saturating_add(children);
                deeper = if index == 0 { 0 } else { rest };
            }
        }
        Ok(true)
    })?;
    Ok(elements)
}

fn element(reader: &mut Compact<'_>) -> Result<Element, ThriftError> {
    let mut element = Element::default();
    reader.fields(&mut |reader, id, kind| {
        match (id, kind) {
            (NAME, _) => {
                element.name = String::from_utf8_lossy(reader.binary(kind)?).into_owned();
            }
            (1..=9, _) => element.numbers[id] = Some(reader.number(kind)?),
            (MEANING, Kind::STRUCT) => reader.fields(&mut |reader, id, kind| {
                if kind != Kind::STRUCT {
                    return Ok(false);
                }
                element.meaning = Some((id, reader.numbers()?[2]));
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(element)
}

impl Element {
    /// The column that it describes, if that is one of numbers.
    fn column(self) -> Result<Column, ParquetFileError> {
        let repetition = self.numbers[REPETITION];
        let refuse = |found: &'static str| {
            Err(ParquetFileError::Type { column: shorten(&self.name), found })
        };
        if self.numbers[CHILDREN].unwrap_or_default() != 0 || repetition == Some(2) {
            return refuse("is nested");
        }
        // Whole numbers have the meaning 10, or the old meanings 11 to 14 (unsigned) and 15 to 18 (signed).
        let signed = match (self.meaning, self.numbers[OLD_MEANING]) {
            (None, None) => true,
            (Some((10, signed)), _) => signed != Some(0),
            (None, Some(old @ 11..=18)) => old > 14,
            _ => {
                return refuse(
                    "is no plain column of numbers (dates, decimals, half floats, texts?)",
                );
            }
        };
        let numbers = match (self.numbers[PHYSICAL], signed) {
            (Some(1), true) => Numbers::Int32,
            (Some(1), false) => Numbers::Uint32,
            (Some(2), true) => Numbers::Int64,
            (Some(2), false) => Numbers::Uint64,
            (Some(4), _) => Numbers::Float,
            (Some(5), _) => Numbers::Double,
            (Some(0), _) => return refuse("is of truth values"),
            _ => return refuse("is of bytes or texts"),
        };
        Ok(Column { name: self.name, numbers, optional: repetition != Some(0) })
    }
}

/// Runs the crate's code, and turns a panic in it into an error.
///
/// The crate means to refuse damaged files with an error, but it panics on some, for example on run lengths of more
/// than ten bytes, which only its decoder sees. We check before it whatever we can (a test damages every byte);
/// the rest must not end the program.
fn guarded<T>(read: impl FnOnce() -> Result<T, DecodeError>) -> Result<T, DecodeError> {
    catch_quietly(read).unwrap_or(Err(DecodeError::Panicked))
}
