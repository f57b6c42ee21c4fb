//! One file for each subcommand.

pub(crate) mod allocate;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diagnose;
pub(crate) mod evaluate;
pub(crate) mod reproduce;
pub(crate) mod sample;
pub(crate) mod solve;
pub(crate) mod sweep;
pub(crate) mod train;
