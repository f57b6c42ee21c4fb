//! Solves a cell exactly: `cargo run -p anyk --release --example solve`.

use anyk::{Allocation, ArrayView, Instance, Options};

fn main() -> Result<(), anyk::Error> {
    // The paper's cell with 40 dBm instead of 43.
    let mut options = Options::default();
    options.set("max-power-dbm", "40");
    let problem = anyk::problem("urllc", &options)?;
    let distances_m = [60.0, 90.0, 120.0, 180.0, 240.0];
    let users = ArrayView { shape: &[5], values: &distances_m };
    let cell = Instance::of_arrays(&problem, &[("distance_m", users)])?;

    let mut allocation = Allocation::default();
    let mut solver = problem.best()?;
    let outcome = cell.allocate(&mut *solver, &mut allocation)?;
    let verdict = cell.judge(&allocation, Some(cell.value(&allocation)))?;
    println!("{outcome:?}, duality gap {:.1e}", allocation.proof.map_or(1.0, |p| p.duality_gap));
    for (column, amounts) in problem.about().amounts.iter().zip(&allocation.amounts) {
        println!("{}: {amounts:.3?}", column.name);
    }
    println!("verdict: {}", verdict.status);
    Ok(())
}
