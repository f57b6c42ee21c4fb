//! Resource allocation for wireless networks, exact and learned, at any number of users.
//!
//! [`problems`] has a room for each problem: its statement and an independent judge of any answer, its exact or
//! classical solvers, and networks that are trained at one number of users and answer for any. The first is
//! URLLC: `K` users with gains `α_k` get powers `P_k` and bandwidths `B_k`, each loses at most a share `ε` of its
//! packets, late ones included, and bandwidth is scarce (`docs/notation.md` has all symbols):
//!
//! ```text
//! min  Σ_k B_k     s.t.   C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,     Σ_k P_k ≤ P_max
//! P,B
//! ```
//!
//! ```
//! use anyk::Config;
//! use anyk::framework::Status;
//! use anyk::problems::urllc::{Urllc, UrllcSolver};
//!
//! let system = Config::default().validate()?;                  // the paper's cell
//! let gains = [60.0, 90.0, 120.0].map(|distance_m| system.path_loss().gain(distance_m));
//! let problem = Urllc::uniform(&system, gains)?;
//! let solution = UrllcSolver::default().solve(&problem);
//! assert_eq!(solution.status, Status::Optimal);
//! assert!(solution.duality_gap < 1e-8);                        // the proof of optimality
//! let judged = problem.assess(&solution.allocation)?;          // an independent judge agrees
//! assert!(judged.is_feasible() && judged.kkt_residual < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each module uses only those above it (a test reads the sources and says so), and a problem only problems
//! before it in [`problems::ROOMS`].
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`math`] | roots, tables of functions, statistics, random streams, vector code: no wireless |
//! | [`units`], [`tolerance`], [`limits`], [`Invalid`] | dB and W; every tolerance there is; the largest sizes that are accepted; a value that is refused. All may use them |
//! | [`channel`] | places on a road or a field become gains; laws and samples of fading |
//! | [`qos`] | what a service class needs: the least bandwidth `b(u)` at a received power, certified |
//! | [`Config`], [`System`] | every parameter of a cell, and the same once checked |
//! | [`exchange`] | files in and out: users, gains, samples, and the container of models |
//! | [`network`] | layers, aggregators, outputs: any K, forward and backward, no problem |
//! | [`framework`] | what every problem shares: judge, training driver, model file, measurement, options |
//! | [`problems`] | the problems, a room each, and the registry of them |
//! | [`diagnosis`] | the size law of anyone's policy, and the networks that follow it |
//!
//! The crate `anyk-study` reproduces the paper's tables and figures with what is public here.

pub mod channel;
mod config;
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

pub use invalid::{Fault, Invalid};

/// Names the sources that this library was built from: 16 hexadecimal digits. Results that are kept carry it, so
/// that new code never takes old results for its own.
pub const SOURCES: &str = env!("ANYK_SOURCES");

/// The code in README.md runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
