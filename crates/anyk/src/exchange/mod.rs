//! The files that go in and out: users as JSON or CSV, gains of interference networks as NumPy arrays
//! or JSON, samples of a policy as CSV, NumPy arrays or Parquet, answers as JSON, models and checkpoints as
//! safetensors.
//!
//! Input may be damaged or hostile: everything is checked here, and an error names the file, the
//! user or line, the field, the value and what is accepted.

mod answer;
mod any_model;
mod checkpoint;
mod closed_form;
mod container;
mod fading_samples;
mod gains;
mod gains_json;
mod input_error;
mod model;
mod npy;
mod parquet_file;
mod power_answer;
mod power_model;
mod samples;
mod samples_npz;

mod users;

pub use answer::{Answer, Certified, Denied, Served, ServedUser};
pub use any_model::{any_from_bytes, any_to_bytes};
pub use checkpoint::{checkpoint_from_bytes, checkpoint_to_bytes};
pub use closed_form::{
    RateAnswer, RateServed, RateUser, closed_form_from_bytes, closed_form_to_bytes,
};
pub use container::write_atomically;
pub use fading_samples::{fading_samples_to_npy, read_fading_samples};
pub use gains::{gains_to_npy, read_gains};
pub use input_error::InputError;
pub use model::{Model, model_from_bytes, model_to_bytes};
pub use power_answer::PowerAnswer;
pub use power_model::{
    power_checkpoint_from_bytes, power_checkpoint_to_bytes, power_from_bytes, power_to_bytes,
};
pub use samples::{SampleRow, read_samples};
pub use users::{DISTANCE_EXPECTED, GAIN_EXPECTED, UserRecord, read_users};
