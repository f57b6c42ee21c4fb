//! Samples as Parquet: every codec, encoding and type reads as the same CSV; damaged and hostile files are
//! refused.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use anyk::exchange::{SampleRow, read_samples};
use parquet::basic::{Compression, Encoding, GzipLevel, LogicalType, Repetition, Type, ZstdLevel};
use parquet::column::writer::{ColumnWriter, get_typed_column_writer_mut};
use parquet::data_type::{DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type as Schema, TypePtr};

/// A column as it goes into a file.
#[derive(Clone)]
enum Values {
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// With nulls.
    Holes(Vec<Option<f64>>),
}

impl Values {
    fn field(&self, name: &str, meaning: Option<LogicalType>) -> TypePtr {
        let (physical, repetition) = match self {
            Self::Int(_) => (Type::INT32, Repetition::REQUIRED),
            Self::Long(_) => (Type::INT64, Repetition::OPTIONAL),
            Self::Float(_) => (Type::FLOAT, Repetition::REQUIRED),
            Self::Double(_) | Self::Holes(_) => (Type::DOUBLE, Repetition::OPTIONAL),
        };
        let field = Schema::primitive_type_builder(name, physical);
        Arc::new(field.with_repetition(repetition).with_logical_type(meaning).build().unwrap())
    }

    fn slice(&self, start: usize, end: usize) -> Self {
        match self {
            Self::Int(values) => Self::Int(values[start..end].to_vec()),
            Self::Long(values) => Self::Long(values[start..end].to_vec()),
            Self::Float(values) => Self::Float(values[start..end].to_vec()),
            Self::Double(values) => Self::Double(values[start..end].to_vec()),
            Self::Holes(values) => Self::Holes(values[start..end].to_vec()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Long(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Holes(values) => values.len(),
        }
    }

    fn write(&self, writer: &mut ColumnWriter<'_>) {
        let levels = vec![1; self.len()];
        match self {
            Self::Int(values) => get_typed_column_writer_mut::<Int32Type>(writer)
                .write_batch(values, None, None)
                .unwrap(),
            Self::Long(values) => get_typed_column_writer_mut::<Int64Type>(writer)
                .write_batch(values, Some(&levels), None)
                .unwrap(),
            Self::Float(values) => get_typed_column_writer_mut::<FloatType>(writer)
                .write_batch(values, None, None)
                .unwrap(),
            Self::Double(values) => get_typed_column_writer_mut::<DoubleType>(writer)
                .write_batch(values, Some(&levels), None)
                .unwrap(),
            Self::Holes(values) => {
                let levels: Vec<i16> =
                    values.iter().map(|value| i16::from(value.is_some())).collect();
                let values: Vec<f64> = values.iter().flatten().copied().collect();
                get_typed_column_writer_mut::<DoubleType>(writer)
                    .write_batch(&values, Some(&levels), None)
                    .unwrap()
            }
        };
    }
}

type Column<'a> = (&'a str, Values, Option<LogicalType>);

/// A Parquet file of columns, in groups of at most so many rows.
fn parquet(
    columns: &[Column<'_>],
    group_rows: usize,
    properties: WriterPropertiesBuilder,
) -> Vec<u8> {
    let fields = columns.iter().map(|(name, values, meaning)| values.field(name, meaning.clone()));
    let root = Schema::group_type_builder("schema").with_fields(fields.collect()).build().unwrap();
    let properties = Arc::new(properties.build());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(root), properties).unwrap();
    let rows = columns[0].1.len();
    for start in (0..rows).step_by(group_rows) {
        let mut group = file.next_row_group().unwrap();
        for (_, values, _) in columns {
            let mut writer = group.next_column().unwrap().unwrap();
            values.slice(start, rows.min(start + group_rows)).write(writer.untyped());
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    file.close().unwrap();
    bytes
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

/// Samples of two sizes; few inputs, so that dictionaries are worth it.
fn columns(rows: i32) -> Vec<Column<'static>> {
    let sizes = (0..rows).map(|row| if row < rows / 2 { 2 } else { 50 });
    let x = (0..rows).map(|row| f64::from(row % 7) / 3.0);
    let y = (0..rows).map(|row| f64::from(row).sqrt());
    vec![
        ("k", Values::Long(sizes.collect()), None),
        ("x", Values::Double(x.collect()), None),
        ("y", Values::Double(y.collect()), None),
        ("instance", Values::Int((0..rows).map(|row| row / 2).collect()), None),
    ]
}

/// The rows that the same samples have as CSV.
fn rows_by_csv(rows: i32) -> Vec<SampleRow> {
    let mut text = String::from("k,x,y,instance\n");
    for row in 0..rows {
        let k = if row < rows / 2 { 2 } else { 50 };
        let (x, y) = (f64::from(row % 7) / 3.0, f64::from(row).sqrt());
        writeln!(text, "{k},{x},{y},{}", row / 2).unwrap();
    }
    read_samples(text.as_bytes(), "f").unwrap()
}

/// Every codec with both versions of pages, with dictionaries and without.
fn variants() -> Vec<(String, WriterPropertiesBuilder)> {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
    ];
    let mut variants = Vec::new();
    for codec in codecs {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for dictionary in [true, false] {
                let properties = plain().set_compression(codec).set_writer_version(version);
                let properties = properties.set_dictionary_enabled(dictionary);
                let name = format!("{codec} {version:?} dictionary {dictionary}");
                variants.push((name, properties.set_data_page_row_count_limit(300)));
            }
        }
    }
    let split = plain().set_dictionary_enabled(false).set_encoding(Encoding::BYTE_STREAM_SPLIT);
    variants.push(("streams".to_owned(), split));
    variants
}

#[test]
fn every_codec_and_encoding_reads_as_csv() {
    let expected = rows_by_csv(2000);
    for (name, properties) in variants() {
        let properties = properties.set_write_batch_size(100);
        let bytes = parquet(&columns(2000), 900, properties);
        assert_eq!(read_samples(&bytes, "f").unwrap(), expected, "{name}");
    }
}

#[test]
fn every_type_reads_as_csv() {
    let whole = |bits, signed| Some(LogicalType::integer(bits, signed));
    let (k, y) = (vec![2, 2, 5], vec![0.5, -1.0, 3.0]);
    let long: Vec<i64> = k.iter().map(|&k| i64::from(k)).collect();
    let sizes = [
        (Values::Int(k.clone()), None),
        (Values::Int(k.clone()), whole(8, true)),
        (Values::Int(k.clone()), whole(16, false)),
        (Values::Int(k.clone()), whole(32, false)),
        (Values::Long(long.clone()), None),
        (Values::Long(long.clone()), whole(64, true)),
        (Values::Long(long), whole(64, false)),
        (Values::Float(vec![2.0, 2.0, 5.0]), None),
        (Values::Double(vec![2.0, 2.0, 5.0]), None),
    ];
    let inputs = [
        (Values::Int(vec![1, -2, 3]), None),
        (Values::Long(vec![1, -2, 3]), None),
        (Values::Float(vec![1.0, -2.0, 3.0]), None),
        (Values::Holes(vec![Some(1.0), Some(-2.0), Some(3.0)]), None),
    ];
    let expected = read_samples(b"y,x,k\n0.5,1,2\n-1,-2,2\n3,3,5\n", "f").unwrap();
    for (k, k_meaning) in &sizes {
        for (x, x_meaning) in &inputs {
            let columns = [
                // Any order, any case.
                ("Y", Values::Double(y.clone()), None),
                ("x", x.clone(), x_meaning.clone()),
                ("K", k.clone(), k_meaning.clone()),
            ];
            assert_eq!(read_samples(&parquet(&columns, 10, plain()), "f").unwrap(), expected);
        }
    }
    // Bytes that are negative with a sign are large without.
    let unsigned = |values, meaning| {
        let double = |value| Values::Double(vec![value]);
        let columns = [("k", double(1.0), None), ("x", values, meaning), ("y", double(1.0), None)];
        read_samples(&parquet(&columns, 10, plain()), "f").unwrap()[0].x
    };
    approx::assert_relative_eq!(unsigned(Values::Int(vec![-1]), whole(32, false)), 4_294_967_295.0);
    approx::assert_relative_eq!(unsigned(Values::Long(vec![-1]), whole(64, false)), 2_f64.powi(64));
}

#[track_caller]
fn refused(bytes: &[u8], part: &str) {
    let error = read_samples(bytes, "samples.parquet").unwrap_err().to_string();
    assert!(error.starts_with("samples.parquet: ") && error.contains(part), "{part}: {error}");
}

#[test]
fn what_is_wrong_is_named() {
    let double = |values: &[f64]| Values::Double(values.to_vec());
    let of = |columns: &[Column<'_>]| parquet(columns, 2, plain());
    let (k, x) = (("k", double(&[2.0; 3]), None), ("x", double(&[1.0; 3]), None));
    let with_y = |y: Values| of(&[k.clone(), x.clone(), ("y", y, None)]);
    refused(&of(&[k.clone(), x.clone()]), "the column y is missing, expected Parquet with");
    refused(&of(&[k.clone(), k.clone(), x.clone()]), "the column k stands twice");
    refused(&of(&[k.clone(), ("z", double(&[1.0; 3]), None)]), "the column is \"z\", expected");
    refused(&with_y(double(&[1.0, f64::NAN, 2.0])), "y[1] is NaN, expected a finite number");
    refused(&with_y(double(&[1.0, 1.0, f64::INFINITY])), "y[2] is inf, expected a finite");
    // The row counts over groups.
    refused(&with_y(Values::Holes(vec![Some(1.0), Some(1.0), None])), "y[2] is null, expected");
    let sizes =
        |k: &[f64]| of(&[("k", double(k), None), x.clone(), ("y", double(&[1.0; 3]), None)]);
    refused(&sizes(&[2.0, 2.5, 2.0]), "k[1] is 2.5, expected a whole number from 1 to 10000000");
    refused(&sizes(&[2.0, 2.0, -1.0]), "k[2] is -1, expected a whole number");
    let none = [("k", double(&[]), None), ("x", double(&[]), None), ("y", double(&[]), None)];
    refused(&of(&none), "there are no samples");
    let instance = ("instance", Values::Long(vec![0, -1, 0]), None);
    let y = ("y", double(&[1.0; 3]), None);
    refused(&of(&[k.clone(), x.clone(), y, instance]), "instance[1] is -1, expected");
    let date = ("y", Values::Int(vec![1; 3]), Some(LogicalType::Date));
    refused(&of(&[k.clone(), x.clone(), date]), "the column y is no plain column of numbers");
    // Columns that are not of numbers, and nested ones.
    for (message, part) in [
        ("message m { required double k; required double x; required binary y; }", "y is of bytes"),
        (
            "message m { required double k; required double x; required boolean y; }",
            "y is of truth",
        ),
        ("message m { required double k; required double x; repeated double y; }", "y is nested"),
        (
            "message m { required double k; required double x;
             optional group y (LIST) { repeated group list { optional double element; } } }",
            "the column y is nested",
        ),
        (
            "message m { required double k; optional group p { required double x; } }",
            "the column is \"p\"",
        ),
    ] {
        let schema = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
        let mut bytes = Vec::new();
        let file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(plain().build()));
        file.unwrap().close().unwrap();
        refused(&bytes, part);
    }
}

#[test]
fn any_damage_is_an_error_or_an_answer() {
    for (name, properties) in variants() {
        let bytes = parquet(&columns(40), 30, properties);
        for at in 0..bytes.len() {
            // The last sets it to 0.
            for flip in [0x01, 0x41, 0x80, 0xff, bytes[at]] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                match read_samples(&damaged, "f") {
                    Ok(rows) => assert_eq!(rows.len(), 40, "{name}"),
                    // Our checks find it, not the guard against panics.
                    Err(error) => assert!(!error.message.contains("gave up"), "{name} {at}"),
                }
            }
        }
        // Run lengths that do not end, where the decoder panics.
        for at in 0..bytes.len() - 12 {
            let mut damaged = bytes.clone();
            damaged[at..at + 12].fill(0xff);
            let _ = read_samples(&damaged, "f");
        }
        for length in 4..bytes.len() {
            refused(&bytes[..length], "the Parquet file is damaged");
        }
    }
}

/// A struct of Thrift's compact protocol, written by hand: no writer makes hostile files.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn field(mut self, id: u8, kind: u8, value: &[u8]) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.bytes.extend(value);
        self.last = id;
        self
    }

    fn int(self, id: u8, value: i32) -> Self {
        self.field(id, 5, &zigzag(value.into()))
    }

    fn long(self, id: u8, value: i64) -> Self {
        self.field(id, 6, &zigzag(value))
    }

    fn text(self, id: u8, text: &str) -> Self {
        self.field(id, 8, &[&varint(text.len() as u64)[..], text.as_bytes()].concat())
    }

    /// A list of structs (kind 12), numbers (5) or texts (8), ready to be written.
    fn list(self, id: u8, kind: u8, items: &[Vec<u8>]) -> Self {
        let head = [&[0xf0 | kind][..], &varint(items.len() as u64)].concat();
        self.field(id, 9, &[head, items.concat()].concat())
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}

fn zigzag(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)).cast_unsigned())
}

fn leaf(name: &str) -> Vec<u8> {
    Thrift::default().int(1, 5).int(3, 0).text(4, name).end()
}

fn group(name: &str, children: i32) -> Vec<u8> {
    Thrift::default().int(3, 0).text(4, name).int(5, children).end()
}

/// A file of three columns that all lie in the same pages.
struct Hostile {
    pages: Vec<u8>,
    codec: i32,
    rows: i64,
    chunk_bytes: i64,
    schema: Vec<Vec<u8>>,
}

impl Hostile {
    /// Harmless yet: two rows of one plain page.
    fn new() -> Self {
        let values = [2.0_f64, 3.0].map(f64::to_le_bytes).concat();
        Self::of_page(data_page(2, 16, values.len()), &values, 0)
    }

    fn of_page(header: Vec<u8>, data: &[u8], codec: i32) -> Self {
        let pages = [header, data.to_vec()].concat();
        let schema = vec![group("schema", 3), leaf("k"), leaf("x"), leaf("y")];
        Self { chunk_bytes: pages.len() as i64, pages, codec, rows: 2, schema }
    }

    fn bytes(&self) -> Vec<u8> {
        let details = Thrift::default()
            .int(1, 5)
            .list(2, 5, &[zigzag(0)])
            .list(3, 8, &[vec![1, b'k']])
            .int(4, self.codec)
            .long(5, self.rows)
            .long(6, self.chunk_bytes)
            .long(7, self.chunk_bytes)
            .long(9, 4)
            .end();
        let column = Thrift::default().long(2, 4).field(3, 12, &details).end();
        let columns = vec![column; 3];
        let rows = Thrift::default().list(1, 12, &columns).long(2, 0).long(3, self.rows).end();
        let footer = Thrift::default().int(1, 1).list(2, 12, &self.schema).long(3, self.rows);
        self.with_footer(&footer.list(4, 12, &[rows]).end())
    }

    fn with_footer(&self, footer: &[u8]) -> Vec<u8> {
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        [b"PAR1", &self.pages[..], footer, &length, b"PAR1"].concat()
    }
}

fn data_page(count: i32, unpacked: i32, packed: usize) -> Vec<u8> {
    let details = Thrift::default().int(1, count).int(2, 0).int(3, 3).int(4, 3).end();
    let header = Thrift::default().int(1, 0).int(2, unpacked);
    header.int(3, i32::try_from(packed).unwrap()).field(5, 12, &details).end()
}

#[test]
fn hostile_files_are_refused_in_bounds() {
    let rows = read_samples(&Hostile::new().bytes(), "f").unwrap();
    assert_eq!(rows[1], SampleRow { k: 3, x: 3.0, y: 3.0, instance: None });
    let hostile = |change: &dyn Fn(&mut Hostile)| {
        let mut file = Hostile::new();
        change(&mut file);
        file.bytes()
    };
    let many = hostile(&|file| file.rows = 1_000_000_000_000);
    refused(&many, "claims 1000000000000 rows, expected at most 50000000");
    refused(&hostile(&|file| file.rows = -1), "rows, expected at most 50000000");
    let ends = hostile(&|file| file.rows = 1_000_000);
    refused(&ends, "the column k cannot be read: it ends 999998 rows early; write");
    for size in [i64::MAX, -1, 1000] {
        let larger = hostile(&|file| file.chunk_bytes = size);
        refused(&larger, "the column k is larger than the file");
    }
    let whole = hostile(&|file| file.chunk_bytes = file.pages.len() as i64 + 4);
    refused(&whole, "the column k cannot be read: its bytes from 4 on are not in the file");
    refused(&hostile(&|file| file.codec = 4), "packed as BROTLI");
    // Schemas that would take all stack or memory.
    let deep: Vec<_> = (0..200_000).map(|_| group("k", 1)).collect();
    let deep = [vec![group("schema", 1)], deep].concat();
    refused(&hostile(&|file| file.schema.clone_from(&deep)), "the column x is missing");
    let nested = vec![group("schema", 3), group("k", i32::MAX), leaf("x"), leaf("y")];
    refused(&hostile(&|file| file.schema.clone_from(&nested)), "the column x is missing");
    let least = Thrift::default().int(3, 0).text(4, "k").long(5, i64::MIN).end();
    let negative = vec![group("schema", 3), least, leaf("x"), leaf("y")];
    refused(&hostile(&|file| file.schema.clone_from(&negative)), "the column x is missing");
    let last = vec![group("schema", 3), leaf("x"), leaf("y"), group("k", i32::MAX)];
    refused(&hostile(&|file| file.schema.clone_from(&last)), "the column k is nested");
    // An empty page before the others is not the end.
    let mut file = Hostile::new();
    file.pages = [data_page(0, 0, 0), file.pages].concat();
    file.chunk_bytes = file.pages.len() as i64;
    assert_eq!(read_samples(&file.bytes(), "f").unwrap(), rows);
    // Pages that would take all memory.
    let of = |header: Vec<u8>, data: &[u8], codec| Hostile::of_page(header, data, codec).bytes();
    // Snappy, gzip, zstd.
    for codec in [1, 2, 6] {
        let page = of(data_page(2, i32::MAX, 9), b"untouched", codec);
        refused(&page, "a page of 2 numbers claims 2147483647 bytes");
        refused(&of(data_page(2, 16, 9), b"untouched", codec), "a page cannot be unpacked");
        refused(&of(data_page(2, -1, 9), b"untouched", codec), "a page has the size -1");
        refused(&of(data_page(i32::MAX, 16, 9), b"untouched", codec), "where 2 are left");
    }
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 1 << 28), &mut bomb).unwrap();
    let bomb = bomb.finish().unwrap();
    refused(&of(data_page(2, 16, bomb.len()), &bomb, 2), "a page unpacks to 17 bytes, not to 16");
    // Each of many pages as large as a page may be, for a row each.
    let mut page = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    page.write_all(&[0; 1 << 20]).unwrap();
    let page = page.finish().unwrap();
    let mut file = Hostile::of_page(data_page(1, 1 << 20, page.len()), &page, 2);
    file.pages = file.pages.repeat(64);
    (file.rows, file.chunk_bytes) = (64, file.pages.len() as i64);
    refused(&file.bytes(), "3 pages of 64 rows claim 3145728 bytes");
    let details = Thrift::default().int(1, i32::MAX).int(2, 0).end();
    let dictionary = Thrift::default().int(1, 2).int(2, 8).int(3, 8).field(7, 12, &details).end();
    refused(&of(dictionary, &[0; 8], 0), "a dictionary of 2147483647 numbers has 8 bytes");
    // Footers that would take all stack or memory, or that are not whole.
    let file = Hostile::new();
    let schema = Thrift::default().int(1, 1).list(2, 12, &file.schema).long(3, 2);
    let lists = schema.field(4, 9, &[&[0xfc], &varint(u64::MAX)[..]].concat());
    refused(&file.with_footer(&lists.bytes), "the Parquet file is damaged: it ends early");
    let structs = [vec![0x9c], vec![0x1c; 100_000]].concat();
    refused(&file.with_footer(&structs), "its structs are too deep");
    refused(&file.with_footer(&vec![0; 3 << 20]), "the footer has 3145728 bytes, expected at most");
    refused(b"PAR1\xff\xff\xff\xffPAR1", "its footer claims 4294967295 bytes");
    refused(b"PAR1\0\0\0\0PARE", "encrypted");
    refused(b"PARE\0\0\0\0PARE", "encrypted");
    refused(b"PAR1", "it does not end with PAR1");
    refused(b"PAR1PAR1", "the Parquet file is damaged");
}
