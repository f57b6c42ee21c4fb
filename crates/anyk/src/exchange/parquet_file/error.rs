//! Why a Parquet file was refused.

use parquet::errors::ParquetError;
use thiserror::Error;

use crate::exchange::input_error::shorten;
use crate::exchange::parquet_file::thrift::ThriftError;

/// Why a Parquet file of samples was refused.
#[derive(Debug, Error)]
pub(in crate::exchange) enum ParquetFileError {
    #[error("the Parquet file is encrypted, expected plain")]
    Encrypted,
    #[error("the Parquet file is damaged: {0}; write it again")]
    Damaged(#[from] Damage),
    #[error(
        "the footer has {length} bytes, expected at most {most}; write fewer, larger groups of rows"
    )]
    FooterSize { length: usize, most: usize },
    #[error("the Parquet file claims {rows} rows, expected at most {most}")]
    Rows { rows: usize, most: usize },
    #[error("the column {column} {found}, expected whole numbers or floats of 32 or 64 bits")]
    Type { column: String, found: &'static str },
    #[error("the column {column} cannot be read: {error}; write the file again")]
    Column { column: String, error: DecodeError },
    #[error("{column}[{row}] is null, expected a number in every row")]
    Null { column: String, row: usize },
}

/// What shows that a file is not as it was written.
#[derive(Debug, Error)]
pub(in crate::exchange) enum Damage {
    #[error("it does not end with PAR1, so it is not whole")]
    NotWhole,
    #[error("its footer claims {0} bytes")]
    FooterClaim(usize),
    #[error(transparent)]
    Schema(#[from] ThriftError),
    #[error(transparent)]
    Footer(#[from] DecodeError),
    #[error("its groups of rows do not add up")]
    Rows,
    #[error("the column {0} is larger than the file")]
    ColumnSize(String),
}

/// Why the footer or a column could not be decoded.
#[derive(Debug, Error)]
pub(in crate::exchange) enum DecodeError {
    /// The crate's own error, or a `PageError` that passed through it.
    #[error("{}", described(.0))]
    Crate(#[from] ParquetError),
    #[error("the decoder gave up")]
    Panicked,
    #[error("it ends {0} rows early")]
    EndsEarly(usize),
    #[error("it lies in another file")]
    OtherFile,
    #[error("its bytes from {0} on are not in the file")]
    OutsideTheFile(i64),
}

fn described(error: &ParquetError) -> String {
    match error {
        // Without the crate's prefix.
        ParquetError::External(error) => error.to_string(),
        other => shorten(&other.to_string()),
    }
}
