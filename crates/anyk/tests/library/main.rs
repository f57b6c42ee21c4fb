//! Tests of the library, in one binary. Files beside this folder have one of their own: they set something for the
//! whole process, need a feature, or are run alone by `cargo xtask mutants`.

mod arrays;
mod certificate;
mod closed_forms;
mod diagnosis;
mod fading;
mod figures;
mod gains;
mod interference;
mod learning;
mod module_order;
mod networks;
mod path_loss;
mod power_control;
mod unknown_fading;
mod weighted;
