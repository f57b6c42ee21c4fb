//! Tests of the library in one binary. A test file next to this folder is a separate binary, because it changes
//! settings of the whole process.

mod arrays;
mod assess_files;
mod calibration;
mod certificate;
mod closed_forms;
mod diagnosis;
mod evaluation;
mod fading;
mod gains;
mod golden;
mod interference;
mod learning;
mod model_format;
mod module_order;
mod networks;
mod no_names;
mod optimum;
mod parameters;
mod path_loss;
mod power_control;
mod price;
mod public_api;
mod required_bandwidth;
mod separable;
mod sweep;
mod training_driver;
mod trainings;
mod two_axes;
mod unknown_fading;
mod urllc_power;
mod weighted;
