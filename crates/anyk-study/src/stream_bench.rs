//! Speed of streams: `solve` and `allocate` from file to file on all cores, compared with reading and writing the same
//! lines without solving.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyk::core::{Allocation, Answering, Instance, Model, Outcome, Policy, Status, write_samples};
use anyk::exchange::write_atomically;
use anyk::framework::{Error, Options};
use anyk::problems::urllc::{LearnedPolicy, PricePolicy, URLLC, Urllc};
use anyk::problems::{allocating, reader, solving};

use crate::bench::Bench;

const CELLS: usize = 10_000;
const USERS: usize = 50;
/// Number of runs. The fastest counts, because disturbances only make a run slower.
const RUNS: usize = 3;

/// Function that answers the cells of one file in another file, as lines of JSON.
pub type Stream<'a> = &'a dyn Fn(&Path, &Path, &Answering) -> Result<(), Error>;

/// Number of measurements.
pub(crate) const STEPS: u64 = 7;

/// Policy without computation. Its numbers have as many digits as those of a real answer.
struct Copying;

impl Policy for Copying {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let users = instance.formulation::<Urllc>()?.users();
        for (amounts, unit) in into.amounts.iter_mut().zip([1e9, 1e16]) {
            amounts.iter_mut().zip(users).for_each(|(amount, user)| *amount = unit * user.gain);
        }
        Ok(Outcome::Served(Status::Heuristic))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self))
    }
}

/// Folder that is deleted when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Measures the seconds for 10,000 cells of 50 users.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    (price, p_gnn): (&PricePolicy, &LearnedPolicy),
    stream: Stream<'_>,
) -> Result<(), Error> {
    let folder = Folder(std::env::temp_dir().join(format!("anyk-bench-{}", std::process::id())));
    fs::create_dir_all(&folder.0).map_err(|error| Error::write(&folder.0, error))?;
    let (input, output) = (folder.0.join("cells.jsonl"), folder.0.join("answers.jsonl"));
    let mut options = Options::default();
    options.set("k", USERS.to_string());
    options.set("count", CELLS.to_string());
    let mut cells = Vec::new();
    write_samples(&*(URLLC.drawing)(&options)?, &options, &mut cells)?;
    write_atomically(&input, &cells).map_err(|error| Error::write(&input, error))?;
    let add = |bench: &mut Bench<'_>, name, what, answering: &Answering| -> Result<f64, Error> {
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            let started = Instant::now();
            stream(&input, &output, answering)?;
            least = least.min(started.elapsed().as_secs_f64());
        }
        Ok(bench.add(name, what, least))
    };
    let plain = Options::default();
    let mut unchecked = Options::default();
    unchecked.set("no-check", "");
    let problem = (URLLC.make)(&plain)?;
    // Reads and checks cells, and writes answers that need no computation.
    let copying =
        Answering::by_policy(reader(&URLLC), &problem, Box::new(Copying), Box::new(Copying), false);
    let what = "10,000 cells of 50 users, all cores: read and written";
    let floor_s = add(bench, "stream_floor_s", what, &copying)?;
    let by_solver = |options| solving(&URLLC, options);
    let by_price = |options| allocating(price as &dyn Model, options);
    let by_p_gnn = |options| allocating(p_gnn as &dyn Model, options);
    let what = "… allocated by the price policy";
    let slowest_s = add(bench, "stream_solve_s", "… solved", &by_solver(&unchecked)?)?
        .max(add(bench, "stream_price_s", what, &by_price(&unchecked)?)?)
        .max(add(bench, "stream_p_gnn_s", "… allocated by P-GNN", &by_p_gnn(&unchecked)?)?);
    let what = "… the slowest of these, relative to reading and writing";
    bench.derive("stream_most_over_floor", what, slowest_s / floor_s);
    // The same streams, with a check of every answer by quadrature.
    add(bench, "stream_solve_checked_s", "… solved and checked", &by_solver(&plain)?)?;
    let what = "… allocated by the price policy and checked";
    add(bench, "stream_price_checked_s", what, &by_price(&plain)?)?;
    let what = "… allocated by P-GNN and checked";
    add(bench, "stream_p_gnn_checked_s", what, &by_p_gnn(&plain)?)?;
    Ok(())
}
