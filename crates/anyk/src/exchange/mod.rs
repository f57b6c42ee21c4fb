//! Input and output files.
//!
//! | content | formats |
//! | --- | --- |
//! | users | JSON, CSV |
//! | gains of interference networks | NumPy array, CSV, JSON |
//! | samples of fading | NumPy array |
//! | samples of a cost | CSV, JSON, NumPy array |
//! | samples of a policy | CSV |
//! | models | safetensors |
//!
//! Input may be damaged or malicious. Readers check everything. An error names the file, the user or line, the
//! field, the value, and the values that are accepted. They check the [limits](crate::limits) before they
//! allocate memory that grows with a file.

pub(crate) mod container;
mod cost_samples;
mod disk;
mod documents;
mod extra;
mod fading_samples;
mod finite;
mod input;
mod input_error;
pub(crate) mod npy;
mod parts;
mod read;
mod samples;
mod spelling;
mod stream;
mod write;

pub use container::Tensor;
pub use cost_samples::read_cost_samples;
pub(crate) use documents::{Refused, each_document};
pub use extra::{Extra, name_of};
pub(crate) use extra::{ExtraEntries, is_finite_json, json_of_text};
pub use fading_samples::{fading_samples_to_npy, read_fading_samples};
pub use finite::{Checked, NotFinite, check_finite, check_text, to_json, write_json};
pub use input::Input;
pub use input_error::{CellPlace, InputError};
pub(crate) use input_error::{MOST_FIELDS, check_fields, comma_hint, decode, separator, shorten};
pub(crate) use npy::npy_bytes;
pub use parts::{Origin, Part, PartError, Parts};
pub use read::{read_bounded, read_file, read_plain_file, read_start};
pub use samples::{SampleRow, read_samples};
pub use spelling::slip_of;
pub use stream::{Batch, Documents};
pub use write::{
    NewFile, check_folder, check_writable, destination, fingerprint, is_same_file, write_atomically,
};
