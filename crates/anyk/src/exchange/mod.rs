//! The files that go in and out: users as JSON or CSV, gains of interference networks as NumPy arrays, CSV or JSON,
//! samples of the fading as NumPy arrays, samples of a cost as CSV, JSON or NumPy arrays, samples of a policy as CSV,
//! models as safetensors.
//!
//! Input may be damaged or hostile: everything is checked here, and an error names the file, the
//! user or line, the field, the value and what is accepted. The [limits](crate::limits) are checked
//! before what grows with a file is allocated.

mod allocations;
pub(crate) mod container;
mod cost_samples;
mod disk;
mod documents;
mod fading_samples;
mod finite;
mod gains;
mod gains_csv;
mod gains_json;
mod input;
mod input_error;
mod link_values;
mod npy;
mod parameters;
mod read;
mod samples;
mod stream;
mod users;
mod write;

pub use allocations::{Allotment, Allotments, Allotted};
pub use container::Tensor;
pub use cost_samples::read_cost_samples;
pub use fading_samples::{fading_samples_to_npy, read_fading_samples};
pub use finite::{Checked, NotFinite, check_finite, check_text, to_json, write_json};
pub use gains::{NetworkRecord, gains_to_npy, read_networks};
pub use input::Input;
pub use input_error::{CellPlace, InputError};
pub use link_values::{LinkField, LinkValues, read_link_values};
pub use parameters::Parameters;
pub use read::{read_bounded, read_file, read_plain_file, read_start};
pub use samples::{SampleRow, read_samples};
pub use stream::{Batch, Documents};
pub use users::{CellRecord, Extra, Reference, UserReader, UserRecord, name_of, read_users};
pub use write::{
    NewFile, check_folder, check_writable, destination, fingerprint, is_same_file, write_atomically,
};
