//! Trains a model, saves it, loads it and allocates in a cell of another size:
//! `cargo run -p anyk --release --example train_and_allocate`.

use anyk::{Allocation, Instance, Options};

fn main() -> Result<(), anyk::Error> {
    let mut options = Options::default();
    options.set("method", "price");
    options.set("samples", "500");
    let trained = anyk::train("urllc", &options)?;
    let file =
        std::env::temp_dir().join(format!("anyk-example-{}.safetensors", std::process::id()));
    trained.model.save(&file)?;

    let model = anyk::load(&file)?;
    let problem = model.problem(&Options::default())?;
    let cell = Instance::drawn(&problem, 1, 200, 0)?;
    let (mut policy, mut solver) = (model.policy(&Options::default())?, problem.best()?);
    let (mut learned, mut exact) = (Allocation::default(), Allocation::default());
    let optimum = cell.reference(&mut *solver, &mut exact)?.map(|reference| reference.value);
    cell.allocate(&mut *policy, &mut learned)?;
    let verdict = cell.judge(&learned, optimum)?;
    println!(
        "{}: K = {}, {}, {:.4} % above the optimum",
        model.describe(),
        verdict.k,
        verdict.status,
        verdict.gap_percent.unwrap_or(f64::INFINITY)
    );
    std::fs::remove_file(&file).map_err(anyk::Error::other)
}
