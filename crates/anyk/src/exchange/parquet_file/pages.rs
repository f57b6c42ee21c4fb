//! Pages of one column of a Parquet file: found, checked and unpacked.
//!
//! The crate `parquet` has a reader of pages too. It believes the sizes of headers and unpacks gzip
//! without a bound, so hostile files could fill the memory.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use ruzstd::decoding::FrameDecoder;

use crate::exchange::input_error::shorten;
use crate::exchange::parquet_file::thrift::{Compact, Kind};

/// Numbers of at most 8 bytes: no encoding makes a page of them larger than 16 bytes each and this.
const MOST_EXTRA_BYTES: usize = 1 << 20;
/// Largest block of differences; writers take 128 to 1024.
const MOST_BLOCK: u64 = 1 << 16;

/// The pages of one column in one group of rows.
#[derive(Debug)]
pub(super) struct Pages {
    bytes: Vec<u8>,
    at: usize,
    compression: Compression,
    /// Bytes of one number, and whether there may be nulls among them.
    width: usize,
    optional: bool,
    /// Rows of the group, and those of them in pages to come.
    rows: usize,
    rows_left: usize,
    has_dictionary: bool,
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
        }
    }

    fn next_page(&mut self) -> Result<Option<Page>, String> {
        while self.at < self.bytes.len() && self.rows_left > 0 {
            let mut reader = Compact::new(&self.bytes[self.at..]);
            let header = header(&mut reader)?;
            let start = self.bytes.len() - reader.left();
            let Some(data) = self.bytes[start..].get(..header.packed) else {
                let left = self.bytes.len() - start;
                return Err(format!("a page of {} bytes, but {left} are left", header.packed));
            };
            self.at = start + header.packed;
            if header.checksum.is_some_and(|checksum| checksum != crc32fast::hash(data)) {
                return Err("the checksum of a page does not fit".to_owned());
            }
            match header.kind {
                // Empty, which the decoder takes for the end.
                0 | 3 if header.fields[1] == Some(0) => {}
                0 => return self.data_page(&header, start).map(Some),
                // An index, of no use here.
                1 => {}
                2 => return self.dictionary(&header, start).map(Some),
                3 => return self.data_page_v2(&header, start).map(Some),
                kind => return Err(format!("a page is of the unknown kind {kind}")),
            }
        }
        Ok(None)
    }

    fn dictionary(&mut self, header: &Header, start: usize) -> Result<Page, String> {
        let buf = self.unpacked(header, start, 0, self.rows)?;
        let values = u32::try_from(header.field(1)?).unwrap_or(u32::MAX);
        // The decoder makes room for as many as are claimed.
        if self.width.checked_mul(values as usize) != Some(buf.len()) {
            return Err(format!("a dictionary of {values} numbers has {} bytes", buf.len()));
        }
        // A second one would be refused by the decoder.
        self.has_dictionary = true;
        let encoding = Encoding::PLAIN;
        Ok(Page::DictionaryPage { buf: buf.into(), num_values: values, encoding, is_sorted: false })
    }

    fn data_page(&mut self, header: &Header, start: usize) -> Result<Page, String> {
        let num_values = self.count(header)?;
        let buf = self.unpacked(header, start, 0, num_values as usize)?;
        // The decoder trusts the size of marks in the form that went out of use in 2013.
        if self.optional && header.field(3)? != 3 {
            return Err("its nulls are marked in an outdated form".to_owned());
        }
        // Marks of nulls begin with their size.
        let levels = match buf.first_chunk() {
            Some(size) if self.optional => 4_u64 + u64::from(u32::from_le_bytes(*size)),
            _ => 0,
        };
        let levels = usize::try_from(levels).unwrap_or(usize::MAX);
        Ok(Page::DataPage {
            encoding: self.encoding(header.field(2)?, num_values, buf.get(levels..))?,
            buf: buf.into(),
            num_values,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })
    }

    fn data_page_v2(&mut self, header: &Header, start: usize) -> Result<Page, String> {
        let num_values = self.count(header)?;
        let nulls = header.field(2)?;
        let (levels, repetitions) = (header.field(5)?, header.field(6)?);
        if nulls > num_values as usize || levels > header.packed || repetitions != 0 {
            return Err("a page's marks of nulls do not fit into it".to_owned());
        }
        // Only what follows the marks is packed.
        let is_packed = header.fields[7] != Some(0);
        let prefix = if is_packed { levels } else { header.packed };
        let buf = self.unpacked(header, start, prefix, num_values as usize)?;
        let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(Page::DataPageV2 {
            encoding: self.encoding(header.field(4)?, num_values, buf.get(levels..))?,
            buf: buf.into(),
            num_values,
            num_nulls: narrow(nulls),
            num_rows: num_values,
            def_levels_byte_len: narrow(levels),
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        })
    }

    /// Numbers of a page, taken from the rows to come.
    fn count(&mut self, header: &Header) -> Result<u32, String> {
        let count = header.field(1)?;
        match (u32::try_from(count), self.rows_left.checked_sub(count)) {
            (Ok(narrow), Some(left)) if count > 0 => {
                self.rows_left = left;
                Ok(narrow)
            }
            _ => Err(format!("a page of {count} rows, where {} are left", self.rows_left)),
        }
    }

    /// The encoding of the numbers of a page, whose bytes are checked where the decoder trusts them.
    fn encoding(
        &self,
        number: usize,
        count: u32,
        values: Option<&[u8]>,
    ) -> Result<Encoding, String> {
        let values =
            values.ok_or_else(|| "a page's marks of nulls do not fit into it".to_owned())?;
        match number {
            0 => Ok(Encoding::PLAIN),
            2 | 8 if self.has_dictionary => Ok(Encoding::RLE_DICTIONARY),
            2 | 8 => Err("its dictionary is missing".to_owned()),
            5 => {
                let mut reader = Compact::new(values);
                let (block, _, differences) =
                    (reader.varint()?, reader.varint()?, reader.varint()?);
                if block > MOST_BLOCK || differences == 0 {
                    return Err(format!(
                        "a page of {differences} differences, in blocks of {block}"
                    ));
                }
                Ok(Encoding::DELTA_BINARY_PACKED)
            }
            9 if self.width.checked_mul(count as usize) == Some(values.len()) => {
                Ok(Encoding::BYTE_STREAM_SPLIT)
            }
            9 => Err(format!("{} bytes of {count} numbers (are some null?)", values.len())),
            _ => Err(format!("the encoding {number} is not one of numbers")),
        }
    }

    /// The bytes of a page, of which a prefix is not packed.
    fn unpacked(
        &self,
        header: &Header,
        start: usize,
        prefix: usize,
        values: usize,
    ) -> Result<Vec<u8>, String> {
        let data = &self.bytes[start..start + header.packed];
        if matches!(self.compression, Compression::UNCOMPRESSED) || prefix == header.packed {
            return Ok(data.to_vec());
        }
        let most = values.saturating_mul(16).saturating_add(MOST_EXTRA_BYTES);
        if header.unpacked > most || prefix > header.unpacked {
            let claimed = header.unpacked;
            return Err(format!("a page of {values} numbers claims {claimed} bytes"));
        }
        let mut unpacked = vec![0; header.unpacked];
        let (levels, target) = unpacked.split_at_mut(prefix);
        levels.copy_from_slice(&data[..prefix]);
        unpack(self.compression, &data[prefix..], target)?;
        Ok(unpacked)
    }
}

/// Unpacks into a target that must be filled to the last byte.
fn unpack(compression: Compression, packed: &[u8], target: &mut [u8]) -> Result<(), String> {
    // A page of nulls alone may have nothing to unpack.
    if target.is_empty() {
        return Ok(());
    }
    let filled = match compression {
        Compression::SNAPPY => {
            snap::raw::Decoder::new().decompress(packed, target).map_err(|error| error.to_string())
        }
        Compression::ZSTD(_) => {
            FrameDecoder::new().decode_all(packed, target).map_err(|error| error.to_string())
        }
        Compression::GZIP(_) => {
            let mut reader = MultiGzDecoder::new(packed);
            // The checksum follows the last byte.
            let more = reader.read_exact(target).and_then(|()| reader.read(&mut [0]));
            more.map(|more| target.len() + more).map_err(|error| error.to_string())
        }
        other => {
            // Without the level that follows.
            let name = other.to_string().split('(').next().unwrap_or_default().to_owned();
            return Err(format!("packed as {name}, expected snappy, zstd, gzip or none"));
        }
    };
    match filled {
        Ok(filled) if filled == target.len() => Ok(()),
        Ok(filled) => Err(format!("a page unpacks to {filled} bytes, not to {}", target.len())),
        Err(error) => Err(format!("a page cannot be unpacked: {}", shorten(&error))),
    }
}

impl Header {
    fn field(&self, number: usize) -> Result<usize, String> {
        let value = self.fields.get(number).copied().flatten();
        value.and_then(|value| usize::try_from(value).ok()).ok_or_else(|| {
            format!("field {number} in the header of a page is {value:?}, expected a count")
        })
    }
}

fn header(reader: &mut Compact<'_>) -> Result<Header, String> {
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
        return Err("the header of a page is not whole".to_owned());
    };
    // Where the details of kinds 0 to 3 stand.
    let fields = usize::try_from(kind).ok().and_then(|kind| [5, 6, 7, 8].get(kind).copied());
    let size =
        |value: i64| usize::try_from(value).map_err(|_| format!("a page has the size {value}"));
    Ok(Header {
        kind,
        unpacked: size(unpacked)?,
        packed: size(packed)?,
        // Written as a signed number.
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
        self.next_page().map_err(|message| ParquetError::External(message.into()))
    }

    // Both are only asked for to skip rows, and nothing is skipped.
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Err(ParquetError::NYI("pages are read in order".to_owned()))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        Err(ParquetError::NYI("pages are read in order".to_owned()))
    }
}
