//! Tests through the real program, in one binary: a binary for each file would be linked two dozen times.

mod any_gnn;
mod calibration;
mod cli;
mod closed_forms;
#[path = "../common/mod.rs"]
mod common;
mod diagnose;
mod documentation;
mod exit_codes;
mod fading;
mod figures;
mod gains_files;
mod help_pages;
mod interference;
mod numbers;
mod old_models;
mod out_files;
mod path_loss;
mod policies;
mod power_control;
mod reports;
mod seeds;
mod separable;
mod streams;
mod studies;
mod urllc_power;
