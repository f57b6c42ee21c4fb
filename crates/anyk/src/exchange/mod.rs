//! The files that go in and out: users as JSON or CSV, answers as JSON, models and checkpoints as
//! safetensors.
//!
//! Input may be damaged or hostile: everything is checked here, and an error names the file, the
//! user or line, the field, the value and what is accepted.

mod answer;
mod checkpoint;
mod closed_form;
mod container;
mod model;
mod users;

pub use answer::{Answer, Denied, Served, ServedUser};
pub use checkpoint::{checkpoint_from_bytes, checkpoint_to_bytes};
pub use closed_form::{
    RateAnswer, RateServed, RateUser, closed_form_from_bytes, closed_form_to_bytes,
};
pub use container::write_atomically;
pub use model::{Model, model_from_bytes, model_to_bytes};
pub use users::{DISTANCE_EXPECTED, GAIN_EXPECTED, InputError, UserRecord, read_users};
