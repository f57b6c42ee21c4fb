//! Pages of one column of a Parquet file: found, checked and unpacked.
//!
//! The crate `parquet` has a reader of pages too. It trusts the sizes in headers and unpacks gzip
//! without a bound, so that a hostile file could fill the memory.

use std::error::Error as StdError;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use ruzstd::decoding::FrameDecoder;
use thiserror::Error;

use crate::exchange::input_error::shorten;
use crate::exchange::parquet_file::thrift::{Compact, Kind, ThriftError};

/// Numbers have at most 8 bytes: in every encoding, a page takes at most 16 bytes for each, plus this.
const MOST_EXTRA_BYTES: usize = 1 << 20;
/// The same for all pages of a column together, and this for each page: a few bytes can claim a mebibyte, and
/// thousands of such pages would keep the reader busy.
const MOST_PAGE_BYTES: usize = 1 << 12;
/// Largest block of differences; writers take 128 to 1024.
const MOST_BLOCK: u64 = 1 << 16;

/// Why a page was refused.
#[derive(Debug, Error)]
pub(super) enum PageError {
    #[error(transparent)]
    Thrift(#[from] ThriftError),
    #[error("the header of a page is not whole")]
    Header,
    #[error("field {number} in the header of a page is {value:?}, expected a count")]
    Field { number: usize, value: Option<i64> },
    #[error("a page is of the unknown kind {0}")]
    Kind(i64),
    #[error("a page has the size {0}")]
    Size(i64),
    #[error("a page of {packed} bytes, but {left} are left")]
    PastTheEnd { packed: usize, left: usize },
    #[error("the checksum of a page does not fit")]
    Checksum,
    #[error("a page of {count} rows, where {left} are left")]
    Rows { count: usize, left: usize },
    #[error("a page of {count} numbers claims {claimed} bytes")]
    Claim { count: usize, claimed: usize },
    #[error("{pages} pages of {rows} rows claim {claimed} bytes")]
    Claims { pages: usize, rows: usize, claimed: usize },
    #[error("packed as {0}, expected snappy, zstd, gzip or none")]
    Codec(String),
    #[error("a page cannot be unpacked: {}", shorten(&.0.to_string()))]
    Unpack(Box<dyn StdError + Send + Sync>),
    #[error("a page unpacks to {unpacked} bytes, not to {expected}")]
    UnpackedSize { unpacked: usize, expected: usize },
    #[error("its nulls are marked in an outdated form")]
    OutdatedMarks,
    #[error("a page's marks of nulls do not fit into it")]
    Marks,
    #[error("a dictionary of {count} numbers has {bytes} bytes")]
    Dictionary { count: u32, bytes: usize },
    #[error("its dictionary is missing")]
    NoDictionary,
    #[error("the encoding {0} is not one of numbers")]
    Encoding(usize),
    #[error("a page of {differences} differences, in blocks of {block}")]
    Differences { differences: u64, block: u64 },
    #[error("{bytes} bytes of {count} numbers (are some null?)")]
    Streams { bytes: usize, count: u32 },
}

/// The pages of one column in one group of rows.
#[derive(Debug)]
pub(super) struct Pages {
    bytes: Vec<u8>,
    at: usize,
    compression: Compression,
    /// Bytes of one number, and whether there may be nulls among them.
    width: usize,
    optional: bool,
    /// Rows of the group, and how many of them are in pages not read yet.
    rows: usize,
    rows_left: usize,
    has_dictionary: bool,
    /// Pages unpacked, and their bytes.
    pages: usize,
    unpacked_bytes: usize,
}

/// What all kinds of pages say of themselves.
struct Header {
    kind: i64,
    unpacked: usize,
    packed: usize,
    checksum: Option<u32>,
    /// Fields of the header of this kind.
    fields: [Option<i64>; 10],
}

impl Pages {
    /// From the bytes of the column; numbers have `width` bytes, and may be null if `optional`.
    pub(super) fn new(
        bytes: &[u8],
        compression: Compression,
        (width, optional): (usize, bool),
        rows: usize,
    ) -> Self {
        Self {
            bytes: bytes.to_vec(),
            at: 0,
            compression,
            width,
            optional,
            rows,
            rows_left: rows,
            has_dictionary: false,
            pages: 0,
            unpacked_bytes: 0,
        }
    }

    fn next_page(&mut self) -> Result<Option<Page>, PageError> {
        while self.at < self.bytes.len() && self.rows_left > 0 {
            let mut reader = Compact::new(&self.bytes[self.at..]);
            let header = header(&mut reader)?;
            let start = self.bytes.len() - reader.left();
            let Some(data) = self.bytes[start..].get(..header.packed) else {
                let left = self.bytes.len() - start;
                return Err(PageError::PastTheEnd { packed: header.packed, left });
            };
            self.at = start + header.packed;
            if header.checksum.is_some_and(|checksum| checksum != crc32fast::hash(data)) {
                return Err(PageError::Checksum);
            }
            match header.kind {
                // Skipped: the decoder takes an empty page for the end.
                0 | 3 if header.fields[1] == Some(0) => {}
                0 => return self.data_page(&header, start).map(Some),
                // An index, not needed here.
                1 => {}
                2 => return self.dictionary(&header, start).map(Some),
                3 => return self.data_page_v2(&header, start).map(Some),
                kind => return Err(PageError::Kind(kind)),
            }
        }
        Ok(None)
    }

    fn dictionary(&mut self, header: &Header, start: usize) -> Result<Page, PageError> {
        let buf = self.unpacked(header, start, 0, self.rows)?;
        let count = u32::try_from(header.field(1)?).unwrap_or(u32::MAX);
        // The decoder allocates room for as many as are claimed.
        if self.width.checked_mul(count as usize) != Some(buf.len()) {
            return Err(PageError::Dictionary { count, bytes: buf.len() });
        }
        // The decoder refuses a second one.
        self.has_dictionary = true;
        let encoding = Encoding::PLAIN;
        Ok(Page::DictionaryPage { buf: buf.into(), num_values: count, encoding, is_sorted: false })
    }

    fn data_page(&mut self, header: &Header, start: usize) -> Result<Page, PageError> {
        let num_values = self.count(header)?;
        let buf = self.unpacked(header, start, 0, num_values as usize)?;
        // In the form that went out of use in 2013, the decoder trusts the size of the marks.
        if self.optional && header.field(3)? != 3 {
            return Err(PageError::OutdatedMarks);
        }
        // Marks of nulls begin with their size.
        let marks = match buf.first_chunk() {
            Some(size) if self.optional => 4_u64 + u64::from(u32::from_le_bytes(*size)),
            _ => 0,
        };
        let marks = usize::try_from(marks).unwrap_or(usize::MAX);
        Ok(Page::DataPage {
            encoding: self.encoding(header.field(2)?, num_values, buf.get(marks..))?,
            buf: buf.into(),
            num_values,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })
    }

    fn data_page_v2(&mut self, header: &Header, start: usize) -> Result<Page, PageError> {
        let num_values = self.count(header)?;
        let nulls = header.field(2)?;
        let (marks, repetitions) = (header.field(5)?, header.field(6)?);
        if nulls > num_values as usize || marks > header.packed || repetitions != 0 {
            return Err(PageError::Marks);
        }
        // Only what follows the marks is packed.
        let is_packed = header.fields[7] != Some(0);
        let prefix = if is_packed { marks } else { header.packed };
        let buf = self.unpacked(header, start, prefix, num_values as usize)?;
        let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(Page::DataPageV2 {
            encoding: self.encoding(header.field(4)?, num_values, buf.get(marks..))?,
            buf: buf.into(),
            num_values,
            num_nulls: narrow(nulls),
            num_rows: num_values,
            def_levels_byte_len: narrow(marks),
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        })
    }

    /// How many numbers a page has; as many rows fewer are then left.
    fn count(&mut self, header: &Header) -> Result<u32, PageError> {
        let count = header.field(1)?;
        match (u32::try_from(count), self.rows_left.checked_sub(count)) {
            (Ok(narrow), Some(left)) if count > 0 => {
                self.rows_left = left;
                Ok(narrow)
            }
            _ => Err(PageError::Rows { count, left: self.rows_left }),
        }
    }

    /// The encoding of a page's numbers. Bytes that the decoder trusts are checked here.
    fn encoding(
        &self,
        number: usize,
        count: u32,
        values: Option<&[u8]>,
    ) -> Result<Encoding, PageError> {
        let values = values.ok_or(PageError::Marks)?;
        match number {
            0 => Ok(Encoding::PLAIN),
            2 | 8 if self.has_dictionary => Ok(Encoding::RLE_DICTIONARY),
            2 | 8 => Err(PageError::NoDictionary),
            5 => {
                let mut reader = Compact::new(values);
                let (block, _, differences) =
                    (reader.varint()?, reader.varint()?, reader.varint()?);
                if block > MOST_BLOCK || differences == 0 {
                    return Err(PageError::Differences { differences, block });
                }
                Ok(Encoding::DELTA_BINARY_PACKED)
            }
            9 if self.width.checked_mul(count as usize) == Some(values.len()) => {
                Ok(Encoding::BYTE_STREAM_SPLIT)
            }
            9 => Err(PageError::Streams { bytes: values.len(), count }),
            _ => Err(PageError::Encoding(number)),
        }
    }

    /// The unpacked bytes of a page of so many numbers; its prefix is not packed.
    fn unpacked(
        &mut self,
        header: &Header,
        start: usize,
        prefix: usize,
        count: usize,
    ) -> Result<Vec<u8>, PageError> {
        let data = &self.bytes[start..start + header.packed];
        if matches!(self.compression, Compression::UNCOMPRESSED) || prefix == header.packed {
            return Ok(data.to_vec());
        }
        let most = |count: usize| count.saturating_mul(16).saturating_add(MOST_EXTRA_BYTES);
        if header.unpacked > most(count) || prefix > header.unpacked {
            return Err(PageError::Claim { count, claimed: header.unpacked });
        }
        self.pages += 1;
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(header.unpacked);
        let (pages, rows, claimed) = (self.pages, self.rows, self.unpacked_bytes);
        // A dictionary takes as much again.
        let whole = most(rows).saturating_mul(2).saturating_add(pages * MOST_PAGE_BYTES);
        if claimed > whole {
            return Err(PageError::Claims { pages, rows, claimed });
        }
        let mut unpacked = vec![0; header.unpacked];
        let (marks, target) = unpacked.split_at_mut(prefix);
        marks.copy_from_slice(&data[..prefix]);
        unpack(self.compression, &data[prefix..], target)?;
        Ok(unpacked)
    }
}

/// Unpacks into a target that must be filled to the last byte.
fn unpack(compression: Compression, packed: &[u8], target: &mut [u8]) -> Result<(), PageError> {
    // A page with nothing but nulls may have no bytes to unpack.
    if target.is_empty() {
        return Ok(());
    }
    let unpacked = match compression {
        Compression::SNAPPY => {
            snap::raw::Decoder::new().decompress(packed, target).map_err(Into::into)
        }
        Compression::ZSTD(_) => FrameDecoder::new().decode_all(packed, target).map_err(Into::into),
        Compression::GZIP(_) => {
            let mut reader = MultiGzDecoder::new(packed);
            // The checksum is only verified by reading past the last byte.
            let more = reader.read_exact(target).and_then(|()| reader.read(&mut [0]));
            more.map(|more| target.len() + more).map_err(Into::into)
        }
        other => {
            // Without the level of compression, which follows in brackets.
            let name = other.to_string().split('(').next().unwrap_or_default().to_owned();
            return Err(PageError::Codec(name));
        }
    };
    match unpacked {
        Ok(unpacked) if unpacked == target.len() => Ok(()),
        Ok(unpacked) => Err(PageError::UnpackedSize { unpacked, expected: target.len() }),
        Err(error) => Err(PageError::Unpack(error)),
    }
}

impl Header {
    fn field(&self, number: usize) -> Result<usize, PageError> {
        let value = self.fields.get(number).copied().flatten();
        let count = value.and_then(|value| usize::try_from(value).ok());
        count.ok_or(PageError::Field { number, value })
    }
}

fn header(reader: &mut Compact<'_>) -> Result<Header, PageError> {
    let mut outer = [None; 5];
    let mut inner = [None; 9];
    reader.fields(&mut |reader, id, kind| {
        match (id, kind) {
            (1..=4, _) => outer[id] = Some(reader.number(kind)?),
            (5..=8, Kind::STRUCT) => inner[id] = Some(reader.numbers()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let [_, Some(kind), Some(unpacked), Some(packed), checksum] = outer else {
        return Err(PageError::Header);
    };
    // The fields with the details of kinds 0 to 3.
    let fields = usize::try_from(kind).ok().and_then(|kind| [5, 6, 7, 8].get(kind).copied());
    let size = |value: i64| usize::try_from(value).map_err(|_| PageError::Size(value));
    Ok(Header {
        kind,
        unpacked: size(unpacked)?,
        packed: size(packed)?,
        // The format stores it as a signed number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        checksum: checksum.map(|checksum| checksum as u32),
        fields: fields.and_then(|fields: usize| inner[fields]).unwrap_or_default(),
    })
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.next_page().map_err(|error| ParquetError::External(error.into()))
    }

    // Both are called only to skip rows, which we never do.
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Err(ParquetError::NYI("pages are read in order".to_owned()))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        Err(ParquetError::NYI("pages are read in order".to_owned()))
    }
}
