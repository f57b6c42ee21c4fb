//! Compiled module of the Python package `anyk`. It takes and returns arrays; the rest of the package is Python.

// PyO3 passes extracted arguments by value, even if a function only borrows them.
#![allow(clippy::needless_pass_by_value)]

mod answers;
mod batch;
mod cells;
mod contest;
mod errors;
mod models;
mod options;
mod pickles;
mod pool;
mod separable;
mod studies;
mod sweeps;
mod work;

use pyo3::prelude::*;

/// Compiled names of the package `anyk`. Import `anyk` instead.
#[pymodule(gil_used = true)]
fn _anyk(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<errors::InputError>())?;
    module.add("Infeasible", module.py().get_type::<errors::Infeasible>())?;
    module.add_class::<cells::Cell>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<answers::Allocation>()?;
    module.add_class::<answers::Allocations>()?;
    module.add_function(wrap_pyfunction!(batch::sample, module)?)?;
    module.add_function(wrap_pyfunction!(batch::read_cells, module)?)?;
    module.add_function(wrap_pyfunction!(batch::is_parameter, module)?)?;
    module.add_function(wrap_pyfunction!(batch::slip_of, module)?)?;
    module.add_class::<models::Model>()?;
    module.add_function(wrap_pyfunction!(models::train, module)?)?;
    module.add_function(wrap_pyfunction!(contest::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(contest::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(contest::samples_of_file, module)?)?;
    module.add_function(wrap_pyfunction!(studies::studies, module)?)?;
    module.add_function(wrap_pyfunction!(studies::study, module)?)?;
    module.add_function(wrap_pyfunction!(studies::problems, module)?)?;
    module.add_function(wrap_pyfunction!(studies::options_of, module)?)?;
    module.add_function(wrap_pyfunction!(studies::required_bandwidth, module)?)?;
    module.add_function(wrap_pyfunction!(studies::least_received_w, module)?)?;
    module.add_class::<separable::Cost>()?;
    module.add_function(wrap_pyfunction!(separable::train_separable, module)?)?;
    module.add_class::<sweeps::Sweep>()?;
    module.add_function(wrap_pyfunction!(studies::rust_seconds, module)?)?;
    Ok(())
}
