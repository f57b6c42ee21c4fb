//! How fast cells are streamed: `solve` and `allocate` from a file to a file, on all cores, beside reading and writing
//! the same lines without solving.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyk::core::{Allocation, Answering, Instance, Model, Outcome, Policy, Status, write_samples};
use anyk::exchange::write_atomically;
use anyk::framework::{Error, Options};
use anyk::problems::urllc::{LearnedPolicy, PricePolicy, URLLC, Urllc};
use anyk::problems::{allocating, reader, solving};
use serde::Serialize;

use super::answers;
use crate::cli::SolveArgs;
use crate::failure::Failure;

const CELLS: usize = 10_000;
const USERS: usize = 50;
/// The fastest of so many runs: what disturbs a run only makes it longer.
const RUNS: usize = 3;

/// Seconds for 10,000 cells of 50 users.
#[derive(Serialize)]
pub(super) struct StreamFigures {
    /// Cells read and checked, and lines of answers written that hold no work.
    stream_floor_s: f64,
    stream_solve_s: f64,
    stream_price_s: f64,
    stream_p_gnn_s: f64,
    /// The largest of these three over the floor.
    stream_most_over_floor: f64,
    /// The same with the check of every answer by quadrature.
    stream_solve_checked_s: f64,
    stream_price_checked_s: f64,
    stream_p_gnn_checked_s: f64,
}

impl StreamFigures {
    /// Measurements that it takes.
    pub(super) const STEPS: u64 = 7;

    pub(super) fn rows(&self) -> [(&'static str, f64, &'static str); 8] {
        [
            ("10,000 cells of 50 users, all cores: read and written", self.stream_floor_s, "s"),
            ("… solved", self.stream_solve_s, "s"),
            ("… allocated by the price policy", self.stream_price_s, "s"),
            ("… allocated by P-GNN", self.stream_p_gnn_s, "s"),
            ("… the slowest of these over reading and writing", self.stream_most_over_floor, "×"),
            ("… solved and checked", self.stream_solve_checked_s, "s"),
            ("… allocated by the price policy and checked", self.stream_price_checked_s, "s"),
            ("… allocated by P-GNN and checked", self.stream_p_gnn_checked_s, "s"),
        ]
    }
}

/// A policy without work: numbers of as many digits as those of an answer.
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

/// A folder that goes when its owner does.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Measures all of them; `done` is called after each of [`StreamFigures::STEPS`].
pub(super) fn measure(
    price: &PricePolicy,
    p_gnn: &LearnedPolicy,
    done: impl Fn(),
) -> Result<StreamFigures, Failure> {
    let folder = Folder(std::env::temp_dir().join(format!("anyk-bench-{}", std::process::id())));
    fs::create_dir_all(&folder.0).map_err(|error| Failure::write(&folder.0, error))?;
    let input = folder.0.join("cells.jsonl");
    let mut options = Options::default();
    options.set("k", USERS.to_string());
    options.set("count", CELLS.to_string());
    let mut cells = Vec::new();
    write_samples(&*(URLLC.drawing)(&options)?, &options, &mut cells)?;
    write_atomically(&input, &cells).map_err(|error| Failure::write(&input, error))?;
    let args = SolveArgs {
        input: input.display().to_string(),
        format: None,
        json: true,
        fail_fast: false,
        out: Some(folder.0.join("answers.jsonl")),
        force: true,
    };
    let fastest = |run: &dyn Fn() -> Result<(), Failure>| -> Result<f64, Failure> {
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            let started = Instant::now();
            run()?;
            least = least.min(started.elapsed().as_secs_f64());
        }
        done();
        Ok(least)
    };
    let plain = Options::default();
    let mut unchecked = Options::default();
    unchecked.set("no-check", "");
    let solved = |options: &Options| {
        let answering = solving(&URLLC, options)?;
        fastest(&|| answers::run(&args, &answering).map(drop))
    };
    let allocated = |model: &dyn Model, options: &Options| {
        let answering = allocating(model, options)?;
        fastest(&|| answers::run(&args, &answering).map(drop))
    };
    let problem = (URLLC.make)(&plain)?;
    let copying =
        Answering::by_policy(reader(&URLLC), &problem, Box::new(Copying), Box::new(Copying), false);
    let floor = fastest(&|| answers::run(&args, &copying).map(drop))?;
    let unchecked_s =
        [solved(&unchecked)?, allocated(price, &unchecked)?, allocated(p_gnn, &unchecked)?];
    Ok(StreamFigures {
        stream_floor_s: floor,
        stream_solve_s: unchecked_s[0],
        stream_price_s: unchecked_s[1],
        stream_p_gnn_s: unchecked_s[2],
        stream_most_over_floor: unchecked_s.iter().fold(0.0f64, |most, &s| most.max(s)) / floor,
        stream_solve_checked_s: solved(&plain)?,
        stream_price_checked_s: allocated(price, &plain)?,
        stream_p_gnn_checked_s: allocated(p_gnn, &plain)?,
    })
}
