//! Resource allocation for wireless networks, exact or learned, for any number of users.
//!
//! A [`Problem`] formulates a [`Record`] (named arrays) as an [`Instance`]. A [`Policy`] computes an [`Allocation`]
//! for the instance: a solver, a trained [`Model`], or your own code. The instance checks the allocation and returns
//! a [`Verdict`]. [`compare`] runs several policies on the same random instances of several sizes.
//! `docs/architecture.md` describes the structure.
//!
//! The first problem is URLLC. `K` users with gains `α_k` get powers `P_k` and bandwidths `B_k`. Each user may lose
//! at most a share `ε` of its packets; late packets count as lost. AnyK minimizes the total bandwidth
//! (`docs/notation.md` lists all symbols):
//!
//! ```text
//! min  Σ_k B_k     s.t.   C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,     Σ_k P_k ≤ P_max
//! P,B
//! ```
//!
//! ```
//! use anyk::{Allocation, ArrayView, Instance, Options};
//!
//! let problem = anyk::problem("urllc", &Options::default())?;  // the paper's cell
//! let distances = ArrayView { shape: &[3], values: &[60.0, 90.0, 120.0] };
//! let cell = Instance::of_arrays(&problem, &[("distance_m", distances)])?;
//! let (mut solver, mut allocation) = (problem.best()?, Allocation::default());
//! assert!(cell.allocate(&mut *solver, &mut allocation)?.is_optimal());
//! assert!(allocation.proof.is_some_and(|proof| proof.duality_gap < 1e-8));
//! let judged = cell.judged(&allocation)?;                      // an independent judge agrees
//! assert!(judged.missed.is_some_and(|missed| missed.is_empty()) && judged.kkt_residual < 1e-8);
//! # Ok::<(), anyk::Error>(())
//! ```
//!
//! Each problem also has types that avoid the overhead of the general interface, such as
//! [`UrllcSolver`](problems::urllc::UrllcSolver). `crates/anyk/examples/` contains four programs.
//!
//! A module uses only the modules above it in the following table, and a problem uses only the problems before it in
//! [`problems::BUILT_IN`]. A test checks both rules.
//!
//! | module | contents |
//! | --- | --- |
//! | [`math`] | roots, tables of functions, statistics, random streams, vector code; nothing specific to wireless |
//! | [`units`], [`tolerance`], [`limits`], [`Invalid`] | dB and W; all tolerances; upper limits on sizes; the error for a wrong value. All modules may use these four |
//! | [`channel`] | gains of users on a road or a field; distributions and samples of fading |
//! | [`qos`] | requirement of a service class: the certified minimum bandwidth `b(u)` at a received power |
//! | [`Config`], [`System`] | all parameters of a cell, before and after validation |
//! | [`exchange`] | input and output: documents of a stream, arrays, samples, and the container of models |
//! | [`network`] | layers, aggregators and outputs for any K, forward and backward; independent of the problems |
//! | [`framework`] | training driver, model files, options, errors |
//! | [`core`](mod@crate::core) | records, instances, policies and problems; readers, answering of inputs, comparison |
//! | [`problems`] | the problems and their registry |
//! | [`diagnosis`] | size law of any policy, and the networks that follow this size law |
//! | [`sweep`] | training and evaluation over sizes, options and seeds, in slices that merge exactly |
//!
//! The crate `anyk-study` reproduces the paper's tables and figures with the public interface of this crate.

pub mod channel;
mod config;
pub mod core;
pub mod diagnosis;
pub mod exchange;
pub mod framework;
mod invalid;
pub mod limits;
pub mod math;
pub mod network;
pub mod problems;
pub mod qos;
pub mod sweep;
pub mod tolerance;
pub mod units;

pub use config::{CellConfig, Config, FrameConfig, PathLossConfig, RoadConfig, System};

pub use crate::core::{
    About, Allocation, ArrayView, Axis, Column, Formulation, Goal, Instance, Judged, Missed, Model,
    NamedPolicy, Need, Outcome, Policy, PolicyRow, Problem, Proof, Record, Rounds, Size, Status,
    Verdict, compare, compare_on,
};
pub use crate::framework::{Error, Options};
pub use crate::problems::{load, problem, train};
pub use invalid::{Fault, Invalid};

/// Hash of the sources of this library, as 16 hexadecimal digits. Stored results contain this hash, so that a
/// changed library never reuses them.
pub const SOURCES: &str = env!("ANYK_SOURCES");

/// Runs the code in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
