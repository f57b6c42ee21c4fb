//! The problems, a room each: statement and judge, solvers, networks and their training, input and answer.

pub mod closed_forms;
pub mod interference;
pub mod urllc;
