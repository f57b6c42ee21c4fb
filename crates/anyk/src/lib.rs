//! Resource allocation for wireless networks, exact and learned, at any number of users.
//!
//! A [`Problem`] formulates a [`Record`], which is named arrays, as an [`Instance`]. A [`Policy`] computes an
//! [`Allocation`] for it: a solver, a trained [`Model`], or your own. The instance judges the allocation: a [`Verdict`].
//! [`compare`] asks many policies for the same random instances of several sizes. `docs/architecture.md` has the map.
//!
//! The first problem is URLLC. `K` users with gains `α_k` get powers `P_k` and bandwidths `B_k`. Each loses at most a share
//! `ε` of its packets, late ones included, and bandwidth is scarce (`docs/notation.md` has all symbols):
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
//! Each problem also has its own types, for whoever needs the last microsecond: see
//! [`UrllcSolver`](problems::urllc::UrllcSolver). `crates/anyk/examples/` has four programs.
//!
//! Each module uses only those above it (a test reads the sources and says so), and a problem only problems
//! before it in [`problems::BUILT_IN`].
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`math`] | roots, tables of functions, statistics, random streams, vector code: no wireless |
//! | [`units`], [`tolerance`], [`limits`], [`Invalid`] | dB and W; every tolerance there is; the largest sizes that are accepted; a value that is rejected. All may use them |
//! | [`channel`] | places on a road or a field become gains; laws and samples of fading |
//! | [`qos`] | what a service class needs: the least bandwidth `b(u)` at a received power, certified |
//! | [`Config`], [`System`] | every parameter of a cell, and the same once checked |
//! | [`exchange`] | bytes in and out: documents of a stream, arrays, samples, and the container of models |
//! | [`network`] | layers, aggregators, outputs: any K, forward and backward, no problem |
//! | [`framework`] | the training driver, model files, options, errors |
//! | [`core`](mod@crate::core) | records, instances, policies and problems; readers, the loop, the comparison |
//! | [`problems`] | the problems, and the registry of them |
//! | [`diagnosis`] | the size law of anyone's policy, and the networks that follow it |
//!
//! The crate `anyk-study` reproduces the paper's tables and figures with what is public here.

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
pub mod tolerance;
pub mod units;

pub use config::{CellConfig, Config, FrameConfig, PathLossConfig, RoadConfig, System};

pub use crate::core::{
    About, Allocation, ArrayView, Axis, Column, Formulation, Goal, Instance, Judged, Missed, Model,
    Need, Outcome, Player, Policy, PolicyRow, Problem, Proof, Record, Rounds, Size, Status,
    Verdict, compare,
};
pub use crate::framework::{Error, Options};
pub use crate::problems::{load, problem, train};
pub use invalid::{Fault, Invalid};

/// Names the sources that this library was built from: 16 hexadecimal digits. Results that are kept carry it, so
/// that new code never takes old results for its own.
pub const SOURCES: &str = env!("ANYK_SOURCES");

/// The code in README.md runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
