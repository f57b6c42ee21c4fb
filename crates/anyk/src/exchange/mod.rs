//! The files that go in and out: users as JSON or CSV, answers as JSON.
//!
//! Input may be damaged or hostile: everything is checked here, and an error names the file, the
//! user or line, the field, the value and what is accepted.

mod answer;
mod users;

pub use answer::{Answer, Denied, Served, ServedUser};
pub use users::{DISTANCE_EXPECTED, GAIN_EXPECTED, InputError, UserRecord, read_users};
