//! Columns of samples in a Parquet file, as pandas, polars and Arrow write it.

mod pages;
mod thrift;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::exchange::input_error::shorten;
use crate::exchange::parquet_file::pages::Pages;
use crate::exchange::parquet_file::thrift::{Compact, Kind};

/// How a Parquet file begins and ends, and how one ends whose footer is encrypted.
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";
/// Larger footers are refused: the crate makes room for what their lists claim.
const MOST_FOOTER_BYTES: usize = 1 << 21;
/// Columns looked at: four are known, and a fifth is refused by its name.
const MOST_COLUMNS: usize = 16;
/// Rows decoded at a time.
const BATCH: usize = 1 << 16;
const NUMBERS: &str = "whole numbers or floats of 32 or 64 bits";

/// The footer of a file, of which only the names of columns are known.
#[derive(Debug)]
pub(super) struct Footer<'a> {
    bytes: &'a [u8],
    /// All that stands before it.
    pages: &'a [u8],
    elements: Vec<Element>,
}

/// A file whose columns are all of numbers.
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

/// Whether a file is one of Parquet, by its first bytes.
pub(super) fn recognised(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(ENCRYPTED)
}

impl<'a> Footer<'a> {
    /// An error says what is wrong with the file.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let (rest, tail) =
            bytes.split_at_checked(bytes.len().saturating_sub(8)).unwrap_or_default();
        let (length, magic) = tail.split_first_chunk().unwrap_or((&[0; 4], &[]));
        match magic {
            ENCRYPTED => return Err("the Parquet file is encrypted, expected plain".to_owned()),
            MAGIC => {}
            _ => return Err(damaged("it does not end with PAR1, so it is not whole")),
        }
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let start = rest.len().checked_sub(length).filter(|&start| start >= MAGIC.len());
        let (pages, footer) = start
            .and_then(|start| rest.split_at_checked(start))
            .ok_or_else(|| damaged(&format!("its footer claims {length} bytes")))?;
        if length > MOST_FOOTER_BYTES {
            return Err(format!(
                "the footer has {length} bytes, expected at most {MOST_FOOTER_BYTES}; write fewer, larger \
                 groups of rows"
            ));
        }
        let elements = schema(footer).map_err(|error| damaged(&error))?;
        Ok(Self { bytes: footer, pages, elements })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(|element| element.name.as_str())
    }

    /// Checks the types of the columns and the number of rows.
    pub(super) fn open(self, most_rows: usize) -> Result<ParquetSamples<'a>, String> {
        let Self { bytes, pages, elements } = self;
        let columns = elements.into_iter().map(Element::column).collect::<Result<Vec<_>, _>>()?;
        let metadata = guarded(|| decode(bytes, &columns)).map_err(|error| damaged(&error))?;
        let groups = metadata.row_groups().iter();
        let counts = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(usize::MAX));
        let rows = counts.fold(0_usize, usize::saturating_add);
        if rows > most_rows {
            return Err(format!(
                "the Parquet file claims {rows} rows, expected at most {most_rows}"
            ));
        }
        if i64::try_from(rows).ok() != Some(metadata.file_metadata().num_rows()) {
            return Err(damaged("its groups of rows do not add up"));
        }
        Ok(ParquetSamples { pages, columns, metadata })
    }
}

impl ParquetSamples<'_> {
    /// All numbers of a column.
    pub(super) fn column(&self, position: usize) -> Result<Vec<f64>, String> {
        let Column { name, .. } = &self.columns[position];
        // Groups that share pages could keep the reader busy for hours.
        let sizes = self.metadata.row_groups().iter().map(|group| {
            usize::try_from(group.column(position).compressed_size()).unwrap_or(usize::MAX)
        });
        if sizes.fold(0_usize, usize::saturating_add) > self.pages.len() {
            return Err(damaged(&format!("the column {name} is larger than the file")));
        }
        let mut values = Vec::new();
        for group in self.metadata.row_groups() {
            let null = guarded(|| self.append(position, group, &mut values)).map_err(|error| {
                format!("the column {name} cannot be read: {error}; write the file again")
            })?;
            if let Some(row) = null {
                return Err(format!("{name}[{row}] is null, expected a number in every row"));
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
    ) -> Result<Option<usize>, String> {
        let (column, chunk) = (&self.columns[position], group.column(position));
        // Not negative: the sum over groups has been checked.
        let rows = usize::try_from(group.num_rows()).unwrap_or_default();
        let bytes = chunk_bytes(self.pages, chunk)?;
        let pages = |width| -> Box<dyn PageReader> {
            Box::new(Pages::new(bytes, chunk.compression(), (width, column.optional), rows))
        };
        let schema = chunk.column_descr_ptr();
        // Whole numbers of this field (users, instances) are far under 2^53.
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
) -> Result<Option<usize>, String> {
    let (mut decoded, mut levels) = (Vec::new(), Vec::new());
    let mut left = rows;
    while left > 0 {
        decoded.clear();
        levels.clear();
        let batch = left.min(BATCH);
        let (read, present, _) =
            reader.read_records(batch, Some(&mut levels), None, &mut decoded).map_err(text)?;
        if read == 0 {
            return Err(format!("it ends {left} rows early"));
        }
        if present < read {
            let null = levels.iter().position(|&level| level == 0).unwrap_or_default();
            return Ok(Some(values.len() + null));
        }
        values.extend(decoded.iter().map(&widened));
        left -= read;
    }
    Ok(None)
}

/// Where the pages of a column in a group of rows lie.
fn chunk_bytes<'a>(bytes: &'a [u8], chunk: &ColumnChunkMetaData) -> Result<&'a [u8], String> {
    if chunk.file_path().is_some() {
        return Err("it lies in another file".to_owned());
    }
    // Some writers set the dictionary's place to 0 where there is none.
    let first = match chunk.dictionary_page_offset() {
        Some(offset) if offset > 0 => offset.min(chunk.data_page_offset()),
        _ => chunk.data_page_offset(),
    };
    let start = usize::try_from(first).ok();
    let length = usize::try_from(chunk.compressed_size()).ok();
    let range =
        start.zip(length).and_then(|(start, length)| bytes.get(start..start.checked_add(length)?));
    range.ok_or_else(|| format!("its bytes from {first} on are not in the file"))
}

/// Groups of rows and their columns. The crate's reader of schemas recurses as deep and makes room for as
/// many as a file claims, so it gets a schema that has been checked here.
fn decode(footer: &[u8], columns: &[Column]) -> Result<ParquetMetaData, String> {
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
    let fields = fields.collect::<Result<Vec<_>, _>>().map_err(text)?;
    let root = Type::group_type_builder("samples").with_fields(fields).build().map_err(text)?;
    let options = ParquetMetaDataOptions::new()
        .with_schema(Arc::new(SchemaDescriptor::new(Arc::new(root))))
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    ParquetMetaDataReader::decode_metadata_with_options(footer, Some(&options)).map_err(text)
}

/// Numbers of the fields of an entry.
const PHYSICAL: usize = 1;
const REPETITION: usize = 3;
const NAME: usize = 4;
const CHILDREN: usize = 5;
const OLD_MEANING: usize = 6;
const MEANING: usize = 10;

/// One entry of a schema, which lists a tree from the root down.
#[derive(Debug, Default)]
struct Element {
    name: String,
    /// By the number of their field.
    numbers: [Option<i64>; 10],
    /// The meaning: its kind and, of whole numbers, whether they have a sign.
    meaning: Option<(usize, Option<i64>)>,
}

/// The entries right under the root: what stands deeper belongs to nested columns, which are refused.
fn schema(footer: &[u8]) -> Result<Vec<Element>, String> {
    let mut elements = Vec::new();
    // The root, and then what is left of a nested column.
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
                deeper = if index == 0 { 0 } else { (deeper - 1).saturating_add(children) };
            }
        }
        Ok(true)
    })?;
    Ok(elements)
}

fn element(reader: &mut Compact<'_>) -> Result<Element, String> {
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
    /// The column that it stands for, if that is one of numbers.
    fn column(self) -> Result<Column, String> {
        let name = shorten(&self.name);
        let repetition = self.numbers[REPETITION];
        let refuse = |found: &str| Err(format!("the column {name} {found}, expected {NUMBERS}"));
        if self.numbers[CHILDREN].unwrap_or_default() != 0 || repetition == Some(2) {
            return refuse("is nested");
        }
        // Meanings of whole numbers: 10 now, and 11 to 18 before, of which up to 14 without a sign.
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

fn damaged(what: &str) -> String {
    format!("the Parquet file is damaged: {what}; write it again")
}

/// The crate means to refuse damaged files, yet it panics on some: at run lengths of more than ten bytes, for
/// one, which only its decoder comes upon. Whatever can be checked before is (a test damages every byte); the
/// rest must not end the program.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("the decoder gave up".to_owned()))
}

/// What the crate says, or what [`Pages`] said through it.
fn text(error: ParquetError) -> String {
    match error {
        ParquetError::External(error) => error.to_string(),
        other => shorten(&other.to_string()),
    }
}
